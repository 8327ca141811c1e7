/* The service's side of an HTTP/2 connection, by nghttp2: for what plays Apple's service. Bytes in, bytes out. */

#ifndef CHTTP2_SERVER_H
#define CHTTP2_SERVER_H

#include <stddef.h>
#include <stdint.h>

/* A request, whole. Texts end with a NUL; what is longer than fits is cut. What did not come is empty. */
typedef struct {
  int32_t stream;
  uint8_t is_duplicate; /* a header of these came twice */
  char method[8];
  char path[160];
  char authorization[1024];
  char topic[256];
  char push_type[32];
  char id[64];
  char expiration[32];
  char priority[8];
  char collapse_id[80];
  uint64_t payload_bytes; /* of all that came */
  uint32_t payload_count; /* of what is kept of it */
  uint8_t *payload;
} chttp2_push;

static inline const char *chttp2_push_method(const chttp2_push *push) { return push->method; }
static inline const char *chttp2_push_path(const chttp2_push *push) { return push->path; }
static inline const char *chttp2_push_authorization(const chttp2_push *push) { return push->authorization; }
static inline const char *chttp2_push_topic(const chttp2_push *push) { return push->topic; }
static inline const char *chttp2_push_type(const chttp2_push *push) { return push->push_type; }
static inline const char *chttp2_push_id(const chttp2_push *push) { return push->id; }
static inline const char *chttp2_push_expiration(const chttp2_push *push) { return push->expiration; }
static inline const char *chttp2_push_priority(const chttp2_push *push) { return push->priority; }
static inline const char *chttp2_push_collapse_id(const chttp2_push *push) { return push->collapse_id; }
static inline const uint8_t *chttp2_push_payload(const chttp2_push *push) { return push->payload; }

/* An answer. Texts that are NULL or empty are left out. */
typedef struct {
  int status;
  uint32_t retry_after; /* seconds; 0: not said */
  const char *id, *unique_id, *body;
} chttp2_reply;

typedef struct chttp2_server chttp2_server;

/* With the settings that it tells first; 0 for `window`: HTTP/2's own. Of a payload `payload_max` bytes are kept. NULL: out
   of memory. */
chttp2_server *chttp2_server_new(uint32_t streams_max, uint32_t window, uint32_t payload_max);
void chttp2_server_free(chttp2_server *server);

/* 0, or -1 where the client breaks the protocol. */
int chttp2_server_receive(chttp2_server *server, const uint8_t *bytes, size_t count);

/* Copies what is to be sent next: how many bytes, or -1. */
long chttp2_server_take(chttp2_server *server, uint8_t *room, size_t count);

/* Whether nothing more will be sent or taken: the connection has been ended, and all that it still had to answer is. */
int chttp2_server_is_over(const chttp2_server *server);

/* The next request that is whole; NULL: there is none. It stays until it is answered or reset, or its stream is gone. */
const chttp2_push *chttp2_server_next(chttp2_server *server);

/* Answers a request. */
void chttp2_server_answer(chttp2_server *server, int32_t stream, const chttp2_reply *reply);
void chttp2_server_reset(chttp2_server *server, int32_t stream, uint32_t error);
void chttp2_server_settings(chttp2_server *server, uint32_t streams_max);

/* Ends the connection: requests up to `last_stream` are still answered; negative: those that came so far. */
void chttp2_server_leave(chttp2_server *server, int32_t last_stream, uint32_t error, const char *text);

/* Requests that are open: begun, and neither answered to the end nor reset. */
size_t chttp2_server_open(const chttp2_server *server);

#endif
