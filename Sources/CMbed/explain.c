#include "internal.h"

#include <mbedtls/asn1.h>
#include <mbedtls/net_sockets.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 2025-01-01. A clock before it has not been set since the machine was started. */
#define CLOCK_UNSET 1735689600

#define PURPOSE (MBEDTLS_X509_BADCERT_KEY_USAGE | MBEDTLS_X509_BADCERT_EXT_KEY_USAGE | MBEDTLS_X509_BADCERT_NS_CERT_TYPE)
#define WEAK (MBEDTLS_X509_BADCERT_BAD_KEY | MBEDTLS_X509_BADCERT_BAD_PK)
#define UNSUITABLE (PURPOSE | WEAK | MBEDTLS_X509_BADCERT_BAD_MD | MBEDTLS_X509_BADCERT_REVOKED)

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

/* --- the peer's certificates --------------------------------------------------------------------------------- */

static int is_same(const mbedtls_x509_buf *one, const mbedtls_x509_buf *other) {
  return one->len > 0 && one->len == other->len && memcmp(one->p, other->p, one->len) == 0;
}

int cmbed_witness(void *context, mbedtls_x509_crt *certificate, int depth, uint32_t *flags) {
  cmbed_session *session = context;
  cmbed_evidence *evidence = session->evidence;
  int64_t from = cmbed_seconds(&certificate->valid_from), to = cmbed_seconds(&certificate->valid_to);
  if (!session->verified) { /* the first of the chain: nothing of a session that was offered counts any more */
    session->verified = 1;
    session->since = cmbed_now();
    session->not_before = INT64_MIN;
    session->not_after = INT64_MAX;
    memset(&session->client, 0, sizeof session->client);
  }
  if (from > session->not_before) session->not_before = from;
  if (to < session->not_after) session->not_after = to;
#if MBEDTLS_VERSION_NUMBER < 0x03000000
  /* It compares no addresses. */
  if (depth == 0 && session->host != NULL && (*flags & MBEDTLS_X509_BADCERT_CN_MISMATCH) != 0 &&
      cmbed_certificate_bears_address(certificate, session->host))
    *flags &= ~(uint32_t)MBEDTLS_X509_BADCERT_CN_MISMATCH;
#endif
  if ((*flags & MBEDTLS_X509_BADCERT_NOT_TRUSTED) != 0) {
    cmbed_name_common(evidence->subject, sizeof evidence->subject, &certificate->subject);
    cmbed_name_common(evidence->issuer, sizeof evidence->issuer, &certificate->issuer);
    evidence->self_signed = is_same(&certificate->issuer_raw, &certificate->subject_raw) ? depth + 1 : 0;
    /* mbedTLS leaves a certificate empty whose signature algorithm it does not know. */
    evidence->unknown = certificate->raw.p == NULL;
  }
  if ((*flags & MBEDTLS_X509_BADCERT_EXPIRED) != 0) {
    cmbed_name_common(evidence->late, sizeof evidence->late, &certificate->subject);
    evidence->late_date = to;
  }
  if ((*flags & MBEDTLS_X509_BADCERT_FUTURE) != 0) {
    cmbed_name_common(evidence->early, sizeof evidence->early, &certificate->subject);
    evidence->early_date = from;
  }
  if ((*flags & UNSUITABLE) != 0)
    cmbed_name_common(evidence->unsuitable, sizeof evidence->unsuitable, &certificate->subject);
  if (session->peer != NULL) cmbed_chain_note(session->peer, depth, certificate);
  if (depth == 0) {
    cmbed_certificate_names(evidence->names, sizeof evidence->names, certificate);
    if (session->server != NULL) session->server->read(&session->client, certificate);
  }
  evidence->flags |= *flags;
  return 0;
}

/* What mbedTLS has found with no authorities at all does not count. With the leaf, which comes last and has everything
   else that the server sent behind it, it verifies once more, with every authority that could matter. */
