/* CMbed: TLS over a connected, non-blocking socket, with mbedTLS 2.28 or 3.6.

   Each connection has one opaque session, for a client as for a server. The caller keeps everything
   that it passes in. Whatever a function creates, the caller frees with the function named here.
   Only reading files blocks, and there is no global state. mbedTLS always verifies the peer in
   full: a server's chain, host name and dates, and a client's chain and dates.

   Functions with `text` write what is wrong, in words for the user, when they return a negative
   code: what is wrong, where, and what to do. */

#ifndef CMBED_H
#define CMBED_H

#include <stddef.h>
#include <stdint.h>

/* The result of a call. Zero or more is success: a number of bytes, where bytes are counted. */
enum {
  CMBED_OK = 0,
  CMBED_WANT_READ = -1,  /* no error: call again when the socket is readable */
  CMBED_WANT_WRITE = -2, /* no error: call again with the same bytes when it is writable */
  CMBED_CLOSED = -3,     /* the peer closed in order: close_notify, or end of stream */
  CMBED_RESET = -4,      /* the connection failed: reset, timed out, unreachable */

  /* This side: somebody must correct a file or a setting. */
  CMBED_FILE_MISSING = -10,
  CMBED_FILE_UNREADABLE = -11, /* no permission, or an I/O error */
  CMBED_FILE_INVALID = -12,    /* not PEM, or with the wrong contents */
  CMBED_KEY_PASSWORD = -13,    /* the key is encrypted, and the password is missing or wrong */
  CMBED_KEY_MISMATCH = -14,    /* the key does not belong to the certificate */

  /* The peer's certificate is refused. */
  CMBED_PEER_HOST = -20,          /* valid for other host names */
  CMBED_PEER_UNKNOWN_CA = -21,    /* no chain to a certificate in the CA file */
  CMBED_PEER_SELF_SIGNED = -22,
  CMBED_PEER_EXPIRED = -23,
  CMBED_PEER_NOT_YET_VALID = -24, /* usually, this machine's clock is not set */
  CMBED_PEER_MISSING = -25,       /* the peer sent none */
  CMBED_PEER_UNSUITABLE = -26,    /* wrong purpose, weak key or signature, revoked */

  /* The peer refuses this side with an alert. */
  CMBED_REFUSED_CERTIFICATE = -30, /* a client certificate is missing or not accepted */
  CMBED_REFUSED = -31,             /* any other reason: version, cipher suite, access */

  CMBED_PROTOCOL = -40, /* not TLS, or invalid TLS */
  CMBED_MEMORY = -41,
  CMBED_INTERNAL = -42,
};

/* The size of the buffer for an error's text, its NUL included. */
#define CMBED_TEXT_MAX 512

/* One connection. Free with cmbed_session_free. */
typedef struct cmbed_session cmbed_session;

/* The state that lets the next connection resume a TLS session. Free with cmbed_resumption_free,
   which wipes the secrets in it. */
typedef struct cmbed_resumption cmbed_resumption;

/* A server's files, keys and tickets. Free with cmbed_server_free, after its sessions. */
typedef struct cmbed_server cmbed_server;

/* One certificate of a chain. */
typedef struct {
  int64_t not_before, not_after; /* UNIX seconds, UTC */
  char name[128];                /* the subject's common name */
  char issuer[128];              /* the issuer's common name */
} cmbed_link;

#define CMBED_CHAIN_MAX 6

/* A chain of certificates, the leaf first. */
typedef struct {
  int count; /* of the whole chain; only the first CMBED_CHAIN_MAX have a link */
  cmbed_link links[CMBED_CHAIN_MAX];
} cmbed_chain;

/* Return the fields of a chain and its links. */
static inline const cmbed_link *cmbed_chain_link(const cmbed_chain *chain, int index) { return &chain->links[index]; }
static inline const char *cmbed_link_name(const cmbed_link *link) { return link->name; }
static inline const char *cmbed_link_issuer(const cmbed_link *link) { return link->issuer; }

/* A client's settings. The texts need to live only during cmbed_client_new. */
typedef struct {
  const char *ca;           /* PEM file of one or more trusted certificates; required */
  const char *certificate;  /* PEM file: the client's own, then its chain; NULL: none */
  const char *key;          /* PEM file; NULL: the key is in the certificate's file */
  const char *key_password; /* NULL: none */
  const char *host;         /* the name that the server's certificate must have; required */
  const char *alpn;         /* the only protocol to offer; NULL: no ALPN */
  cmbed_chain *peer;        /* receives the server's certificates as they are verified, until the
                               handshake ends; NULL: not wanted */
} cmbed_client_options;

