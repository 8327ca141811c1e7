/* http2floor: a client of Apple's HTTP/2 service that does only what every agent must do. floor.c
   is its counterpart for the binary protocol.

     http2floor files DIR   PORT CA [option...]     one notification in each file, which is renamed
                                                    into taken/ beside DIR, and unlinked once it is
                                                    answered with 200
     http2floor lines FILE  PORT CA [option...]     one notification on each line
     http2floor idle  FILE  PORT CA [option...]     sends the file's notification, then keeps the
                                                    connection
     http2floor watch DIR   PORT CA [option...]     sends each file as soon as it is renamed into DIR
     --certificate PEM --key PEM     uses a client certificate
     --token JWT                     sends a provider token with each request
     --streams N                     concurrent requests, within the gateway's limit (1000)
     --topic TOPIC                   the topic of all requests (com.example.tinypush)
     --ids                           sends apns-id and apns-collapse-id with each request

   It does not check or repeat anything. Every input has the form
   {"token":"HEX","expiration":N,"payload":{...}}. Bytes go out as TLS records of up to 16 KB. A
   request is made only when both windows take its whole payload, so that no payload is kept. An
   answer other than 200 is an error. When all is answered, it prints one JSON line of counts. */

#include "floor.h"

#include <getopt.h>
#include <nghttp2/nghttp2.h>

enum { PATH_BYTES = 10 + 64 };

static nghttp2_session *session;
static struct { uint64_t requests, answers, payload_bytes; } total;
static uint32_t streams = 1000;
static int open_count;

static void must_nghttp2(int code, const char *what) {
  if (code >= 0) return;
  fprintf(stderr, "http2floor: %s: %s\n", what, nghttp2_strerror(code));
  exit(1);
}

/* Collects the session's bytes in the batch, and sends full batches. */
static void gather(void) {
  const uint8_t *bytes;
  ssize_t size;
  while ((size = nghttp2_session_mem_send(session, &bytes)) > 0)
    while (size) {
      size_t some = BATCH_BYTES - batched < (size_t)size ? BATCH_BYTES - batched : (size_t)size;
      memcpy(batch + batched, bytes, some);
      bytes += some, size -= some;
      if ((batched += some) == BATCH_BYTES) flush();
    }
  must_nghttp2(size, "send");
}

/* --- HTTP/2 --------------------------------------------------------------------------------- */

static int on_header(nghttp2_session *of, const nghttp2_frame *frame, const uint8_t *name, size_t name_size,
                     const uint8_t *value, size_t value_size, uint8_t flags, void *user) {
  (void)of, (void)frame, (void)flags, (void)user;
  if (name_size == 7 && !memcmp(name, ":status", 7) && (value_size != 3 || memcmp(value, "200", 3))) {
    fprintf(stderr, "http2floor: answered %.*s\n", (int)value_size, (const char *)value);
    exit(1);
  }
  return 0;
}

static int on_close(nghttp2_session *of, int32_t stream, uint32_t code, void *user) {
  (void)user;
  const char *name = nghttp2_session_get_stream_user_data(of, stream);
  if (code) must(-1, "a stream was reset");
  total.answers++;
  open_count--;
  if (name && *name) unlinkat(taken, name, 0);
  return 0;
}

static void open_session(void) {
  nghttp2_session_callbacks *callbacks;
  nghttp2_option *options;
  static const nghttp2_settings_entry settings[] = {
    {NGHTTP2_SETTINGS_ENABLE_PUSH, 0}, {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 16384},
    {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, 16384}};
  must_nghttp2(nghttp2_session_callbacks_new(&callbacks), "callbacks");
  nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
  must_nghttp2(nghttp2_option_new(&options), "options");
  nghttp2_option_set_no_closed_streams(options, 1);
  nghttp2_option_set_peer_max_concurrent_streams(options, 1); /* as Apple's service: until its settings */
  must_nghttp2(nghttp2_session_client_new2(&session, callbacks, NULL, options), "session");
  nghttp2_option_del(options);
  nghttp2_session_callbacks_del(callbacks);
  must_nghttp2(nghttp2_submit_settings(session, 0, settings, sizeof settings / sizeof *settings), "settings");
}

/* Reads everything that has come; if `waits`, waits for something first. */
static void hear(int waits) {
  static unsigned char bytes[BATCH_BYTES];
  for (;;) {
    int got = mbedtls_ssl_read(&ssl, bytes, sizeof bytes);
    if (got == MBEDTLS_ERR_SSL_WANT_READ) {
      if (!waits) return;
      poll(&(struct pollfd){.fd = gateway, .events = POLLIN}, 1, -1);
      continue;
    }
#ifdef MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET
    if (got == MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET) continue;
#endif
    if (got == 0) got = -1;
    must(got, "the gateway's answers");
    ssize_t taken = nghttp2_session_mem_recv(session, bytes, got);
    must_nghttp2(taken, "receive");
    waits = 0;
  }
}