int cmbed_verify(void *context, mbedtls_x509_crt *certificate, int depth, uint32_t *flags) {
  cmbed_session *session = context;
  if (depth > 0) {
    *flags = 0;
    return 0;
  }
  mbedtls_x509_crt selected;
  mbedtls_x509_crt_init(&selected);
  uint32_t found = UINT32_MAX;
  int error = cmbed_trust_select(&selected, &session->identity->trust, certificate);
  if (error == 0)
    error = mbedtls_x509_crt_verify_with_profile(certificate, selected.raw.p == NULL ? NULL : &selected, NULL,
                                                 &mbedtls_x509_crt_profile_default, session->host, &found,
                                                 cmbed_witness, session);
  mbedtls_x509_crt_free(&selected);
  *flags = found;
  /* Flags that are not zero are a refusal; any other error ends the handshake as well. */
  return error == MBEDTLS_ERR_X509_CERT_VERIFY_FAILED && found != 0 ? 0 : error;
}

static int explain_early(cmbed_session *session) {
  const cmbed_evidence *evidence = session->evidence;
  char name[CMBED_NAME_MAX], from[CMBED_DATE_MAX], now[CMBED_DATE_MAX];
  cmbed_date(from, evidence->early_date);
  cmbed_date(now, cmbed_now());
  return cmbed_fail(session, CMBED_PEER_NOT_YET_VALID,
                    "The certificate \"%s\" of %s is valid only from %s. Is this machine's clock set? It says %s.",
                    evidence->early, cmbed_peer(session, name), from, now);
}

static int explain_late(cmbed_session *session) {
  const cmbed_evidence *evidence = session->evidence;
  char name[CMBED_NAME_MAX], to[CMBED_DATE_MAX], now[CMBED_DATE_MAX];
  cmbed_date(to, evidence->late_date);
  cmbed_date(now, cmbed_now());
  return cmbed_fail(session, CMBED_PEER_EXPIRED,
                    "The certificate \"%s\" of %s expired on %s. It must be renewed there, unless this machine's "
                    "clock, which says %s, is wrong.", evidence->late, cmbed_peer(session, name), to, now);
}

static int explain_untrusted(cmbed_session *session) {
  const cmbed_evidence *evidence = session->evidence;
  char name[CMBED_NAME_MAX];
  if (evidence->unknown)
    return cmbed_fail(session, CMBED_PEER_UNSUITABLE, "The certificate of %s is signed in a way that is not known "
                      "here. It must be renewed there, signed with SHA-256.", cmbed_peer(session, name));
  if (evidence->self_signed == 1)
    return cmbed_fail(session, CMBED_PEER_SELF_SIGNED,
                      "The certificate \"%s\" of %s is self-signed, and not in the CA file %s. If it is to be trusted, "
                      "add it there.", evidence->subject, cmbed_peer(session, name), session->authorities);
  if (evidence->self_signed > 1)
    return cmbed_fail(session, CMBED_PEER_UNKNOWN_CA,
                      "The certificates of %s end at \"%s\", which is not in the CA file %s. If it is to be trusted, "
                      "add it there.", cmbed_peer(session, name), evidence->subject, session->authorities);
  return cmbed_fail(session, CMBED_PEER_UNKNOWN_CA,
                    "The certificate \"%s\" of %s was issued by \"%s\", which is not in the CA file %s. If that issuer "
                    "is to be trusted, add its certificate there.", evidence->subject, cmbed_peer(session, name),
                    evidence->issuer, session->authorities);
}

/* What is the matter, and what whoever issues it must do. */
static const char *unsuitable(uint32_t flags) {
  if (flags & MBEDTLS_X509_BADCERT_REVOKED) return "it is revoked. It must be renewed there.";
  if (flags & WEAK)
    return "its key is too weak. It must be renewed there, with an RSA key of 2048 bits or more, or an EC key.";
  if (flags & MBEDTLS_X509_BADCERT_BAD_MD)
    return "it is signed with an outdated hash, such as SHA-1. It must be renewed there, signed with SHA-256.";
  if (flags & PURPOSE) return "it is not made for this purpose. It must be renewed there.";
  return "it does not hold what it should. It must be renewed there.";
}

/* Several things may be wrong; the one is told that explains the others, or that has to be mended first. An unset clock
   makes every certificate too early. A chain that leads nowhere is of someone else, whatever else it says. */
