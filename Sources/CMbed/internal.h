/* Declarations that the files of CMbed share. */

#ifndef CMBED_INTERNAL_H
#define CMBED_INTERNAL_H

#define _GNU_SOURCE

#include "CMbed.h"

#include <mbedtls/version.h>
#include <mbedtls/pk.h>
#include <mbedtls/ssl.h>
#include <mbedtls/ssl_ticket.h>
#include <mbedtls/x509_crt.h>

#if MBEDTLS_VERSION_NUMBER < 0x03000000
#define MBEDTLS_PRIVATE(member) member
#endif

/* --- text.c --------------------------------------------------------------------------------- */

/* The size of the buffers for one name or date inside a text. */
#define CMBED_NAME_MAX 128
#define CMBED_DATE_MAX 32

/* Formats `text`, of CMBED_TEXT_MAX bytes, and returns `code`. */
int cmbed_say(char *text, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Writes that memory has run out into `text`, and returns CMBED_MEMORY. */
int cmbed_say_memory(char *text);

/* Appends to `text`, whose buffer has `room` bytes in all. */
void cmbed_append(char *text, size_t room, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Copies untrusted text and adds a NUL: control characters become '?', and the text is truncated to
   `room` bytes. */
void cmbed_copy_clean(char *to, size_t room, const void *from, size_t count);

/* Returns the UNIX seconds of a certificate's date. */
int64_t cmbed_seconds(const mbedtls_x509_time *time);

/* Formats a date: "2026-01-31 09:00 UTC". */
void cmbed_date(char date[CMBED_DATE_MAX], int64_t seconds);

/* Writes mbedTLS's description of an error. */
void cmbed_library_error(char name[CMBED_NAME_MAX], int error);

/* --- file.c --------------------------------------------------------------------------------- */

/* The contents of a file, outside the heap. */
typedef struct {
  unsigned char *bytes; /* a NUL follows */
  size_t count, room;
} cmbed_file;

/* Reads a whole file. `what` begins the sentence of an error: "The CA file". Returns CMBED_OK or a
   negative code with `text`. */
int cmbed_file_read(cmbed_file *file, const char *what, const char *path, char *text);

/* Wipes and frees the contents. */
void cmbed_file_clear(cmbed_file *file);

/* The certificates of a CA file. Their DER lies outside the heap, since in the heap its pieces
   would keep 300 KB after a handshake. Clear with cmbed_authorities_clear, even after a failure. */
typedef struct {
  mbedtls_x509_crt certificates;
  cmbed_file der;
} cmbed_authorities;

void cmbed_authorities_init(cmbed_authorities *authorities);
void cmbed_authorities_clear(cmbed_authorities *authorities);

/* Reads a CA file; one readable certificate is enough. */
int cmbed_authorities_read(cmbed_authorities *authorities, const char *path, char *text);

/* This side's certificate chain, in which every certificate must be readable, and the first one's
   key. Clear with cmbed_identity_clear, even after a failure. */
typedef struct {
  mbedtls_x509_crt chain;
  mbedtls_pk_context key;
} cmbed_identity;

void cmbed_identity_init(cmbed_identity *identity);
void cmbed_identity_clear(cmbed_identity *identity);

/* Reads a chain and its key, which belong together. `key` NULL: the key is in the certificate's file. */
int cmbed_identity_read(cmbed_identity *identity, const char *certificate, const char *key, const char *password,
                        char *text);

/* The two halves of that: reads both, and checks that they belong together. */
int cmbed_identity_load(cmbed_identity *identity, const char *certificate, const char *key, const char *password,
                        char *text);
int cmbed_identity_check(cmbed_identity *identity, const char *certificate, const char *key, char *text);

/* Reads all certificates of a PEM file. */
int cmbed_chain_read(mbedtls_x509_crt *certificates, const char *path, char *text);

/* Reads a private key from a PEM file. */
int cmbed_key_read(mbedtls_pk_context *key, const char *path, const char *password, char *text);

/* --- pbes2.c -------------------------------------------------------------------------------- */

/* Decrypts a PKCS#8 key that is encrypted with AES. Returns 0 or an error of mbedTLS, which is
   MBEDTLS_ERR_PK_FEATURE_UNAVAILABLE for any other encryption. */
int cmbed_pbes2_open(mbedtls_pk_context *key, const cmbed_file *file, const char *password);

/* --- certificate.c -------------------------------------------------------------------------- */

#define CMBED_OID_UID "\x09\x92\x26\x89\x93\xf2\x2c\x64\x01\x01"
#define CMBED_OID_APPLE_SANDBOX "\x2a\x86\x48\x86\xf7\x63\x64\x06\x03\x01"

/* Copies the common name; without one, the unit, the organisation or the UID; else "". */
void cmbed_name_common(char *to, size_t room, const mbedtls_x509_name *name);

/* Reads the topics and environments that a certificate allows. */
void cmbed_rights_read(cmbed_rights *rights, const mbedtls_x509_crt *certificate);

/* Sets a chain's link at `index`. */
void cmbed_chain_note(cmbed_chain *chain, int index, const mbedtls_x509_crt *certificate);

/* Lists the host names and addresses that a certificate is valid for, joined with ", ". */
void cmbed_certificate_names(char *to, size_t room, const mbedtls_x509_crt *certificate);

/* Returns whether the certificate is valid for `host`, if that is an IP address. */
int cmbed_certificate_has_address(const mbedtls_x509_crt *certificate, const char *host);

/* --- parameters.c --------------------------------------------------------------------------- */

/* mbedTLS's callback for random bytes, which come from the kernel and need no state. */
int cmbed_random(void *unused, unsigned char *bytes, size_t count);

/* Sets versions, cipher suites, curves and signature algorithms. */
int cmbed_parameters_set(mbedtls_ssl_config *conf, int endpoint);

/* --- webpush.c ------------------------------------------------------------------------------ */

#define CMBED_WEBPUSH_SALT 16

/* Encrypts like cmbed_webpush_seal, under a given key pair of the sender and a given salt. */
int cmbed_webpush_seal_with(unsigned char body[CMBED_WEBPUSH_BODY], const unsigned char private_key[32],
                            const unsigned char sender[CMBED_POINT], const unsigned char salt[CMBED_WEBPUSH_SALT],
                            const unsigned char point[CMBED_POINT], const unsigned char auth[CMBED_WEBPUSH_AUTH],
                            const void *text, size_t count);

/* --- session.c ------------------------------------------------------------------------------ */

typedef struct cmbed_queue cmbed_queue;

struct cmbed_session {
  mbedtls_ssl_context ssl;
  mbedtls_ssl_config conf;
  cmbed_authorities authorities; /* a client's, until its handshake is complete */
  cmbed_identity identity;       /* a client's */
  cmbed_server *server;         /* NULL: a client */
  cmbed_resumption *resumption;
  char *host, *ca; /* the host that a client connects to; the path of the CA file */
  char *alpn[2];
  cmbed_chain *peer;
  size_t identity_bytes;    /* the size of a client's own certificates */
  uint64_t written;
  uint64_t written_before_answer, written_in_handshake; /* `written` at those times */
  size_t recorded;          /* the bytes of the current write that are in records already */
  cmbed_queue *queue;       /* bytes that wait to be sent; NULL: none */
  size_t allowance;         /* the bytes that this call may still take from the socket */
  int64_t until;            /* when the session can no longer be resumed */
  int descriptor;
  int failure;              /* once set, the result of every call */
  int broken;               /* errno, once the connection has failed */
  int finished;             /* end of stream: mbedTLS returns 0 for that and for an empty record */
  int verified;             /* the peer's certificate was verified in this handshake */
  int flaw, refusal;        /* the worst flaw of the peer's certificates, and its code */
  int offered;              /* a session was offered for resumption, or a ticket taken */
  int complete;
  int ended;                /* the peer has closed */
  unsigned opening_count;           /* the bytes in `opening` */
  unsigned char opening[8]; /* the peer's first bytes */
  cmbed_rights rights;      /* a server's: the rights in the client's certificate */
  char text[CMBED_TEXT_MAX];
};

/* Creates a session with everything that clients and servers share. */
int cmbed_session_new(cmbed_session **session, int descriptor, int endpoint, const char *alpn, char *text);

/* Returns whether the session speaks TLS 1.3. */
int cmbed_is_tls13(const cmbed_session *session);

/* --- explain.c ------------------------------------------------------------------------------ */

/* mbedTLS's callback for each certificate of the peer's chain, with its flaws; the leaf comes
   last. */
int cmbed_on_certificate(void *session, mbedtls_x509_crt *certificate, int depth, uint32_t *flags);

/* Returns "the server push.example" or "the client". */
const char *cmbed_peer(const cmbed_session *session, char name[CMBED_NAME_MAX]);

/* Turns an error of mbedTLS into a code and a text, which become the session's result. */
int cmbed_explain(cmbed_session *session, int error);

/* Sets the session's text and result, and returns `code`. */
int cmbed_fail(cmbed_session *session, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* --- sign.c --------------------------------------------------------------------------------- */

/* Computes a SHA-256. Returns CMBED_OK or a negative code. */
int cmbed_digest(unsigned char digest[32], const void *bytes, size_t count);

/* --- resumption.c --------------------------------------------------------------------------- */

/* The seconds for which a session can be resumed before the peer must be verified again. */
#define CMBED_RESUME_MAX (24 * 60 * 60)

/* Offers the session of the connection before, if there is one, for resumption. */
void cmbed_resumption_offer(cmbed_session *session);

/* Keeps the session so that the next connection can resume it. */
void cmbed_resumption_keep(cmbed_session *session);

/* --- server.c ------------------------------------------------------------------------------- */

struct cmbed_server {
  cmbed_authorities authorities;
  cmbed_identity identity;
  mbedtls_ssl_ticket_context tickets;
  char *alpn, *ca;
  int alpn_anonymous;
  int (*check_client)(cmbed_session *session); /* a pointer, so that clients do not link it */
};

#endif
