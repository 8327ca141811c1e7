/* sink: the gateway of the benchmarks. It uses OpenSSL, so it shares no code with the measured
   programs.

     sink --certificate PEM --key PEM --ca PEM [--port N] [--tls 1.2|1.3] [--suite NAME] [--expect N]
          [--seconds N] [--record FILE] [--times FILE]

   Prints "listening PORT", then reads as fast as it can from clients with a certificate. A frame
   whose token does not have 32 bytes is a barrier: the answer is an error response of status 5, and
   the connection is closed. At SIGTERM, after --seconds, or when --expect notifications have come
   and every connection is closed, it prints one JSON line of counts. --record keeps the plaintext.
   --times writes "INDEX NANOSECONDS" (CLOCK_MONOTONIC) as each notification is read; INDEX is the
   first four bytes of its token. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

enum {
  CONNECTIONS_MAX = 64,
  FRAME_BYTES_MAX = 16384,
  READ_BYTES = 16384,
  INDEX_MAX = 1 << 24,
  DRAIN_SECONDS = 2,
};

struct connection {
  int fd;
  SSL *ssl;
  size_t held;
  uint32_t identifier;
  uint64_t drained_by; /* not 0: answered; reads the rest, so that no reset is sent */
  size_t wire_bytes;   /* of the record being read */
  unsigned char bytes[FRAME_BYTES_MAX + READ_BYTES];
};

static struct connection connections[CONNECTIONS_MAX];
static int open_count;
static struct {
  uint64_t connections, notifications, distinct, out_of_order, identifier_gaps, barriers, bytes;
  uint64_t records, record_bytes, record_bytes_max, record_bytes_min, first_ns, last_ns;
} total;
static unsigned char seen[INDEX_MAX / 8];
static uint32_t last_index;
static char version[16], suite[64], fault[128];
static int record_file = -1, times_file = -1;
static volatile sig_atomic_t ended;

static void end(int signal) { (void)signal, ended = 1; }

static void fail(const char *what) {
  fprintf(stderr, "sink: %s: %s\n", what, errno ? strerror(errno) : "");
  ERR_print_errors_fp(stderr);
  exit(1);
}

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000ull + time.tv_nsec;
}

static uint32_t number(const unsigned char *at, int size) {
  uint32_t value = 0;
  while (size--) value = value << 8 | *at++;
  return value;
}

/* Counts records: OpenSSL passes each record's header, and in TLS 1.3 then the inner type. */
static void on_message(int write, int version, int type, const void *bytes, size_t size, SSL *ssl, void *of) {
  struct connection *connection = of;
  const unsigned char *head = bytes;
  (void)version;
  if (write || !size) return;
  if (type == SSL3_RT_HEADER && size >= 5) connection->wire_bytes = 5 + number(head + 3, 2);
  int counts = SSL_version(ssl) == TLS1_3_VERSION ? type == SSL3_RT_INNER_CONTENT_TYPE : type == SSL3_RT_HEADER;
  if (!counts || head[0] != SSL3_RT_APPLICATION_DATA) return;
  total.records++;
  total.record_bytes += connection->wire_bytes;
  if (connection->wire_bytes > total.record_bytes_max) total.record_bytes_max = connection->wire_bytes;
  if (!total.record_bytes_min || connection->wire_bytes < total.record_bytes_min)
    total.record_bytes_min = connection->wire_bytes;
}

static void close_connection(struct connection *connection) {
  SSL_free(connection->ssl);
  close(connection->fd);
  connection->ssl = NULL;
  open_count--;
}

static void answer(struct connection *connection, uint32_t identifier) {
  unsigned char error[6] = {8, 5, identifier >> 24, identifier >> 16, identifier >> 8, identifier};
  total.barriers++;
  SSL_write(connection->ssl, error, sizeof error);
  SSL_shutdown(connection->ssl);
  shutdown(connection->fd, SHUT_WR);
  connection->drained_by = now() + DRAIN_SECONDS * 1000000000ull;
}

static void count(struct connection *connection, const unsigned char *token, uint32_t identifier, uint64_t at) {
  uint32_t index = number(token, 4);
  if (!total.notifications++) total.first_ns = at;
  else if (index < last_index) total.out_of_order++;
  total.last_ns = at;
  last_index = index;
  if (index < INDEX_MAX && !(seen[index / 8] & 1 << index % 8)) {
    seen[index / 8] |= 1 << index % 8;
    total.distinct++;
  }
  if (identifier && identifier != ++connection->identifier) {
    total.identifier_gaps++;
    connection->identifier = identifier;
  }
  if (times_file >= 0) dprintf(times_file, "%u %llu\n", index, (unsigned long long)at);
}