static int explain_certificate(cmbed_session *session, uint32_t flags, int error) {
  char name[CMBED_NAME_MAX];
  if ((flags & MBEDTLS_X509_BADCERT_MISSING) != 0)
    return cmbed_fail(session, CMBED_PEER_MISSING, "%s showed no certificate.%s", peer_first(session, name),
                      session->server == NULL ? "" : " It must be given one that the CA file's authorities issued.");
  if ((flags & MBEDTLS_X509_BADCERT_FUTURE) != 0 && cmbed_now() < CLOCK_UNSET) return explain_early(session);
  if ((flags & MBEDTLS_X509_BADCERT_NOT_TRUSTED) != 0) return explain_untrusted(session);
  if ((flags & MBEDTLS_X509_BADCERT_CN_MISMATCH) != 0)
    return cmbed_fail(session, CMBED_PEER_HOST,
                      "The server was asked for as %s, but its certificate is made out to %s. Correct the host name, "
                      "or the certificate there.", session->host, session->evidence->names);
  if ((flags & MBEDTLS_X509_BADCERT_FUTURE) != 0) return explain_early(session);
  if ((flags & MBEDTLS_X509_BADCERT_EXPIRED) != 0) return explain_late(session);
  if (flags != 0)
    return cmbed_fail(session, CMBED_PEER_UNSUITABLE, "The certificate \"%s\" of %s cannot be accepted: %s",
                      session->evidence->unsuitable[0] != '\0' ? session->evidence->unsuitable : session->evidence->names,
                      cmbed_peer(session, name), unsuitable(flags));
  char words[CMBED_NAME_MAX];
  cmbed_library_error(words, error);
  return cmbed_fail(session, CMBED_PEER_UNSUITABLE, "The certificate of %s cannot be accepted: %s. It must be "
                    "renewed there.", cmbed_peer(session, name), words);
}

/* --- the peer's alerts --------------------------------------------------------------------------------------- */

/* What a build offers, and so what a server says by refusing the version. */
#if defined(MBEDTLS_SSL_PROTO_TLS1_3)
#define WRONG_VERSION "it speaks neither TLS 1.2 nor TLS 1.3"
#define OTHER_VERSION "Its TLS must be brought up to date."
#else
#define WRONG_VERSION "it does not speak TLS 1.2, most likely TLS 1.3 alone, which mbed TLS 2 lacks"
#define OTHER_VERSION "Allow TLS 1.2 there, or run the build for Debian 13, which has TLS 1.3."
#endif
#define ANOTHER "Set the push certificate of this app, with its key, that is valid now."

typedef struct {
  unsigned char number;
  unsigned char about_certificate;
  const char *name, *words, *advice; /* the advice is for a client; NULL: there is none */
} alert;

static const alert alerts[] = {
  {10, 0, "unexpected_message", "it did not expect what it was sent", NULL},
  {20, 0, "bad_record_mac", "what it was sent was damaged on the way", NULL},
  {22, 0, "record_overflow", "it was sent too large a record", NULL},
  {40, 0, "handshake_failure", "there is no TLS version, cipher suite or key that both sides have", NULL},
  {41, 1, "no_certificate", "it wants a certificate, and none was shown", ANOTHER},
  {42, 1, "bad_certificate", "it says that the certificate is damaged or not acceptable", ANOTHER},
  {43, 1, "unsupported_certificate", "it does not accept certificates of this kind", ANOTHER},
  {44, 1, "certificate_revoked", "the certificate was revoked", ANOTHER},
  {45, 1, "certificate_expired", "the certificate has expired, or the clock there is wrong", "Renew the certificate."},
  {46, 1, "certificate_unknown", "it does not accept the certificate, and does not say why", ANOTHER},
  {47, 0, "illegal_parameter", "it finds a mistake in the handshake", NULL},
  {48, 1, "unknown_ca", "it does not trust the certificate's issuer", ANOTHER},
  {49, 1, "access_denied", "the certificate is valid, but may not do this", ANOTHER},
  {50, 0, "decode_error", "it cannot read what it was sent", NULL},
  {51, 0, "decrypt_error", "a signature or check of the handshake is wrong", NULL},
  {70, 0, "protocol_version", WRONG_VERSION, OTHER_VERSION},
  {71, 0, "insufficient_security", "it demands stronger cipher suites", NULL},
  {80, 0, "internal_error", "it has a fault of its own; try again later", NULL},
  {86, 0, "inappropriate_fallback", "it knows a later TLS version", NULL},
  {90, 0, "user_canceled", "it was cancelled there", NULL},
  {109, 0, "missing_extension", "it misses something in the handshake", NULL},
  {110, 0, "unsupported_extension", "it was sent something that it did not offer", NULL},
  {112, 0, "unrecognized_name", "it does not know the host name that it was asked for", NULL},
  {115, 0, "unknown_psk_identity", "it does not know the session that was to be resumed", NULL},
  {116, 1, "certificate_required", "it wants a certificate, and none was shown", ANOTHER},
  {120, 0, "no_application_protocol", "it does not speak the application protocol that was offered", NULL},
};

