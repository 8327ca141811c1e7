/* Tests the C code of Sources/CMbed, CLinux and CMicroHTTP, built with sanitizers. Two sessions in one
   process talk over a socket pair, and this file's `send` limits the bytes that a socket takes.

     shim DIRECTORY TOOLS [SEED]     makes its certificates in DIRECTORY; TOOLS: Tests/Tools

   Prints the name of each test, and exits with 1 at the first failure. */

#include "../../Sources/CMbed/internal.h"

#include <mbedtls/base64.h>
#include <mbedtls/platform_util.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "CLinux.h"
#include "CMicroHTTP.h"

#define CHECK(condition) \
  do { \
    if (!(condition)) fail(__LINE__, #condition); \
  } while (0)

static void fail(int line, const char *condition) {
  printf("shim.c:%d: failed: %s\n", line, condition);
  exit(1);
}

static char directory[256], text[CMBED_TEXT_MAX];
static const char *tools;
static uint64_t seed = 1;

static unsigned random_below(unsigned limit) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(seed >> 33) % limit;
}

/* --- the connection ------------------------------------------------------------------------- */

/* The socket whose room is limited, and how many bytes it takes before it is full. */
static int narrow = -1;
static size_t room;

ssize_t send(int descriptor, const void *bytes, size_t count, int flags) {
  if (descriptor == narrow) {
    if (room == 0) {
      errno = EAGAIN;
      return -1;
    }
    if (count > room) count = room;
    room -= count;
  }
  return syscall(SYS_sendto, descriptor, bytes, count, flags, NULL, 0);
}

typedef struct {
  int ends[2];
  cmbed_server *acceptor;
  cmbed_session *client, *server;
} pair;

static char *path(const char *name) {
  static char paths[4][512];
  static unsigned next;
  char *made = paths[next++ % 4];
  snprintf(made, sizeof *paths, "%s/%s", directory, name);
  return made;
}

static void write_file(const char *name, const char *end, const char *content) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s%s", directory, name, end);
  FILE *file = fopen(path, "w");
  CHECK(file != NULL && fputs(content, file) >= 0 && fclose(file) == 0);
}

static void issue(const char *name, const char *issuer, cmbed_issue_kind kind) {
  char issuer_certificate[512], issuer_key[512], certificate[CMBED_PEM_MAX], key[CMBED_PEM_MAX], subject[128];
  snprintf(subject, sizeof subject, "Push Services: %s", kind == CMBED_CLIENT ? "com.example.tinypush" : name);
  cmbed_issue_options options = {.kind = kind, .name = subject, .not_before = 1577836800, .not_after = 4102444799};
  if (issuer != NULL) {
    snprintf(issuer_certificate, sizeof issuer_certificate, "%s/%s.pem", directory, issuer);
    snprintf(issuer_key, sizeof issuer_key, "%s/%s.key", directory, issuer);
    options.issuer = issuer_certificate;
    options.issuer_key = issuer_key;
  }
  int result = cmbed_issue(certificate, key, &options, text);
  if (result != CMBED_OK) fail(__LINE__, text);
  write_file(name, ".pem", certificate);
  write_file(name, ".key", key);
}

/* How many bytes the client's socket takes at a time during the handshake. */
static size_t share = SIZE_MAX;

/* Whether the client has no certificate, and needs none. */
static int anonymous;

/* Connects a client and a server and completes their handshake. `version` is the latest that the
   client supports. */
static void connect_pair(pair *pair, int version, cmbed_resumption *resumption) {
  char ca[512], certificate[512], key[512];
  snprintf(ca, sizeof ca, "%s/ca.pem", directory);
  if (pair->acceptor == NULL) {
    cmbed_server_options server = {.ca = ca, .certificate = path("server.pem"), .key = path("server.key"),
                                   .alpn = anonymous ? "h2" : NULL, .alpn_anonymous = anonymous};
    CHECK(cmbed_server_new(&pair->acceptor, &server, text) == CMBED_OK);
  }
  CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair->ends) == 0);
  snprintf(certificate, sizeof certificate, "%s/client.pem", directory);
  snprintf(key, sizeof key, "%s/client.key", directory);
  cmbed_client_options client = {.ca = ca, .certificate = anonymous ? NULL : certificate, .key = key,
                                 .host = "localhost", .alpn = anonymous ? "h2" : NULL};
  CHECK(cmbed_client_new(&pair->client, pair->ends[0], &client, resumption, text) == CMBED_OK);
  CHECK(cmbed_server_accept(&pair->server, pair->acceptor, pair->ends[1], text) == CMBED_OK);
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
  if (version == 2) { /* mbedTLS has read the configuration already */
    mbedtls_ssl_conf_max_tls_version(&pair->client->conf, MBEDTLS_SSL_VERSION_TLS1_2);
    pair->client->ssl.MBEDTLS_PRIVATE(tls_version) = MBEDTLS_SSL_VERSION_TLS1_2;
  }
#else
  CHECK(version == 2);
#endif
  mbedtls_ssl_conf_renegotiation(&pair->server->conf, MBEDTLS_SSL_RENEGOTIATION_ENABLED);
  mbedtls_ssl_conf_renegotiation_enforced(&pair->server->conf, MBEDTLS_SSL_RENEGOTIATION_NOT_ENFORCED);
  int one = CMBED_WANT_READ, other = CMBED_WANT_READ;
  narrow = pair->ends[0];
  for (int turns = 0; turns < 10000 && (one != CMBED_OK || other != CMBED_OK); turns++) {
    room = share;
    if (one != CMBED_OK) one = cmbed_handshake(pair->client);
    if (other != CMBED_OK) other = cmbed_handshake(pair->server);
  }
  if (one != CMBED_OK) fail(__LINE__, cmbed_session_text(pair->client));
  if (other != CMBED_OK) fail(__LINE__, cmbed_session_text(pair->server));
  CHECK(strcmp(cmbed_version(pair->client), version == 2 ? "TLS 1.2" : "TLS 1.3") == 0);
  room = SIZE_MAX;
}

static void disconnect(pair *pair) {
  narrow = -1;
  cmbed_session_free(pair->client);
  cmbed_session_free(pair->server);
  close(pair->ends[0]);
  close(pair->ends[1]);
}

