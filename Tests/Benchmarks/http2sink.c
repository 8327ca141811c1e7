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
#include <nghttp2/nghttp2.h>

/* What goes out, for each connection. */
struct protocol {
  nghttp2_session *session;
  struct words *first, *last;
};

#include "sink.h"

enum { READ_BYTES = 16384, WRITE_BYTES = 65536, WINDOW_BYTES_LEAST = 65535, PATH_BYTES = 10 + 64 };

/* The bytes of one turn, until they are written. */
struct words {
  struct words *next;
  uint64_t due;
  size_t size, written;
  unsigned char bytes[WRITE_BYTES];
};

static struct { uint64_t malformed, resets, streams_max, header_bytes, payload_bytes; } requests;
static uint64_t streams_open, delay_ns, answers_max = UINT64_MAX;
static uint32_t streams_allowed = 1000, window_bytes = 1 << 20;

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
  struct words *first = connection->protocol.first;
  connection->protocol.first = first->next;
  if (!connection->protocol.first) connection->protocol.last = NULL;
  free(first);
}

static void close_protocol(struct connection *connection) {
  while (connection->protocol.first) forget_first(connection);
  SSL_shutdown(connection->ssl);
  nghttp2_session_del(connection->protocol.session);
}

/* --- HTTP/2 --------------------------------------------------------------------------------- */

static int on_begin(nghttp2_session *session, const nghttp2_frame *frame, void *of) {
  (void)session, (void)of;
  if (frame->headers.cat == NGHTTP2_HCAT_REQUEST && ++streams_open > requests.streams_max)
    requests.streams_max = streams_open;
  return 0;
}

