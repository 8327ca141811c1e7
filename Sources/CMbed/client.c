#include "internal.h"

#include <stdlib.h>
#include <string.h>

static int read_identity(cmbed_identity *identity, const cmbed_client_options *options, char *text) {
  int result = cmbed_trust_read(&identity->trust, options->ca, text);
  if (result != CMBED_OK || options->certificate == NULL) return result;
  const char *key = options->key == NULL ? options->certificate : options->key;
  result = cmbed_chain_read(&identity->chain, options->certificate, text);
  if (result == CMBED_OK) result = cmbed_key_read(&identity->key, key, options->key_password, text);
  if (result == CMBED_OK)
    result = cmbed_pair_check(&identity->chain, &identity->key, options->certificate, key, text);
  return result;
}

static int prepare(cmbed_session *session, const cmbed_client_options *options, char *text) {
  session->identity = malloc(sizeof *session->identity);
  if (session->identity != NULL) cmbed_identity_init(session->identity);
  session->host = strdup(options->host);
  session->authorities = strdup(options->ca);
  if (session->identity == NULL || session->host == NULL || session->authorities == NULL)
    return cmbed_say(text, CMBED_MEMORY, "There is not enough memory for a connection.");
  int result = read_identity(session->identity, options, text);
  if (result != CMBED_OK) return result;
  for (const mbedtls_x509_crt *each = &session->identity->chain; each != NULL; each = each->next)
    session->identity_bytes += each->raw.len;
  int error = cmbed_session_identity(session, session->identity);
  if (error == 0) error = mbedtls_ssl_set_hostname(&session->ssl, options->host);
  if (error == 0) error = cmbed_resumption_offer(session);
  if (error == 0) return CMBED_OK;
  if (error == MBEDTLS_ERR_SSL_BAD_INPUT_DATA)
    return cmbed_say(text, CMBED_INTERNAL, "\"%s\" is not a host name.", options->host);
  return cmbed_say(text, CMBED_MEMORY, "There is not enough memory for a connection.");
}

int cmbed_client_new(cmbed_session **session, int descriptor, const cmbed_client_options *options,
                     cmbed_resumption *resumption, char text[CMBED_TEXT_MAX]) {
  *session = NULL;
  text[0] = '\0';
  if (options->ca == NULL || options->host == NULL || options->host[0] == '\0')
    return cmbed_say(text, CMBED_INTERNAL, "A connection needs a CA file and the name of a host.");
  cmbed_session *made;
  int result = cmbed_session_new(&made, descriptor, MBEDTLS_SSL_IS_CLIENT, options->alpn, text);
  if (result != CMBED_OK) return result;
  made->resumption = resumption;
  made->peer = options->peer;
  result = prepare(made, options, text);
  if (result == CMBED_OK) *session = made;
  else cmbed_session_free(made);
  return result;
}
