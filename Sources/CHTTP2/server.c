#include <stdio.h>
#include <stdlib.h>

#include "internal.h"

struct request {
  chttp2_push push;
  struct request *next; /* in the list of complete requests */
  struct request *older, *newer; /* in the list of all open requests */
  char body[CHTTP2_BODY_MAX];
};

struct chttp2_server {
  nghttp2_session *http2;
  uint32_t payload_max;
  struct request *first, *last;
  struct request *newest;
  size_t open;
  const uint8_t *rest;
  size_t rest_count;
};

static struct request *request_of(chttp2_server *server, int32_t stream) {
  return stream > 0 ? nghttp2_session_get_stream_user_data(server->http2, stream) : NULL;
}

static int on_begin(nghttp2_session *http2, const nghttp2_frame *frame, void *user) {
  chttp2_server *server = user;
  if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
  struct request *request = calloc(1, sizeof *request);
  if (!request) return NGHTTP2_ERR_CALLBACK_FAILURE;
  request->push.stream = frame->hd.stream_id;
  server->open++;
  request->older = server->newest;
  if (server->newest) server->newest->newer = request;
  server->newest = request;
  nghttp2_session_set_stream_user_data(http2, frame->hd.stream_id, request);
  return 0;
}

static int on_header(nghttp2_session *http2, const nghttp2_frame *frame, const uint8_t *name, size_t name_count,
                     const uint8_t *value, size_t count, uint8_t flags, void *user) {
  (void)http2, (void)flags;
  struct request *request = request_of(user, frame->hd.stream_id);
  if (!request) return 0;
  chttp2_push *push = &request->push;
  const struct {
    const char *name;
    char *text;
    size_t room;
  } known[] = {
    {":method", push->method, sizeof push->method},
    {":path", push->path, sizeof push->path},
    {":authority", push->authority, sizeof push->authority},
    {"authorization", push->authorization, sizeof push->authorization},
    {"apns-topic", push->topic, sizeof push->topic},
    {"apns-push-type", push->push_type, sizeof push->push_type},
    {"apns-id", push->id, sizeof push->id},
    {"apns-expiration", push->expiration, sizeof push->expiration},
    {"apns-priority", push->priority, sizeof push->priority},
    {"apns-collapse-id", push->collapse_id, sizeof push->collapse_id},
    {"content-encoding", push->encoding, sizeof push->encoding},
    {"ttl", push->ttl, sizeof push->ttl},
    {"urgency", push->urgency, sizeof push->urgency},
    {"topic", push->message_topic, sizeof push->message_topic},
  };
  for (size_t index = 0; index < sizeof known / sizeof *known; index++) {
    if (strlen(known[index].name) == name_count && memcmp(known[index].name, name, name_count) == 0) {
      if (known[index].text[0]) push->is_duplicate = 1;
      snprintf(known[index].text, known[index].room, "%.*s", (int)count, (const char *)value);
    }
  }
  return 0;
}

static int on_data(nghttp2_session *http2, uint8_t flags, int32_t stream, const uint8_t *bytes, size_t count,
                   void *user) {
  (void)http2, (void)flags;
  chttp2_server *server = user;
  struct request *request = request_of(server, stream);
  if (!request) return 0;
  chttp2_push *push = &request->push;
  push->payload_bytes += count;
  size_t room = server->payload_max - push->payload_count;
  if (count > room) count = room;
  if (count == 0) return 0;
  uint8_t *payload = realloc(push->payload, push->payload_count + count);
  if (!payload) return NGHTTP2_ERR_CALLBACK_FAILURE;
  push->payload = payload;
  memcpy(payload + push->payload_count, bytes, count);
  push->payload_count += (uint32_t)count;
  return 0;
}

static void free_request(struct request *request) {
  free(request->push.payload);
  free(request);
}

static int on_frame(nghttp2_session *http2, const nghttp2_frame *frame, void *user) {
  (void)http2;
  chttp2_server *server = user;
  int is_request = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
  if (!is_request || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM)) return 0;
  struct request *request = request_of(server, frame->hd.stream_id);
  if (!request) return 0;
  if (server->last) {
    server->last->next = request;
  } else {
    server->first = request;
  }
  server->last = request;
  return 0;
}

static int on_close(nghttp2_session *http2, int32_t stream, uint32_t error, void *user) {
  (void)error;
  chttp2_server *server = user;
  struct request *request = request_of(server, stream);
  if (!request) return 0;
  nghttp2_session_set_stream_user_data(http2, stream, NULL);
  server->open--;
  if (request->older) request->older->newer = request->newer;
  if (request->newer) request->newer->older = request->older;
  if (server->newest == request) server->newest = request->older;
  struct request **link = &server->first, *before = NULL;
  while (*link && *link != request) before = *link, link = &(*link)->next;
  if (*link) {
    *link = request->next;
    if (server->last == request) server->last = before;
  }
  free_request(request);
  return 0;
}