/* Returns the length of the frame at `frame`, 0 if it is incomplete, or -1 if it is invalid. */
static long frame(const unsigned char *frame, size_t size, const unsigned char **token, size_t *token_size,
                  uint32_t *identifier) {
  *token = NULL, *token_size = 0, *identifier = 0;
  if (frame[0] == 2) {
    if (size < 5) return 0;
    size_t whole = 5 + (size_t)number(frame + 1, 4);
    if (whole > FRAME_BYTES_MAX) return -1;
    if (size < whole) return 0;
    for (size_t at = 5; at < whole;) {
      if (whole - at < 3) return -1;
      size_t length = number(frame + at + 1, 2);
      if (at + 3 + length > whole) return -1;
      if (frame[at] == 1) *token = frame + at + 3, *token_size = length;
      if (frame[at] == 3 && length == 4) *identifier = number(frame + at + 3, 4);
      at += 3 + length;
    }
    return whole;
  }
  if (frame[0] > 1) return -1;
  size_t head = frame[0] ? 9 : 1;
  if (size < head + 2) return 0;
  *token_size = number(frame + head, 2);
  if (*token_size > FRAME_BYTES_MAX / 2) return -1;
  if (size < head + 4 + *token_size) return 0;
  size_t whole = head + 4 + *token_size + number(frame + head + 2 + *token_size, 2);
  if (whole > FRAME_BYTES_MAX) return -1;
  if (size < whole) return 0;
  *token = frame + head + 2;
  if (frame[0]) *identifier = number(frame + 1, 4);
  return whole;
}

static void take(struct connection *connection, size_t more) {
  uint64_t at = now();
  size_t done = 0;
  total.bytes += more;
  if (record_file >= 0 && write(record_file, connection->bytes + connection->held, more) < 0) fail("record");
  connection->held += more;
  while (done < connection->held && !connection->drained_by) {
    const unsigned char *token;
    size_t token_size;
    uint32_t identifier;
    long size = frame(connection->bytes + done, connection->held - done, &token, &token_size, &identifier);
    if (size == 0) break;
    if (size < 0) {
      snprintf(fault, sizeof fault, "malformed after notification %llu", (unsigned long long)total.notifications);
      connection->drained_by = at;
      break;
    }
    if (token_size == 32) count(connection, token, identifier, at);
    else answer(connection, identifier);
    done += size;
  }
  if (connection->drained_by) done = connection->held;
  connection->held -= done;
  memmove(connection->bytes, connection->bytes + done, connection->held);
}

/* Serves a connection. Returns whether it stays open. */
static int serve(struct connection *connection) {
  for (;;) {
    int more = SSL_read(connection->ssl, connection->bytes + connection->held, READ_BYTES);
    if (!*suite && SSL_is_init_finished(connection->ssl)) {
      snprintf(version, sizeof version, "%s", SSL_get_version(connection->ssl));
      snprintf(suite, sizeof suite, "%s", SSL_get_cipher_name(connection->ssl));
    }
    if (more <= 0) {
      int why = SSL_get_error(connection->ssl, more);
      if (why == SSL_ERROR_SSL && !connection->drained_by)
        snprintf(fault, sizeof fault, "%s", ERR_reason_error_string(ERR_peek_error()));
      ERR_clear_error();
      return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE;
    }
    if (!connection->drained_by) take(connection, more);
  }
}

static void accept_from(int listener, SSL_CTX *context) {
  int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) return;
  for (int i = 0; i < CONNECTIONS_MAX; i++) {
    struct connection *connection = &connections[i];
    if (connection->ssl) continue;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    connection->fd = fd;
    connection->held = connection->identifier = connection->drained_by = 0;
    connection->ssl = SSL_new(context);
    SSL_set_fd(connection->ssl, fd);
    SSL_set_accept_state(connection->ssl);
    SSL_set_msg_callback(connection->ssl, on_message);
    SSL_set_msg_callback_arg(connection->ssl, connection);
    total.connections++;
    open_count++;
    return;
  }
  close(fd);
}

