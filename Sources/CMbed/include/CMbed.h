/* CMbed: TLS over a connected, non-blocking socket, by mbedTLS 2.28 or 3.6.

   An opaque session for each connection, on either side of it. Everything that is given to a function stays the
   caller's; what a function returns is the caller's to free with the function named beside it. Nothing here blocks but
   the reading of files, nothing is global, and nothing is ever verified less than wholly, by mbedTLS itself: the chain,
   the host name and the dates of a server, the chain and the dates of a client. */

#ifndef CMBED_H
#define CMBED_H

#include <stddef.h>
#include <stdint.h>

/* What a call came to. Zero or more is success (bytes, where bytes are counted). */
enum {
  CMBED_OK = 0,
  CMBED_WANT_READ = -1,  /* nothing wrong: call again when the socket can be read */
  CMBED_WANT_WRITE = -2, /* nothing wrong: call again, with the same bytes, when it can be written */
  CMBED_CLOSED = -3,     /* the peer closed in order: close_notify, or the end of the stream */
  CMBED_RESET = -4,      /* the connection broke: reset, timed out, unreachable */

  /* Our side: somebody has to mend a file or a setting. */
  CMBED_FILE_MISSING = -10,
  CMBED_FILE_UNREADABLE = -11, /* permission */
  CMBED_FILE_INVALID = -12,    /* not PEM, or not what it should be */
  CMBED_KEY_PASSWORD = -13,    /* the key is encrypted, and the password is missing or wrong */
  CMBED_KEY_MISMATCH = -14,    /* the key does not belong to the certificate */

  /* The peer's certificate is refused. */
  CMBED_PEER_HOST = -20,          /* made out to another host name */
  CMBED_PEER_UNKNOWN_CA = -21,    /* no chain to a certificate in the CA file */
  CMBED_PEER_SELF_SIGNED = -22,
  CMBED_PEER_EXPIRED = -23,
  CMBED_PEER_NOT_YET_VALID = -24, /* more often than not: this machine's clock is not set */
  CMBED_PEER_MISSING = -25,       /* the peer showed none */
  CMBED_PEER_UNSUITABLE = -26,    /* wrong purpose, weak key or signature, revoked */

  /* The peer refuses us, by an alert. */
  CMBED_REFUSED_CERTIFICATE = -30, /* it wants one, or will not have ours */
  CMBED_REFUSED = -31,             /* anything else: version, cipher suite, access */

  CMBED_PROTOCOL = -40, /* not TLS, or broken TLS */
  CMBED_MEMORY = -41,
  CMBED_INTERNAL = -42,
};

/* Room for the longest text of an error, its NUL included. */
#define CMBED_TEXT_MAX 512

/* One connection. Free with cmbed_session_free. */
typedef struct cmbed_session cmbed_session;

/* What the next connection needs to resume this one's TLS session. Free with cmbed_resumption_free.
   It holds secrets, and is wiped when it is freed. */
typedef struct cmbed_resumption cmbed_resumption;

/* The files, keys and tickets of a server. Free with cmbed_server_free, after its sessions. */
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
  int count; /* of all of them; those from CMBED_CHAIN_MAX on are left out */
  cmbed_link links[CMBED_CHAIN_MAX];
} cmbed_chain;

static inline const cmbed_link *cmbed_chain_link(const cmbed_chain *chain, int index) { return &chain->links[index]; }
static inline const char *cmbed_link_name(const cmbed_link *link) { return link->name; }
static inline const char *cmbed_link_issuer(const cmbed_link *link) { return link->issuer; }

typedef struct {
  const char *ca;           /* PEM file of one or more trusted certificates; required */
  const char *certificate;  /* PEM file: ours, then its chain; NULL: none is shown */
  const char *key;          /* PEM file; NULL: the key is in the certificate's file */
  const char *key_password; /* NULL: none */
  const char *host;         /* the name that the server's certificate must bear; required */
  const char *alpn;         /* the one protocol to offer; NULL: no ALPN */
  cmbed_chain *peer;        /* filled with the server's certificates, as they are verified; outlives the handshake; NULL: not */
} cmbed_client_options;

typedef struct {
  const char *ca;          /* PEM file of the certificates that clients must chain to; required */
  const char *certificate; /* PEM file: ours, then its chain */
  const char *key;         /* PEM file; NULL: in the certificate's file */
  const char *alpn;        /* the one protocol that is spoken with clients that offer any; NULL: no ALPN */
  int alpn_anonymous;      /* clients that offer it need no certificate */
} cmbed_server_options;

/* --- a client ------------------------------------------------------------------------------------------------ */