chttp2_server *chttp2_server_new(uint32_t streams_max, uint32_t window, uint32_t payload_max) {
  chttp2_server *server = calloc(1, sizeof *server);
  nghttp2_session_callbacks *callbacks = NULL;
  if (!server || nghttp2_session_callbacks_new(&callbacks) != 0) goto failed;
  server->payload_max = payload_max;
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
  if (nghttp2_session_server_new(&server->http2, callbacks, server) != 0) goto failed;
  nghttp2_session_callbacks_del(callbacks);
  const nghttp2_settings_entry settings[] = {
    {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, streams_max},
    {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window},
  };
  nghttp2_submit_settings(server->http2, NGHTTP2_FLAG_NONE, settings, window > 0 ? 2 : 1);
  return server;
failed:
  if (callbacks) nghttp2_session_callbacks_del(callbacks);
  free(server);
  return NULL;
}

void chttp2_server_free(chttp2_server *server) {
  if (!server) return;
  while (server->newest) {
    struct request *older = server->newest->older;
    free_request(server->newest);
    server->newest = older;
  }
  nghttp2_session_del(server->http2);
  free(server);
}

int chttp2_server_receive(chttp2_server *server, const uint8_t *bytes, size_t count) {
  return nghttp2_session_mem_recv(server->http2, bytes, count) == (ssize_t)count ? 0 : -1;
}

long chttp2_server_take(chttp2_server *server, uint8_t *room, size_t count) {
  size_t taken = 0;
  while (taken < count) {
    if (server->rest_count == 0) {
      ssize_t framed = nghttp2_session_mem_send(server->http2, &server->rest);
      if (framed < 0) return -1;
      if (framed == 0) break;
      server->rest_count = (size_t)framed;
    }
    size_t some = server->rest_count < count - taken ? server->rest_count : count - taken;
    memcpy(room + taken, server->rest, some);
    server->rest += some;
    server->rest_count -= some;
    taken += some;
  }
  return (long)taken;
}

int chttp2_server_is_over(const chttp2_server *server) {
  return server->rest_count == 0 && !nghttp2_session_want_read(server->http2) &&
    !nghttp2_session_want_write(server->http2);
}

const chttp2_push *chttp2_server_next(chttp2_server *server) {
  struct request *request = server->first;
  if (!request) return NULL;
  server->first = request->next;
  if (!server->first) server->last = NULL;
  return &request->push;
}

const chttp2_push *chttp2_server_request(chttp2_server *server, int32_t stream) {
  struct request *request = request_of(server, stream);
  return request ? &request->push : NULL;
}

static ssize_t on_body(nghttp2_session *http2, int32_t stream, uint8_t *room, size_t count, uint32_t *flags,
                       nghttp2_data_source *source, void *user) {
  (void)http2, (void)stream, (void)user;
  const char *body = source->ptr;
  size_t length = strlen(body);
  if (length > count) length = count;
  memcpy(room, body, length);
  *flags |= NGHTTP2_DATA_FLAG_EOF;
  return (ssize_t)length;
}

static int has(const char *text) { return text && text[0]; }

void chttp2_server_answer(chttp2_server *server, int32_t stream, const chttp2_reply *reply) {
  struct request *request = request_of(server, stream);
  if (!request) return;
  char status[16], seconds[16];
  snprintf(status, sizeof status, "%d", reply->status);
  snprintf(seconds, sizeof seconds, "%u", reply->retry_after);
  snprintf(request->body, sizeof request->body, "%s", reply->body ? reply->body : "");
#define HEADER(name, text) \
  (nghttp2_nv){(uint8_t *)name, (uint8_t *)text, sizeof name - 1, strlen(text), NGHTTP2_NV_FLAG_NONE}
  nghttp2_nv headers[5] = {HEADER(":status", status)};
  size_t count = 1;
  if (has(reply->id)) headers[count++] = HEADER("apns-id", reply->id);
  if (has(reply->unique_id)) headers[count++] = HEADER("apns-unique-id", reply->unique_id);
  if (has(reply->location)) headers[count++] = HEADER("location", reply->location);
  if (reply->retry_after > 0) headers[count++] = HEADER("retry-after", seconds);
#undef HEADER
  nghttp2_data_provider provider = {.source.ptr = request->body, .read_callback = on_body};
  nghttp2_submit_response(server->http2, stream, headers, count, request->body[0] ? &provider : NULL);
}

void chttp2_server_reset(chttp2_server *server, int32_t stream, uint32_t error) {
  nghttp2_submit_rst_stream(server->http2, NGHTTP2_FLAG_NONE, stream, error);
}

void chttp2_server_settings(chttp2_server *server, uint32_t streams_max) {
  const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, streams_max}};
  nghttp2_submit_settings(server->http2, NGHTTP2_FLAG_NONE, settings, 1);
}

void chttp2_server_leave(chttp2_server *server, int32_t last_stream, uint32_t error, const char *text) {
  if (last_stream < 0) last_stream = nghttp2_session_get_last_proc_stream_id(server->http2);
  nghttp2_submit_goaway(server->http2, NGHTTP2_FLAG_NONE, last_stream, error, (const uint8_t *)text,
                        text ? strlen(text) : 0);
}

size_t chttp2_server_open(const chttp2_server *server) { return server->open; }