/* A server's settings. The texts need to live only during cmbed_server_new. */
typedef struct {
  const char *ca;          /* PEM file of the certificates that clients must chain to; required */
  const char *certificate; /* PEM file: the server's own, then its chain */
  const char *key;         /* PEM file; NULL: the key is in the certificate's file */
  const char *alpn;        /* the only protocol for clients that offer any; NULL: no ALPN */
  int alpn_anonymous;      /* whether clients that offer it need no certificate */
} cmbed_server_options;

/* --- clients -------------------------------------------------------------------------------- */

/* Creates a client's session over `descriptor`, which stays the caller's. Reads the files each
   time, so the next connection uses a renewed certificate. `resumption` may be NULL. The session
   reads and updates it, so it must outlive the session. Returns CMBED_OK, or a negative code with
   `text`; then `*session` is NULL. Free the session with cmbed_session_free. */
int cmbed_client_new(cmbed_session **session, int descriptor, const cmbed_client_options *options,
                     cmbed_resumption *resumption, char text[CMBED_TEXT_MAX]);

/* Creates an empty state for resumption; NULL if there is no memory. */
cmbed_resumption *cmbed_resumption_new(void);

/* Wipes and frees the state; NULL is allowed. */
void cmbed_resumption_free(cmbed_resumption *resumption);

/* --- servers -------------------------------------------------------------------------------- */

/* Creates a server and reads its files. Returns CMBED_OK, or a negative code with `text`; then
   `*server` is NULL. */
int cmbed_server_new(cmbed_server **server, const cmbed_server_options *options, char text[CMBED_TEXT_MAX]);

/* Frees a server; NULL is allowed. */
void cmbed_server_free(cmbed_server *server);

/* Creates a session over an accepted socket, which stays the caller's. The client must send a
   certificate, unless `alpn_anonymous` applies. A certificate that it sends is always verified.
   Returns CMBED_OK, or a negative code with `text`; then `*session` is NULL. */
int cmbed_server_accept(cmbed_session **session, cmbed_server *server, int descriptor, char text[CMBED_TEXT_MAX]);

/* --- sessions ------------------------------------------------------------------------------- */

/* Continues the handshake. Returns CMBED_OK once the peer is verified; a client's CA certificates
   are freed then. Otherwise returns CMBED_WANT_READ, CMBED_WANT_WRITE or an error. */
int cmbed_handshake(cmbed_session *session);

/* Reads up to `count` bytes. Returns their number, CMBED_WANT_READ (even on a readable socket,
   which may hold no application data) or an error. One call reads a limited number of bytes from
   the socket; poll tells whether there are more. */
int cmbed_read(cmbed_session *session, void *bytes, size_t count);

/* Returns whether the session holds unread bytes, which epoll does not show. */
int cmbed_pending(const cmbed_session *session);

/* Writes `count` bytes, at most 16384, as one record; in TLS 1.3, the last byte of 16384 needs a
   second record. Returns `count`, or CMBED_WANT_WRITE: then call again with the same bytes. After
   CMBED_RESET, bytes that the peer sent before can still be read. */
int cmbed_write(cmbed_session *session, const void *bytes, size_t count);

/* Sends close_notify without waiting. The socket stays open. */
void cmbed_close_notify(cmbed_session *session);

/* Frees the session and wipes its keys; NULL is allowed. The descriptor stays the caller's. */
void cmbed_session_free(cmbed_session *session);

/* Returns the text of the last negative result: what is wrong, where, and what to do. The text
   lives as long as the session. */
const char *cmbed_session_text(const cmbed_session *session);

/* Returns the errno value with which the connection failed; 0: it did not fail. */
int cmbed_error(const cmbed_session *session);

/* Returns the bytes handed to the socket so far: whole TLS records, not only their contents. */
uint64_t cmbed_wire_written(const cmbed_session *session);

/* Facts about a completed handshake. The strings live as long as the session; "" if unknown. */
const char *cmbed_version(const cmbed_session *session); /* "TLS 1.2", "TLS 1.3" */

