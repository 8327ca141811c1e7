#include "internal.h"

#include <mbedtls/net_sockets.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#if MBEDTLS_VERSION_NUMBER < 0x03000000
#define MBEDTLS_ERR_SSL_BAD_CERTIFICATE MBEDTLS_ERR_SSL_BAD_HS_CERTIFICATE
#define MBEDTLS_ERR_SSL_BAD_PROTOCOL_VERSION MBEDTLS_ERR_SSL_BAD_HS_PROTOCOL_VERSION
#define MBEDTLS_ERR_SSL_HANDSHAKE_FAILURE MBEDTLS_ERR_SSL_NO_CIPHER_CHOSEN
#endif

int cmbed_fail(cmbed_session *session, int code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(session->text, sizeof session->text, format, arguments);
  va_end(arguments);
  if (code == CMBED_CLOSED) session->ended = 1;
  else session->failure = code;
  return code;
}

const char *cmbed_peer(const cmbed_session *session, char name[CMBED_NAME_MAX]) {
  if (session->server != NULL) return "the client";
  snprintf(name, CMBED_NAME_MAX, "the server %s", session->host);
  return name;
}

static const char *peer_first(const cmbed_session *session, char name[CMBED_NAME_MAX]) {
  if (session->server != NULL) return "The client";
  cmbed_peer(session, name);
  name[0] = 'T';
  return name;
}

/* --- the peer's certificates ---------------------------------------------------------------- */

/* 2025-01-01. An earlier time means that the clock was not set since the machine started. */
#define CLOCK_UNSET 1735689600

#define PURPOSE (MBEDTLS_X509_BADCERT_KEY_USAGE | MBEDTLS_X509_BADCERT_EXT_KEY_USAGE | MBEDTLS_X509_BADCERT_NS_CERT_TYPE)
#define WEAK (MBEDTLS_X509_BADCERT_BAD_KEY | MBEDTLS_X509_BADCERT_BAD_PK)

/* A chain can have several flaws. The text explains the one that causes the others, or that must be
   corrected first: an unset clock makes every certificate too early, and an untrusted chain belongs
   to somebody else. */
enum { UNSUITABLE = 1, LATE, EARLY, HOST, UNTRUSTED, CLOCK };

static int worst_of(uint32_t flags) {
  if (flags & MBEDTLS_X509_BADCERT_FUTURE && time(NULL) < CLOCK_UNSET) return CLOCK;
  if (flags & MBEDTLS_X509_BADCERT_NOT_TRUSTED) return UNTRUSTED;
  if (flags & MBEDTLS_X509_BADCERT_CN_MISMATCH) return HOST;
  if (flags & MBEDTLS_X509_BADCERT_FUTURE) return EARLY;
  return flags & MBEDTLS_X509_BADCERT_EXPIRED ? LATE : UNSUITABLE;
}

static const char *unsuitable(uint32_t flags) {
  if (flags & WEAK)
    return "its key is too weak. It must be renewed there, with an RSA key of 2048 bits or more, or an EC key.";
  if (flags & MBEDTLS_X509_BADCERT_BAD_MD)
    return "it is signed with an outdated hash, such as SHA-1. It must be renewed there, signed with SHA-256.";
  if (flags & PURPOSE) return "it is not meant for this purpose. It must be renewed there.";
  return "its contents are invalid. It must be renewed there.";
}

static int describe_untrusted(char *text, const mbedtls_x509_crt *certificate, int depth, const char *name, const char *peer,
                          const char *ca) {
  const mbedtls_x509_buf *issuer = &certificate->issuer_raw, *subject = &certificate->subject_raw;
  if (certificate->raw.p == NULL) /* mbedTLS does not support the signature's algorithm */
    return cmbed_say(text, CMBED_PEER_UNSUITABLE, "The certificate of %s is signed with an unknown algorithm. It "
                     "must be renewed there, signed with SHA-256.", peer);
  if (issuer->len != subject->len || memcmp(issuer->p, subject->p, issuer->len) != 0) {
    char above[CMBED_NAME_MAX];
    cmbed_name_common(above, sizeof above, &certificate->issuer);
    return cmbed_say(text, CMBED_PEER_UNKNOWN_CA, "The certificate \"%s\" of %s was issued by \"%s\", which is not in "
                     "the CA file %s. If you trust that issuer, add its certificate there.", name, peer, above, ca);
  }
  if (depth > 0)
    return cmbed_say(text, CMBED_PEER_UNKNOWN_CA, "The certificates of %s end at \"%s\", which is not in the CA file %s. "
                     "If you trust it, add it there.", peer, name, ca);
  return cmbed_say(text, CMBED_PEER_SELF_SIGNED, "The certificate \"%s\" of %s is self-signed, and not in the CA file "
                   "%s. If you trust it, add it there.", name, peer, ca);
}