static void run(int listener, SSL_CTX *context, uint64_t expected, uint64_t until) {
  sigset_t blocked, during;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  sigaddset(&blocked, SIGINT);
  sigprocmask(SIG_BLOCK, &blocked, &during);
  while (!ended && now() < until && !(expected && total.notifications >= expected && !open_count)) {
    struct pollfd polled[CONNECTIONS_MAX + 1] = {{.fd = listener, .events = POLLIN}};
    for (int i = 0; i < CONNECTIONS_MAX; i++)
      polled[i + 1] = (struct pollfd){.fd = connections[i].ssl ? connections[i].fd : -1, .events = POLLIN};
    if (ppoll(polled, CONNECTIONS_MAX + 1, &(struct timespec){.tv_sec = 1}, &during) < 0) continue;
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
      struct connection *connection = &connections[i];
      if (!connection->ssl) continue;
      int goes_on = !polled[i + 1].revents || serve(connection);
      if (!goes_on || (connection->drained_by && now() > connection->drained_by)) close_connection(connection);
    }
    if (polled[0].revents) accept_from(listener, context);
  }
}

int main(int count, char **words) {
  static const struct option options[] = {
    {"certificate", 1, 0, 'c'}, {"key", 1, 0, 'k'}, {"ca", 1, 0, 'a'}, {"port", 1, 0, 'p'}, {"tls", 1, 0, 'v'},
    {"suite", 1, 0, 's'}, {"expect", 1, 0, 'e'}, {"seconds", 1, 0, 't'}, {"record", 1, 0, 'r'}, {"times", 1, 0, 'm'},
    {0},
  };
  SSL_CTX *context = SSL_CTX_new(TLS_server_method());
  uint64_t expected = 0, seconds = 900;
  int port = 0, ok = 1, files = 0;
  for (int option; (option = getopt_long(count, words, "", options, NULL)) != -1;) {
    switch (option) {
      case 'c': ok &= SSL_CTX_use_certificate_chain_file(context, optarg), files++; break;
      case 'k': ok &= SSL_CTX_use_PrivateKey_file(context, optarg, SSL_FILETYPE_PEM), files++; break;
      case 'a': ok &= SSL_CTX_load_verify_file(context, optarg), files++; break;
      case 'p': port = atoi(optarg); break;
      case 'e': expected = strtoull(optarg, NULL, 10); break;
      case 't': seconds = strtoull(optarg, NULL, 10); break;
      case 'r': record_file = open(optarg, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644); break;
      case 'm': times_file = open(optarg, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644); break;
      case 'v': {
        int only = strcmp(optarg, "1.3") ? TLS1_2_VERSION : TLS1_3_VERSION;
        ok &= SSL_CTX_set_min_proto_version(context, only) & SSL_CTX_set_max_proto_version(context, only);
        break;
      }
      case 's': /* a suite of TLS 1.3 or an older one */
        ok &= SSL_CTX_set_ciphersuites(context, optarg) || SSL_CTX_set_cipher_list(context, optarg);
        break;
      default: return 64;
    }
    if (!ok) fail(optarg);
  }
  if (files != 3) return fprintf(stderr, "sink: --certificate, --key and --ca are required\n"), 64;
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
  SSL_CTX_set_session_id_context(context, (const unsigned char *)"sink", 4);
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF); /* a killed client is no error here */

  int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
  if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 16)) fail("listen");
  getsockname(listener, (struct sockaddr *)&address, &size);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGTERM, end);
  signal(SIGINT, end);
  printf("listening %d\n", ntohs(address.sin_port));
  fflush(stdout);
  run(listener, context, expected, now() + seconds * 1000000000ull);

#define NUMBER(name) printf("\"" #name "\": %llu, ", (unsigned long long)total.name)
  printf("{");
  NUMBER(notifications), NUMBER(distinct), NUMBER(out_of_order), NUMBER(identifier_gaps), NUMBER(barriers);
  NUMBER(connections), NUMBER(bytes), NUMBER(records), NUMBER(record_bytes), NUMBER(record_bytes_min);
  NUMBER(record_bytes_max), NUMBER(first_ns), NUMBER(last_ns);
  printf("\"open\": %d, \"version\": \"%s\", \"suite\": \"%s\", \"fault\": \"%s\"}\n",
         open_count, version, suite, fault);
  return *fault != 0;
}
