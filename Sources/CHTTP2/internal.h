#ifndef CHTTP2_INTERNAL_H
#define CHTTP2_INTERNAL_H

#include <nghttp2/nghttp2.h>
#include <string.h>

#include "CHTTP2.h"
#include "CHTTP2Server.h"

struct chttp2_session {
  nghttp2_session *http2;
  chttp2_answer *answers;
  uint16_t capacity;
  /* The list of those that are over. */
  uint16_t first_over, last_over;
  size_t memory, memory_max;
  /* Of the request that is being made: what is left of its payload, and the copy of that while a window is too small. */
  const uint8_t *payload;
  size_t payload_count;
  uint8_t *kept;
  int32_t sending; /* the stream of that request; 0: none */
  /* What nghttp2 has framed and nobody has taken yet. */
  const uint8_t *rest;
  size_t rest_count;
  uint32_t pongs;
  int has_settings, is_leaving, is_broken;
  uint32_t leaving_error;
  uint32_t status;       /* of the headers that are coming, on this stream */
  int32_t status_stream;
};

nghttp2_mem chttp2_memory(struct chttp2_session *session);

#endif