static int describe_flaw(cmbed_session *session, const mbedtls_x509_crt *certificate, int depth, uint32_t flags) {
  char name[CMBED_NAME_MAX], of[CMBED_NAME_MAX], names[192], date[CMBED_DATE_MAX], now[CMBED_DATE_MAX];
  const char *peer = cmbed_peer(session, of);
  cmbed_name_common(name, sizeof name, &certificate->subject);
  cmbed_date(now, time(NULL));
  switch (session->flaw) {
  case CLOCK:
  case EARLY:
    cmbed_date(date, cmbed_seconds(&certificate->valid_from));
    return cmbed_say(session->text, CMBED_PEER_NOT_YET_VALID, "The certificate \"%s\" of %s is valid only from %s. Is "
                     "this machine's clock set? It says %s.", name, peer, date, now);
  case UNTRUSTED:
    return describe_untrusted(session->text, certificate, depth, name, peer, session->ca);
  case HOST:
    cmbed_certificate_names(names, sizeof names, certificate);
    return cmbed_say(session->text, CMBED_PEER_HOST, "The certificate of the server %s is for %s. Correct the host name, "
                   "or the server's certificate.", session->host, names);
  case LATE:
    cmbed_date(date, cmbed_seconds(&certificate->valid_to));
    return cmbed_say(session->text, CMBED_PEER_EXPIRED, "The certificate \"%s\" of %s expired on %s. It must be renewed "
                     "there, unless this machine's clock, which says %s, is wrong.", name, peer, date, now);
  default:
    return cmbed_say(session->text, CMBED_PEER_UNSUITABLE, "The certificate \"%s\" of %s cannot be accepted: %s", name,
                     peer, unsuitable(flags));
  }
}

int cmbed_on_certificate(void *context, mbedtls_x509_crt *certificate, int depth, uint32_t *flags) {
  cmbed_session *session = context;
  int64_t to = cmbed_seconds(&certificate->valid_to);
  if (!session->verified) session->until = time(NULL) + CMBED_RESUME_MAX;
  session->verified = 1;
  if (to < session->until) session->until = to;
#if MBEDTLS_VERSION_NUMBER < 0x03000000
  /* mbedTLS 2 compares host names, but no addresses. */
  if (depth == 0 && session->host != NULL && cmbed_certificate_has_address(certificate, session->host))
    *flags &= ~(uint32_t)MBEDTLS_X509_BADCERT_CN_MISMATCH;
#endif
  if (session->peer != NULL) cmbed_chain_note(session->peer, depth, certificate);
  if (*flags == 0 || worst_of(*flags) < session->flaw) return 0;
  session->flaw = worst_of(*flags);
  session->refusal = describe_flaw(session, certificate, depth, *flags);
  return 0;
}

static int explain_certificate(cmbed_session *session, int error) {
  char name[CMBED_NAME_MAX], words[CMBED_NAME_MAX];
  if (session->refusal != 0) return session->failure = session->refusal;
  uint32_t flags = mbedtls_ssl_get_verify_result(&session->ssl);
  if (error == MBEDTLS_ERR_SSL_NO_CLIENT_CERTIFICATE)
    return cmbed_fail(session, CMBED_PEER_MISSING, "The client sent no certificate. Give it one that an authority in "
                    "the CA file issued. A client that speaks HTTP/2 with a provider token must offer h2 in ALPN.");
  if (flags != 0 && flags != UINT32_MAX)
    return cmbed_fail(session, CMBED_PEER_UNSUITABLE, "The certificate of %s cannot be accepted: %s",
                      cmbed_peer(session, name), unsuitable(flags));
  cmbed_library_error(words, error);
  return cmbed_fail(session, CMBED_PEER_UNSUITABLE, "The certificate of %s cannot be accepted: %s. It must be "
                    "renewed there.", cmbed_peer(session, name), words);
}

