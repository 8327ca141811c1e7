/* nghttp2's memory is bounded: the connection to a server that needs more is closed.

   A notification costs nghttp2 several small pieces of the same sizes as the last one. Released
   pieces are kept for the next notification, in a list for each multiple of STEP bytes. */

#include <stdlib.h>

#include "internal.h"

#define STEP CHTTP2_PIECE_STEP
/* The most kept pieces of a size: more than a record has notifications. */
#define KEPT_MAX 128

struct chttp2_piece {
  size_t count; /* the bytes that nghttp2 asked for */
  struct chttp2_piece *next;
};

/* Each piece begins with its size, padded to keep the alignment. */
#define HEAD sizeof(max_align_t)

static struct chttp2_piece *piece_of(void *bytes) { return (struct chttp2_piece *)((char *)bytes - HEAD); }

/* Returns the list for pieces with room for so many bytes; CHTTP2_PIECE_LISTS or more: there is none. */
static size_t list_of(size_t count) { return (HEAD + count + STEP - 1) / STEP - 1; }

static void *take(struct chttp2_session *session, size_t count) {
  if (count > session->memory_max || session->memory > session->memory_max - count) return NULL;
  size_t list = list_of(count);
  struct chttp2_piece *piece = list < CHTTP2_PIECE_LISTS ? session->pieces[list].first : NULL;
  if (piece) {
    session->pieces[list].first = piece->next;
    session->pieces[list].count--;
  } else {
    piece = malloc(list < CHTTP2_PIECE_LISTS ? (list + 1) * STEP : HEAD + count);
    if (!piece) return NULL;
  }
  session->memory += count;
  piece->count = count;
  return (char *)piece + HEAD;
}

static void *allocate(size_t count, void *session) { return take(session, count); }

static void release(void *old, void *user) {
  struct chttp2_session *session = user;
  if (!old) return;
  struct chttp2_piece *piece = piece_of(old);
  size_t list = list_of(piece->count);
  session->memory -= piece->count;
  if (list >= CHTTP2_PIECE_LISTS || session->pieces[list].count >= KEPT_MAX) {
    free(piece);
  } else {
    piece->next = session->pieces[list].first;
    session->pieces[list].first = piece;
    session->pieces[list].count++;
  }
}

static void *clear(size_t count, size_t size, void *session) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) return NULL;
  void *piece = take(session, bytes);
  return piece ? memset(piece, 0, bytes) : NULL;
}

static void *resize(void *old, size_t count, void *session) {
  void *bytes = take(session, count);
  if (!bytes || !old) return bytes;
  size_t before = piece_of(old)->count;
  memcpy(bytes, old, before < count ? before : count);
  release(old, session);
  return bytes;
}

nghttp2_mem chttp2_memory(struct chttp2_session *session) {
  return (nghttp2_mem){session, allocate, release, clear, resize};
}

void chttp2_trim(chttp2_session *session) {
  for (size_t list = 0; list < CHTTP2_PIECE_LISTS; list++) {
    while (session->pieces[list].count > 0) {
      struct chttp2_piece *piece = session->pieces[list].first;
      session->pieces[list].first = piece->next;
      session->pieces[list].count--;
      free(piece);
    }
  }
}
