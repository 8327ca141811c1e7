#include "internal.h"

#include <string.h>

static int prepare(cmbed_session *session, const cmbed_client_options *options, char *text) {
  session->host = strdup(options->host);
  session->ca = strdup(options->ca);
  if (session->host == NULL || session->ca == NULL) return cmbed_say_memory(text);
  int result = cmbed_authorities_read(&session->authorities, options->ca, text);
  if (result == CMBED_OK && options->certificate != NULL)
    result = cmbed_identity_load(&session->identity, options->certificate, options->key, options->key_password, text);
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
  cmbed_resumption_offer(session);
  /* The key that began the session belonged to the certificate, and a check costs as much as a
     signature. */
  if (session->identity_bytes == 0 || session->offered) return CMBED_OK;
  return cmbed_identity_check(&session->identity, options->certificate, options->key, text);
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