/* --- the peer's alerts ---------------------------------------------------------------------- */

/* The text for a refused version depends on the versions that this build offers. */
#if defined(MBEDTLS_SSL_PROTO_TLS1_3)
#define WRONG_VERSION "it supports neither TLS 1.2 nor TLS 1.3"
#define OTHER_VERSION " Update the TLS software there."
#else
#define WRONG_VERSION "it does not support TLS 1.2, probably only TLS 1.3, which mbed TLS 2 lacks"
#define OTHER_VERSION " Allow TLS 1.2 there, or run the build for Debian 13, which has TLS 1.3."
#endif
#define ANOTHER " Set this app's current push certificate and its key."

typedef struct {
  unsigned char number, about_certificate;
  const char *name, *words;
} alert;

static const alert alerts[] = {
  {10, 0, "unexpected_message", "it received an unexpected message"},
  {20, 0, "bad_record_mac", "it received damaged data"},
  {40, 0, "handshake_failure", "both sides have no TLS version, cipher suite or key exchange in common"},
  {42, 1, "bad_certificate", "the certificate is damaged or not acceptable"},
  {43, 1, "unsupported_certificate", "it does not accept certificates of this kind"},
  {44, 1, "certificate_revoked", "the certificate was revoked"},
  {45, 1, "certificate_expired", "the certificate has expired, or the clock there is wrong"},
  {46, 1, "certificate_unknown", "it does not accept the certificate, for an unknown reason"},
  {47, 0, "illegal_parameter", "it found an error in the handshake"},
  {48, 1, "unknown_ca", "it does not trust the certificate's issuer"},
  {49, 1, "access_denied", "the certificate is valid, but may not do this"},
  {50, 0, "decode_error", "it cannot decode a message of the handshake"},
  {51, 0, "decrypt_error", "a signature or check value of the handshake is wrong"},
  {70, 0, "protocol_version", WRONG_VERSION},
  {71, 0, "insufficient_security", "it demands stronger cipher suites"},
  {80, 0, "internal_error", "it has an internal error; try again later"},
  {112, 0, "unrecognized_name", "it does not know this host name"},
  {116, 1, "certificate_required", "it requires a certificate, and none was sent"},
  {120, 0, "no_application_protocol", "it does not support the application protocol offered by ALPN"},
};

static int explain_alert(cmbed_session *session, int number) {
  const alert *found = alerts, *end = alerts + sizeof alerts / sizeof *alerts;
  while (found < end && found->number != number) found++;
  char name[CMBED_NAME_MAX];
  const char *who = peer_first(session, name);
  int client = session->server == NULL;
  if (found == end) return cmbed_fail(session, CMBED_REFUSED, "%s refuses the connection, by alert %d.", who, number);
  /* Before TLS 1.3, no alert exists for a missing certificate. Once the server has sent its own
   certificate, version and cipher suite are agreed on, so the alert is about the client's. */
  int late = number == 40 && client && session->verified;
  if (!found->about_certificate && !late)
    return cmbed_fail(session, CMBED_REFUSED, "%s refuses the connection: %s (alert %s).%s", who, found->words,
                      found->name, number == 70 && client ? OTHER_VERSION : "");
  if (client && session->identity_bytes == 0)
    return cmbed_fail(session, CMBED_REFUSED_CERTIFICATE, "%s requires a client certificate, and none is set (alert %s). "
                      "Set one.", who, found->name);
  return cmbed_fail(session, CMBED_REFUSED_CERTIFICATE, "%s refuses %s certificate: %s (alert %s).%s", who,
                    client ? "the client" : "the server's",
                    late ? "it is missing, or the server does not accept it" : found->words, found->name,
                    client ? ANOTHER : "");
}

