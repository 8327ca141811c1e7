#include "internal.h"

#include <errno.h>
#include <malloc.h>
#include <mbedtls/net_sockets.h>
#include <mbedtls/platform_util.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#if MBEDTLS_VERSION_NUMBER >= 0x03000000
#include <psa/crypto.h>
#endif

#define RECORD_MAX 16384
#define READ_MAX (4 * RECORD_MAX) /* what one reading takes from the socket, however little of it is for the reader */
#define QUEUE_MAX (RECORD_MAX + 1024) /* a batch, its records' heads and ends, and some alerts */
#define RECORD_HEAD 64 /* more than mbedTLS puts before what a record holds */

/* --- the socket ---------------------------------------------------------------------------------------------- */

/* How many of the bytes the socket takes by now. */
static size_t put(cmbed_session *session, const unsigned char *bytes, size_t count) {
  while (session->broken == 0) {
    ssize_t sent = send(session->descriptor, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      session->written += (uint64_t)sent;
      return (size_t)sent;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) break;
    if (errno != EINTR) session->broken = errno;
  }
  return 0;
}

/* What the socket did not take. mbedTLS has one buffer for all that it sends, and while that is not empty, whatever it is
   to send next is forgotten: a batch behind an alert, or an alert behind a batch; and it does not say whose bytes it
   sent. So after the handshake its buffer is always emptied, if need be into this queue. */
struct cmbed_queue {
  size_t start, end;
  unsigned char bytes[QUEUE_MAX];
};

/* Sends what is queued. The queue is gone when it is empty. */
static void drain(cmbed_session *session) {
  cmbed_queue *queue = session->queue;
  if (queue == NULL) return;
  queue->start += put(session, queue->bytes + queue->start, queue->end - queue->start);
  if (queue->start < queue->end && session->broken == 0) return;
  free(queue);
  session->queue = NULL;
}

static int enqueue(cmbed_session *session, const unsigned char *bytes, size_t count) {
  cmbed_queue *queue = session->queue;
  if (queue == NULL) {
    queue = session->queue = malloc(sizeof *queue);
    if (queue == NULL) return ENOMEM;
    queue->start = queue->end = 0;
  }
  if (count > sizeof queue->bytes - queue->end) return ENOBUFS;
  memcpy(queue->bytes + queue->end, bytes, count);
  queue->end += count;
  return 0;
}

/* On a broken connection it pretends to write: the peer's last words, an alert most likely, may still wait to be read,
   and they tell more than the system's error does. Reading then ends in that error, if there are none. */
static int wire_send(void *context, const unsigned char *bytes, size_t count) {
  cmbed_session *session = context;
  drain(session);
  size_t sent = session->queue == NULL ? put(session, bytes, count) : 0;
  if (session->broken != 0 || sent == count) return (int)count;
  if (!session->complete) return sent > 0 ? (int)sent : MBEDTLS_ERR_SSL_WANT_WRITE;
  session->broken = enqueue(session, bytes + sent, count - sent);
  return (int)count;
}

/* A peer that sends faster than it is read must not hold up everything else: what is left over waits in the socket. */
static int wire_receive(void *context, unsigned char *bytes, size_t count) {
  cmbed_session *session = context;
  ssize_t got;
  if (session->allowance == 0) {
    session->starved = 1;
    return MBEDTLS_ERR_SSL_WANT_READ;
  }
  if (count > session->allowance) count = session->allowance;
  do got = recv(session->descriptor, bytes, count, MSG_DONTWAIT);
  while (got < 0 && errno == EINTR);
  if (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && session->broken == 0) session->broken = errno;
  if (got > 0) {
    session->allowance -= (size_t)got;
    if (session->heard == 0) session->greeting = session->written;
    for (ssize_t index = 0; index < got && session->heard < sizeof session->opening; index++)
      session->opening[session->heard++] = bytes[index];
    return (int)got;
  }
  if (session->broken != 0) return MBEDTLS_ERR_NET_CONN_RESET;
  session->starved = got < 0;
  session->finished = got == 0;
  return got < 0 ? MBEDTLS_ERR_SSL_WANT_READ : 0;
}

/* --- making and freeing -------------------------------------------------------------------------------------- */

void cmbed_identity_init(cmbed_identity *identity) {
  identity->trust = (cmbed_file){NULL, 0, 0};
  mbedtls_x509_crt_init(&identity->authorities);
  mbedtls_x509_crt_init(&identity->chain);
  mbedtls_pk_init(&identity->key);
}

