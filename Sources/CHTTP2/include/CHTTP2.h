/* CHTTP2: the client's end of an HTTP/2 connection, with nghttp2. Bytes go in and come out; there
   is no socket and no clock here.

   Each connection has one opaque session. The caller gives each request a place, a number, and
   reads the answer in that place of its own array. nghttp2's memory is bounded. */

#ifndef CHTTP2_H
#define CHTTP2_H

#include <stddef.h>
#include <stdint.h>

/* The negative results of a call. */
enum {
  CHTTP2_BROKEN = -1, /* the server violates HTTP/2, or memory has run out: close the connection */
  CHTTP2_ENDED = -2,  /* the connection takes no more requests */
};

/* The most bytes of an answer's body that are kept. */
#define CHTTP2_BODY_MAX 256

/* The answer to a request. It is whole once chttp2_next_finished returns its place. */
typedef struct {
  int32_t stream;       /* the stream of the request */
  uint16_t next;        /* internal: the next finished request */
  uint16_t status;      /* the HTTP status; 0: the headers have not come */
  uint16_t body_count;  /* the bytes in `body` */
  uint8_t is_finished;  /* whether nothing more comes */
  uint32_t error;       /* the HTTP/2 error code that closed the stream; 0: closed in order */
  uint32_t retry_after; /* seconds; 0: the answer has no such header */
  uint32_t body_read;   /* the bytes of the body that came, including those not kept */
  uint8_t body[CHTTP2_BODY_MAX]; /* the body, unless the status is 200 */
} chttp2_answer;

/* Returns the answer's body: body_count bytes. */
static inline const uint8_t *chttp2_answer_body(const chttp2_answer *answer) { return answer->body; }

/* A header of a request. The caller owns the texts, which need no NUL. */
typedef struct {
  const uint8_t *name;
  size_t name_count;
  const uint8_t *value;
  size_t count;
  int is_indexed; /* whether the value goes into HPACK's table, since it recurs */
} chttp2_header;

typedef struct chttp2_session chttp2_session;

/* Creates a client's session. Its first bytes to send are the preface and the settings.
   `answers`: an array of `capacity` places, at most 65,535, which must outlive the session.
   `memory_max`: the most bytes that nghttp2 may allocate.
   Returns NULL if there is no memory; free the session with chttp2_free. */
chttp2_session *chttp2_new(chttp2_answer *answers, uint16_t capacity, size_t memory_max);

/* Frees a session; NULL is allowed. */
void chttp2_free(chttp2_session *session);

/* Frees the memory that is kept for the next requests. */
void chttp2_trim(chttp2_session *session);

/* Takes in bytes from the server. Returns 0 or CHTTP2_BROKEN. */
int chttp2_receive(chttp2_session *session, const uint8_t *bytes, size_t count);

/* Returns the place of the next finished request, each once, or -1 if there is none.
   The answer stays valid until the place is used again. */
int chttp2_next_finished(chttp2_session *session);

/* Copies the next bytes to send into `room` of `count` bytes.
   Returns their number, 0 if nothing is to be sent, or CHTTP2_BROKEN. */
long chttp2_take(chttp2_session *session, uint8_t *room, size_t count);

/* Makes a request and copies its frames into `room`, which must hold them all. The place must be
   free, and chttp2_window not negative.
   If the payload is larger than the window, the session copies the rest and sends it as the window
   grows. Until then no other request can be made.
   Returns the number of bytes, CHTTP2_ENDED or CHTTP2_BROKEN. */
long chttp2_request(chttp2_session *session, uint16_t place, const chttp2_header *headers, size_t header_count,
                    const uint8_t *payload, size_t payload_count, uint8_t *room, size_t count);

/* Cancels a request: tells the server that nobody waits for the answer. The place is free at
   once. */
void chttp2_cancel(chttp2_session *session, uint16_t place);

/* Forgets a request that was never written, without telling the server. The place is free at
   once. */
void chttp2_forget(chttp2_session *session, uint16_t place);

/* Sends a ping with the next chttp2_take; chttp2_pongs counts the answers. */
void chttp2_ping(chttp2_session *session);

/* Returns whether the server's settings have come. */
int chttp2_has_settings(const chttp2_session *session);

/* Returns how many requests may be open at a time. */
uint32_t chttp2_streams_max(const chttp2_session *session);

/* Returns the bytes of payload that a new request can send at once; negative: another payload is
   still being sent. */
int32_t chttp2_window(const chttp2_session *session);

/* Returns the number of answers to pings so far. */
uint32_t chttp2_pongs(const chttp2_session *session);

/* Returns whether the server has announced the end of the connection (GOAWAY). The requests that it
   does not process finish with CHTTP2_REFUSED_STREAM. */
int chttp2_is_going_away(const chttp2_session *session);

/* Returns the error code of the server's GOAWAY frame. */
uint32_t chttp2_goaway_error(const chttp2_session *session);

/* Error codes of HTTP/2 (RFC 9113, section 7). */
enum { CHTTP2_INTERNAL_ERROR = 2, CHTTP2_REFUSED_STREAM = 7 };

#endif