/* --- other errors --------------------------------------------------------------------------- */

/* A TLS record begins with its type, 20 to 24, and the version's first byte, 3. */
static int speaks_tls(const cmbed_session *session) {
  const unsigned char *opening = session->opening;
  if (session->opening_count == 0) return 1;
  if (opening[0] < 20 || opening[0] > 24) return 0;
  return session->opening_count == 1 || opening[1] == 3;
}

static int explain_other_protocol(cmbed_session *session) {
  char name[CMBED_NAME_MAX], words[sizeof session->opening + 1];
  cmbed_copy_clean(words, sizeof words, session->opening, session->opening_count);
  for (char *each = words; *each != '\0'; each++)
    if ((unsigned char)*each > 0x7e) *each = '?';
  return cmbed_fail(session, CMBED_PROTOCOL, "%s does not speak TLS: its first bytes are \"%s\". %s",
                    peer_first(session, name), words,
                    session->server == NULL ? "Check the host and the port." : "It connected to the wrong port.");
}

/* Whether an error concerns X.509, or a key that cannot be read. The lowest seven bits belong to
   another module. */
static int is_about_certificate(int error) {
  int high = -error & 0xff80;
  return (high >= -MBEDTLS_ERR_X509_FEATURE_UNAVAILABLE && high <= -MBEDTLS_ERR_X509_FATAL_ERROR) ||
    (high >= -MBEDTLS_ERR_PK_UNKNOWN_NAMED_CURVE && high <= -MBEDTLS_ERR_PK_KEY_INVALID_FORMAT) ||
    error == MBEDTLS_ERR_SSL_BAD_CERTIFICATE || error == MBEDTLS_ERR_SSL_NO_CLIENT_CERTIFICATE;
}

int cmbed_explain(cmbed_session *session, int error) {
  char first[CMBED_NAME_MAX], name[CMBED_NAME_MAX], words[CMBED_NAME_MAX];
  const char *who = peer_first(session, first), *peer = cmbed_peer(session, name);
  int during = !session->complete, notified = error == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY;
  if (error == MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE) /* no function of mbedTLS returns the alert */
    return explain_alert(session, session->ssl.MBEDTLS_PRIVATE(in_msg)[1]);
  if (error == MBEDTLS_ERR_NET_CONN_RESET)
    return cmbed_fail(session, CMBED_RESET, "The connection to %s broke%s: %s.", peer,
                      during ? " during the handshake" : "", strerror(session->broken));
  if (during && !speaks_tls(session)) return explain_other_protocol(session);
  if (notified || error == MBEDTLS_ERR_SSL_CONN_EOF)
    return cmbed_fail(session, CMBED_CLOSED, "%s closed the connection%s.", who,
                      during ? " during the handshake without a reason" : notified ? "" : " without a TLS close_notify");
  if (during && is_about_certificate(error)) return explain_certificate(session, error);
  if (error == MBEDTLS_ERR_SSL_BAD_PROTOCOL_VERSION)
    return cmbed_fail(session, CMBED_PROTOCOL, "%s supports only TLS versions before 1.2. Update the TLS software there.",
                      who);
  if (during && error == MBEDTLS_ERR_SSL_HANDSHAKE_FAILURE)
    return cmbed_fail(session, CMBED_PROTOCOL, "%s offers no acceptable cipher suite. Allow one there with "
                      "ECDHE and AES-GCM.", who);
  /* In TLS 1.3, many clients send the alert for a refused certificate unencrypted, where mbedTLS
     expects an encrypted record. */
  if (during && session->server != NULL && error == MBEDTLS_ERR_SSL_INVALID_MAC)
    return cmbed_fail(session, CMBED_REFUSED_CERTIFICATE, "The client aborted the handshake, probably because it does "
                      "not trust the server's certificate. Give it the CA file %s.", session->ca);
  cmbed_library_error(words, error);
  return cmbed_fail(session, CMBED_PROTOCOL, "TLS with %s failed: %s.", peer, words);
}