static void end_pair(pair *pair) {
  disconnect(pair);
  cmbed_server_free(pair->acceptor);
}

/* The bytes that the server has received so far. */
static unsigned char received[1 << 20];
static size_t received_count;

/* Whether poll would report the socket as readable. */
static int is_readable(int descriptor) {
  int count;
  CHECK(ioctl(descriptor, FIONREAD, &count) == 0);
  return count > 0;
}

/* Reads on while the socket is readable, since a ticket may come first. */
static int read_what_came(cmbed_session *session, int descriptor, void *bytes, size_t count) {
  int got;
  do got = cmbed_read(session, bytes, count);
  while (got == CMBED_WANT_READ && is_readable(descriptor));
  return got;
}

static void receive(pair *pair) {
  int got;
  while ((got = read_what_came(pair->server, pair->ends[1], received + received_count,
                               sizeof received - received_count)) > 0)
    received_count += (size_t)got;
  if (got != CMBED_WANT_READ) fail(__LINE__, cmbed_session_text(pair->server));
}

/* Lets the server ask for another handshake, which the client must refuse with an alert. */
static void request_hello(pair *pair) { CHECK(mbedtls_ssl_renegotiate(&pair->server->ssl) == 0); }

static void read_nothing(pair *pair) {
  unsigned char byte;
  CHECK(cmbed_read(pair->client, &byte, 1) == CMBED_WANT_READ);
}

static unsigned char sent[1 << 20];

static void fill_sent(void) {
  for (size_t index = 0; index < sizeof sent; index++) sent[index] = (unsigned char)random_below(256);
}

static void check_received(size_t count) {
  CHECK(received_count == count);
  CHECK(memcmp(received, sent, count) == 0);
}

/* --- the tests ------------------------------------------------------------------------------ */

static void test_narrow_handshake(int version) {
  static const size_t shares[] = {1, 7, 100, 1000};
  for (size_t index = 0; index < sizeof shares / sizeof *shares; index++) {
    pair pair = {0};
    share = shares[index];
    connect_pair(&pair, version, NULL);
    CHECK(cmbed_write(pair.client, sent, 100) == 100);
    received_count = 0;
    receive(&pair);
    check_received(100);
    end_pair(&pair);
  }
  share = SIZE_MAX;
}

static void test_partly_written(int version) {
  pair pair = {0};
  connect_pair(&pair, version, NULL);
  room = 1000;
  CHECK(cmbed_write(pair.client, sent, 16000) == CMBED_WANT_WRITE);
  request_hello(&pair);
  room = SIZE_MAX;
  read_nothing(&pair);
  CHECK(cmbed_write(pair.client, sent, 16000) == 16000);
  receive(&pair);
  check_received(16000);
  end_pair(&pair);
}

static void test_pending_alert(int version) {
  pair pair = {0};
  connect_pair(&pair, version, NULL);
  room = 3;
  request_hello(&pair);
  read_nothing(&pair);
  CHECK(cmbed_write(pair.client, sent, 100) == CMBED_WANT_WRITE);
  room = SIZE_MAX;
  CHECK(cmbed_write(pair.client, sent, 100) == 100);
  receive(&pair);
  check_received(100);
  end_pair(&pair);
}

/* A batch is partly written, reading sends more of it, and further alerts wait behind it. */
static void test_alert_behind(int version) {
  pair pair = {0};
  connect_pair(&pair, version, NULL);
  room = 1000;
  CHECK(cmbed_write(pair.client, sent, 2000) == CMBED_WANT_WRITE);
  room = 2000;
  for (int count = 0; count < 80; count++) request_hello(&pair);
  while (is_readable(pair.ends[0])) read_nothing(&pair);
  CHECK(room == 0);
  CHECK(cmbed_write(pair.client, sent, 2000) == CMBED_WANT_WRITE);
  room = SIZE_MAX;
  CHECK(cmbed_write(pair.client, sent, 2000) == 2000);
  receive(&pair);
  check_received(2000);
  end_pair(&pair);
}

/* The peer asks for a handshake again and again, and does not read the refusals. */
static void test_many_alerts(int version) {
  pair pair = {0};
  connect_pair(&pair, version, NULL);
  room = 0;
  unsigned char byte;
  int result = CMBED_WANT_READ;
  for (int count = 0; count < 2000 && result == CMBED_WANT_READ; count++) {
    request_hello(&pair);
    result = cmbed_read(pair.client, &byte, 1);
  }
  CHECK(result == CMBED_RESET);
  CHECK(cmbed_error(pair.client) == ENOBUFS);
  end_pair(&pair);
}

/* The socket takes random numbers of bytes, and the peer sends at random times. */
static void test_any_order(int version) {
  for (int round = 0; round < 40; round++) {
    pair pair = {0};
    connect_pair(&pair, version, NULL);
    size_t done = 0, heard = 0, said = 0;
    received_count = 0;
    while (done < sizeof sent / 8) {
      size_t count = 1 + random_below(random_below(2) ? 16384 : 64);
      if (count > sizeof sent / 8 - done) count = sizeof sent / 8 - done;
      int result;
      while ((result = cmbed_write(pair.client, sent + done, count)) == CMBED_WANT_WRITE) {
        room = random_below(random_below(2) ? 20000 : 40);
        if (version == 2 && random_below(3) == 0) request_hello(&pair);
        if (random_below(8) == 0) {
          unsigned char answer[6] = {8, (unsigned char)said++};
          CHECK(cmbed_write(pair.server, answer, sizeof answer) == sizeof answer);
        }
        unsigned char bytes[6];
        while ((result = read_what_came(pair.client, pair.ends[0], bytes, sizeof bytes)) > 0) {
          CHECK(result == sizeof bytes && bytes[0] == 8 && bytes[1] == (unsigned char)heard);
          heard++;
        }
        CHECK(result == CMBED_WANT_READ);
        receive(&pair);
      }
      CHECK(result == (int)count);
      done += count;
      if (random_below(3) == 0) room = random_below(30000);
    }
    receive(&pair);
    check_received(done);
    CHECK(heard == said);
    end_pair(&pair);
  }
}

/* The records hold nothing for the reader. One call takes a limited number of bytes, and the rest
   stays in the socket. */
