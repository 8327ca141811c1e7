#include <stdlib.h>

#include "internal.h"

#define NOWHERE 0xFFFF

/* The most bytes of an answer's body that are read; the stream of a longer one is closed. */
#define BODY_READ_MAX 16384
/* The most bytes that a server may send on a stream: more than any answer of the push service. */
#define WINDOW 16384
#define HEADER_LIST_MAX 8192
/* The most answers to the server's own frames that may wait to be written. */
#define ACKNOWLEDGEMENTS_MAX 64

static chttp2_answer *answer_of(struct chttp2_session *session, int32_t stream) {
  return stream > 0 ? nghttp2_session_get_stream_user_data(session->http2, stream) : NULL;
}

/* --- callbacks ------------------------------------------------------------------------------ */

static void finish(struct chttp2_session *session, chttp2_answer *answer, uint32_t error) {
  if (answer->is_finished) return;
  uint16_t place = (uint16_t)(answer - session->answers);
  answer->is_finished = 1;
  answer->error = error;
  answer->next = NOWHERE;
  if (session->last_finished == NOWHERE) {
    session->first_finished = place;
  } else {
    session->answers[session->last_finished].next = place;
  }
  session->last_finished = place;
}

/* Returns the value of decimal digits; 0 for anything else. */
static uint32_t number(const uint8_t *text, size_t count) {
  uint32_t value = 0;
  if (count > 9) return 0;
  for (size_t index = 0; index < count; index++) {
    if (text[index] < '0' || text[index] > '9') return 0;
    value = value * 10 + (text[index] - '0');
  }
  return value;
}

static int on_header(nghttp2_session *http2, const nghttp2_frame *frame, const uint8_t *name, size_t name_count,
                     const uint8_t *value, size_t count, uint8_t flags, void *user) {
  (void)http2, (void)flags;
  struct chttp2_session *session = user;
  chttp2_answer *answer = answer_of(user, frame->hd.stream_id);
  if (!answer) return 0;
  if (name_count == 7 && memcmp(name, ":status", 7) == 0) {
    /* The status counts once the headers are complete: see on_frame. */
    session->status = number(value, count);
    session->status_stream = frame->hd.stream_id;
  } else if (name_count == 11 && memcmp(name, "retry-after", 11) == 0) {
    answer->retry_after = number(value, count);
    /* A date, which no service of today sends. */
    if (!answer->retry_after && count > 10) answer->retry_after = 60;
  }
  return 0;
}

static int on_data(nghttp2_session *http2, uint8_t flags, int32_t stream, const uint8_t *bytes, size_t count,
                   void *user) {
  (void)flags;
  chttp2_answer *answer = answer_of(user, stream);
  if (!answer || answer->is_finished) return 0;
  answer->body_read += (uint32_t)count;
  if (answer->body_read > BODY_READ_MAX) {
    /* The place may be another request's before the stream is closed. */
    nghttp2_session_set_stream_user_data(http2, stream, NULL);
    finish(user, answer, 0);
    nghttp2_submit_rst_stream(http2, NGHTTP2_FLAG_NONE, stream, NGHTTP2_CANCEL);
    return 0;
  }
  if (answer->status == 200) return 0;
  size_t room = CHTTP2_BODY_MAX - answer->body_count;
  if (count > room) count = room;
  memcpy(answer->body + answer->body_count, bytes, count);
  answer->body_count += (uint16_t)count;
  return 0;
}

static void end_sending(struct chttp2_session *session) {
  free(session->kept);
  session->kept = NULL;
  session->payload = NULL;
  session->payload_count = 0;
  session->sending = 0;
}

static int on_close(nghttp2_session *http2, int32_t stream, uint32_t error, void *user) {
  (void)http2;
  chttp2_answer *answer = answer_of(user, stream);
  if (answer) finish(user, answer, error);
  struct chttp2_session *session = user;
  if (stream == session->sending) end_sending(session);
  return 0;
}