void cmbed_identity_clear(cmbed_identity *identity) {
  cmbed_file_clear(&identity->trust);
  mbedtls_x509_crt_free(&identity->authorities);
  mbedtls_x509_crt_free(&identity->chain);
  mbedtls_pk_free(&identity->key);
}

static void free_identity(cmbed_session *session) {
  if (session->identity == NULL) return;
  cmbed_identity_clear(session->identity);
  free(session->identity);
  session->identity = NULL;
}

static int configure(mbedtls_ssl_config *conf, int endpoint) {
  int error = mbedtls_ssl_config_defaults(conf, endpoint, MBEDTLS_SSL_TRANSPORT_STREAM, MBEDTLS_SSL_PRESET_DEFAULT);
  if (error != 0) return error;
  mbedtls_ssl_conf_rng(conf, cmbed_random, NULL);
  mbedtls_ssl_conf_authmode(conf, MBEDTLS_SSL_VERIFY_REQUIRED);
  mbedtls_ssl_conf_ciphersuites(conf, cmbed_suites());
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
  /* P-256 first: every server has it, and a larger curve costs a small processor a second. */
  static const uint16_t groups[] = {
    MBEDTLS_SSL_IANA_TLS_GROUP_SECP256R1, MBEDTLS_SSL_IANA_TLS_GROUP_X25519, MBEDTLS_SSL_IANA_TLS_GROUP_SECP384R1,
    MBEDTLS_SSL_IANA_TLS_GROUP_SECP521R1, MBEDTLS_SSL_IANA_TLS_GROUP_NONE,
  };
  mbedtls_ssl_conf_groups(conf, groups);
  /* PKCS #1 before PSS, which it offers first: servers of TLS 1.2 choose it then, and it cannot read it there. */
  static const uint16_t signatures[] = {
    MBEDTLS_TLS1_3_SIG_ECDSA_SECP256R1_SHA256, MBEDTLS_TLS1_3_SIG_ECDSA_SECP384R1_SHA384,
    MBEDTLS_TLS1_3_SIG_ECDSA_SECP521R1_SHA512, MBEDTLS_TLS1_3_SIG_RSA_PKCS1_SHA256,
    MBEDTLS_TLS1_3_SIG_RSA_PKCS1_SHA384, MBEDTLS_TLS1_3_SIG_RSA_PKCS1_SHA512,
    MBEDTLS_TLS1_3_SIG_RSA_PSS_RSAE_SHA256, MBEDTLS_TLS1_3_SIG_RSA_PSS_RSAE_SHA384,
    MBEDTLS_TLS1_3_SIG_RSA_PSS_RSAE_SHA512, MBEDTLS_TLS1_3_SIG_NONE,
  };
  mbedtls_ssl_conf_sig_algs(conf, signatures);
  mbedtls_ssl_conf_min_tls_version(conf, MBEDTLS_SSL_VERSION_TLS1_2);
#if defined(MBEDTLS_SSL_PROTO_TLS1_3)
  mbedtls_ssl_conf_max_tls_version(conf, MBEDTLS_SSL_VERSION_TLS1_3);
#endif
#if MBEDTLS_VERSION_NUMBER >= 0x03060100
  if (endpoint == MBEDTLS_SSL_IS_CLIENT)
    mbedtls_ssl_conf_tls13_enable_signal_new_session_tickets(
      conf, MBEDTLS_SSL_TLS1_3_SIGNAL_NEW_SESSION_TICKETS_ENABLED);
#endif
#else
  static const mbedtls_ecp_group_id groups[] = {
    MBEDTLS_ECP_DP_SECP256R1, MBEDTLS_ECP_DP_CURVE25519, MBEDTLS_ECP_DP_SECP384R1, MBEDTLS_ECP_DP_SECP521R1,
    MBEDTLS_ECP_DP_NONE,
  };
  mbedtls_ssl_conf_curves(conf, groups);
  mbedtls_ssl_conf_min_version(conf, MBEDTLS_SSL_MAJOR_VERSION_3, MBEDTLS_SSL_MINOR_VERSION_3);
#endif
  return 0;
}

