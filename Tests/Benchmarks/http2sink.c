/* http2sink: the gateway of the HTTP/2 benchmarks. It uses OpenSSL, so it shares no TLS with the
   measured programs.

     http2sink --certificate PEM --key PEM [--ca PEM] [--port N] [--tls 1.2|1.3] [--suite NAME]
               [--expect N] [--seconds N] [--streams N] [--window BYTES] [--times FILE] [--delay MS]
               [--answers N]

   Prints "listening PORT", then answers every request with 200 and an apns-id as fast as it can.
   With --ca it requires a client certificate. At SIGTERM, after --seconds, or when --expect
   requests have come and every connection is closed, it prints one JSON line of counts. --times
   writes "INDEX NANOSECONDS" (CLOCK_MONOTONIC) as each request is complete; INDEX is the first four
   bytes of its device token. --window sets the connection's window (1 MB); 65535 is HTTP/2's
   default. --delay sends everything in HTTP/2 so many milliseconds later, like a long distance.
   --answers answers only the first N requests. */

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

#include <nghttp2/nghttp2.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

enum {
  CONNECTIONS_MAX = 64,
  READ_BYTES = 16384,
  WRITE_BYTES = 65536,
  INDEX_MAX = 1 << 24,
  WINDOW_BYTES_LEAST = 65535,
  PATH_BYTES = 10 + 64,
};

/* The bytes of one turn, until they are written. */
struct words {
  struct words *next;
  uint64_t due;
  size_t size, written;
  unsigned char bytes[WRITE_BYTES];
};

struct connection {
  int fd;
  SSL *ssl;
  nghttp2_session *session;
  size_t wire_bytes; /* of the record being read */
  struct words *first, *last;
};

static struct connection connections[CONNECTIONS_MAX];
static int open_count;
static struct {
  uint64_t connections, notifications, distinct, out_of_order, malformed, resets, streams_max, bytes, payload_bytes;
  uint64_t header_bytes, records, record_bytes, record_bytes_max, record_bytes_min, first_ns, last_ns;
} total;
static uint64_t streams_open, delay_ns, answers_max = UINT64_MAX;
static unsigned char seen[INDEX_MAX / 8];
static uint32_t last_index, streams_allowed = 1000, window_bytes = 1 << 20;
static char version[16], suite[64], fault[128];
static int times_file = -1;
static volatile sig_atomic_t ended;

static void end(int signal) { (void)signal, ended = 1; }