/* --- notifications -------------------------------------------------------------------------- */

enum { METHOD, SCHEME, AUTHORITY, PATH, TOPIC, TYPE, PRIORITY, EXPIRATION, OTHERS };

static nghttp2_nv request[OTHERS + 3];
static int header_count = OTHERS, writes_ids;
static char path_text[PATH_BYTES + 1] = "/3/device/", id_text[37] = "00000000-0000-0000-0000-000000000000";
static char collapse_text[17], hex_digits[256][2];

static nghttp2_nv header(const char *name, const char *value, int is_indexed) {
  int flags = NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE;
  return (nghttp2_nv){(uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value),
                      is_indexed ? flags : flags | NGHTTP2_NV_FLAG_NO_INDEX};
}

static void prepare(const char *port, const char *topic, const char *token, int has_ids) {
  char number[3];
  static char authority[32], authorization[2048];
  snprintf(authority, sizeof authority, "localhost:%s", port);
  request[METHOD] = header(":method", "POST", 1);
  request[SCHEME] = header(":scheme", "https", 1);
  request[AUTHORITY] = header(":authority", authority, 1);
  request[PATH] = header(":path", path_text, 0);
  request[PATH].valuelen = PATH_BYTES;
  request[TOPIC] = header("apns-topic", topic, 1);
  request[TYPE] = header("apns-push-type", "alert", 1);
  request[PRIORITY] = header("apns-priority", "10", 1);
  request[EXPIRATION] = header("apns-expiration", "", 0);
  if (token) {
    snprintf(authorization, sizeof authorization, "bearer %s", token);
    request[header_count++] = header("authorization", authorization, 0);
  }
  if (has_ids) {
    for (int i = 0; i < 256; i++) sprintf(number, "%02x", i), memcpy(hex_digits[i], number, 2);
    writes_ids = 1;
    request[header_count++] = header("apns-id", id_text, 0);
    request[header_count] = header("apns-collapse-id", collapse_text, 0);
    request[header_count++].valuelen = sizeof collapse_text - 1;
  }
}

struct payload { const char *bytes; size_t size; }; /* the unsent rest */

static ssize_t body(nghttp2_session *of, int32_t stream, uint8_t *to, size_t size, uint32_t *flags,
                    nghttp2_data_source *source, void *user) {
  struct payload *left = source->ptr;
  (void)of, (void)stream, (void)user;
  if (size > left->size) size = left->size;
  memcpy(to, left->bytes, size);
  left->bytes += size, left->size -= size;
  if (!left->size) *flags |= NGHTTP2_DATA_FLAG_EOF;
  return size;
}

/* Whether another request can be made, with room for its payload. */
static int has_room(size_t payload_size) {
  uint32_t allowed = nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
  return (uint32_t)open_count < (allowed < streams ? allowed : streams) &&
         nghttp2_session_get_remote_window_size(session) >= (int32_t)payload_size &&
         nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE) >= payload_size;
}

static void hex(char *to, uint64_t number, int bytes) {
  while (bytes--) memcpy(to, hex_digits[number >> 8 * bytes & 255], 2), to += 2;
}

/* Returns an unpredictable number for each notification. */
static void write_ids(void) {
  uint64_t one = (total.requests + 1) * 0x9E3779B97F4A7C15, other = one * 0xFF51AFD7ED558CCD;
  hex(id_text, one >> 32, 4), hex(id_text + 9, one >> 16, 2), hex(id_text + 14, one, 2);
  hex(id_text + 19, other >> 48, 2), hex(id_text + 24, other, 6);
  hex(collapse_text, other, 8);
}

/* Makes a request; the file `name` is unlinked once it is answered. */
static int add(const char *text, size_t size, const char *name) {
  const char *token = after(text, size, "\"token\":\""), *end = text + size;
  char *expiration = after(token + 64, end - token - 64, "\"expiration\":");
  const char *payload = after(expiration, end - expiration, "\"payload\":");
  struct payload left = {payload, end - 1 - payload};
  nghttp2_data_provider provider = {.source.ptr = &left, .read_callback = body};

  while (!has_room(left.size)) {
    gather();
    flush();
    hear(1);
  }
  memcpy(path_text + 10, token, 64);
  request[EXPIRATION].value = (uint8_t *)expiration;
  request[EXPIRATION].valuelen = strspn(expiration, "0123456789");
  if (writes_ids) write_ids();
  total.requests++;
  total.payload_bytes += left.size;
  must_nghttp2(nghttp2_submit_request(session, NULL, request, header_count, &provider, (void *)name), "request");
  open_count++;
  gather();
  if (left.size) must(-1, "a payload was not taken whole");
  return 0;
}