static int set_up(cmbed_session *session, int endpoint) {
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
  if (psa_crypto_init() != PSA_SUCCESS) return MBEDTLS_ERR_SSL_INTERNAL_ERROR;
#endif
  int error = configure(&session->conf, endpoint);
  if (error != 0) return error;
  mbedtls_ssl_conf_verify(&session->conf, endpoint == MBEDTLS_SSL_IS_CLIENT ? cmbed_verify : cmbed_witness, session);
  if (session->alpn[0] != NULL) {
    error = mbedtls_ssl_conf_alpn_protocols(&session->conf, (const char **)session->alpn);
    if (error != 0) return error;
  }
  /* Before the certificates are read, so that its two large buffers lie below what will be freed. */
  error = mbedtls_ssl_setup(&session->ssl, &session->conf);
  if (error != 0) return error;
  mbedtls_ssl_set_bio(&session->ssl, session, wire_send, wire_receive, NULL);
  return 0;
}

int cmbed_session_new(cmbed_session **made, int descriptor, int endpoint, const char *alpn, char *text) {
  cmbed_session *session = calloc(1, sizeof *session);
  if (session == NULL) return cmbed_say(text, CMBED_MEMORY, "There is not enough memory for a connection.");
  mbedtls_ssl_init(&session->ssl);
  mbedtls_ssl_config_init(&session->conf);
  session->descriptor = descriptor;
  session->since = cmbed_now();
  session->not_after = INT64_MAX;
  session->evidence = calloc(1, sizeof *session->evidence);
  if (alpn != NULL) session->alpn[0] = strdup(alpn);
  int error = MBEDTLS_ERR_SSL_ALLOC_FAILED;
  if (session->evidence != NULL && (alpn == NULL || session->alpn[0] != NULL)) error = set_up(session, endpoint);
  if (error == 0) {
    *made = session;
    return CMBED_OK;
  }
  cmbed_session_free(session);
  if (cmbed_is_memory(error)) return cmbed_say(text, CMBED_MEMORY, "There is not enough memory for a connection.");
  char name[CMBED_NAME_MAX];
  cmbed_library_error(name, error);
  return cmbed_say(text, CMBED_INTERNAL, "A TLS session cannot be set up: %s.", name);
}

int cmbed_session_identity(cmbed_session *session, cmbed_identity *identity) {
  mbedtls_ssl_conf_ca_chain(&session->conf, &identity->authorities, NULL);
  session->shows = identity->chain.raw.p != NULL;
  return session->shows ? mbedtls_ssl_conf_own_cert(&session->conf, &identity->chain, &identity->key) : 0;
}

void cmbed_session_free(cmbed_session *session) {
  if (session == NULL) return;
  mbedtls_ssl_free(&session->ssl);
  mbedtls_ssl_config_free(&session->conf);
  free_identity(session);
  free(session->queue);
  free(session->evidence);
  free(session->host);
  free(session->authorities);
  free(session->alpn[0]);
  mbedtls_platform_zeroize(session, sizeof *session);
  free(session);
}

/* --- the handshake ------------------------------------------------------------------------------------------- */

static void forget_own_certificate(mbedtls_ssl_config *conf) {
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
  mbedtls_ssl_conf_own_cert(conf, NULL, NULL);
#else
  mbedtls_ssl_config carrier; /* it offers no way but to free a whole configuration */
  mbedtls_ssl_config_init(&carrier);
  carrier.key_cert = conf->key_cert;
  conf->key_cert = NULL;
  mbedtls_ssl_config_free(&carrier);
#endif
}

/* Gives back the pages of a record buffer that the next small records will not touch. They are zeros from now on. */
static void release(const unsigned char *buffer, size_t count) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  uintptr_t from = ((uintptr_t)buffer + RECORD_HEAD + page - 1) / page * page;
  uintptr_t to = ((uintptr_t)buffer + count) / page * page;
  if (from < to) madvise((void *)from, to - from, MADV_DONTNEED);
}

/* Only between records: nothing half read, half written, or read but not yet asked for. */
static void release_buffers(const mbedtls_ssl_context *ssl) {
  if (ssl->MBEDTLS_PRIVATE(in_left) == 0 && mbedtls_ssl_check_pending(ssl) == 0)
    release(ssl->MBEDTLS_PRIVATE(in_buf), MBEDTLS_SSL_IN_CONTENT_LEN);
  if (ssl->MBEDTLS_PRIVATE(out_left) == 0)
    release(ssl->MBEDTLS_PRIVATE(out_buf), MBEDTLS_SSL_OUT_CONTENT_LEN);
}

/* An idle connection keeps what its records need, and nothing else. */
static void shed(cmbed_session *session) {
  mbedtls_ssl_conf_ca_chain(&session->conf, NULL, NULL);
  forget_own_certificate(&session->conf);
  free_identity(session);
  cmbed_forget_peer(session);
  free(session->evidence);
  session->evidence = NULL;
  release_buffers(&session->ssl);
  malloc_trim(0);
}

