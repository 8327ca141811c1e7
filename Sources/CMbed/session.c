#include "internal.h"

#include <errno.h>
#include <mbedtls/net_sockets.h>
#include <mbedtls/platform_util.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#if MBEDTLS_VERSION_NUMBER >= 0x03000000
#include <psa/crypto.h>
#endif

#define RECORD_MAX 16384
#define READ_MAX (4 * RECORD_MAX) /* the most bytes that one call takes from the socket */
#define QUEUE_MAX (RECORD_MAX + 1024) /* a batch with its records' overhead, and some alerts */

/* --- the socket ----------------------------------------------------------------------------- */

/* Sends bytes and returns how many of them the socket took. */
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

/* Bytes that the socket did not take. mbedTLS has a single buffer for everything that it sends.
   While that buffer is not empty, mbedTLS drops the next alert or batch, and does not tell whose
   bytes it sent. So after the handshake its buffer is always emptied, if necessary into this
   queue. */
struct cmbed_queue {
  size_t start, end;
  unsigned char bytes[QUEUE_MAX];
};

/* Sends the queued bytes, and frees the queue once it is empty. */
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

/* On a failed connection, this pretends to send. The peer's last bytes, probably an alert, may
   still be unread, and they tell more than the system's error. Without them, reading ends in that
   error. */
static int wire_send(void *context, const unsigned char *bytes, size_t count) {
  cmbed_session *session = context;
  drain(session);
  size_t sent = session->queue == NULL ? put(session, bytes, count) : 0;
  if (session->broken != 0 || sent == count) return (int)count;
  if (!session->complete) return sent > 0 ? (int)sent : MBEDTLS_ERR_SSL_WANT_WRITE;
  session->broken = enqueue(session, bytes + sent, count - sent);
  return (int)count;
}

/* A peer that sends fast must not block the event loop: the rest stays in the socket. */
static int wire_receive(void *context, unsigned char *bytes, size_t count) {
  cmbed_session *session = context;
  ssize_t got;
  if (session->allowance == 0) return MBEDTLS_ERR_SSL_WANT_READ;
  if (count > session->allowance) count = session->allowance;
  do got = recv(session->descriptor, bytes, count, MSG_DONTWAIT);
  while (got < 0 && errno == EINTR);
  if (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && session->broken == 0) session->broken = errno;
  if (got > 0) {
    session->allowance -= (size_t)got;
    if (session->opening_count == 0) session->written_before_answer = session->written;
    for (ssize_t index = 0; index < got && session->opening_count < sizeof session->opening; index++)
      session->opening[session->opening_count++] = bytes[index];
    return (int)got;
  }
  if (session->broken != 0) return MBEDTLS_ERR_NET_CONN_RESET;
  session->finished = got == 0;
  return got < 0 ? MBEDTLS_ERR_SSL_WANT_READ : 0;
}

/* --- creating and freeing ------------------------------------------------------------------- */

static int set_up(cmbed_session *session, int endpoint) {
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
  if (psa_crypto_init() != PSA_SUCCESS) return MBEDTLS_ERR_SSL_INTERNAL_ERROR;
#endif
  int error = cmbed_parameters_set(&session->conf, endpoint);
  if (error != 0) return error;
  mbedtls_ssl_conf_verify(&session->conf, cmbed_on_certificate, session);
  if (session->alpn[0] != NULL) {
    error = mbedtls_ssl_conf_alpn_protocols(&session->conf, (const char **)session->alpn);
    if (error != 0) return error;
  }
  /* Before the authorities are read: no free memory is large enough for the two buffers of 16 KB, so that they come as pages
     that nobody has touched. */
  error = mbedtls_ssl_setup(&session->ssl, &session->conf);
  if (error != 0) return error;
  mbedtls_ssl_set_bio(&session->ssl, session, wire_send, wire_receive, NULL);
  return 0;
}

int cmbed_session_new(cmbed_session **made, int descriptor, int endpoint, const char *alpn, char *text) {
  cmbed_session *session = calloc(1, sizeof *session);
  if (session == NULL) return cmbed_say_memory(text);
  mbedtls_ssl_init(&session->ssl);
  mbedtls_ssl_config_init(&session->conf);
  cmbed_authorities_init(&session->authorities);
  cmbed_identity_init(&session->identity);
  session->descriptor = descriptor;
  if (alpn != NULL) session->alpn[0] = strdup(alpn);
  int error = alpn == NULL || session->alpn[0] != NULL ? set_up(session, endpoint) : MBEDTLS_ERR_SSL_ALLOC_FAILED;
  if (error == 0) {
    *made = session;
    return CMBED_OK;
  }
  cmbed_session_free(session);
  char name[CMBED_NAME_MAX];
  cmbed_library_error(name, error);
  return cmbed_say(text, CMBED_INTERNAL, "A TLS session cannot be set up: %s.", name);
}

void cmbed_session_free(cmbed_session *session) {
  if (session == NULL) return;
  mbedtls_ssl_free(&session->ssl);
  mbedtls_ssl_config_free(&session->conf);
  cmbed_authorities_clear(&session->authorities);
  cmbed_identity_clear(&session->identity);
  free(session->queue);
  free(session->host);
  free(session->ca);
  free(session->alpn[0]);
  mbedtls_platform_zeroize(session, sizeof *session);
  free(session);
}

/* --- the handshake -------------------------------------------------------------------------- */

int cmbed_is_tls13(const cmbed_session *session) {
  return strcmp(mbedtls_ssl_get_version(&session->ssl), "TLSv1.3") == 0;
}