static int on_frame(nghttp2_session *http2, const nghttp2_frame *frame, void *user) {
  (void)http2;
  struct chttp2_session *session = user;
  chttp2_answer *answer;
  switch (frame->hd.type) {
  case NGHTTP2_HEADERS:
    answer = answer_of(user, frame->hd.stream_id);
    /* An interim response (1xx) is no answer, and trailers have no status. */
    if (answer && session->status_stream == frame->hd.stream_id && session->status >= 200 && session->status < 1000)
      answer->status = (uint16_t)session->status;
    session->status_stream = 0;
    break;
  case NGHTTP2_SETTINGS:
    if (!(frame->hd.flags & NGHTTP2_FLAG_ACK)) session->has_settings = 1;
    break;
  case NGHTTP2_PING:
    if (frame->hd.flags & NGHTTP2_FLAG_ACK) session->pongs++;
    break;
  case NGHTTP2_GOAWAY:
    session->is_going_away = 1;
    session->goaway_error = frame->goaway.error_code;
    break;
  }
  return 0;
}

static ssize_t on_payload(nghttp2_session *http2, int32_t stream, uint8_t *room, size_t count, uint32_t *flags,
                          nghttp2_data_source *source, void *user) {
  (void)http2, (void)source;
  struct chttp2_session *session = user;
  if (session->sending && session->sending != stream) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  if (count > session->payload_count) count = session->payload_count;
  if (count > 0) memcpy(room, session->payload, count);
  session->payload += count;
  session->payload_count -= count;
  if (session->payload_count == 0) {
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (session->sending) end_sending(session);
  }
  return (ssize_t)count;
}

/* --- the session ---------------------------------------------------------------------------- */

