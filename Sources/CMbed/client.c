#include "internal.h"

#include <mbedtls/platform_util.h>
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

static void offer(cmbed_session *session, cmbed_resumption *resumption) {
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

static int prepare(cmbed_session *session, const cmbed_client_options *options, char *text) {
  session->host = strdup(options->host);
  session->ca = strdup(options->ca);
  if (session->host == NULL || session->ca == NULL) return cmbed_say_memory(text);
  int result = cmbed_authorities_read(&session->authorities, options->ca, text);
  if (result == CMBED_OK && options->certificate != NULL)
    result = cmbed_identity_read(&session->identity, options->certificate, options->key, options->key_password, text);
  if (result != CMBED_OK) return result;
  mbedtls_ssl_conf_authmode(&session->conf, MBEDTLS_SSL_VERIFY_REQUIRED);
  mbedtls_ssl_conf_ca_chain(&session->conf, &session->authorities.certificates, NULL);
  for (const mbedtls_x509_crt *each = &session->identity.chain; each != NULL; each = each->next)
    session->identity_bytes += each->raw.len;
  int error = mbedtls_ssl_set_hostname(&session->ssl, options->host);
  if (error == MBEDTLS_ERR_SSL_BAD_INPUT_DATA)
    return cmbed_say(text, CMBED_INTERNAL, "\"%s\" is not a host name.", options->host);
  if (error == 0 && session->identity_bytes > 0)
    error = mbedtls_ssl_conf_own_cert(&session->conf, &session->identity.chain, &session->identity.key);
  if (error != 0) return cmbed_say_memory(text);
  if (session->resumption != NULL) offer(session, session->resumption);
  return CMBED_OK;
}

int cmbed_client_new(cmbed_session **session, int descriptor, const cmbed_client_options *options,
                     cmbed_resumption *resumption, char text[CMBED_TEXT_MAX]) {
  cmbed_session *made;
  *session = NULL;
  text[0] = '\0';
  int result = cmbed_session_new(&made, descriptor, MBEDTLS_SSL_IS_CLIENT, options->alpn, text);
  if (result != CMBED_OK) return result;
  made->resumption = resumption;
  made->peer = options->peer;
  result = prepare(made, options, text);
  if (result == CMBED_OK) *session = made;
  else cmbed_session_free(made);
  return result;
}