static void test_share(int version) {
  pair pair = {0};
  connect_pair(&pair, version, NULL);
  size_t count = 0;
  int size = 4 << 20;
  setsockopt(pair.ends[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
  while (count < 10000 && mbedtls_ssl_send_alert_message(&pair.server->ssl, MBEDTLS_SSL_ALERT_LEVEL_WARNING,
                                                         MBEDTLS_SSL_ALERT_MSG_USER_CANCELED) == 0)
    count++;
  int left, before, reads = 0;
  CHECK(ioctl(pair.ends[0], FIONREAD, &before) == 0);
  CHECK(before > 200000);
  do {
    int most = before;
    read_nothing(&pair);
    CHECK(ioctl(pair.ends[0], FIONREAD, &left) == 0);
    CHECK(most - left <= 65536);
    before = left;
    reads++;
  } while (left > 0);
  CHECK(reads > 3);
  end_pair(&pair);
}

/* Records without content must not end the connection. */
static void test_empty(int version) {
  pair pair = {0};
  connect_pair(&pair, version, NULL);
  unsigned char byte;
  for (int count = 0; count < 3; count++) CHECK(mbedtls_ssl_write(&pair.server->ssl, sent, 0) == 0);
  read_nothing(&pair);
  CHECK(cmbed_write(pair.server, "x", 1) == 1);
  CHECK(cmbed_read(pair.client, &byte, 1) == 1 && byte == 'x');
  end_pair(&pair);
}

/* In TLS 1.3, this server resumes only clients without a certificate. */
static void test_resumption(int version) {
  pair pair = {0};
  anonymous = version == 3;
  cmbed_resumption *resumption = cmbed_resumption_new();
  for (int count = 0; count < 3; count++) {
    connect_pair(&pair, version, resumption);
    CHECK(cmbed_resumed(pair.client) == (count > 0));
    CHECK(cmbed_resumed(pair.server) == (count > 0));
    CHECK(strcmp(cmbed_rights_topic(cmbed_peer_rights(pair.server)), anonymous ? "" : "com.example.tinypush") == 0);
    received_count = 0;
    CHECK(cmbed_write(pair.client, sent, 16384) == 16384);
    CHECK(cmbed_write(pair.server, "answer", 6) == 6);
    unsigned char bytes[3];
    CHECK(read_what_came(pair.client, pair.ends[0], bytes, 3) == 3);
    CHECK(cmbed_pending(pair.client));
    CHECK(cmbed_read(pair.client, bytes, 3) == 3);
    CHECK(!cmbed_pending(pair.client));
    receive(&pair);
    check_received(16384);
    cmbed_close_notify(pair.server);
    CHECK(cmbed_read(pair.client, bytes, 3) == CMBED_CLOSED);
    disconnect(&pair);
  }
  anonymous = 0;
  cmbed_server_free(pair.acceptor);
  cmbed_resumption_free(resumption);
}

/* One read takes a record with a ticket, and the ticket waits for the next read. A write may come first. */
static void test_write_before_ticket(int version) {
  pair pair = {0};
  anonymous = version == 3;
  cmbed_resumption *resumption = cmbed_resumption_new();
  for (int count = 0; count < 2; count++) {
    connect_pair(&pair, version, resumption);
    CHECK(cmbed_resumed(pair.client) == (count > 0));
    char byte;
    CHECK(cmbed_read(pair.client, &byte, 1) == CMBED_WANT_READ);
    received_count = 0;
    if (cmbed_write(pair.client, sent, 1000) != 1000) fail(__LINE__, cmbed_session_text(pair.client));
    receive(&pair);
    check_received(1000);
    CHECK(cmbed_write(pair.server, "x", 1) == 1);
    CHECK(read_what_came(pair.client, pair.ends[0], &byte, 1) == 1 && byte == 'x');
    disconnect(&pair);
  }
  anonymous = 0;
  cmbed_server_free(pair.acceptor);
  cmbed_resumption_free(resumption);
}

/* Connects a client that offers `alpn` and sends the certificate `name`, if any. Returns the
   server's result, and what it knows of the client. */
static int meet(int version, cmbed_server *acceptor, const char *alpn, const char *name, int *kind, char *topic) {
  int ends[2];
  char ca[512], certificate[512], key[512];
  snprintf(ca, sizeof ca, "%s/ca.pem", directory);
  snprintf(certificate, sizeof certificate, "%s/%s.pem", directory, name == NULL ? "" : name);
  snprintf(key, sizeof key, "%s/%s.key", directory, name == NULL ? "" : name);
  cmbed_client_options options = {.ca = ca, .certificate = name == NULL ? NULL : certificate,
                                  .key = name == NULL ? NULL : key, .host = "localhost", .alpn = alpn};
  cmbed_session *client, *server;
  CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
  CHECK(cmbed_client_new(&client, ends[0], &options, NULL, text) == CMBED_OK);
  CHECK(cmbed_server_accept(&server, acceptor, ends[1], text) == CMBED_OK);
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
  if (version == 2) {
    mbedtls_ssl_conf_max_tls_version(&client->conf, MBEDTLS_SSL_VERSION_TLS1_2);
    client->ssl.MBEDTLS_PRIVATE(tls_version) = MBEDTLS_SSL_VERSION_TLS1_2;
  }
#else
  CHECK(version == 2);
#endif
  int one = CMBED_WANT_READ, other = CMBED_WANT_READ;
  for (int turns = 0; turns < 10000 && other == CMBED_WANT_READ; turns++) {
    if (one == CMBED_WANT_READ) one = cmbed_handshake(client);
    other = cmbed_handshake(server);
  }
  unsigned char byte;
  if (one == CMBED_WANT_READ) one = cmbed_handshake(client);
  if (other == CMBED_OK) {
    CHECK(strcmp(cmbed_alpn(server), alpn == NULL ? "" : alpn) == 0);
    CHECK(!cmbed_resumed(server));
    CHECK(cmbed_write(client, sent, 1) == 1 && cmbed_read(server, &byte, 1) == 1);
  } else {
    CHECK((one == CMBED_OK ? read_what_came(client, ends[0], &byte, 1) : one) == CMBED_REFUSED_CERTIFICATE);
  }
  *kind = cmbed_peer_rights(server)->kind;
  strcpy(topic, cmbed_peer_rights(server)->topic);
  cmbed_session_free(client);
  cmbed_session_free(server);
  close(ends[0]);
  close(ends[1]);
  return other;
}

static void test_excused(int version) {
  char ca[512], topic[128];
  int kind;
  snprintf(ca, sizeof ca, "%s/ca.pem", directory);
  cmbed_server *acceptor;
  cmbed_server_options options = {.ca = ca, .certificate = path("server.pem"), .key = path("server.key"), .alpn = "h2",
                                  .alpn_anonymous = 1};
  CHECK(cmbed_server_new(&acceptor, &options, text) == CMBED_OK);
  CHECK(meet(version, acceptor, "h2", NULL, &kind, topic) == CMBED_OK);
  CHECK(kind == 0 && topic[0] == '\0');
  CHECK(meet(version, acceptor, "h2", "client", &kind, topic) == CMBED_OK);
  CHECK(kind == (CMBED_PEER_PRESENT | CMBED_PEER_SANDBOX) && strcmp(topic, "com.example.tinypush") == 0);
  CHECK(meet(version, acceptor, NULL, "client", &kind, topic) == CMBED_OK);
  CHECK(meet(version, acceptor, "h2", "stranger", &kind, topic) == CMBED_PEER_UNKNOWN_CA);
  CHECK(kind == 0 && topic[0] == '\0');
  CHECK(meet(version, acceptor, NULL, "stranger", &kind, topic) == CMBED_PEER_UNKNOWN_CA);
  CHECK(meet(version, acceptor, NULL, NULL, &kind, topic) == CMBED_PEER_MISSING);
  cmbed_server_free(acceptor);
}

static void test_broken(int version) {
  pair pair = {0};
  connect_pair(&pair, version, NULL);
  room = 100;
  CHECK(cmbed_write(pair.client, sent, 16000) == CMBED_WANT_WRITE);
  close(pair.ends[1]);
  pair.ends[1] = -1;
  room = SIZE_MAX;
  CHECK(cmbed_write(pair.client, sent, 16000) == CMBED_RESET);
  CHECK(cmbed_error(pair.client) == EPIPE);
  unsigned char byte;
  CHECK(cmbed_read(pair.client, &byte, 1) < 0);
  cmbed_close_notify(pair.client);
  end_pair(&pair);
}

/* The server refuses the client's certificate, even after the handshake. */
static void test_refusals(int version) {
  static const int numbers[] = {42, 43, 44, 45, 46, 48, 49, 116};
  for (size_t index = 0; index < sizeof numbers / sizeof *numbers; index++) {
    pair pair = {0};
    connect_pair(&pair, version, NULL);
    CHECK(mbedtls_ssl_send_alert_message(&pair.server->ssl, MBEDTLS_SSL_ALERT_LEVEL_FATAL,
                                         (unsigned char)numbers[index]) == 0);
    unsigned char byte;
    CHECK(cmbed_read(pair.client, &byte, 1) == CMBED_REFUSED_CERTIFICATE);
    const char *words = cmbed_session_text(pair.client), *end = strstr(words, "). ");
    CHECK(strncmp(words, "The server localhost refuses the client certificate: ", 53) == 0);
    CHECK(end != NULL && end[3] >= 'A' && words[strlen(words) - 1] == '.');
    CHECK(cmbed_write(pair.client, sent, 1) == CMBED_REFUSED_CERTIFICATE);
    end_pair(&pair);
  }
}

/* Encrypted keys, as OpenSSL writes them today and as it wrote them before. */
static void test_passwords(int version) {
  (void)version;
  static const char *const ways[] = {
    "openssl pkcs8 -topk8 -v2 aes-128-cbc -passout pass:sesame",
    "openssl pkcs8 -topk8 -v2 aes-256-cbc -v2prf hmacWithSHA1 -passout pass:sesame",
    "openssl pkcs8 -topk8 -v2 des3 -passout pass:sesame",
    "openssl ec -aes128 -passout pass:sesame",
  };
  for (size_t index = 0; index < sizeof ways / sizeof *ways; index++) {
    char command[2048];
    snprintf(command, sizeof command, "%s -in %s -out %s 2>/dev/null", ways[index], path("client.key"),
             path("locked.key"));
    CHECK(system(command) == 0);
    cmbed_certificate certificate;
    CHECK(cmbed_certificate_read(&certificate, path("client.pem"), path("locked.key"), "sesame", text) == CMBED_OK);
    CHECK(strcmp(certificate.rights.topic, "com.example.tinypush") == 0);
    CHECK(cmbed_certificate_read(&certificate, path("client.pem"), path("locked.key"), "other", text) ==
          CMBED_KEY_PASSWORD);
    CHECK(cmbed_certificate_read(&certificate, path("client.pem"), path("locked.key"), NULL, text) ==
          CMBED_KEY_PASSWORD);
  }
  CHECK(cmbed_authorities_count(path("ca.pem"), text) == 1);
  CHECK(cmbed_authorities_count(path("client.key"), text) == CMBED_FILE_INVALID);
}

static void run(const char *format, ...) {
  char command[2048];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(command, sizeof command, format, arguments);
  va_end(arguments);
  if (system(command) != 0) fail(__LINE__, command);
}

static void refuse_signing_key(const char *name, int code, const char *words) {
  unsigned char signature[CMBED_SIGNATURE], point[CMBED_POINT];
  CHECK(cmbed_signing_key_public(path(name), point, text) == code);
  if (strstr(text, words) == NULL) fail(__LINE__, text);
  CHECK(strstr(text, path(name)) != NULL && text[strlen(text) - 1] == '.');
  CHECK(cmbed_sign(signature, path(name), "x", 1, text) == code);
}

/* Writes a signature as OpenSSL verifies it: a SEQUENCE of two INTEGERs, each with a zero before a
   high bit. */
static void write_der(const unsigned char signature[CMBED_SIGNATURE]) {
  unsigned char der[80] = {0x30}, *at = der + 2;
  for (int half = 0; half < 2; half++) {
    const unsigned char *number = signature + 32 * half;
    int count = 32;
    while (count > 1 && number[0] == 0) number++, count--;
    *at++ = 2;
    *at++ = (unsigned char)(count + (number[0] >> 7));
    if (number[0] >> 7) *at++ = 0;
    memcpy(at, number, (size_t)count);
    at += count;
  }
  der[1] = (unsigned char)(at - der - 2);
  FILE *file = fopen(path("signature"), "w");
  CHECK(file != NULL && fwrite(der, 1, (size_t)(at - der), file) == (size_t)(at - der) && fclose(file) == 0);
}

static void test_signing(int version) {
  (void)version;
  unsigned char signature[CMBED_SIGNATURE], other[CMBED_SIGNATURE];
  unsigned char point[CMBED_POINT], again[CMBED_POINT];
  run("cd %s && openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out good.p8 2>/dev/null && "
      "openssl pkey -in good.p8 -pubout -out public.pem", directory);
  /* Several times, since r and s may begin with zeros. */
  for (int count = 0; count < 20; count++) {
    char message[32];
    int size = snprintf(message, sizeof message, "header.claims %d", count);
    write_file("message", "", message);
    CHECK(cmbed_sign(signature, path("good.p8"), message, (size_t)size, text) == CMBED_OK);
    CHECK(cmbed_sign(other, path("good.p8"), message, (size_t)size, text) == CMBED_OK);
    CHECK(memcmp(signature, other, sizeof other) == 0);
    write_der(signature);
    run("cd %s && openssl dgst -sha256 -verify public.pem -signature signature message >/dev/null", directory);
  }
  CHECK(cmbed_signing_key_public(path("good.p8"), point, text) == CMBED_OK);
  CHECK(cmbed_sign(signature, path("good.p8"), "header.claims", 13, text) == CMBED_OK);
  CHECK(cmbed_signature_is_good(signature, point, "header.claims", 13));
  CHECK(!cmbed_signature_is_good(signature, point, "header.claimS", 13));
  for (size_t index = 0; index < sizeof signature; index += 9) {
    memcpy(other, signature, sizeof other);
    other[index] ^= 1;
    CHECK(!cmbed_signature_is_good(other, point, "header.claims", 13));
  }
  memset(other, 0, sizeof other);
  CHECK(!cmbed_signature_is_good(other, point, "header.claims", 13));
  point[64] ^= 1;
  CHECK(!cmbed_signature_is_good(signature, point, "header.claims", 13));

  char pem[CMBED_PEM_MAX];
  CHECK(cmbed_signing_key_make(pem, text) == CMBED_OK);
  write_file("made", ".p8", pem);
  run("cd %s && openssl pkey -in made.p8 -noout -check >/dev/null", directory);
  CHECK(cmbed_signing_key_public(path("made.p8"), point, text) == CMBED_OK);
  CHECK(cmbed_sign(other, path("made.p8"), "header.claims", 13, text) == CMBED_OK);
  CHECK(cmbed_signature_is_good(other, point, "header.claims", 13));
  CHECK(!cmbed_signature_is_good(signature, point, "header.claims", 13));

  run("cd %s && tr -d '\\n' <good.p8 | sed 's/-----BEGIN PRIVATE KEY-----/&\\r\\n/; s/-----END/\\r\\n&/' >carriage.p8",
      directory);
  CHECK(cmbed_signing_key_public(path("good.p8"), point, text) == CMBED_OK);
  CHECK(cmbed_signing_key_public(path("carriage.p8"), again, text) == CMBED_OK);
  CHECK(memcmp(point, again, sizeof point) == 0);

  refuse_signing_key("nowhere.p8", CMBED_FILE_MISSING, "does not exist");
  run("cd %s && : >empty.p8 && echo no >text.p8 && openssl pkey -in good.p8 -outform DER -out der.p8 && "
      "openssl ec -in good.p8 -out sec1.p8 2>/dev/null && cp client.pem certificate.p8 && cp public.pem public.p8 && "
      "openssl pkcs8 -topk8 -in good.p8 -passout pass:sesame -out locked.p8 && "
      "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-384 -out curve.p8 2>/dev/null && "
      "openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out rsa.p8 2>/dev/null && "
      "openssl genpkey -algorithm ED25519 -out edwards.p8 && sed '2s/..../AAAA/' good.p8 >damaged.p8", directory);
  refuse_signing_key("empty.p8", CMBED_FILE_INVALID, "is empty");
  refuse_signing_key("text.p8", CMBED_FILE_INVALID, "is not PEM");
  refuse_signing_key("der.p8", CMBED_FILE_INVALID, "is not PEM");
  refuse_signing_key("sec1.p8", CMBED_FILE_INVALID, "is not in PKCS#8");
  refuse_signing_key("certificate.p8", CMBED_FILE_INVALID, "is a certificate");
  refuse_signing_key("public.p8", CMBED_FILE_INVALID, "is a public key");
  refuse_signing_key("locked.p8", CMBED_KEY_PASSWORD, "is encrypted");
  refuse_signing_key("curve.p8", CMBED_FILE_INVALID, "is an EC key of 384 bits");
  refuse_signing_key("rsa.p8", CMBED_FILE_INVALID, "is an RSA key of 2048 bits");
  refuse_signing_key("edwards.p8", CMBED_FILE_INVALID, "is not an EC key of the curve P-256");
  refuse_signing_key("damaged.p8", CMBED_FILE_INVALID, "is damaged");
}

/* --- Web Push -------------------------------------------------------------------------------- */

/* Decodes base64url, whose length is known. */
static void from_base64url(unsigned char *to, size_t count, const char *from) {
  char plain[512];
  size_t length = 0, written;
  for (; from[length] != '\0'; length++)
    plain[length] = from[length] == '-' ? '+' : from[length] == '_' ? '/' : from[length];
  while (length % 4 != 0) plain[length++] = '=';
  CHECK(mbedtls_base64_decode(to, count, &written, (unsigned char *)plain, length) == 0 && written == count);
}

/* Encodes bytes in base64url for a command. */
static const char *to_base64url(const unsigned char *bytes, size_t count) {
  static char results[2][128];
  static int last;
  char *to = results[last ^= 1];
  size_t length;
  CHECK(mbedtls_base64_encode((unsigned char *)to, sizeof *results, &length, bytes, count) == 0);
  for (size_t index = 0; index < length; index++)
    to[index] = to[index] == '+' ? '-' : to[index] == '/' ? '_' : to[index];
  while (length > 0 && to[length - 1] == '=') to[--length] = '\0';
  return to;
}

static void write_bytes(const char *name, const void *bytes, size_t count) {
  FILE *file = fopen(path(name), "w");
  CHECK(file != NULL && fwrite(bytes, 1, count, file) == count && fclose(file) == 0);
}

static size_t read_bytes(const char *name, void *bytes, size_t room_there) {
  FILE *file = fopen(path(name), "r");
  CHECK(file != NULL);
  size_t count = fread(bytes, 1, room_there, file);
  CHECK(feof(file) && fclose(file) == 0);
  return count;
}

static unsigned char body[CMBED_WEBPUSH_BODY + 2], opened[CMBED_WEBPUSH_TEXT];

/* RFC 8291, appendix A. */
static void test_webpush_vector(int version) {
  (void)version;
  static const char said[] = "When I grow up, I want to be a watermelon";
  unsigned char private_key[32], sender[CMBED_POINT], browser_key[32], point[CMBED_POINT], salt[CMBED_WEBPUSH_SALT];
  unsigned char auth[CMBED_WEBPUSH_AUTH], expected[144];
  from_base64url(private_key, sizeof private_key, "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw");
  from_base64url(sender, sizeof sender,
                 "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8");
  from_base64url(browser_key, sizeof browser_key, "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94");
  from_base64url(point, sizeof point,
                 "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4");
  from_base64url(salt, sizeof salt, "DGv6ra1nlYgDCS1FRnbzlw");
  from_base64url(auth, sizeof auth, "BTBZMqHH6r4Tts7J_aSIgg");
  from_base64url(expected, sizeof expected,
                 "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8w"
                 "EqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN");
  size_t count = sizeof said - 1;
  CHECK(cmbed_webpush_seal_with(body, private_key, sender, salt, point, auth, said, count) == sizeof expected);
  CHECK(memcmp(body, expected, sizeof expected) == 0);
  CHECK(cmbed_webpush_open(opened, browser_key, point, auth, expected, sizeof expected) == (int)count);
  CHECK(memcmp(opened, said, count) == 0);
}

/* Opens a body that the independent tool makes. */
static int open_made(const char *options, const unsigned char *private_key, const unsigned char *point,
                     const unsigned char *auth) {
  run("cd %s && /usr/bin/python3 %s/webpush.py seal --point=%s --auth=%s %s <said >made", directory, tools,
      to_base64url(point, CMBED_POINT), to_base64url(auth, CMBED_WEBPUSH_AUTH), options);
  size_t count = read_bytes("made", body, sizeof body);
  return cmbed_webpush_open(opened, private_key, point, auth, body, count);
}

static void test_webpush(int version) {
  (void)version;
  unsigned char private_key[32], point[CMBED_POINT], auth[CMBED_WEBPUSH_AUTH], other[CMBED_WEBPUSH_BODY];
  memcpy(auth, sent, sizeof auth);
  CHECK(cmbed_webpush_pair(private_key, point) == CMBED_OK && cmbed_point_is_good(point));
  for (int count = 0; count <= CMBED_WEBPUSH_TEXT; count += count < 70 || count > CMBED_WEBPUSH_TEXT - 40 ? 1 : 29) {
    memset(opened, 0, sizeof opened);
    CHECK(cmbed_webpush_seal(body, point, auth, sent, (size_t)count) == count + 103);
    CHECK(cmbed_webpush_open(opened, private_key, point, auth, body, (size_t)count + 103) == count);
    CHECK(memcmp(opened, sent, (size_t)count) == 0);
  }
  CHECK(cmbed_webpush_seal(body, point, auth, sent, CMBED_WEBPUSH_TEXT + 1) == CMBED_INTERNAL);

  /* The same text gets another key pair and salt each time. */
  size_t count = 40, whole = count + 103;
  CHECK(cmbed_webpush_seal(other, point, auth, sent, count) == (int)whole);
  CHECK(cmbed_webpush_seal(body, point, auth, sent, count) == (int)whole);
  CHECK(memcmp(body, other, 16) != 0 && memcmp(body + 21, other + 21, CMBED_POINT) != 0);

  /* A damaged, shortened or longer body does not open. The size of a record says only how many there are. */
  for (size_t index = 0; index < whole; index++) {
    if (index >= 16 && index < 20) continue;
    body[index] ^= (unsigned char)(1 << index % 8);
    CHECK(cmbed_webpush_open(opened, private_key, point, auth, body, whole) == CMBED_FILE_INVALID);
    body[index] ^= (unsigned char)(1 << index % 8);
  }
  for (size_t length = 0; length < whole; length++)
    CHECK(cmbed_webpush_open(opened, private_key, point, auth, body, length) == CMBED_FILE_INVALID);
  body[whole] = 0;
  CHECK(cmbed_webpush_open(opened, private_key, point, auth, body, whole + 1) == CMBED_FILE_INVALID);
  CHECK(cmbed_webpush_open(opened, private_key, point, auth, body, sizeof body - 1) == CMBED_FILE_INVALID);
  body[18] = 0;
  body[19] = (unsigned char)(whole - 86);
  CHECK(cmbed_webpush_open(opened, private_key, point, auth, body, whole) == (int)count);
  body[19]--;
  CHECK(cmbed_webpush_open(opened, private_key, point, auth, body, whole) == CMBED_FILE_INVALID);
  auth[15] ^= 1;
  CHECK(cmbed_webpush_open(opened, private_key, point, auth, other, whole) == CMBED_FILE_INVALID);
  auth[15] ^= 1;
  private_key[31] ^= 1;
  CHECK(cmbed_webpush_open(opened, private_key, point, auth, other, whole) == CMBED_FILE_INVALID);
  private_key[31] ^= 1;
  CHECK(cmbed_webpush_open(opened, private_key, point, auth, other, whole) == (int)count);

  /* An independent tool opens what was sealed, and the other way round. */
  write_bytes("said", sent, count);
  write_bytes("body", other, whole);
  run("cd %s && /usr/bin/python3 %s/webpush.py open --key=%s --auth=%s <body | cmp - said", directory, tools,
      to_base64url(private_key, sizeof private_key), to_base64url(auth, sizeof auth));
  CHECK(open_made("", private_key, point, auth) == (int)count && memcmp(opened, sent, count) == 0);
  CHECK(open_made("--padding=3953", private_key, point, auth) == (int)count && memcmp(opened, sent, count) == 0);
  CHECK(open_made("--padding=3954", private_key, point, auth) == CMBED_FILE_INVALID);
  CHECK(open_made("--delimiter=1", private_key, point, auth) == CMBED_FILE_INVALID);
  CHECK(open_made("--delimiter=0", private_key, point, auth) == CMBED_FILE_INVALID);
  write_bytes("said", sent, CMBED_WEBPUSH_TEXT);
  CHECK(cmbed_webpush_seal(body, point, auth, sent, CMBED_WEBPUSH_TEXT) == CMBED_WEBPUSH_BODY);
  write_bytes("body", body, CMBED_WEBPUSH_BODY);
  run("cd %s && /usr/bin/python3 %s/webpush.py open --key=%s --auth=%s <body | cmp - said", directory, tools,
      to_base64url(private_key, sizeof private_key), to_base64url(auth, sizeof auth));
}

static void test_points(int version) {
  (void)version;
  unsigned char private_key[32], good[CMBED_POINT], point[CMBED_POINT], auth[CMBED_WEBPUSH_AUTH] = {0};
  CHECK(cmbed_webpush_pair(private_key, good) == CMBED_OK);
  int whole = cmbed_webpush_seal(body, good, auth, "x", 1);
  CHECK(whole == 104);
  for (int trial = 0; trial < 7; trial++) {
    memcpy(point, good, sizeof point);
    switch (trial) {
    case 0: point[64] ^= 1; break;                      /* off the curve */
    case 1: point[1] ^= 0x80; break;
    case 2: memset(point + 1, 0, CMBED_POINT - 1); break;
    case 3: memset(point + 1, 0xff, CMBED_POINT - 1); break; /* no numbers of the field */
    case 4: point[0] = 2; break;                        /* another form */
    case 5: point[0] = 0; break;
    case 6: memset(point, 0, CMBED_POINT); break;
    }
    CHECK(!cmbed_point_is_good(point));
    unsigned char sealed[CMBED_WEBPUSH_BODY];
    CHECK(cmbed_webpush_seal(sealed, point, auth, "x", 1) == CMBED_FILE_INVALID);
    memcpy(sealed, body, sizeof sealed);
    memcpy(sealed + 21, point, CMBED_POINT);
    CHECK(cmbed_webpush_open(opened, private_key, good, auth, sealed, (size_t)whole) == CMBED_FILE_INVALID);
  }
  CHECK(cmbed_point_is_good(good));
}

static void test_linux(int version) {
  (void)version;
  gid_t group;
  CHECK(strcmp(clinux_user_name(0, &group), "root") == 0 && group == 0);
  CHECK(strcmp(clinux_group_name(0), "root") == 0);
  int made = clinux_open(AT_FDCWD, path("file"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  CHECK(made >= 0 && write(made, sent, 5000) == 5000);
  int process = clinux_open(AT_FDCWD, "/proc/self", O_RDONLY, 0), memory = memfd_create("memory", MFD_CLOEXEC);
  CHECK(!clinux_is_volatile(process) && clinux_is_volatile(memory) && !clinux_is_volatile(-1));
  close(process);
  close(memory);
  CHECK(clinux_lock_file(made) == 0);
  CHECK(clinux_sync(made) == 0);
  close(made);
  clinux_notify("READY=1");
}

/* --- HTTP ----------------------------------------------------------------------------------- */

/* What the last complete request was; the answer is its body. */
static struct {
  char method[16], target[64];
  long body;
  int headers, is_clear;
} http;

static void http_headers(void *user, cmicrohttp_request *request) {
  (void)user;
  http.headers++;
  CHECK(!cmicrohttp_header(request, "Nothing"));
  http.is_clear = cmicrohttp_has_clear_length(request);
  if (strcmp(cmicrohttp_target(request), "/length") == 0 && !http.is_clear)
    cmicrohttp_answer(request, 400, NULL, NULL, 0);
  if (strcmp(cmicrohttp_target(request), "/early") == 0) {
    cmicrohttp_answer(request, 404, "text/plain", (const uint8_t *)"early", 5);
    cmicrohttp_add_header(request, "X-Early", "1");
    cmicrohttp_answer(request, 200, NULL, NULL, 0);
  }
}

static void http_complete(void *user, cmicrohttp_request *request) {
  (void)user;
  snprintf(http.method, sizeof http.method, "%s", cmicrohttp_method(request));
  snprintf(http.target, sizeof http.target, "%s", cmicrohttp_target(request));
  http.body = cmicrohttp_body_count(request);
  if (http.body < 0) {
    cmicrohttp_answer(request, http.body == CMICROHTTP_TOO_LARGE ? 413 : 503, NULL, NULL, 0);
  } else {
    cmicrohttp_answer(request, 202, "text/plain", cmicrohttp_body(request), (size_t)http.body);
  }
}

/* Sends a request in random pieces, and copies what the server answers until it is silent. */
static void http_send(cmicrohttp_server *server, const char *request, size_t count, char *answer, size_t space) {
  int ends[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
  CHECK(cmicrohttp_add(server, ends[0]) == 0);
  size_t sent = 0, taken = 0;
  int silent = 0;
  while (silent < 20) {
    if (sent < count) {
      size_t piece = 1 + random_below(random_below(4) ? 2000 : 20);
      ssize_t written =
        send(ends[1], request + sent, piece < count - sent ? piece : count - sent, MSG_NOSIGNAL);
      if (written > 0) sent += (size_t)written;
    }
    cmicrohttp_run(server);
    ssize_t got = read(ends[1], answer + taken, space - 1 - taken);
    if (got > 0) taken += (size_t)got;
    silent = got > 0 || (sent < count && got != 0) ? 0 : silent + 1;
  }
  answer[taken] = 0;
  close(ends[1]);
  for (int turn = 0; turn < 4; turn++) cmicrohttp_run(server);
  CHECK(cmicrohttp_connections(server) == 0);
}

static void test_http(int version) {
  (void)version;
  static char request[60000], answer[20000];
  const cmicrohttp_settings settings = {
    .body_max = 10000, .bodies_max = 15000, .idle_seconds = 10, .lifetime_seconds = 60,
    .on_headers = http_headers, .on_complete = http_complete};
  cmicrohttp_server *server = cmicrohttp_new(&settings);
  CHECK(server && cmicrohttp_descriptor(server) >= 0 && cmicrohttp_timeout_ms(server) == -1);
  for (int turn = 0; turn < 50; turn++) {
    int body = (int)random_below(12000);
    int head = snprintf(request, sizeof request,
                        "POST /a%%20b?c=%%41+d HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", body);
    memset(request + head, 'x', (size_t)body);
    http_send(server, request, (size_t)(head + body), answer, sizeof answer);
    CHECK(strcmp(http.method, "POST") == 0 && strcmp(http.target, "/a%20b?c=%41+d") == 0);
    CHECK(http.body == (body > 10000 ? CMICROHTTP_TOO_LARGE : body));
    CHECK(strncmp(answer, body > 10000 ? "HTTP/1.1 413" : "HTTP/1.1 202", 12) == 0);
    CHECK(body > 10000 || strspn(strstr(answer, "\r\n\r\n") + 4, "x") == (size_t)body);
  }
  int early = snprintf(request, sizeof request, "POST /early HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabcde");
  http_send(server, request, (size_t)early, answer, sizeof answer);
  CHECK(strncmp(answer, "HTTP/1.1 404", 12) == 0 && strstr(answer, "X-Early: 1") && strstr(answer, "\r\n\r\nearly"));
  /* Two lengths are no clear length, and the answer to them does not wait for the body. */
  static const struct {
    const char *fields;
    int is_clear;
  } fields[] = {
    {"Content-Length: 3", 1}, {"Transfer-Encoding: chunked", 1}, {"X: y", 1},
    {"Content-Length: 3\r\nTransfer-Encoding: chunked", 0}, {"Content-Length: 3\r\nContent-Length: 5", 0},
    {"Content-Length : 3", 0}, {"Transfer-Encoding: gzip", 0},
    {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", 0},
  };
  for (unsigned index = 0; index < sizeof fields / sizeof fields[0]; index++) {
    int head = snprintf(request, sizeof request, "POST /length HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n", fields[index].fields);
    http.is_clear = 0; /* A newer library refuses some of these requests itself. */
    http_send(server, request, (size_t)head, answer, sizeof answer);
    CHECK(http.is_clear == fields[index].is_clear);
    CHECK(fields[index].is_clear || strncmp(answer, "HTTP/1.1 400", 12) == 0);
  }
  /* Bytes that are no HTTP end their connection, or wait for more of them. */
  for (int turn = 0; turn < 200; turn++) {
    int valid = snprintf(request, sizeof request,
                         "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n");
    for (unsigned change = 0; change <= random_below(4); change++)
      request[random_below((unsigned)valid)] = (char)random_below(256);
    http_send(server, request, (size_t)valid, answer, sizeof answer);
  }
  /* A server that is freed closes its connections. */
  int ends[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
  CHECK(cmicrohttp_add(server, ends[0]) == 0);
  CHECK(write(ends[1], "POST / HTTP/1.1\r\n", 17) == 17);
  cmicrohttp_run(server);
  CHECK(cmicrohttp_connections(server) == 1);
  CHECK(cmicrohttp_timeout_ms(server) >= 0);
  cmicrohttp_free(server);
  CHECK(read(ends[1], answer, 1) == 0 || errno == ECONNRESET);
  close(ends[1]);
  cmicrohttp_free(NULL);
}

static const struct {
  const char *name;
  void (*run)(int version);
  int versions; /* 2: only TLS 1.2; 3: TLS 1.2 and 1.3; 0: no TLS */
} tests[] = {
  {"a handshake succeeds through a socket that takes few bytes at a time", test_narrow_handshake, 3},
  {"a partly written batch that a read flushes is sent once", test_partly_written, 2},
  {"a waiting alert does not make a batch disappear", test_pending_alert, 2},
  {"an alert behind a batch does not count as part of the batch", test_alert_behind, 2},
  {"the client closes when a peer causes many alerts and reads none", test_many_alerts, 2},
  {"batches arrive once and in order while the peer sends", test_any_order, 3},
  {"one read takes a limited number of bytes", test_share, 3},
  {"empty records do not end the connection", test_empty, 3},
  {"a client resumes a session", test_resumption, 3},
  {"a client writes before it has taken a ticket", test_write_before_ticket, 3},
  {"a client that offers the ALPN protocol needs no certificate, but may not send a bad one", test_excused, 3},
  {"a connection fails in the middle of a batch", test_broken, 3},
  {"the text for each refused certificate says what to do", test_refusals, 3},
  {"only its password decrypts a key", test_passwords, 0},
  {"OpenSSL verifies a signing key's signature, and the texts for other files say what is wrong", test_signing, 0},
  {"a text of Web Push is encrypted as in RFC 8291", test_webpush_vector, 0},
  {"a text of Web Push opens as it was, for the right keys and undamaged", test_webpush, 0},
  {"a point that is not on the curve is refused", test_points, 0},
  {"the wrappers of system calls work", test_linux, 0},
  {"requests arrive whole, however they are cut, and other bytes do no harm", test_http, 0},
};

int main(int count, char **arguments) {
  if (count < 3) return 64;
  snprintf(directory, sizeof directory, "%s", arguments[1]);
  tools = arguments[2];
  if (count > 3) seed = strtoull(arguments[3], NULL, 10);
  setvbuf(stdout, NULL, _IOLBF, 0);
  printf("mbed TLS " MBEDTLS_VERSION_STRING ", SEED=%llu\n", (unsigned long long)seed);
  fill_sent();
  issue("ca", NULL, CMBED_AUTHORITY);
  issue("server", "ca", CMBED_SERVER);
  issue("client", "ca", CMBED_CLIENT);
  issue("elsewhere", NULL, CMBED_AUTHORITY);
  issue("stranger", "elsewhere", CMBED_CLIENT);
  int latest = MBEDTLS_VERSION_NUMBER >= 0x03000000 ? 3 : 2;
  for (size_t index = 0; index < sizeof tests / sizeof *tests; index++) {
    int last = tests[index].versions == 0 ? 2 : tests[index].versions < latest ? tests[index].versions : latest;
    for (int version = 2; version <= last; version++) {
      printf("%s%s\n", tests[index].name, tests[index].versions == 0 ? "" : version == 2 ? ", TLS 1.2" : ", TLS 1.3");
      received_count = 0;
      tests[index].run(version);
    }
  }
  puts("all tests passed");
  return 0;
}