/* A session over `descriptor`, which stays the caller's. Reads the files afresh, so that a renewed certificate is taken
   up by the next connection. `resumption` may be NULL; it is read here and updated while the session lives, so it must
   outlive the session. On failure `*session` is NULL and `text` says in words what is wrong and with which file. */
int cmbed_client_new(cmbed_session **session, int descriptor, const cmbed_client_options *options,
                     cmbed_resumption *resumption, char text[CMBED_TEXT_MAX]);

cmbed_resumption *cmbed_resumption_new(void);
void cmbed_resumption_free(cmbed_resumption *resumption);

/* --- a server ------------------------------------------------------------------------------------------------ */

int cmbed_server_new(cmbed_server **server, const cmbed_server_options *options, char text[CMBED_TEXT_MAX]);
void cmbed_server_free(cmbed_server *server);

/* A session over an accepted socket. A client certificate is required, unless the options excuse the client; where one is
   shown, it is verified. */
int cmbed_server_accept(cmbed_session **session, cmbed_server *server, int descriptor, char text[CMBED_TEXT_MAX]);

/* --- a session ----------------------------------------------------------------------------------------------- */

/* Goes on with the handshake. CMBED_OK: done, the peer is verified, and the authorities are freed. */
int cmbed_handshake(cmbed_session *session);

/* Up to `count` bytes into `bytes`. A readable socket need not hold application data: CMBED_WANT_READ. One call takes only
   so much from the socket: more may be left there, of which a poll tells. */
int cmbed_read(cmbed_session *session, void *bytes, size_t count);

/* Whether to read on at once: bytes are waiting inside the session, of which epoll knows nothing. */
int cmbed_pending(const cmbed_session *session);

/* Writes `count` bytes, 16384 at most, as one record; in TLS 1.3 the last byte of 16384 makes another. Returns `count`,
   or CMBED_WANT_WRITE, after which the call must be made again with the same bytes. After CMBED_RESET, what the peer
   had sent before can still be read. */
int cmbed_write(cmbed_session *session, const void *bytes, size_t count);

/* Says goodbye (close_notify) without waiting. The socket stays open. */
void cmbed_goodbye(cmbed_session *session);

/* Frees the session, and wipes its keys. The descriptor stays the caller's. NULL is fine. */
void cmbed_session_free(cmbed_session *session);

/* In words that a user understands, what the last negative result meant: what, where, what to do. */
const char *cmbed_session_text(const cmbed_session *session);

/* The system's error number with which the connection broke; 0 while it has not, and where the peer closed in order. */
int cmbed_error(const cmbed_session *session);

/* Bytes handed to the socket so far: records, not what they hold. */
uint64_t cmbed_wire_written(const cmbed_session *session);

/* Facts of a completed handshake. The strings live as long as the session; "" where there is nothing to say. */
const char *cmbed_version(const cmbed_session *session); /* "TLS 1.2", "TLS 1.3" */
const char *cmbed_suite(const cmbed_session *session);
const char *cmbed_alpn(const cmbed_session *session);
int cmbed_resumed(const cmbed_session *session);

/* Whether the server asked for our certificate and was shown it, judged by how much was sent: 1, or 0; a session that is
   resumed shows none. */
int cmbed_shown(const cmbed_session *session);

/* What a client's certificate says of the client; all empty without one, and on a client's side. */
enum { CMBED_PEER_SHOWN = 1, CMBED_PEER_PRODUCTION = 2, CMBED_PEER_SANDBOX = 4 };

typedef struct {
  char topic[128];  /* the subject's UID, else what follows "Services: " in its common name; "" for none */
  char topics[256]; /* those in Apple's extension 1.2.840.113635.100.6.3.6, with ", " between; "" without it */
  int kind;         /* shown at all, and Apple's extensions 1.2.840.113635.100.6.3.2 and .1 */
} cmbed_bearer;

static inline const char *cmbed_bearer_topic(const cmbed_bearer *bearer) { return bearer->topic; }
static inline const char *cmbed_bearer_topics(const cmbed_bearer *bearer) { return bearer->topics; }

const cmbed_bearer *cmbed_peer_bearer(const cmbed_session *session);

/* --- certificates -------------------------------------------------------------------------------------------- */

typedef struct {
  int64_t not_before, not_after; /* of the first certificate: UNIX seconds, UTC */
  cmbed_chain chain;       /* what the file holds, in its order */
  int broken;              /* the first in the chain that the one behind it has not issued, from 1; 0: there is none */
  cmbed_bearer bearer;
  char key[32];            /* the public key's kind and bits: "EC, 256 bits" */
} cmbed_certificate;