static const alert *find_alert(int number) {
  for (size_t index = 0; index < sizeof alerts / sizeof *alerts; index++)
    if (alerts[index].number == number) return &alerts[index];
  return NULL;
}

/* In TLS 1.3 many clients refuse a server's certificate in the clear, where mbedTLS expects a sealed record. Anyone on
   the way could have written it, but the handshake is over either way. */
static int is_plain_alert(const cmbed_session *session, int error) {
  const unsigned char *record = session->ssl.MBEDTLS_PRIVATE(in_hdr);
  if (error != MBEDTLS_ERR_SSL_INVALID_MAC || session->complete || session->server == NULL) return 0;
  return record[0] == MBEDTLS_SSL_MSG_ALERT && record[3] == 0 && record[4] == 2;
}

static int explain_alert(cmbed_session *session, int number) {
  const alert *found = find_alert(number);
  char name[CMBED_NAME_MAX];
  const char *who = peer_first(session, name);
  int client = session->server == NULL;
  if (found == NULL)
    return cmbed_fail(session, CMBED_REFUSED, "%s refuses the connection, by alert %d.", who, number);
  /* Before TLS 1.3 there was no alert for a missing certificate. Once the server's own certificate has come, version
     and cipher suite are agreed upon, so that it is about ours. */
  int late = number == 40 && client && session->verified;
  const char *advice = late ? ANOTHER : found->advice;
  const char *space = advice != NULL && client ? " " : "";
  if (advice == NULL || !client) advice = "";
  if (!found->about_certificate && !late)
    return cmbed_fail(session, CMBED_REFUSED, "%s refuses the connection: %s (alert %s).%s%s", who, found->words,
                      found->name, space, advice);
  if (client && !session->shows)
    return cmbed_fail(session, CMBED_REFUSED_CERTIFICATE, "%s wants a certificate, and none was shown (alert %s). Set "
                      "one.", who, found->name);
  return cmbed_fail(session, CMBED_REFUSED_CERTIFICATE, "%s refuses %s certificate: %s (alert %s).%s%s", who,
                    client ? "our" : "the server's",
                    late ? "it is missing, or not one that it accepts" : found->words, found->name, space, advice);
}

/* --- everything else ----------------------------------------------------------------------------------------- */

/* A record begins with its type, 20 to 24, and the version's first byte, 3. */
static int speaks_tls(const cmbed_session *session) {
  const unsigned char *opening = session->opening;
  if (session->heard == 0) return 1;
  if (opening[0] < 20 || opening[0] > 24) return 0;
  return session->heard == 1 || opening[1] == 3;
}

static int explain_stranger(cmbed_session *session) {
  char name[CMBED_NAME_MAX], words[sizeof session->opening + 1];
  cmbed_copy_clean(words, sizeof words, session->opening, session->heard);
  for (char *each = words; *each != '\0'; each++)
    if ((unsigned char)*each > 0x7e) *each = '?';
  return cmbed_fail(session, CMBED_PROTOCOL, "%s does not speak TLS: its first bytes are \"%s\". %s",
                    peer_first(session, name), words,
                    session->server == NULL ? "Check the host and the port." : "It has the wrong port.");
}

static int explain_end(cmbed_session *session, int notified) {
  char name[CMBED_NAME_MAX];
  const char *who = peer_first(session, name);
  if (session->complete)
    return cmbed_fail(session, CMBED_CLOSED, "%s closed the connection%s.", who, notified ? "" : " without a goodbye");
  return cmbed_fail(session, CMBED_CLOSED, "%s closed the connection during the handshake without saying why.", who);
}

static int explain_reset(cmbed_session *session) {
  char name[CMBED_NAME_MAX];
  return cmbed_fail(session, CMBED_RESET, "The connection to %s broke%s: %s.", cmbed_peer(session, name),
                    session->complete ? "" : " during the handshake", strerror(session->broken));
}