int cmbed_handshake(cmbed_session *session) {
  if (session->failure != 0) return session->failure;
  if (session->complete) return CMBED_OK;
  session->allowance = READ_MAX;
  int error = mbedtls_ssl_handshake(&session->ssl);
  if (error == MBEDTLS_ERR_SSL_WANT_READ) return CMBED_WANT_READ;
  if (error == MBEDTLS_ERR_SSL_WANT_WRITE) return CMBED_WANT_WRITE;
  if (error == 0 && session->server != NULL) error = session->server->check_client(session);
  if (error != 0) return cmbed_explain(session, error);
  /* mbedTLS always verifies the server, unless a session is resumed; this makes sure. */
  if (session->server == NULL && !session->verified && !session->offered)
    return cmbed_fail(session, CMBED_INTERNAL, "The handshake ended without a server certificate.");
  session->complete = 1;
  session->written_in_handshake = session->written;
  if (session->server != NULL) return CMBED_OK;
  /* In TLS 1.3 the ticket comes after the handshake. */
  if (!cmbed_is_tls13(session)) cmbed_resumption_keep(session);
  /* The CA certificates take most of a handshake's memory, and an idle connection needs none. */
  mbedtls_ssl_conf_ca_chain(&session->conf, NULL, NULL);
  cmbed_authorities_clear(&session->authorities);
  /* Nothing asks for the key again. */
  mbedtls_pk_free(&session->identity.key);
  return CMBED_OK;
}

/* --- reading and writing -------------------------------------------------------------------- */

static int is_ticket(int error) {
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
  return error == MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET;
#else
  (void)error;
  return 0;
#endif
}

/* Returns a number of bytes or an error of mbedTLS; 0 only if `count` is 0. */
static int read_some(cmbed_session *session, void *bytes, size_t count) {
  int result;
  drain(session);
  session->allowance = READ_MAX;
  do {
    result = mbedtls_ssl_read(&session->ssl, bytes, count);
    if (is_ticket(result)) cmbed_resumption_keep(session);
  } while (is_ticket(result) || (result == 0 && count > 0 && !session->finished));
  return result == 0 && count > 0 ? MBEDTLS_ERR_SSL_CONN_EOF : result;
}

int cmbed_read(cmbed_session *session, void *bytes, size_t count) {
  if (session->failure != 0) return session->failure;
  if (session->ended) return CMBED_CLOSED;
  if (!session->complete) return cmbed_fail(session, CMBED_INTERNAL, "Nothing can be read before the handshake.");
  int result = read_some(session, bytes, count < INT32_MAX ? count : INT32_MAX);
  if (result == MBEDTLS_ERR_SSL_WANT_READ) return CMBED_WANT_READ;
  return result < 0 ? cmbed_explain(session, result) : result;
}

int cmbed_pending(const cmbed_session *session) {
  if (session->failure != 0 || session->ended || !session->complete) return 0;
  return mbedtls_ssl_get_bytes_avail(&session->ssl) > 0 || mbedtls_ssl_check_pending(&session->ssl);
}

int cmbed_error(const cmbed_session *session) { return session->broken; }

static int explain_broken(cmbed_session *session) {
  int error = session->ended ? 0 : read_some(session, NULL, 0);
  if (error == MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE || error == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY)
    return cmbed_explain(session, error);
  /* This is not final: bytes that the peer sent before can still be read. */
  char name[CMBED_NAME_MAX];
  return cmbed_say(session->text, CMBED_RESET, "The connection to %s broke: %s.", cmbed_peer(session, name),
                   strerror(session->broken));
}

int cmbed_write(cmbed_session *session, const void *bytes, size_t count) {
  if (session->failure != 0) return session->failure;
  if (!session->complete) return cmbed_fail(session, CMBED_INTERNAL, "Nothing can be written before the handshake.");
  if (count > RECORD_MAX)
    return cmbed_say(session->text, CMBED_INTERNAL, "A record holds %d bytes at most.", RECORD_MAX);
  drain(session);
  /* In TLS 1.3, mbedTLS puts one byte less into a record than the protocol allows. */
  while (session->broken == 0 && session->queue == NULL && session->recorded < count) {
    int result = mbedtls_ssl_write(&session->ssl, (const unsigned char *)bytes + session->recorded,
                                   count - session->recorded);
    /* A read has taken the ticket's record, and mbedTLS takes the ticket now. */
    if (is_ticket(result)) {
      cmbed_resumption_keep(session);
      continue;
    }
    if (result < 0) return cmbed_explain(session, result);
    session->recorded += (size_t)result;
  }
  if (session->broken != 0) return explain_broken(session);
  if (session->queue != NULL) return CMBED_WANT_WRITE;
  session->recorded = 0;
  return (int)count;
}

void cmbed_close_notify(cmbed_session *session) {
  if (session->failure == 0 && session->complete) mbedtls_ssl_close_notify(&session->ssl);
}

/* --- facts ---------------------------------------------------------------------------------- */

const char *cmbed_session_text(const cmbed_session *session) {
  return session->text;
}

uint64_t cmbed_wire_written(const cmbed_session *session) {
  return session->written;
}

const char *cmbed_version(const cmbed_session *session) {
  return !session->complete ? "" : cmbed_is_tls13(session) ? "TLS 1.3" : "TLS 1.2";
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
  return session->complete && session->offered && !session->verified;
}

/* Without a certificate, the client sends only a key and two checks after the first answer, which
   are smaller than any certificate. */
int cmbed_sent_certificate(const cmbed_session *session) {
  return session->complete && session->identity_bytes > 0 &&
    session->written_in_handshake - session->written_before_answer > session->identity_bytes;
}

const cmbed_rights *cmbed_peer_rights(const cmbed_session *session) { return &session->rights; }
