#ifndef CHTTP2_INTERNAL_H
#define CHTTP2_INTERNAL_H

#include <nghttp2/nghttp2.h>
#include <string.h>

#include "CHTTP2.h"
#include "CHTTP2Server.h"

/* Released pieces of memory, by size. */
#define CHTTP2_PIECE_STEP 64
#define CHTTP2_PIECE_LISTS 8

struct chttp2_session {
  nghttp2_session *http2;
  chttp2_answer *answers;
  uint16_t capacity;
  /* The list of finished requests, by place. */
  uint16_t first_finished, last_finished;
  size_t memory, memory_max;
  struct {
    struct chttp2_piece *first;
    size_t count;
  } pieces[CHTTP2_PIECE_LISTS];
  /* The unsent payload of the request that is being made. `kept` is a copy of it, which exists only
     while the window is too small. */
  const uint8_t *payload;
  size_t payload_count;
  uint8_t *kept;
  int32_t sending; /* the stream whose payload is being sent; 0: none */
  /* Bytes that nghttp2 has framed and chttp2_take has not copied yet. */
  const uint8_t *rest;
  size_t rest_count;
  uint32_t pongs;
  int has_settings, is_going_away, is_broken;
  uint32_t goaway_error;
  uint32_t status;       /* in the headers that are arriving on `status_stream` */
  int32_t status_stream;
};

nghttp2_mem chttp2_memory(struct chttp2_session *session);

#endif
