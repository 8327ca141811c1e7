/* What the files of CMbed share. Of mbedTLS's own headers only those that hold no time_t: see resume.c. */

#ifndef CMBED_INTERNAL_H
#define CMBED_INTERNAL_H

#define _GNU_SOURCE

#include "CMbed.h"

#include <mbedtls/version.h>
#include <mbedtls/pk.h>
#include <mbedtls/ssl.h>
#include <mbedtls/x509_crt.h>

#ifndef MBEDTLS_PRIVATE
#define MBEDTLS_PRIVATE(member) member
#endif

/* --- text.c -------------------------------------------------------------------------------------------------- */

/* Room for one name or date inside a text. */
#define CMBED_NAME_MAX 128
#define CMBED_DATE_MAX 32

/* Formats `text`, of CMBED_TEXT_MAX, and returns `code`. */
int cmbed_say(char *text, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Appends to `text`, of `room` bytes in all. */
void cmbed_append(char *text, size_t room, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Copies what a stranger may have written: control characters become '?'. Cut to `room`, its NUL included. */
void cmbed_copy_clean(char *to, size_t room, const void *from, size_t count);

/* "2026-01-31 09:00 UTC" */
void cmbed_date(char date[CMBED_DATE_MAX], int64_t seconds);

/* What mbedTLS calls an error. */
void cmbed_library_error(char name[CMBED_NAME_MAX], int error);

/* Whether the error is, underneath, that there was no memory. */
int cmbed_is_memory(int error);

/* --- clock.c ------------------------------------------------------------------------------------------------- */

typedef struct {
  int year, month, day, hour, minute, second;
} cmbed_calendar;

int64_t cmbed_now(void);
int64_t cmbed_seconds(const mbedtls_x509_time *time);

/* 0, or -1 outside the years 1970 to 9999. */
int cmbed_calendar_of(cmbed_calendar *calendar, int64_t seconds);

/* --- file.c -------------------------------------------------------------------------------------------------- */

typedef struct {
  unsigned char *bytes; /* a NUL follows */
  size_t count, room;
} cmbed_file;

/* `what` begins the sentence of an error: "The CA file". Clear with cmbed_file_clear, which wipes. */
int cmbed_file_read(cmbed_file *file, const char *what, const char *path, char *text);
void cmbed_file_clear(cmbed_file *file);

int cmbed_file_write(const char *path, const char *content, unsigned mode, char *text);

/* A CA file: good as soon as one of its certificates can be read. A server's is parsed, for it is named to clients. */
int cmbed_authorities_read(mbedtls_x509_crt *certificates, const char *path, char *text);

/* A client's stays as it is, but for being DER: most of it is never needed, and parsed it takes twice the memory, in
   pieces that the heap does not get rid of. */
int cmbed_trust_read(cmbed_file *trust, const char *path, char *text);

/* A chain of our own: every certificate must be readable. */
int cmbed_chain_read(mbedtls_x509_crt *certificates, const char *path, char *text);

int cmbed_key_read(mbedtls_pk_context *key, const char *path, const char *password, char *text);

int cmbed_pair_check(const mbedtls_x509_crt *certificate, mbedtls_pk_context *key, const char *certificate_path,
                     const char *key_path, char *text);

/* --- trust.c ------------------------------------------------------------------------------------------------- */

/* The length of the DER value that begins at `bytes`; 0 if it is none, or goes beyond `count`. */
size_t cmbed_der_count(unsigned char *bytes, size_t count);

int cmbed_trust_is_usable(const cmbed_file *trust);

/* Parses, of everything trusted, what bears the name of an issuer of `certificates`. */
int cmbed_trust_select(mbedtls_x509_crt *selected, const cmbed_file *trust, const mbedtls_x509_crt *certificates);

/* --- pbes2.c ------------------------------------------------------------------------------------------------- */

/* Opens a PKCS#8 key that AES encrypts. MBEDTLS_ERR_PK_FEATURE_UNAVAILABLE where it is something else. */
int cmbed_pbes2_open(mbedtls_pk_context *key, const cmbed_file *file, const char *password);

/* --- certificate.c ------------------------------------------------------------------------------------------- */

#define CMBED_OID_UID "\x09\x92\x26\x89\x93\xf2\x2c\x64\x01\x01"
#define CMBED_OID_APPLE_SANDBOX "\x2a\x86\x48\x86\xf7\x63\x64\x06\x03\x01"
#define CMBED_OID_APPLE_PRODUCTION "\x2a\x86\x48\x86\xf7\x63\x64\x06\x03\x02"
#define CMBED_OID_APPLE_TOPICS "\x2a\x86\x48\x86\xf7\x63\x64\x06\x03\x06"

/* The common name, for people; else the first attribute that there is; else "". */
void cmbed_name_common(char *to, size_t room, const mbedtls_x509_name *name);

/* The topic, to the letter, or "". */
void cmbed_name_topic(char to[CMBED_NAME_MAX], const mbedtls_x509_name *name);

/* What a client's certificate says of the client. */
typedef struct {
  char topic[CMBED_NAME_MAX], topics[256];
  int kind;
} cmbed_client;

void cmbed_client_read(cmbed_client *client, const mbedtls_x509_crt *certificate);

/* Puts a certificate at its place in a chain. */
void cmbed_chain_note(cmbed_chain *chain, int index, const mbedtls_x509_crt *certificate);

/* Every host name and address that a certificate is made out to, with commas between. */
void cmbed_certificate_names(char *to, size_t room, const mbedtls_x509_crt *certificate);

int cmbed_certificate_bears_address(const mbedtls_x509_crt *certificate, const char *host);

/* --- random.c, suites.c -------------------------------------------------------------------------------------- */

/* The kernel's own randomness, in mbedTLS's shape; no state, so nothing to keep or to seed. */
int cmbed_random(void *unused, unsigned char *bytes, size_t count);

const int *cmbed_suites(void);

/* --- session.c ----------------------------------------------------------------------------------------------- */

/* Trust and identity. A client's lives until the end of its handshake, a server's as long as the server. */
typedef struct {
  cmbed_file trust;                    /* a client's */
  mbedtls_x509_crt authorities, chain; /* a client's authorities are empty */
  mbedtls_pk_context key;
} cmbed_identity;

void cmbed_identity_init(cmbed_identity *identity);
void cmbed_identity_clear(cmbed_identity *identity);

/* What was seen of the peer's certificates, for the text of a refusal. Lives as long as the handshake. */
typedef struct {
  char names[192];
  char subject[CMBED_NAME_MAX], issuer[CMBED_NAME_MAX]; /* of the certificate whose issuer is not trusted */
  char late[CMBED_NAME_MAX], early[CMBED_NAME_MAX];
  char unsuitable[CMBED_NAME_MAX]; /* of a certificate that is weak, revoked or made for something else */
  int64_t late_date, early_date;
  int self_signed; /* at which depth, from 1 */
  int unknown;
  uint32_t flags;
} cmbed_evidence;

typedef struct cmbed_queue cmbed_queue;

struct cmbed_session {
  mbedtls_ssl_context ssl;
  mbedtls_ssl_config conf;
  cmbed_identity *identity; /* a client's; NULL once the handshake is complete */
  cmbed_evidence *evidence;
  cmbed_server *server; /* NULL: a client */
  cmbed_resumption *resumption;
  char *host, *authorities; /* a client's host name; the path of the CA file */
  char *alpn[2];
  cmbed_chain *peer;
  size_t identity_bytes; /* of our certificates */
  uint64_t written;
  uint64_t greeting, shown; /* what was written before the first answer came, and by the end of the handshake */
  size_t recorded; /* of what is being written: how much of it records have already carried */
  cmbed_queue *queue; /* what waits to be sent; NULL: nothing */
  size_t allowance; /* how much more this call may take from the socket */
  int64_t not_before, not_after; /* within which the peer's whole chain is valid */
  int64_t since;                 /* when it was verified, however often it has been resumed */
  unsigned char binding[32];
  int descriptor;
  int failure;      /* once set, the answer to every call */
  int broken;       /* the system's error number, once the connection is broken */
  int starved;      /* the last read found the socket empty, or was not to take more */
  int finished;     /* the socket has come to its end: mbedTLS says 0 of that, and of an empty record as well */
  int shows;        /* we show a certificate */
  int verified;     /* the peer's certificate was verified in this handshake */
  int offered;      /* a session was offered for resumption, or a ticket taken */
  int excused;      /* the client needs no certificate */
  int complete;
  int ended;        /* nothing more comes from the peer */
  unsigned heard;   /* how much of `opening` is filled */
  unsigned char opening[8];
  cmbed_client client;
  char text[CMBED_TEXT_MAX];
};

/* A session without an identity, ready but for what differs between client and server. */
int cmbed_session_new(cmbed_session **session, int descriptor, int endpoint, const char *alpn, char *text);

int cmbed_session_identity(cmbed_session *session, cmbed_identity *identity);

/* --- explain.c ----------------------------------------------------------------------------------------------- */

/* mbedTLS calls one of them for each certificate of the peer's chain, its leaf last. This one verifies a server's. */
int cmbed_verify(void *session, mbedtls_x509_crt *certificate, int depth, uint32_t *flags);

/* And this one only looks on, and remembers. */
int cmbed_witness(void *session, mbedtls_x509_crt *certificate, int depth, uint32_t *flags);

/* "the server push.example" or "the client". */
const char *cmbed_peer(const cmbed_session *session, char name[CMBED_NAME_MAX]);

/* Turns an error of mbedTLS into a code and a text, and makes them the session's answer from now on. */
int cmbed_explain(cmbed_session *session, int error);

int cmbed_fail(cmbed_session *session, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* --- resume.c ------------------------------------------------------------------------------------------------ */

/* Keys of a server's tickets: the one in use, and the one before it. */
typedef struct {
  unsigned char name[4], secret[32];
  int64_t made;
} cmbed_ticket_key;

struct cmbed_server {
  cmbed_identity identity;
  cmbed_ticket_key keys[2];
  char *alpn, *authorities;
  int alpn_anonymous;
  /* Called after each step of a handshake, and with the client's certificate: by pointers, so that no client has them. */
  int (*admit)(cmbed_session *session);
  void (*read)(cmbed_client *client, const mbedtls_x509_crt *certificate);
};

/* Ties the session to its host, its authorities and its own certificate, then offers what is kept for them. */
int cmbed_resumption_offer(cmbed_session *session);
void cmbed_resumption_keep(cmbed_session *session);

int cmbed_tickets(cmbed_session *session);

/* Frees the peer's certificate, which mbedTLS keeps for as long as the connection. */
void cmbed_forget_peer(cmbed_session *session);

#endif