static void confirm(void) {
  gather();
  flush();
  while (open_count) {
    hear(1);
    gather();
    flush();
  }
}

static void send_files(const char *path) {
  struct dirent **names;
  open_directories(path);
  int count = scandir(path, &names, is_visible, alphasort);
  must(count, path);
  for (int i = 0; i < count; i++) take_file(names[i]->d_name);
  confirm();
}

static void watch(const char *path) {
  /* The names stay until the answers. */
  enum { EVENT_BYTES = 4096, NAME_BYTES = 16, NAMES = 16384 };
  static char events[EVENT_BYTES] __attribute__((aligned(8))), names[NAMES][NAME_BYTES];
  unsigned next = 0;
  int watcher = inotify_init1(IN_CLOEXEC);
  open_directories(path);
  must(inotify_add_watch(watcher, path, IN_MOVED_TO), path);
  for (;;) {
    struct pollfd ready[] = {{.fd = watcher, .events = POLLIN}, {.fd = gateway, .events = POLLIN}};
    must(poll(ready, 2, -1), "poll");
    if (ready[1].revents) hear(0);
    ssize_t size = ready[0].revents ? read(watcher, events, sizeof events) : 0;
    must(size, "inotify");
    for (ssize_t at = 0; at < size;) {
      struct inotify_event *event = (void *)(events + at);
      char *name = names[next++ % NAMES];
      strncpy(name, event->name, NAME_BYTES - 1);
      take_file(name);
      at += sizeof *event + event->len;
    }
    gather();
    flush();
  }
}

int main(int count, char **words) {
  static const struct option options[] = {
    {"certificate", 1, 0, 'c'}, {"key", 1, 0, 'k'}, {"token", 1, 0, 'j'}, {"streams", 1, 0, 's'},
    {"topic", 1, 0, 't'}, {"ids", 0, 0, 'i'}, {0},
  };
  const char *protocols[] = {"h2", NULL};
  const char *certificate_file = NULL, *key_file = NULL, *token = NULL, *topic = "com.example.tinypush";
  int has_ids = 0;
  for (int option; (option = getopt_long(count, words, "", options, NULL)) != -1;) {
    switch (option) {
      case 'c': certificate_file = optarg; break;
      case 'k': key_file = optarg; break;
      case 'j': token = optarg; break;
      case 's': streams = strtoul(optarg, NULL, 10); break;
      case 't': topic = optarg; break;
      case 'i': has_ids = 1; break;
      default: return 64;
    }
  }
  if (count - optind != 4) {
    fprintf(stderr, "usage: http2floor files|lines|idle|watch PATH PORT CA [option...]\n");
    return 64;
  }
  const char *mode = words[optind], *path = words[optind + 1], *port = words[optind + 2];
  connect_to(port, words[optind + 3], certificate_file, key_file, protocols);
  const char *protocol = mbedtls_ssl_get_alpn_protocol(&ssl);
  if (!protocol || strcmp(protocol, "h2")) must(-1, "ALPN: the gateway does not speak h2");
  must(fcntl(gateway, F_SETFL, O_NONBLOCK), "fcntl");
  prepare(port, topic, token, has_ids);
  open_session();
  if (!strcmp(mode, "files")) {
    send_files(path);
  } else if (!strcmp(mode, "lines")) {
    add_lines(path);
    confirm();
    unlink(path);
  } else if (!strcmp(mode, "idle")) {
    add_file(AT_FDCWD, path);
    confirm();
    malloc_trim(0);
    for (;;) pause();
  } else if (!strcmp(mode, "watch")) {
    watch(path);
  } else {
    must(-1, mode);
  }
  nghttp2_session_terminate_session(session, NGHTTP2_NO_ERROR);
  gather();
  flush();
  mbedtls_ssl_close_notify(&ssl);
  printf("{\"requests\": %llu, \"answers\": %llu, \"records\": %llu, \"bytes\": %llu, \"payload_bytes\": %llu}\n",
         (unsigned long long)total.requests, (unsigned long long)total.answers, (unsigned long long)records,
         (unsigned long long)sent_bytes, (unsigned long long)total.payload_bytes);
  return 0;
}
