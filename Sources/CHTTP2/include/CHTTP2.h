/* CHTTP2: the client's side of an HTTP/2 connection, by nghttp2. Bytes in, bytes out: no socket, no clock.

   One opaque session a connection. A request has a place, a number that the caller chooses and that the answer bears; the
   memory for the answers is the caller's. nghttp2's own memory is bounded. */

#ifndef CHTTP2_H
#define CHTTP2_H

#include <stddef.h>
#include <stdint.h>

/* What a call came to, where it is negative. */
enum {
  CHTTP2_BROKEN = -1, /* the server does not keep to the protocol, or asks for too much: close the connection */
  CHTTP2_ENDED = -2,  /* no more requests can be made on this connection */
};

/* Bytes of an answer's body that are kept. */
#define CHTTP2_BODY_MAX 256

/* What becomes of a request. */
typedef struct {
  int32_t stream;       /* 0: the place is free */
  uint16_t next;        /* in the list of those that are over */
  uint16_t status;      /* 0: none came */
  uint16_t body_count;
  uint8_t is_over;      /* nothing more comes */
  uint32_t error;       /* the error code with which the stream was closed; 0: in order */
  uint32_t retry_after; /* seconds; 0: not said */
  uint32_t body_read;   /* bytes of the body, kept or not */
  uint8_t body[CHTTP2_BODY_MAX]; /* of an answer other than 200 */
} chttp2_answer;

static inline const uint8_t *chttp2_answer_body(const chttp2_answer *answer) { return answer->body; }

typedef struct {
  const uint8_t *name;
  size_t name_count;
  const uint8_t *value;
  size_t count;
  int is_indexed; /* the value comes often: the server may remember it */
} chttp2_header;

typedef struct chttp2_session chttp2_session;

/* A client's session, whose first bytes to send are the preface and our settings. `answers` has `capacity` places, at most
   65,535, and outlives the session. nghttp2 gets `memory_max` bytes at most. NULL: out of memory. */
chttp2_session *chttp2_new(chttp2_answer *answers, uint16_t capacity, size_t memory_max);
void chttp2_free(chttp2_session *session);

/* Takes in what the server sent: 0 or CHTTP2_BROKEN. */
int chttp2_receive(chttp2_session *session, const uint8_t *bytes, size_t count);

/* The place of a request that is over, or -1. The answer stays until the place is used again. */
int chttp2_next_over(chttp2_session *session);

/* Copies what is to be sent next to `room`: how many bytes, or CHTTP2_BROKEN. 0: nothing is to be sent. */
long chttp2_take(chttp2_session *session, uint8_t *room, size_t count);

/* Makes a request, while chttp2_window is not negative, and copies its frames to `room`, which must hold them: how
   many bytes; or CHTTP2_ENDED, or CHTTP2_BROKEN. Of a payload that is larger than the window a copy is kept, and sent as
   the window grows; until then no other request can be made. */
long chttp2_request(chttp2_session *session, uint16_t place, const chttp2_header *headers, size_t header_count,
                    const uint8_t *payload, size_t payload_count, uint8_t *room, size_t count);

/* Tells the server that the answer is not waited for any more. The place is over at once. */
void chttp2_cancel(chttp2_session *session, uint16_t place);

/* The same of a request that was never written: the server is told nothing. */
void chttp2_forget(chttp2_session *session, uint16_t place);

/* Asks the server for a sign of life; chttp2_pongs counts them. */
void chttp2_ping(chttp2_session *session);

/* What the server allows. */
int chttp2_has_settings(const chttp2_session *session); /* its settings have come */
uint32_t chttp2_streams_max(const chttp2_session *session);
int32_t chttp2_window(const chttp2_session *session); /* bytes of payload that a new request can send at once;
                                                        negative: one is still being sent */
uint32_t chttp2_pongs(const chttp2_session *session);

/* The server ends the connection: requests that it will not look at are over, with the error REFUSED_STREAM. */
int chttp2_is_leaving(const chttp2_session *session);
uint32_t chttp2_leaving_error(const chttp2_session *session);

/* Error codes of HTTP/2 (RFC 9113, section 7). */
enum { CHTTP2_NO_ERROR = 0, CHTTP2_INTERNAL_ERROR = 2, CHTTP2_REFUSED_STREAM = 7, CHTTP2_CANCEL = 8 };

#endif