/* Returns the cipher suite. */
const char *cmbed_suite(const cmbed_session *session);

/* Returns the application protocol that both sides agreed on. */
const char *cmbed_alpn(const cmbed_session *session);

/* Returns whether an earlier session was resumed. */
int cmbed_resumed(const cmbed_session *session);

/* Returns whether the client sent its certificate because the server asked for one. The number of
   bytes sent tells, since mbedTLS does not. A resumed session sends none. */
int cmbed_sent_certificate(const cmbed_session *session);

/* The kind of a client certificate, as flags. */
enum { CMBED_PEER_PRESENT = 1, CMBED_PEER_PRODUCTION = 2, CMBED_PEER_SANDBOX = 4 };

/* The topics and environments that a certificate allows; all empty without one. */
typedef struct {
  char topic[128];  /* the subject's UID, else the common name after "Services: "; "": none */
  char topics[256]; /* in Apple's extension 1.2.840.113635.100.6.3.6, joined with ", "; "": none */
  int kind;         /* CMBED_PEER_PRESENT; by Apple's extensions 1.2.840.113635.100.6.3.2 and .1,
                       CMBED_PEER_PRODUCTION and CMBED_PEER_SANDBOX */
} cmbed_rights;

/* Return the fields of a certificate's rights. */
static inline const char *cmbed_rights_topic(const cmbed_rights *rights) { return rights->topic; }
static inline const char *cmbed_rights_topics(const cmbed_rights *rights) { return rights->topics; }

/* Returns the rights in a client's certificate, on the server's side. They live as long as the
   session. */
const cmbed_rights *cmbed_peer_rights(const cmbed_session *session);

/* --- certificates --------------------------------------------------------------------------- */

/* The contents of a certificate file. */
typedef struct {
  int64_t not_before, not_after; /* of the first certificate: UNIX seconds, UTC */
  cmbed_chain chain;       /* the file's certificates, in its order */
  int broken;              /* the first one that no later one issued, counted from 1; 0: none */
  cmbed_rights rights;
  char key[32];            /* the public key's kind and bits: "EC, 256 bits" */
} cmbed_certificate;

/* Return the fields of a certificate file. */
static inline const cmbed_chain *cmbed_certificate_chain(const cmbed_certificate *it) { return &it->chain; }
static inline const char *cmbed_certificate_topic(const cmbed_certificate *it) { return it->rights.topic; }
static inline const char *cmbed_certificate_topics(const cmbed_certificate *it) { return it->rights.topics; }
static inline const char *cmbed_certificate_key(const cmbed_certificate *it) { return it->key; }

/* Returns how many readable certificates a CA file holds, or a negative code with `text`. */
int cmbed_authorities_count(const char *path, char text[CMBED_TEXT_MAX]);

/* Reads the certificates of a PEM file. If `key` is not NULL, also checks that the key in that file
   can be read and belongs to the first certificate; both files may be the same.
   Returns CMBED_OK, or a negative code with `text`. */
int cmbed_certificate_read(cmbed_certificate *certificate, const char *path, const char *key, const char *key_password,
                           char text[CMBED_TEXT_MAX]);

/* The size of the buffer for a certificate or a key in PEM. */
#define CMBED_PEM_MAX 4096

/* The purpose of a certificate. */
typedef enum {
  CMBED_AUTHORITY, /* may issue other certificates */
  CMBED_SERVER,    /* valid for localhost, 127.0.0.1 and ::1 */
  CMBED_CLIENT,    /* with Apple's development extension */
} cmbed_issue_kind;

/* The contents of a certificate to issue. */
typedef struct {
  cmbed_issue_kind kind;
  const char *name;   /* the common name, without characters that are special in X.500 names */
  const char *issuer; /* PEM file of the issuing certificate; NULL: self-signed */
  const char *issuer_key;
  int rsa;            /* 1: an RSA key of 2048 bits (seconds on a small board); 0: EC P-256 */
  int64_t not_before, not_after; /* UNIX seconds */
} cmbed_issue_options;

/* Makes a key and its certificate, both in PEM. Returns CMBED_OK, or a negative code with
   `text`. */
int cmbed_issue(char certificate[CMBED_PEM_MAX], char key[CMBED_PEM_MAX], const cmbed_issue_options *options,
                char text[CMBED_TEXT_MAX]);

/* --- signing keys --------------------------------------------------------------------------- */

