/* What the files of CMbed share. */

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

/* --- text.c -------------------------------------------------------------------------------------------------- */

/* Room for one name or date inside a text. */
#define CMBED_NAME_MAX 128
#define CMBED_DATE_MAX 32

/* Formats `text`, of CMBED_TEXT_MAX, and returns `code`. */
int cmbed_say(char *text, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same for a lack of memory. */
int cmbed_say_memory(char *text);

/* Appends to `text`, of `room` bytes in all. */
void cmbed_append(char *text, size_t room, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Copies what a stranger may have written: control characters become '?'. Cut to `room`, its NUL included. */
void cmbed_copy_clean(char *to, size_t room, const void *from, size_t count);

int64_t cmbed_seconds(const mbedtls_x509_time *time);

/* "2026-01-31 09:00 UTC" */
void cmbed_date(char date[CMBED_DATE_MAX], int64_t seconds);

/* What mbedTLS calls an error. */
void cmbed_library_error(char name[CMBED_NAME_MAX], int error);

/* --- file.c -------------------------------------------------------------------------------------------------- */

typedef struct {
  unsigned char *bytes; /* a NUL follows */
  size_t count, room;
} cmbed_file;

/* `what` begins the sentence of an error: "The CA file". Clear with cmbed_file_clear, which wipes. */
int cmbed_file_read(cmbed_file *file, const char *what, const char *path, char *text);
void cmbed_file_clear(cmbed_file *file);

/* The certificates of a CA file, and their DER outside of the heap: with its pieces in it the heap of an agent would keep
   300 KB after a handshake. Clear with cmbed_authorities_clear, also after a failure. */
typedef struct {
  mbedtls_x509_crt certificates;
  cmbed_file der;
} cmbed_authorities;

void cmbed_authorities_init(cmbed_authorities *authorities);
void cmbed_authorities_clear(cmbed_authorities *authorities);

/* Good as soon as one of the certificates can be read. */
int cmbed_authorities_read(cmbed_authorities *authorities, const char *path, char *text);

/* Our own: a chain, of which every certificate must be readable, and the key of the first. Clear with
   cmbed_identity_clear, also after a failure. */
typedef struct {
  mbedtls_x509_crt chain;
  mbedtls_pk_context key;
} cmbed_identity;

void cmbed_identity_init(cmbed_identity *identity);
void cmbed_identity_clear(cmbed_identity *identity);

/* `key` NULL: the key is in the certificate's file. */
int cmbed_identity_read(cmbed_identity *identity, const char *certificate, const char *key, const char *password,
                        char *text);

int cmbed_chain_read(mbedtls_x509_crt *certificates, const char *path, char *text);
int cmbed_key_read(mbedtls_pk_context *key, const char *path, const char *password, char *text);

/* --- pbes2.c ------------------------------------------------------------------------------------------------- */

/* Opens a PKCS#8 key that AES encrypts. MBEDTLS_ERR_PK_FEATURE_UNAVAILABLE where it is something else. */
int cmbed_pbes2_open(mbedtls_pk_context *key, const cmbed_file *file, const char *password);

/* --- certificate.c ------------------------------------------------------------------------------------------- */

#define CMBED_OID_APPLE_SANDBOX "\x2a\x86\x48\x86\xf7\x63\x64\x06\x03\x01"

/* The common name, for people; else the first attribute that there is; else "". */
void cmbed_name_common(char *to, size_t room, const mbedtls_x509_name *name);

void cmbed_bearer_read(cmbed_bearer *bearer, const mbedtls_x509_crt *certificate);

/* Puts a certificate at its place in a chain. */
void cmbed_chain_note(cmbed_chain *chain, int index, const mbedtls_x509_crt *certificate);

/* Every host name and address that a certificate is made out to, with commas between. */
void cmbed_certificate_names(char *to, size_t room, const mbedtls_x509_crt *certificate);

int cmbed_certificate_bears_address(const mbedtls_x509_crt *certificate, const char *host);

/* --- parameters.c -------------------------------------------------------------------------------------------- */

/* The kernel's own randomness, in mbedTLS's shape; no state, so nothing to keep or to seed. */
int cmbed_random(void *unused, unsigned char *bytes, size_t count);

/* Versions, cipher suites, curves and signatures. */
int cmbed_parameters_set(mbedtls_ssl_config *conf, int endpoint);

/* --- session.c ----------------------------------------------------------------------------------------------- */

typedef struct cmbed_queue cmbed_queue;

struct cmbed_session {
  mbedtls_ssl_context ssl;
  mbedtls_ssl_config conf;
  cmbed_authorities authorities; /* a client's, until its handshake is complete */
  cmbed_identity identity;       /* a client's */
  cmbed_server *server;         /* NULL: a client */
  cmbed_resumption *resumption;
  char *host, *ca; /* a client's host name; the path of the CA file */
  char *alpn[2];
  cmbed_chain *peer;
  size_t identity_bytes;    /* of our certificates, if we show any */
  uint64_t written;
  uint64_t greeting, shown; /* what was written before the first answer came, and by the end of the handshake */
  size_t recorded;          /* of what is being written: how much of it records have already carried */
  cmbed_queue *queue;       /* what waits to be sent; NULL: nothing */
  size_t allowance;         /* how much more this call may take from the socket */
  int64_t until;            /* how long the session may be resumed without verifying the peer anew */
  int descriptor;
  int failure;              /* once set, the answer to every call */
  int broken;               /* the system's error number, once the connection is broken */
  int finished;             /* the socket has come to its end: mbedTLS says 0 of that, and of an empty record as well */
  int verified;             /* the peer's certificate was looked at in this handshake */
  int flaw, refusal;        /* the gravest flaw of the peer's certificates, which `text` tells, and its code */
  int offered;              /* a session was offered for resumption, or a ticket taken */
  int complete;
  int ended;                /* nothing more comes from the peer */
  unsigned heard;           /* how much of `opening` is filled */
  unsigned char opening[8];
  cmbed_bearer bearer;      /* a server's: what the client's certificate says of it */
  char text[CMBED_TEXT_MAX];
};

/* A session without an identity, ready but for what differs between client and server. */
int cmbed_session_new(cmbed_session **session, int descriptor, int endpoint, const char *alpn, char *text);

int cmbed_is_tls13(const cmbed_session *session);

/* --- explain.c ----------------------------------------------------------------------------------------------- */

/* mbedTLS calls it for each certificate of the peer's chain, with what it has found; the leaf comes last. */
int cmbed_witness(void *session, mbedtls_x509_crt *certificate, int depth, uint32_t *flags);

/* "the server push.example" or "the client". */
const char *cmbed_peer(const cmbed_session *session, char name[CMBED_NAME_MAX]);

/* Turns an error of mbedTLS into a code and a text, and makes them the session's answer from now on. */
int cmbed_explain(cmbed_session *session, int error);

int cmbed_fail(cmbed_session *session, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* --- client.c, server.c -------------------------------------------------------------------------------------- */

/* For so long at most a session is resumed before the peer is verified anew. */
#define CMBED_RESUME_MAX (24 * 60 * 60)

/* Keeps the session for the next connection. */
void cmbed_resumption_keep(cmbed_session *session);

struct cmbed_server {
  cmbed_authorities authorities;
  cmbed_identity identity;
  mbedtls_ssl_ticket_context tickets;
  char *alpn, *ca;
  int alpn_anonymous;
  int (*admit)(cmbed_session *session); /* by a pointer, so that no client has it */
};

#endif
