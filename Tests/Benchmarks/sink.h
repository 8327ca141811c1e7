/* What sink.c and http2sink.c share: TLS, connections, counts and options.

   Before it includes this file, a sink defines `struct protocol`, which belongs to a connection. */

#ifndef SINK_H
#define SINK_H

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
  INDEX_MAX = 1 << 24,
};

struct connection {
  int fd;
  SSL *ssl;
  size_t wire_bytes; /* of the record being read */
  struct protocol protocol;
};

static struct connection connections[CONNECTIONS_MAX];
static int open_count;
static struct {
  uint64_t connections, notifications, distinct, out_of_order, bytes;
  uint64_t records, record_bytes, record_bytes_max, record_bytes_min, first_ns, last_ns;
} total;
static unsigned char seen[INDEX_MAX / 8];
static uint32_t last_index;
static char version[16], suite[64], fault[128];
static int times_file = -1;
static volatile sig_atomic_t ended;

/* Serves a connection that may have something to read or write. Returns whether it stays open. */
static int serve(struct connection *connection);

/* Frees what belongs to the protocol. */
static void close_protocol(struct connection *connection);

/* Takes an option of the protocol. */
static void take_option(int option);

static void end(int signal) { (void)signal, ended = 1; }

static void fail(const char *what) {
  fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, errno ? strerror(errno) : "");
  ERR_print_errors_fp(stderr);
  exit(1);
}

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000ull + time.tv_nsec;
}

/* Counts records: OpenSSL passes each record's header, and in TLS 1.3 then the inner type. */
static void on_message(int write, int version, int type, const void *bytes, size_t size, SSL *ssl, void *of) {
  struct connection *connection = of;
  const unsigned char *head = bytes;
  (void)version;
  if (write || !size) return;
  if (type == SSL3_RT_HEADER && size >= 5) connection->wire_bytes = 5 + (head[3] << 8 | head[4]);
  int counts = SSL_version(ssl) == TLS1_3_VERSION ? type == SSL3_RT_INNER_CONTENT_TYPE : type == SSL3_RT_HEADER;
  if (!counts || head[0] != SSL3_RT_APPLICATION_DATA) return;
  total.records++;
  total.record_bytes += connection->wire_bytes;
  if (connection->wire_bytes > total.record_bytes_max) total.record_bytes_max = connection->wire_bytes;
  if (!total.record_bytes_min || connection->wire_bytes < total.record_bytes_min)
    total.record_bytes_min = connection->wire_bytes;
}

static void close_connection(struct connection *connection) {
  close_protocol(connection);
  SSL_free(connection->ssl);
  close(connection->fd);
  connection->ssl = NULL;
  open_count--;
}

static void note_suite(SSL *ssl) {
  if (*suite || !SSL_is_init_finished(ssl)) return;
  snprintf(version, sizeof version, "%s", SSL_get_version(ssl));
  snprintf(suite, sizeof suite, "%s", SSL_get_cipher_name(ssl));
}

/* Counts a notification; the index is the first four bytes of its device token. */
static void count(uint32_t index, uint64_t at) {
  if (!total.notifications++) total.first_ns = at;
  else if (index < last_index) total.out_of_order++;
  total.last_ns = at;
  last_index = index;
  if (index < INDEX_MAX && !(seen[index / 8] & 1 << index % 8)) {
    seen[index / 8] |= 1 << index % 8;
    total.distinct++;
  }
  if (times_file >= 0) dprintf(times_file, "%u %llu\n", index, (unsigned long long)at);
}

static void accept_from(int listener, SSL_CTX *context) {
  int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) return;
  for (int i = 0; i < CONNECTIONS_MAX; i++) {
    struct connection *connection = &connections[i];
    if (connection->ssl) continue;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    memset(connection, 0, sizeof *connection);
    connection->fd = fd;
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

/* Reads the options that both sinks have; the others go to `take_option`. */
static void read_options(int count, char **words, const struct option *options, SSL_CTX *context, int *port,
                         uint64_t *expected, uint64_t *seconds) {
  int ok = 1, files = 0;
  for (int option; (option = getopt_long(count, words, "", options, NULL)) != -1;) {
    switch (option) {
      case 'c': ok &= SSL_CTX_use_certificate_chain_file(context, optarg), files++; break;
      case 'k': ok &= SSL_CTX_use_PrivateKey_file(context, optarg, SSL_FILETYPE_PEM), files++; break;
      case 'a':
        ok &= SSL_CTX_load_verify_file(context, optarg);
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
        break;
      case 'p': *port = atoi(optarg); break;
      case 'e': *expected = strtoull(optarg, NULL, 10); break;
      case 't': *seconds = strtoull(optarg, NULL, 10); break;
      case 'm': times_file = open(optarg, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644); break;
      case 'v': {
        int only = strcmp(optarg, "1.3") ? TLS1_2_VERSION : TLS1_3_VERSION;
        ok &= SSL_CTX_set_min_proto_version(context, only) & SSL_CTX_set_max_proto_version(context, only);
        break;
      }
      case 's': /* a suite of TLS 1.3 or an older one */
        ok &= SSL_CTX_set_ciphersuites(context, optarg) || SSL_CTX_set_cipher_list(context, optarg);
        break;
      case '?': exit(64);
      default: take_option(option);
    }
    if (!ok) fail(optarg);
  }
  if (files != 2) {
    fprintf(stderr, "%s: --certificate and --key are required\n", program_invocation_short_name);
    exit(64);
  }
}

#define COMMON_OPTIONS                                                                                              \
  {"certificate", 1, 0, 'c'}, {"key", 1, 0, 'k'}, {"ca", 1, 0, 'a'}, {"port", 1, 0, 'p'}, {"tls", 1, 0, 'v'},         \
    {"suite", 1, 0, 's'}, {"expect", 1, 0, 'e'}, {"seconds", 1, 0, 't'}, {"times", 1, 0, 'm'}

/* Listens, prints the port, and has the signals end the sink. */
static int open_listener(int port, SSL_CTX *context) {
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
  return listener;
}

/* Blocks the signals that end the sink, except during a wait with the mask returned. */
static sigset_t block_signals(void) {
  sigset_t blocked, during;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  sigaddset(&blocked, SIGINT);
  sigprocmask(SIG_BLOCK, &blocked, &during);
  return during;
}

/* Prints the counts as one line of JSON; `own` is the beginning, with the counts of the protocol. */
static int print_counts(const char *own) {
#define NUMBER(name) printf("\"" #name "\": %llu, ", (unsigned long long)total.name)
  printf("{%s", own);
  NUMBER(notifications), NUMBER(distinct), NUMBER(out_of_order), NUMBER(connections), NUMBER(bytes);
  NUMBER(records), NUMBER(record_bytes), NUMBER(record_bytes_min), NUMBER(record_bytes_max);
  NUMBER(first_ns), NUMBER(last_ns);
  printf("\"open\": %d, \"version\": \"%s\", \"suite\": \"%s\", \"fault\": \"%s\"}\n",
         open_count, version, suite, fault);
  return *fault != 0;
}

#endif