/* The bytes of a signature: the numbers r and s, 32 bytes each, big-endian. */
#define CMBED_SIGNATURE 64

/* The bytes of a public key: an uncompressed point of the curve P-256. */
#define CMBED_POINT 65

/* Reads the public key of one of Apple's signing keys (PEM, PKCS#8, EC P-256, no password), and wipes
   the key from memory. Returns CMBED_OK, or a negative code with `text`. */
int cmbed_signing_key_public(const char *path, unsigned char point[CMBED_POINT], char text[CMBED_TEXT_MAX]);

/* Reads one of these keys in the same way, and signs `bytes` with ES256 (RFC 7518, section 3.4). The
   same bytes always get the same signature (RFC 6979). */
int cmbed_sign(unsigned char signature[CMBED_SIGNATURE], const char *path, const void *bytes, size_t count,
               char text[CMBED_TEXT_MAX]);

/* Makes a signing key of that form, in PEM. Returns CMBED_OK, or a negative code with `text`. */
int cmbed_signing_key_make(char pem[CMBED_PEM_MAX], char text[CMBED_TEXT_MAX]);

/* Returns whether the signature is valid for these bytes and this public key. */
int cmbed_signature_is_good(const unsigned char signature[CMBED_SIGNATURE], const unsigned char point[CMBED_POINT],
                            const void *bytes, size_t count);

/* --- encrypted payloads ---------------------------------------------------------------------- */

/* The modes of AES that the app Bark knows: CBC with the padding of PKCS#7, and GCM with the tag
   behind the text. */
typedef enum { CMBED_SEAL_CBC, CMBED_SEAL_GCM } cmbed_seal_mode;

/* The most bytes of a text, and the characters of an IV. */
#define CMBED_SEAL_CONTENT 4096
#define CMBED_SEAL_CBC_IV 16
#define CMBED_SEAL_GCM_IV 12

/* Encrypts `count` bytes under a key of 16, 24 or 32 bytes and a fresh IV, and writes them to
   `sealed` in base64, with a NUL behind. Returns the number of characters, or a negative code. */
int cmbed_seal(char *sealed, size_t room, char *iv, cmbed_seal_mode mode, const unsigned char *key, size_t key_count,
               const void *bytes, size_t count);

/* The size of the buffer for the text of cmbed_unseal. */
#define CMBED_SEAL_ROOM (CMBED_SEAL_CONTENT + 32)

/* Decrypts what cmbed_seal wrote. Returns the number of bytes, or a negative code if it was not
   encrypted under this key. */
int cmbed_unseal(unsigned char *bytes, cmbed_seal_mode mode, const unsigned char *key, size_t key_count, const char *iv,
                 size_t iv_count, const void *sealed, size_t sealed_count);

/* --- Web Push -------------------------------------------------------------------------------- */

/* The bytes of a subscription's secret, of the longest text, and of that text's body. */
#define CMBED_WEBPUSH_AUTH 16
#define CMBED_WEBPUSH_TEXT 3993
#define CMBED_WEBPUSH_BODY 4096

/* Encrypts a text for a subscription (RFC 8291): one record of aes128gcm, under a fresh key pair and
   salt. Returns the bytes of the body, 103 more than those of the text; or a negative code, which is
   CMBED_FILE_INVALID if the subscription's point is not on the curve. */
int cmbed_webpush_seal(unsigned char body[CMBED_WEBPUSH_BODY], const unsigned char point[CMBED_POINT],
                       const unsigned char auth[CMBED_WEBPUSH_AUTH], const void *text, size_t count);

/* Decrypts a body with the keys of a browser. Returns the bytes of the text; or a negative code, which
   is CMBED_FILE_INVALID if the body was not encrypted for these keys. */
int cmbed_webpush_open(unsigned char text[CMBED_WEBPUSH_TEXT], const unsigned char private_key[32],
                       const unsigned char point[CMBED_POINT], const unsigned char auth[CMBED_WEBPUSH_AUTH],
                       const void *body, size_t count);

/* Makes the key pair of a browser. Returns CMBED_OK or a negative code. */
int cmbed_webpush_pair(unsigned char private_key[32], unsigned char point[CMBED_POINT]);

/* Returns whether a point is on the curve P-256. */
int cmbed_point_is_good(const unsigned char point[CMBED_POINT]);

#endif