static int open_session(struct chttp2_session *session) {
  nghttp2_session_callbacks *callbacks = NULL;
  nghttp2_option *options = NULL;
  nghttp2_mem memory = chttp2_memory(session);
  int result = -1;
  if (nghttp2_session_callbacks_new(&callbacks) != 0 || nghttp2_option_new(&options) != 0) goto done;
  nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
  /* Before its settings arrive, the server may not take more than one request. */
  nghttp2_option_set_peer_max_concurrent_streams(options, 1);
  nghttp2_option_set_max_reserved_remote_streams(options, 0);
  nghttp2_option_set_max_outbound_ack(options, ACKNOWLEDGEMENTS_MAX);
  nghttp2_option_set_no_closed_streams(options, 1);
  if (nghttp2_session_client_new3(&session->http2, callbacks, session, options, &memory) != 0) goto done;
  /* A server may send no table-size update after a smaller HEADER_TABLE_SIZE than 4,096 (h2o 2.2,
     lighttpd 1.4 and Varnish 7.1 do not): none is announced. */
  const nghttp2_settings_entry settings[] = {
    {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
    {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW},
    {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HEADER_LIST_MAX},
  };
  result = nghttp2_submit_settings(session->http2, NGHTTP2_FLAG_NONE, settings, sizeof settings / sizeof *settings);
done:
  nghttp2_session_callbacks_del(callbacks);
  nghttp2_option_del(options);
  return result;
}

chttp2_session *chttp2_new(chttp2_answer *answers, uint16_t capacity, size_t memory_max) {
  struct chttp2_session *session = calloc(1, sizeof *session);
  if (!session) return NULL;
  session->answers = answers;
  session->capacity = capacity;
  session->memory_max = memory_max;
  session->first_finished = session->last_finished = NOWHERE;
  if (open_session(session) == 0) return session;
  chttp2_free(session);
  return NULL;
}

void chttp2_free(chttp2_session *session) {
  if (!session) return;
  nghttp2_session_del(session->http2);
  chttp2_trim(session);
  free(session->kept);
  free(session);
}

static int break_off(struct chttp2_session *session) {
  session->is_broken = 1;
  return CHTTP2_BROKEN;
}

/* Whether nghttp2 has framed its protocol error and reads no more. */
static int has_given_up(const struct chttp2_session *session) {
  return !session->is_going_away && !nghttp2_session_want_read(session->http2);
}

int chttp2_receive(chttp2_session *session, const uint8_t *bytes, size_t count) {
  if (session->is_broken) return CHTTP2_BROKEN;
  ssize_t result = nghttp2_session_mem_recv(session->http2, bytes, count);
  return result < 0 || has_given_up(session) ? break_off(session) : 0;
}

int chttp2_next_finished(chttp2_session *session) {
  uint16_t place = session->first_finished;
  if (place == NOWHERE) return -1;
  session->first_finished = session->answers[place].next;
  if (session->first_finished == NOWHERE) session->last_finished = NOWHERE;
  return place;
}

long chttp2_take(chttp2_session *session, uint8_t *room, size_t count) {
  size_t taken = 0;
  if (session->is_broken) return CHTTP2_BROKEN;
  while (taken < count) {
    if (session->rest_count == 0) {
      ssize_t framed = nghttp2_session_mem_send(session->http2, &session->rest);
      if (framed < 0) return break_off(session);
      if (framed == 0) break;
      session->rest_count = (size_t)framed;
    }
    size_t some = session->rest_count < count - taken ? session->rest_count : count - taken;
    memcpy(room + taken, session->rest, some);
    session->rest += some;
    session->rest_count -= some;
    taken += some;
  }
  return has_given_up(session) ? break_off(session) : (long)taken;
}

#define HEADERS_MAX 16

long chttp2_request(chttp2_session *session, uint16_t place, const chttp2_header *headers, size_t header_count,
                    const uint8_t *payload, size_t payload_count, uint8_t *room, size_t count) {
  nghttp2_nv list[HEADERS_MAX];
  nghttp2_data_provider provider = {.read_callback = on_payload};
  chttp2_answer *answer = &session->answers[place];
  if (session->is_broken || session->sending || place >= session->capacity || header_count > HEADERS_MAX) {
    return CHTTP2_BROKEN;
  }
  for (size_t index = 0; index < header_count; index++) {
    uint8_t flags = NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE;
    if (!headers[index].is_indexed) flags |= NGHTTP2_NV_FLAG_NO_INDEX;
    list[index] = (nghttp2_nv){(uint8_t *)headers[index].name, (uint8_t *)headers[index].value,
                               headers[index].name_count, headers[index].count, flags};
  }
  memset(answer, 0, offsetof(chttp2_answer, body));
  session->payload = payload;
  session->payload_count = payload_count;
  int32_t stream = nghttp2_submit_request(session->http2, NULL, list, header_count, &provider, answer);
  if (stream < 0) {
    end_sending(session);
    return nghttp2_is_fatal(stream) ? break_off(session) : CHTTP2_ENDED;
  }
  answer->stream = stream;
  long taken = chttp2_take(session, room, count);
  if (taken < 0) return taken;
  if (session->payload_count > 0) {
    session->kept = malloc(session->payload_count);
    if (!session->kept) return break_off(session);
    memcpy(session->kept, session->payload, session->payload_count);
    session->payload = session->kept;
    session->sending = stream;
  }
  return taken;
}

void chttp2_cancel(chttp2_session *session, uint16_t place) {
  chttp2_forget(session, place);
  nghttp2_submit_rst_stream(session->http2, NGHTTP2_FLAG_NONE, session->answers[place].stream, NGHTTP2_CANCEL);
}

void chttp2_forget(chttp2_session *session, uint16_t place) {
  chttp2_answer *answer = &session->answers[place];
  if (answer->is_finished) return;
  nghttp2_session_set_stream_user_data(session->http2, answer->stream, NULL);
  answer->is_finished = 1;
}

void chttp2_ping(chttp2_session *session) { nghttp2_submit_ping(session->http2, NGHTTP2_FLAG_NONE, NULL); }

/* --- the server's limits and state ---------------------------------------------------------- */

int chttp2_has_settings(const chttp2_session *session) { return session->has_settings; }

uint32_t chttp2_streams_max(const chttp2_session *session) {
  return nghttp2_session_get_remote_settings(session->http2, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
}

int32_t chttp2_window(const chttp2_session *session) {
  if (session->sending) return -1;
  int32_t all = nghttp2_session_get_remote_window_size(session->http2);
  uint32_t one = nghttp2_session_get_remote_settings(session->http2, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE);
  uint32_t frame = nghttp2_session_get_remote_settings(session->http2, NGHTTP2_SETTINGS_MAX_FRAME_SIZE);
  if (frame < one) one = frame;
  return all < 0 || (uint32_t)all < one ? all : (int32_t)one;
}

uint32_t chttp2_pongs(const chttp2_session *session) { return session->pongs; }
int chttp2_is_going_away(const chttp2_session *session) { return session->is_going_away; }
uint32_t chttp2_goaway_error(const chttp2_session *session) { return session->goaway_error; }