static void fail(const char *what) {
  fprintf(stderr, "http2sink: %s: %s\n", what, errno ? strerror(errno) : "");
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

static int alpn(SSL *ssl, const unsigned char **out, unsigned char *out_size, const unsigned char *in, unsigned size,
                void *of) {
  (void)ssl, (void)of;
  unsigned char *chosen;
  if (SSL_select_next_proto(&chosen, out_size, (const unsigned char *)"\2h2", 3, in, size) != OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

static void forget_first(struct connection *connection) {
  struct words *first = connection->first;
  connection->first = first->next;
  if (!connection->first) connection->last = NULL;
  free(first);
}

static void close_connection(struct connection *connection) {
  while (connection->first) forget_first(connection);
  SSL_shutdown(connection->ssl);
  nghttp2_session_del(connection->session);
  SSL_free(connection->ssl);
  close(connection->fd);
  connection->ssl = NULL;
  connection->session = NULL;
  open_count--;
}

/* --- HTTP/2 --------------------------------------------------------------------------------- */

static int on_begin(nghttp2_session *session, const nghttp2_frame *frame, void *of) {
  (void)session, (void)of;
  if (frame->headers.cat == NGHTTP2_HCAT_REQUEST && ++streams_open > total.streams_max) total.streams_max = streams_open;
  return 0;
}

/* Keeps only a request's index, plus 1 so that it is not NULL, in place of a pointer. */
static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_size,
                     const uint8_t *value, size_t value_size, uint8_t flags, void *of) {
  (void)flags, (void)of;
  if (name_size != 5 || memcmp(name, ":path", 5)) return 0;
  char digits[9] = "";
  if (value_size != PATH_BYTES || memcmp(value, "/3/device/", 10)) {
    total.malformed++;
    return 0;
  }
  memcpy(digits, value + 10, 8);
  uintptr_t index = strtoul(digits, NULL, 16);
  nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, (void *)(index + 1));
  return 0;
}

static void count(uint32_t index) {
  uint64_t at = now();
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

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *of) {
  static char id[37] = "A1B2C3D4-0000-4000-8000-000000000000";
  static nghttp2_nv answer[] = {
    {(uint8_t *)":status", (uint8_t *)"200", 7, 3, NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE},
    {(uint8_t *)"apns-id", (uint8_t *)id, 7, 36, NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_INDEX}};
  (void)of;
  if (frame->hd.type == NGHTTP2_HEADERS) total.header_bytes += frame->hd.length;
  if (frame->hd.type == NGHTTP2_DATA) total.payload_bytes += frame->hd.length;
  if ((frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) ||
      !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
    return 0;
  uintptr_t index = (uintptr_t)nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
  if (index) count(index - 1);
  if (total.notifications > answers_max) return 0;
  snprintf(id + 24, 13, "%012llX", (unsigned long long)total.notifications);
  nghttp2_submit_response(session, frame->hd.stream_id, answer, 2, NULL);
  return 0;
}

static int on_close(nghttp2_session *session, int32_t stream, uint32_t code, void *of) {
  (void)session, (void)stream, (void)of;
  streams_open--;
  total.resets += code != 0;
  return 0;
}

static void open_session(struct connection *connection) {
  static nghttp2_session_callbacks *callbacks;
  if (!callbacks) {
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
  }
  nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, streams_allowed}};
  if (nghttp2_session_server_new(&connection->session, callbacks, connection)) fail("session");
  nghttp2_submit_settings(connection->session, 0, settings, 1);
  if (window_bytes > WINDOW_BYTES_LEAST)
    nghttp2_session_set_local_window_size(connection->session, 0, 0, window_bytes);
}

static struct words *append_words(struct connection *connection) {
  struct words *words = malloc(sizeof *words);
  if (!words) fail("malloc");
  words->next = NULL;
  words->due = now() + delay_ns;
  words->size = words->written = 0;
  if (connection->last) connection->last->next = words;
  else connection->first = words;
  return connection->last = words;
}

/* Writes what is due, with one write for the answers of a turn. Returns whether the connection
   stays open. */
static int say(struct connection *connection) {
  struct words *words = NULL;
  const uint8_t *bytes;
  ssize_t size;
  while ((size = nghttp2_session_mem_send(connection->session, &bytes)) > 0) {
    if (!words || words->size + size > WRITE_BYTES) words = append_words(connection);
    memcpy(words->bytes + words->size, bytes, size);
    words->size += size;
  }
  while ((words = connection->first) && words->due <= now()) {
    int wrote = SSL_write(connection->ssl, words->bytes + words->written, words->size - words->written);
    if (wrote <= 0) {
      int why = SSL_get_error(connection->ssl, wrote);
      ERR_clear_error();
      return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE;
    }
    words->written += wrote;
    if (words->written == words->size) forget_first(connection);
  }
  return size == 0;
}

