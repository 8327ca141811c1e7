/* nghttp2's memory is bounded: the connection to a server that needs more is closed. */

#include <stdlib.h>

#include "internal.h"

/* Each piece begins with its size, padded to keep the alignment. */
#define HEAD sizeof(max_align_t)

static void *give(struct chttp2_session *session, void *old, size_t count) {
  size_t before = old ? *(size_t *)((char *)old - HEAD) : 0;
  if (count > session->memory_max || session->memory - before > session->memory_max - count) return NULL;
  char *piece = realloc(old ? (char *)old - HEAD : NULL, HEAD + count);
  if (!piece) return NULL;
  session->memory += count - before;
  *(size_t *)piece = count;
  return piece + HEAD;
}

static void *allocate(size_t count, void *session) { return give(session, NULL, count); }

static void release(void *old, void *user) {
  struct chttp2_session *session = user;
  if (!old) return;
  session->memory -= *(size_t *)((char *)old - HEAD);
  free((char *)old - HEAD);
}

static void *clear(size_t count, size_t size, void *session) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) return NULL;
  void *piece = give(session, NULL, bytes);
  return piece ? memset(piece, 0, bytes) : NULL;
}

static void *resize(void *old, size_t count, void *session) { return give(session, old, count); }

nghttp2_mem chttp2_memory(struct chttp2_session *session) {
  return (nghttp2_mem){session, allocate, release, clear, resize};
}