static int is_busy(int error) {
  return error == MBEDTLS_ERR_SSL_ASYNC_IN_PROGRESS || error == MBEDTLS_ERR_SSL_CRYPTO_IN_PROGRESS;
}

static int is_ticket(int error) {
#if defined(MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET)
  return error == MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET;
#else
  (void)error;
  return 0;
#endif
}

/* The one refusal of which mbedTLS sends no alert, in TLS 1.2. */
static void tell_missing(cmbed_session *session, int error) {
  if (error != MBEDTLS_ERR_SSL_NO_CLIENT_CERTIFICATE) return;
  if (strcmp(mbedtls_ssl_get_version(&session->ssl), "TLSv1.2") != 0) return;
  mbedtls_ssl_send_alert_message(&session->ssl, MBEDTLS_SSL_ALERT_LEVEL_FATAL, MBEDTLS_SSL_ALERT_MSG_HANDSHAKE_FAILURE);
}

/* In TLS 1.3 mbedTLS sends a server's alert about the client's certificate under keys that the client has left behind,
   and the client would see nothing but a broken record. From here on the keys of the application hold (RFC 8446, 4.4.4
   and 6), and nothing else is sent before mbedTLS takes them up itself. */
static void mend_alert_keys(cmbed_session *session) {
#if defined(MBEDTLS_SSL_PROTO_TLS1_3)
  mbedtls_ssl_context *ssl = &session->ssl;
  if (session->server == NULL || ssl->MBEDTLS_PRIVATE(state) != MBEDTLS_SSL_CLIENT_CERTIFICATE) return;
  if (mbedtls_ssl_get_version_number(ssl) != MBEDTLS_SSL_VERSION_TLS1_3) return;
  if (ssl->MBEDTLS_PRIVATE(transform_out) == ssl->MBEDTLS_PRIVATE(transform_application)) return;
  ssl->MBEDTLS_PRIVATE(transform_out) = ssl->MBEDTLS_PRIVATE(transform_application);
  memset(ssl->MBEDTLS_PRIVATE(cur_out_ctr), 0, sizeof ssl->MBEDTLS_PRIVATE(cur_out_ctr));
#else
  (void)session;
#endif
}

static int step(cmbed_session *session) {
  int error = 0;
  while (error == 0 && session->ssl.MBEDTLS_PRIVATE(state) != MBEDTLS_SSL_HANDSHAKE_OVER) {
    mend_alert_keys(session);
    error = mbedtls_ssl_handshake_step(&session->ssl);
    if (error == 0 && session->server != NULL) error = session->server->admit(session);
  }
  return error;
}

int cmbed_handshake(cmbed_session *session) {
  if (session->failure != 0) return session->failure;
  if (session->complete) return CMBED_OK;
  session->text[0] = '\0';
  int error;
  session->allowance = READ_MAX;
  do {
    session->starved = 0;
    error = step(session);
  } while (is_busy(error) || (error == MBEDTLS_ERR_SSL_WANT_READ && !session->starved));
  if (error == MBEDTLS_ERR_SSL_WANT_READ) return CMBED_WANT_READ;
  if (error == MBEDTLS_ERR_SSL_WANT_WRITE) return CMBED_WANT_WRITE;
  if (error != 0) {
    tell_missing(session, error);
    return cmbed_explain(session, error);
  }
  /* Without a session to resume there is no way around the peer's certificate; this is the belt to the braces. */
  if (!session->verified && !session->offered && !session->excused)
    return cmbed_fail(session, CMBED_INTERNAL, "The handshake ended without a certificate of the peer's.");
  session->complete = 1;
  session->shown = session->written;
  cmbed_resumption_keep(session);
  shed(session);
  return CMBED_OK;
}

/* --- reading and writing ------------------------------------------------------------------------------------- */

/* 0: something is there to be read. */
static int read_some(cmbed_session *session, void *bytes, size_t count, int *got) {
  int result;
  drain(session);
  session->allowance = READ_MAX;
  do {
    session->starved = 0;
    result = mbedtls_ssl_read(&session->ssl, bytes, count);
    if (is_ticket(result)) cmbed_resumption_keep(session);
  } while ((result == 0 && count > 0 && !session->finished) || is_ticket(result) || is_busy(result) || (result == MBEDTLS_ERR_SSL_WANT_READ && !session->starved));
  *got = result > 0 ? result : 0;
  return result > 0 ? 0 : result == 0 && count > 0 ? MBEDTLS_ERR_SSL_CONN_EOF : result;
}