static inline const cmbed_chain *cmbed_certificate_chain(const cmbed_certificate *it) { return &it->chain; }
static inline const char *cmbed_certificate_topic(const cmbed_certificate *it) { return it->bearer.topic; }
static inline const char *cmbed_certificate_topics(const cmbed_certificate *it) { return it->bearer.topics; }
static inline const char *cmbed_certificate_key(const cmbed_certificate *it) { return it->key; }

/* How many certificates a CA file holds that can be read, or a negative code. */
int cmbed_authorities_count(const char *path, char text[CMBED_TEXT_MAX]);

/* Reads what a PEM file says of its first certificate and of those behind it; with `key` not NULL (the certificate's own
   file for a key inside it) also that the key can be read and belongs to it. */
int cmbed_certificate_read(cmbed_certificate *certificate, const char *path, const char *key, const char *key_password,
                           char text[CMBED_TEXT_MAX]);

/* Room for a certificate or a key in PEM. */
#define CMBED_PEM_MAX 4096

typedef enum {
  CMBED_AUTHORITY, /* may issue others */
  CMBED_SERVER,    /* made out to localhost, 127.0.0.1 and ::1 */
  CMBED_CLIENT,    /* with Apple's development extension */
} cmbed_issue_kind;

typedef struct {
  cmbed_issue_kind kind;
  const char *name;   /* common name, which holds nothing that X.500 gives a meaning */
  const char *issuer; /* PEM file of the issuing certificate; NULL: signed by itself */
  const char *issuer_key;
  int rsa;            /* an RSA key of 2048 bits, which takes seconds on a small board; else an EC key: P-256 */
  int64_t not_before, not_after; /* UNIX seconds */
} cmbed_issue_options;

/* Makes a key and a certificate for it. */
int cmbed_issue(char certificate[CMBED_PEM_MAX], char key[CMBED_PEM_MAX], const cmbed_issue_options *options,
                char text[CMBED_TEXT_MAX]);

/* --- signing keys -------------------------------------------------------------------------------------------- */

/* Bytes of a signature: r and s, each a number of 32 bytes, the highest first. */
#define CMBED_SIGNATURE 64

/* Reads a signing key of Apple's (PEM, PKCS#8, an EC key of the curve P-256, no password), and leaves nothing of it in
   memory. `digest` becomes the SHA-256 of its public key. CMBED_OK, or a negative code with `text`. */
int cmbed_signing_key_read(const char *path, unsigned char digest[32], char text[CMBED_TEXT_MAX]);

/* The same, and signs `bytes` with the key: ES256 (RFC 7518, section 3.4). */
int cmbed_sign(unsigned char signature[CMBED_SIGNATURE], const char *path, const void *bytes, size_t count,
               unsigned char digest[32], char text[CMBED_TEXT_MAX]);

/* Bytes of a public key: a point of the curve P-256, uncompressed. */
#define CMBED_POINT 65

/* Makes a signing key of that form. */
int cmbed_signing_key_make(char pem[CMBED_PEM_MAX], char text[CMBED_TEXT_MAX]);

/* The public key of a signing key. */
int cmbed_signing_key_public(const char *path, unsigned char point[CMBED_POINT], char text[CMBED_TEXT_MAX]);

/* Whether the signature of these bytes was made with the key to which the public key belongs. */
int cmbed_signature_is_good(const unsigned char signature[CMBED_SIGNATURE], const unsigned char point[CMBED_POINT],
                            const void *bytes, size_t count);

/* --- device tokens ------------------------------------------------------------------------------------------- */

/* Bytes of what a token stands for, of the token, and of the key under which it is sealed. */
#define CMBED_TOKEN_CONTENT 16
#define CMBED_TOKEN 32
#define CMBED_TOKEN_KEY 64

/* Seals 16 bytes under a key, in the manner of SIV (RFC 5297): `token` is the first 16 bytes of HMAC-SHA256 over the
   content under the key's first 32 bytes, and then the content in AES-256-CTR under its last 32, where those 16 bytes are
   the first counter block. The same content has always the same token. CMBED_OK, or a negative code. */
int cmbed_token_seal(unsigned char *token, const unsigned char *key, const unsigned char *content);

/* What a token stands for: 1; 0 when it was not sealed under this key, and then the content means nothing; or a negative
   code. */
int cmbed_token_open(unsigned char *content, const unsigned char *key, const unsigned char *token);

/* SHA-256. CMBED_OK, or a negative code. */
int cmbed_digest(unsigned char digest[32], const void *bytes, size_t count);

#endif