/* Keeps only a request's index, plus 1 so that it is not NULL, in place of a pointer. */
static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_size,
                     const uint8_t *value, size_t value_size, uint8_t flags, void *of) {
  (void)flags, (void)of;
  if (name_size != 5 || memcmp(name, ":path", 5)) return 0;
  char digits[9] = "";
  if (value_size != PATH_BYTES || memcmp(value, "/3/device/", 10)) {
    requests.malformed++;
    return 0;
  }
  memcpy(digits, value + 10, 8);
  uintptr_t index = strtoul(digits, NULL, 16);
  nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, (void *)(index + 1));
  return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *of) {
  static char id[37] = "A1B2C3D4-0000-4000-8000-000000000000";
  static nghttp2_nv answer[] = {
    {(uint8_t *)":status", (uint8_t *)"200", 7, 3, NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE},
    {(uint8_t *)"apns-id", (uint8_t *)id, 7, 36, NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_INDEX}};
  (void)of;
  if (frame->hd.type == NGHTTP2_HEADERS) requests.header_bytes += frame->hd.length;
  if (frame->hd.type == NGHTTP2_DATA) requests.payload_bytes += frame->hd.length;
  if ((frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) ||
      !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
    return 0;
  uintptr_t index = (uintptr_t)nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
  if (index) count(index - 1, now());
  if (total.notifications > answers_max) return 0;
  snprintf(id + 24, 13, "%012llX", (unsigned long long)total.notifications);
  nghttp2_submit_response(session, frame->hd.stream_id, answer, 2, NULL);
  return 0;
}

static int on_close(nghttp2_session *session, int32_t stream, uint32_t code, void *of) {
  (void)session, (void)stream, (void)of;
  streams_open--;
  requests.resets += code != 0;
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
  if (nghttp2_session_server_new(&connection->protocol.session, callbacks, connection)) fail("session");
  nghttp2_submit_settings(connection->protocol.session, 0, settings, 1);
  if (window_bytes > WINDOW_BYTES_LEAST)
    nghttp2_session_set_local_window_size(connection->protocol.session, 0, 0, window_bytes);
}

static struct words *append_words(struct connection *connection) {
  struct words *words = malloc(sizeof *words);
  if (!words) fail("malloc");
  words->next = NULL;
  words->due = now() + delay_ns;
  words->size = words->written = 0;
  if (connection->protocol.last) connection->protocol.last->next = words;
  else connection->protocol.first = words;
  return connection->protocol.last = words;
}

/* Writes what is due, with one write for the answers of a turn. Returns whether the connection
   stays open. */
static int say(struct connection *connection) {
  struct words *words = NULL;
  const uint8_t *bytes;
  ssize_t size;
  while ((size = nghttp2_session_mem_send(connection->protocol.session, &bytes)) > 0) {
    if (!words || words->size + size > WRITE_BYTES) words = append_words(connection);
    memcpy(words->bytes + words->size, bytes, size);
    words->size += size;
  }
  while ((words = connection->protocol.first) && words->due <= now()) {
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

static int serve(struct connection *connection) {
  static unsigned char bytes[READ_BYTES];
  for (;;) {
    int more = SSL_read(connection->ssl, bytes, sizeof bytes);
    note_suite(connection->ssl);
    if (!connection->protocol.session && SSL_is_init_finished(connection->ssl)) open_session(connection);
    if (more <= 0) {
      int why = SSL_get_error(connection->ssl, more);
      if (why == SSL_ERROR_SSL) snprintf(fault, sizeof fault, "%s", ERR_reason_error_string(ERR_peek_error()));
      ERR_clear_error();
      if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) return 0;
      return !connection->protocol.session || say(connection);
    }
    total.bytes += more;
    ssize_t taken = nghttp2_session_mem_recv(connection->protocol.session, bytes, more);
    if (taken < 0) {
      snprintf(fault, sizeof fault, "%s", nghttp2_strerror(taken));
      return 0;
    }
    if (!say(connection)) return 0;
    nghttp2_session *session = connection->protocol.session;
    if (!nghttp2_session_want_read(session) && !nghttp2_session_want_write(session)) return 0;
  }
}

static void take_option(int option) {
  switch (option) {
    case 'n': streams_allowed = strtoul(optarg, NULL, 10); break;
    case 'w': window_bytes = strtoul(optarg, NULL, 10); break;
    case 'd': delay_ns = strtoull(optarg, NULL, 10) * 1000000; break;
    default: answers_max = strtoull(optarg, NULL, 10);
  }
}

static void run(int listener, SSL_CTX *context, uint64_t expected, uint64_t until) {
  sigset_t during = block_signals();
  while (!ended && now() < until && !(expected && total.notifications >= expected && !open_count)) {
    struct pollfd polled[CONNECTIONS_MAX + 1] = {{.fd = listener, .events = POLLIN}};
    uint64_t at = now(), wait = 1000000000ull;
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
      struct words *words = connections[i].protocol.first;
      int is_due = words && words->due <= at;
      if (words && !is_due && words->due - at < wait) wait = words->due - at;
      polled[i + 1] = (struct pollfd){.fd = connections[i].ssl ? connections[i].fd : -1,
                                      .events = is_due ? POLLIN | POLLOUT : POLLIN};
    }
    struct timespec timeout = {.tv_sec = wait / 1000000000ull, .tv_nsec = wait % 1000000000ull};
    if (ppoll(polled, CONNECTIONS_MAX + 1, &timeout, &during) < 0) continue;
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
      struct words *words = connections[i].protocol.first;
      int acts = polled[i + 1].revents || (words && words->due <= now());
      if (connections[i].ssl && acts && !serve(&connections[i])) close_connection(&connections[i]);
    }
    if (polled[0].revents) accept_from(listener, context);
  }
}

int main(int count, char **words) {
  static const struct option options[] = {
    COMMON_OPTIONS, {"streams", 1, 0, 'n'}, {"window", 1, 0, 'w'}, {"delay", 1, 0, 'd'}, {"answers", 1, 0, 'r'}, {0}};
  SSL_CTX *context = SSL_CTX_new(TLS_server_method());
  uint64_t expected = 0, seconds = 900;
  int port = 0;
  char own[256];
  read_options(count, words, options, context, &port, &expected, &seconds);
  SSL_CTX_set_alpn_select_cb(context, alpn, NULL);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  run(open_listener(port, context), context, expected, now() + seconds * 1000000000ull);
  snprintf(own, sizeof own,
           "\"malformed\": %llu, \"resets\": %llu, \"streams_max\": %llu, \"header_bytes\": %llu, "
           "\"payload_bytes\": %llu, ",
           (unsigned long long)requests.malformed, (unsigned long long)requests.resets,
           (unsigned long long)requests.streams_max, (unsigned long long)requests.header_bytes,
           (unsigned long long)requests.payload_bytes);
  return print_counts(own);
}
