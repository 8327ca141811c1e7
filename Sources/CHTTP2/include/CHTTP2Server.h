/* The server's end of an HTTP/2 connection, with nghttp2, for simulated push services. Bytes go in
   and come out. */

#ifndef CHTTP2_SERVER_H
#define CHTTP2_SERVER_H

#include <stddef.h>
#include <stdint.h>

/* A complete request. Texts end with a NUL and are truncated to fit; a missing header is empty. */
typedef struct {
  int32_t stream;
  uint8_t is_duplicate; /* whether one of these headers came twice */
  char method[8];
  char path[256];
  char authority[256];
  char authorization[1024];
  char topic[256];
  char push_type[32];
  char id[64];
  char expiration[32];
  char priority[8];
  char collapse_id[80];
  char encoding[32];      /* content-encoding */
  char ttl[32];
  char urgency[16];
  char message_topic[48]; /* topic, which replaces a stored message for a browser */
  uint64_t payload_bytes; /* the bytes of the payload that came */
  uint32_t payload_count; /* the bytes in `payload` */
  uint8_t *payload;
} chttp2_push;


/* Return the fields of a request. */
static inline const char *chttp2_push_method(const chttp2_push *push) { return push->method; }
static inline const char *chttp2_push_path(const chttp2_push *push) { return push->path; }
static inline const char *chttp2_push_authorization(const chttp2_push *push) { return push->authorization; }
static inline const char *chttp2_push_topic(const chttp2_push *push) { return push->topic; }
static inline const char *chttp2_push_type(const chttp2_push *push) { return push->push_type; }
static inline const char *chttp2_push_id(const chttp2_push *push) { return push->id; }
static inline const char *chttp2_push_expiration(const chttp2_push *push) { return push->expiration; }
static inline const char *chttp2_push_priority(const chttp2_push *push) { return push->priority; }
static inline const char *chttp2_push_collapse_id(const chttp2_push *push) { return push->collapse_id; }
static inline const char *chttp2_push_authority(const chttp2_push *push) { return push->authority; }
static inline const char *chttp2_push_encoding(const chttp2_push *push) { return push->encoding; }
static inline const char *chttp2_push_ttl(const chttp2_push *push) { return push->ttl; }
static inline const char *chttp2_push_urgency(const chttp2_push *push) { return push->urgency; }
static inline const char *chttp2_push_message_topic(const chttp2_push *push) { return push->message_topic; }
static inline const uint8_t *chttp2_push_payload(const chttp2_push *push) { return push->payload; }

/* A response. Texts that are NULL or empty are left out. */
typedef struct {
  int status;
  uint32_t retry_after; /* seconds; 0: no such header */
  const char *id, *unique_id, *location, *body;
} chttp2_reply;

typedef struct chttp2_server chttp2_server;

/* Creates a server's session, whose settings allow `streams_max` open requests and an initial
   window of `window` bytes (0: HTTP/2's default). `payload_max` bytes of each payload are kept.
   Returns NULL if there is no memory; free the session with chttp2_server_free. */
chttp2_server *chttp2_server_new(uint32_t streams_max, uint32_t window, uint32_t payload_max);

/* Frees a session and its requests; NULL is allowed. */
void chttp2_server_free(chttp2_server *server);

/* Takes in bytes from the client. Returns 0, or -1 if the client violates HTTP/2. */
int chttp2_server_receive(chttp2_server *server, const uint8_t *bytes, size_t count);

/* Copies the next bytes to send into `room` of `count` bytes. Returns their number, or -1. */
long chttp2_server_take(chttp2_server *server, uint8_t *room, size_t count);

/* Returns whether the connection is over: everything is sent, and nothing more comes. */
int chttp2_server_is_over(const chttp2_server *server);

/* Returns the next complete request, or NULL. The request stays valid until it is answered or
   reset, or until its stream is closed. */
const chttp2_push *chttp2_server_next(chttp2_server *server);

/* Returns the request of a stream that is neither answered completely nor reset, or NULL. */
const chttp2_push *chttp2_server_request(chttp2_server *server, int32_t stream);

/* Answers a request. */
void chttp2_server_answer(chttp2_server *server, int32_t stream, const chttp2_reply *reply);

/* Closes a request's stream with an HTTP/2 error code. */
void chttp2_server_reset(chttp2_server *server, int32_t stream, uint32_t error);

/* Announces another limit for open requests. */
void chttp2_server_settings(chttp2_server *server, uint32_t streams_max);

/* Announces the end of the connection (GOAWAY), with an error code and a debug text. Requests up to
   the stream `last_stream` are still answered; negative: all requests that have come so far. */
void chttp2_server_leave(chttp2_server *server, int32_t last_stream, uint32_t error, const char *text);

/* Returns the number of requests that are neither answered completely nor reset. */
size_t chttp2_server_open(const chttp2_server *server);

#endif
