#include "internal.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* mbedtls_ssl_session begins with a time_t, whose width may differ between the library and this
   code. So only the library accesses its fields. */
struct cmbed_resumption {
  mbedtls_ssl_session session;
  unsigned char certificate[32]; /* the digest of the client's own */
  int64_t until;                 /* 0: no session is kept */
};

cmbed_resumption *cmbed_resumption_new(void) {
  cmbed_resumption *resumption = calloc(1, sizeof *resumption);
  if (resumption != NULL) mbedtls_ssl_session_init(&resumption->session);
  return resumption;
}

void cmbed_resumption_free(cmbed_resumption *resumption) {
  if (resumption == NULL) return;
  mbedtls_ssl_session_free(&resumption->session);
  free(resumption);
}

/* A session is not resumed with another client certificate than it began with. */
static void digest_certificate(unsigned char digest[32], const cmbed_session *session) {
  const mbedtls_x509_buf *leaf = &session->identity.chain.raw;
  memset(digest, 0, 32);
  if (leaf->p != NULL) cmbed_digest(digest, leaf->p, leaf->len);
}

void cmbed_resumption_offer(cmbed_session *session) {
  cmbed_resumption *resumption = session->resumption;
  if (resumption == NULL) return;
  unsigned char certificate[32];
  digest_certificate(certificate, session);
  if (time(NULL) < resumption->until && memcmp(certificate, resumption->certificate, sizeof certificate) == 0 &&
      mbedtls_ssl_set_session(&session->ssl, &resumption->session) == 0) {
    session->offered = 1;
    session->until = resumption->until;
  }
  /* A session is used once. If this handshake fails, the next one is a full one; otherwise this one
   leaves its session here. */
  mbedtls_ssl_session_free(&resumption->session);
  resumption->until = 0;
}

void cmbed_resumption_keep(cmbed_session *session) {
  cmbed_resumption *resumption = session->resumption;
  if (resumption == NULL || mbedtls_ssl_get_session(&session->ssl, &resumption->session) != 0) return;
  digest_certificate(resumption->certificate, session);
  resumption->until = session->until;
}
