#include "internal.h"

#include <mbedtls/oid.h>
#include <mbedtls/platform_util.h>
#include <stdlib.h>
#include <string.h>

/* --- the client's certificate --------------------------------------------------------------- */

static unsigned char alert_of(uint32_t flags) {
  if (flags & MBEDTLS_X509_BADCERT_MISSING) return 116; /* certificate_required */
  if (flags & MBEDTLS_X509_BADCERT_NOT_TRUSTED) return MBEDTLS_SSL_ALERT_MSG_UNKNOWN_CA;
  return flags & MBEDTLS_X509_BADCERT_EXPIRED ? MBEDTLS_SSL_ALERT_MSG_CERT_EXPIRED : MBEDTLS_SSL_ALERT_MSG_BAD_CERT;
}

/* mbedTLS has verified the client's certificate but leaves refusing to this function, since clients
   with the right ALPN need none. The alert goes out after the handshake, where every client
   understands it: within a TLS 1.3 handshake, mbedTLS would encrypt it with keys that the client
   no longer uses. */
static int check_client(cmbed_session *session) {
  mbedtls_ssl_context *ssl = &session->ssl;
  const mbedtls_x509_crt *shown = mbedtls_ssl_get_peer_cert(ssl);
  if (shown == NULL && session->server->alpn_anonymous && mbedtls_ssl_get_alpn_protocol(ssl) != NULL) return 0;
  uint32_t flags = shown == NULL ? MBEDTLS_X509_BADCERT_MISSING : mbedtls_ssl_get_verify_result(ssl);
  if (flags != 0) {
    mbedtls_ssl_send_alert_message(ssl, MBEDTLS_SSL_ALERT_LEVEL_FATAL, alert_of(flags));
    return shown == NULL ? MBEDTLS_ERR_SSL_NO_CLIENT_CERTIFICATE : MBEDTLS_ERR_X509_CERT_VERIFY_FAILED;
  }
  cmbed_rights_read(&session->rights, shown);
  return 0;
}

/* --- tickets -------------------------------------------------------------------------------- */

/* In TLS 1.3, mbedTLS stores no certificate in a ticket. So a client with a certificate gets
   none. */
static int on_client_certificate(void *context, mbedtls_x509_crt *certificate, int depth, uint32_t *flags) {
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
  cmbed_session *session = context;
  mbedtls_ssl_conf_new_session_tickets(&session->conf, 0);
#endif
  return cmbed_on_certificate(context, certificate, depth, flags);
}

static int write_ticket(void *context, const mbedtls_ssl_session *current, unsigned char *start,
                        const unsigned char *end, size_t *count, uint32_t *lifetime) {
  cmbed_session *session = context;
  *count = 0;
  /* TLS 1.2 sends an empty ticket then. */
  if (session->refusal != 0) return MBEDTLS_ERR_X509_CERT_VERIFY_FAILED;
  return mbedtls_ssl_ticket_write(&session->server->tickets, current, start, end, count, lifetime);
}

static int read_ticket(void *context, mbedtls_ssl_session *restored, unsigned char *ticket, size_t count) {
  cmbed_session *session = context;
  int error = mbedtls_ssl_ticket_parse(&session->server->tickets, restored, ticket, count);
  if (error == 0) session->offered = 1;
  return error;
}

/* --- creating and freeing ------------------------------------------------------------------- */

static int prepare(cmbed_server *server, const cmbed_server_options *options, char *text) {
  server->ca = strdup(options->ca);
  if (options->alpn != NULL) server->alpn = strdup(options->alpn);
  server->alpn_anonymous = options->alpn_anonymous;
  server->check_client = check_client;
  if (server->ca == NULL || (options->alpn != NULL && server->alpn == NULL) ||
      mbedtls_ssl_ticket_setup(&server->tickets, cmbed_random, NULL, MBEDTLS_CIPHER_AES_256_GCM, CMBED_RESUME_MAX) != 0)
    return cmbed_say_memory(text);
  int result = cmbed_authorities_read(&server->authorities, options->ca, text);
  if (result == CMBED_OK)
    result = cmbed_identity_read(&server->identity, options->certificate, options->key, NULL, text);
  if (result == CMBED_OK &&
      mbedtls_x509_crt_check_extended_key_usage(&server->identity.chain, MBEDTLS_OID_SERVER_AUTH,
                                                MBEDTLS_OID_SIZE(MBEDTLS_OID_SERVER_AUTH)) != 0)
    result = cmbed_say(text, CMBED_FILE_INVALID, "The certificate in %s is not a server certificate. Set one.",
                       options->certificate);
  return result;
}

int cmbed_server_new(cmbed_server **server, const cmbed_server_options *options, char text[CMBED_TEXT_MAX]) {
  *server = NULL;
  text[0] = '\0';
  cmbed_server *made = calloc(1, sizeof *made);
  if (made == NULL) return cmbed_say_memory(text);
  cmbed_authorities_init(&made->authorities);
  cmbed_identity_init(&made->identity);
  mbedtls_ssl_ticket_init(&made->tickets);
  int result = prepare(made, options, text);
  if (result == CMBED_OK) *server = made;
  else cmbed_server_free(made);
  return result;
}

void cmbed_server_free(cmbed_server *server) {
  if (server == NULL) return;
  cmbed_authorities_clear(&server->authorities);
  cmbed_identity_clear(&server->identity);
  mbedtls_ssl_ticket_free(&server->tickets);
  free(server->alpn);
  free(server->ca);
  free(server);
}

int cmbed_server_accept(cmbed_session **session, cmbed_server *server, int descriptor, char text[CMBED_TEXT_MAX]) {
  *session = NULL;
  text[0] = '\0';
  cmbed_session *made;
  int result = cmbed_session_new(&made, descriptor, MBEDTLS_SSL_IS_SERVER, server->alpn, text);
  if (result != CMBED_OK) return result;
  made->server = server;
  made->ca = strdup(server->ca);
  mbedtls_ssl_conf_authmode(&made->conf, MBEDTLS_SSL_VERIFY_OPTIONAL);
  mbedtls_ssl_conf_verify(&made->conf, on_client_certificate, made);
  mbedtls_ssl_conf_ca_chain(&made->conf, &server->authorities.certificates, NULL);
  mbedtls_ssl_conf_session_tickets_cb(&made->conf, write_ticket, read_ticket, made);
  if (made->ca == NULL || mbedtls_ssl_conf_own_cert(&made->conf, &server->identity.chain, &server->identity.key) != 0) {
    cmbed_session_free(made);
    return cmbed_say_memory(text);
  }
  *session = made;
  return CMBED_OK;
}