/* Serves a connection. Returns whether it stays open. */
static int serve(struct connection *connection) {
  static unsigned char bytes[READ_BYTES];
  for (;;) {
    int more = SSL_read(connection->ssl, bytes, sizeof bytes);
    if (!connection->session && SSL_is_init_finished(connection->ssl)) {
      snprintf(version, sizeof version, "%s", SSL_get_version(connection->ssl));
      snprintf(suite, sizeof suite, "%s", SSL_get_cipher_name(connection->ssl));
      open_session(connection);
    }
    if (more <= 0) {
      int why = SSL_get_error(connection->ssl, more);
      if (why == SSL_ERROR_SSL) snprintf(fault, sizeof fault, "%s", ERR_reason_error_string(ERR_peek_error()));
      ERR_clear_error();
      return (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) && (!connection->session || say(connection));
    }
    total.bytes += more;
    ssize_t taken = nghttp2_session_mem_recv(connection->session, bytes, more);
    if (taken < 0) {
      snprintf(fault, sizeof fault, "%s", nghttp2_strerror(taken));
      return 0;
    }
    if (!say(connection)) return 0;
    if (!nghttp2_session_want_read(connection->session) && !nghttp2_session_want_write(connection->session)) return 0;
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
    uint64_t at = now(), wait = 1000000000ull;
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
      struct words *words = connections[i].first;
      int is_due = words && words->due <= at;
      if (words && !is_due && words->due - at < wait) wait = words->due - at;
      polled[i + 1] = (struct pollfd){.fd = connections[i].ssl ? connections[i].fd : -1,
                                      .events = is_due ? POLLIN | POLLOUT : POLLIN};
    }
    struct timespec timeout = {.tv_sec = wait / 1000000000ull, .tv_nsec = wait % 1000000000ull};
    if (ppoll(polled, CONNECTIONS_MAX + 1, &timeout, &during) < 0) continue;
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
      int acts = polled[i + 1].revents || (connections[i].first && connections[i].first->due <= now());
      if (connections[i].ssl && acts && !serve(&connections[i])) close_connection(&connections[i]);
    }
    if (polled[0].revents) accept_from(listener, context);
  }
}

int main(int count, char **words) {
  static const struct option options[] = {
    {"certificate", 1, 0, 'c'}, {"key", 1, 0, 'k'}, {"ca", 1, 0, 'a'}, {"port", 1, 0, 'p'}, {"tls", 1, 0, 'v'},
    {"suite", 1, 0, 's'}, {"expect", 1, 0, 'e'}, {"seconds", 1, 0, 't'}, {"times", 1, 0, 'm'}, {"streams", 1, 0, 'n'},
    {"window", 1, 0, 'w'}, {"delay", 1, 0, 'd'}, {"answers", 1, 0, 'r'}, {0},
  };
  SSL_CTX *context = SSL_CTX_new(TLS_server_method());
  uint64_t expected = 0, seconds = 900;
  int port = 0, ok = 1, files = 0;
  for (int option; (option = getopt_long(count, words, "", options, NULL)) != -1;) {
    switch (option) {
      case 'c': ok &= SSL_CTX_use_certificate_chain_file(context, optarg), files++; break;
      case 'k': ok &= SSL_CTX_use_PrivateKey_file(context, optarg, SSL_FILETYPE_PEM), files++; break;
      case 'a':
        ok &= SSL_CTX_load_verify_file(context, optarg);
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
        break;
      case 'p': port = atoi(optarg); break;
      case 'e': expected = strtoull(optarg, NULL, 10); break;
      case 't': seconds = strtoull(optarg, NULL, 10); break;
      case 'm': times_file = open(optarg, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644); break;
      case 'n': streams_allowed = strtoul(optarg, NULL, 10); break;
      case 'w': window_bytes = strtoul(optarg, NULL, 10); break;
      case 'd': delay_ns = strtoull(optarg, NULL, 10) * 1000000; break;
      case 'r': answers_max = strtoull(optarg, NULL, 10); break;
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
  if (files != 2) return fprintf(stderr, "http2sink: --certificate and --key are required\n"), 64;
  SSL_CTX_set_session_id_context(context, (const unsigned char *)"http2sink", 9);
  SSL_CTX_set_alpn_select_cb(context, alpn, NULL);
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
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
  NUMBER(notifications), NUMBER(distinct), NUMBER(out_of_order), NUMBER(malformed), NUMBER(resets);
  NUMBER(connections), NUMBER(streams_max), NUMBER(bytes), NUMBER(header_bytes), NUMBER(payload_bytes);
  NUMBER(records), NUMBER(record_bytes), NUMBER(record_bytes_min), NUMBER(record_bytes_max);
  NUMBER(first_ns), NUMBER(last_ns);
  printf("\"open\": %d, \"version\": \"%s\", \"suite\": \"%s\", \"fault\": \"%s\"}\n",
         open_count, version, suite, fault);
  return *fault != 0;
}