static int is_about_certificate(int error) {
  int high = -(-error & 0xff80);
  switch (high) {
  case MBEDTLS_ERR_X509_CERT_VERIFY_FAILED:
  case MBEDTLS_ERR_X509_FATAL_ERROR:
  case MBEDTLS_ERR_X509_INVALID_FORMAT:
  case MBEDTLS_ERR_X509_INVALID_VERSION:
  case MBEDTLS_ERR_X509_INVALID_SERIAL:
  case MBEDTLS_ERR_X509_INVALID_ALG:
  case MBEDTLS_ERR_X509_INVALID_NAME:
  case MBEDTLS_ERR_X509_INVALID_DATE:
  case MBEDTLS_ERR_X509_INVALID_SIGNATURE:
  case MBEDTLS_ERR_X509_INVALID_EXTENSIONS:
  case MBEDTLS_ERR_X509_UNKNOWN_VERSION:
  case MBEDTLS_ERR_X509_UNKNOWN_SIG_ALG:
  case MBEDTLS_ERR_X509_SIG_MISMATCH:
  case MBEDTLS_ERR_X509_FEATURE_UNAVAILABLE:
  case MBEDTLS_ERR_PK_KEY_INVALID_FORMAT:
  case MBEDTLS_ERR_PK_UNKNOWN_PK_ALG:
  case MBEDTLS_ERR_PK_UNKNOWN_NAMED_CURVE:
  case MBEDTLS_ERR_PK_INVALID_PUBKEY:
  case MBEDTLS_ERR_PK_INVALID_ALG:
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
  case MBEDTLS_ERR_SSL_BAD_CERTIFICATE:
#else
  case MBEDTLS_ERR_SSL_BAD_HS_CERTIFICATE:
#endif
    return 1;
  default:
    return 0;
  }
}

static int is_about_version(int error) {
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
  return error == MBEDTLS_ERR_SSL_BAD_PROTOCOL_VERSION;
#else
  return error == MBEDTLS_ERR_SSL_BAD_HS_PROTOCOL_VERSION;
#endif
}

static int is_about_suites(int error) {
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
  return error == MBEDTLS_ERR_SSL_HANDSHAKE_FAILURE;
#else
  return error == MBEDTLS_ERR_SSL_NO_CIPHER_CHOSEN || error == MBEDTLS_ERR_SSL_NO_USABLE_CIPHERSUITE;
#endif
}

int cmbed_explain(cmbed_session *session, int error) {
  char name[CMBED_NAME_MAX], words[CMBED_NAME_MAX];
  switch (error) {
  case MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE:
    return explain_alert(session, session->ssl.MBEDTLS_PRIVATE(in_msg)[1]);
  case MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY:
    return explain_end(session, 1);
  case MBEDTLS_ERR_NET_CONN_RESET:
    return explain_reset(session);
  case MBEDTLS_ERR_SSL_NO_CLIENT_CERTIFICATE:
    return explain_certificate(session, MBEDTLS_X509_BADCERT_MISSING, error);
  }
  if (is_plain_alert(session, error)) return explain_alert(session, session->ssl.MBEDTLS_PRIVATE(in_hdr)[6]);
  if (!session->complete && !speaks_tls(session)) return explain_stranger(session);
  if (error == MBEDTLS_ERR_SSL_CONN_EOF) return explain_end(session, 0);
  if (cmbed_is_memory(error))
    return cmbed_fail(session, CMBED_MEMORY, "There is not enough memory for the connection.");
  if (!session->complete && is_about_certificate(error)) {
    uint32_t flags = mbedtls_ssl_get_verify_result(&session->ssl);
    if (flags == UINT32_MAX) flags = 0;
    return explain_certificate(session, flags | session->evidence->flags, error);
  }
  if (is_about_version(error))
    return cmbed_fail(session, CMBED_PROTOCOL, "%s speaks only a TLS older than 1.2. Its TLS must be brought up to date.",
                      peer_first(session, name));
  if (!session->complete && is_about_suites(error))
    return cmbed_fail(session, CMBED_PROTOCOL, "%s offers no cipher suite that is accepted here. Allow one there with "
                      "ECDHE and AES-GCM.",
                      peer_first(session, name));
  cmbed_library_error(words, error);
  return cmbed_fail(session, CMBED_PROTOCOL, "The TLS of %s is broken: %s.", cmbed_peer(session, name), words);
}
