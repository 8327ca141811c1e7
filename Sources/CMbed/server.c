#include "internal.h"

#include <mbedtls/oid.h>
#include <mbedtls/platform_util.h>
#include <stdlib.h>
#include <string.h>

/* Whoever offers the protocol may come without a certificate. One that is shown must still be good, and mbedTLS, which
   need not have any then, does not insist. */
static int admit(cmbed_session *session) {
  mbedtls_ssl_context *ssl = &session->ssl;
  if (!session->server->alpn_anonymous || mbedtls_ssl_get_alpn_protocol(ssl) == NULL) return 0;
  mbedtls_ssl_conf_authmode(&session->conf, MBEDTLS_SSL_VERIFY_OPTIONAL);
  session->excused = 1;
  uint32_t flags = session->verified ? mbedtls_ssl_get_verify_result(ssl) : 0;
  if (flags == 0) return 0;
  mbedtls_ssl_send_alert_message(ssl, MBEDTLS_SSL_ALERT_LEVEL_FATAL,
                                 flags & MBEDTLS_X509_BADCERT_NOT_TRUSTED ? MBEDTLS_SSL_ALERT_MSG_UNKNOWN_CA
                                 : flags & MBEDTLS_X509_BADCERT_EXPIRED   ? MBEDTLS_SSL_ALERT_MSG_CERT_EXPIRED
                                                                          : MBEDTLS_SSL_ALERT_MSG_BAD_CERT);
  return MBEDTLS_ERR_X509_CERT_VERIFY_FAILED;
}

static int prepare(cmbed_server *server, const cmbed_server_options *options, char *text) {
  const char *key = options->key == NULL ? options->certificate : options->key;
  server->authorities = strdup(options->ca);
  if (options->alpn != NULL) server->alpn = strdup(options->alpn);
  server->alpn_anonymous = options->alpn_anonymous;
  server->admit = admit;
  server->read = cmbed_client_read;
  if (server->authorities == NULL || (options->alpn != NULL && server->alpn == NULL))
    return cmbed_say(text, CMBED_MEMORY, "There is not enough memory for a server.");
  int result = cmbed_authorities_read(&server->identity.authorities, options->ca, text);
  if (result == CMBED_OK) result = cmbed_chain_read(&server->identity.chain, options->certificate, text);
  if (result == CMBED_OK) result = cmbed_key_read(&server->identity.key, key, NULL, text);
  if (result == CMBED_OK)
    result = cmbed_pair_check(&server->identity.chain, &server->identity.key, options->certificate, key, text);
  if (result == CMBED_OK &&
      mbedtls_x509_crt_check_extended_key_usage(&server->identity.chain, MBEDTLS_OID_SERVER_AUTH,
                                                MBEDTLS_OID_SIZE(MBEDTLS_OID_SERVER_AUTH)) != 0)
    result = cmbed_say(text, CMBED_FILE_INVALID, "The certificate in %s is not made for a server. Give one that is.",
                       options->certificate);
  return result;
}

int cmbed_server_new(cmbed_server **server, const cmbed_server_options *options, char text[CMBED_TEXT_MAX]) {
  *server = NULL;
  text[0] = '\0';
  if (options->ca == NULL || options->certificate == NULL)
    return cmbed_say(text, CMBED_INTERNAL, "A server needs a CA file and a certificate.");
  cmbed_server *made = calloc(1, sizeof *made);
  if (made == NULL) return cmbed_say(text, CMBED_MEMORY, "There is not enough memory for a server.");
  cmbed_identity_init(&made->identity);
  int result = prepare(made, options, text);
  if (result == CMBED_OK) *server = made;
  else cmbed_server_free(made);
  return result;
}

void cmbed_server_free(cmbed_server *server) {
  if (server == NULL) return;
  cmbed_identity_clear(&server->identity);
  free(server->alpn);
  free(server->authorities);
  mbedtls_platform_zeroize(server, sizeof *server);
  free(server);
}

int cmbed_server_accept(cmbed_session **session, cmbed_server *server, int descriptor, char text[CMBED_TEXT_MAX]) {
  *session = NULL;
  text[0] = '\0';
  cmbed_session *made;
  int result = cmbed_session_new(&made, descriptor, MBEDTLS_SSL_IS_SERVER, server->alpn, text);
  if (result != CMBED_OK) return result;
  made->server = server;
  made->authorities = strdup(server->authorities);
  if (made->authorities != NULL && cmbed_session_identity(made, &server->identity) == 0 && cmbed_tickets(made) == 0) {
    *session = made;
    return CMBED_OK;
  }
  cmbed_session_free(made);
  return cmbed_say(text, CMBED_MEMORY, "There is not enough memory for a connection.");
}