int cmbed_read(cmbed_session *session, void *bytes, size_t count) {
  if (session->failure != 0) return session->failure;
  if (session->ended) return CMBED_CLOSED;
  session->text[0] = '\0';
  if (!session->complete) return cmbed_fail(session, CMBED_INTERNAL, "Nothing can be read before the handshake.");
  if (count == 0) return 0;
  int got, error = read_some(session, bytes, count < INT32_MAX ? count : INT32_MAX, &got);
  switch (error) {
  case 0:
    return got;
  case MBEDTLS_ERR_SSL_WANT_READ:
    return CMBED_WANT_READ;
  default:
    return cmbed_explain(session, error);
  }
}

int cmbed_pending(const cmbed_session *session) {
  if (session->failure != 0 || session->ended || !session->complete) return 0;
  return session->allowance == 0 || mbedtls_ssl_get_bytes_avail(&session->ssl) > 0 ||
    mbedtls_ssl_check_pending(&session->ssl);
}

int cmbed_error(const cmbed_session *session) { return session->broken; }

static int explain_broken(cmbed_session *session) {
  int got, error = session->ended ? 0 : read_some(session, NULL, 0, &got);
  if (error == MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE || error == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY)
    return cmbed_explain(session, error);
  /* No failure for good: what the peer had sent before can still be read. */
  char name[CMBED_NAME_MAX];
  return cmbed_say(session->text, CMBED_RESET, "The connection to %s broke: %s.", cmbed_peer(session, name),
                   strerror(session->broken));
}

int cmbed_write(cmbed_session *session, const void *bytes, size_t count) {
  if (session->failure != 0) return session->failure;
  session->text[0] = '\0';
  if (!session->complete) return cmbed_fail(session, CMBED_INTERNAL, "Nothing can be written before the handshake.");
  if (count == 0) return 0;
  if (count > RECORD_MAX)
    return cmbed_say(session->text, CMBED_INTERNAL, "A record holds %d bytes at most.", RECORD_MAX);
  drain(session);
  /* In TLS 1.3 mbedTLS puts a byte less into a record than the protocol would let it. */
  while (session->broken == 0 && session->queue == NULL && session->recorded < count) {
    int result = mbedtls_ssl_write(&session->ssl, (const unsigned char *)bytes + session->recorded,
                                   count - session->recorded);
    if (is_busy(result)) continue;
    if (result < 0) return cmbed_explain(session, result);
    session->recorded += (size_t)result;
  }
  if (session->broken != 0) return explain_broken(session);
  if (session->queue != NULL) return CMBED_WANT_WRITE;
  session->recorded = 0;
  return (int)count;
}

void cmbed_goodbye(cmbed_session *session) {
  if (session->failure == 0 && session->complete) mbedtls_ssl_close_notify(&session->ssl);
}

/* --- facts --------------------------------------------------------------------------------------------------- */

const char *cmbed_session_text(const cmbed_session *session) {
  return session->text;
}

uint64_t cmbed_wire_written(const cmbed_session *session) {
  return session->written;
}

const char *cmbed_version(const cmbed_session *session) {
  if (!session->complete) return "";
  const char *version = mbedtls_ssl_get_version(&session->ssl);
  return strcmp(version, "TLSv1.3") == 0 ? "TLS 1.3" : strcmp(version, "TLSv1.2") == 0 ? "TLS 1.2" : version;
}

const char *cmbed_suite(const cmbed_session *session) {
  const char *suite = session->complete ? mbedtls_ssl_get_ciphersuite(&session->ssl) : NULL;
  return suite == NULL ? "" : suite;
}

const char *cmbed_alpn(const cmbed_session *session) {
  const char *alpn = session->complete ? mbedtls_ssl_get_alpn_protocol(&session->ssl) : NULL;
  return alpn == NULL ? "" : alpn;
}

int cmbed_resumed(const cmbed_session *session) {
  return session->complete && !session->verified && (session->offered || !session->excused);
}

/* Without the certificate what goes out after the first answer, a key and two checks, is smaller than any certificate. */
int cmbed_shown(const cmbed_session *session) {
  return session->complete && session->shows && session->shown - session->greeting > session->identity_bytes;
}

const char *cmbed_peer_topic(const cmbed_session *session) {
  return session->complete ? session->client.topic : "";
}

const char *cmbed_peer_topics(const cmbed_session *session) {
  return session->complete ? session->client.topics : "";
}

int cmbed_peer_kind(const cmbed_session *session) {
  return session->complete ? session->client.kind : 0;
}
