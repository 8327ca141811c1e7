/* mbedtls_ssl_session begins with a time_t, and so is laid out as the library was built. In 2.28 that was with the
   system's own time_t, which has 32 bits on 32-bit machines whatever the rest of the program is built with. This file
   alone looks into that structure, and gives no time_t to any other. */
#if !__has_include(<mbedtls/build_info.h>)
#undef _TIME_BITS
#endif

#include "internal.h"

#include <mbedtls/chachapoly.h>
#include <mbedtls/md.h>
#include <mbedtls/platform.h>
#include <mbedtls/platform_util.h>
#include <stdlib.h>
#include <string.h>

/* For so long at most a session is resumed before the peer is verified anew. */
#define RESUME_MAX (24 * 60 * 60)
#define ROTATE_AFTER (RESUME_MAX / 2)

struct cmbed_resumption {
  unsigned char *bytes; /* NULL: none */
  size_t count;
  unsigned char binding[32];
  int64_t not_before, not_after, since;
};

static int is_fresh(int64_t not_before, int64_t not_after, int64_t since) {
  int64_t now = cmbed_now();
  return now >= not_before && now <= not_after && now >= since && now - since < RESUME_MAX;
}

/* Serialises without the peer's certificate. It was verified, and what has to be known of it is kept beside it. */
static int save(const mbedtls_ssl_session *session, unsigned char *bytes, size_t room, size_t *count) {
  mbedtls_ssl_session bare = *session;
  bare.MBEDTLS_PRIVATE(peer_cert) = NULL;
  int error = mbedtls_ssl_session_save(&bare, bytes, room, count);
  mbedtls_platform_zeroize(&bare, sizeof bare);
  return error;
}

void cmbed_forget_peer(cmbed_session *session) {
  mbedtls_ssl_session *current = session->ssl.MBEDTLS_PRIVATE(session);
  if (current == NULL || current->MBEDTLS_PRIVATE(peer_cert) == NULL) return;
  mbedtls_x509_crt_free(current->MBEDTLS_PRIVATE(peer_cert));
  mbedtls_free(current->MBEDTLS_PRIVATE(peer_cert));
  current->MBEDTLS_PRIVATE(peer_cert) = NULL;
}

/* --- a client ------------------------------------------------------------------------------------------------ */

cmbed_resumption *cmbed_resumption_new(void) {
  return calloc(1, sizeof(cmbed_resumption));
}

static void empty(cmbed_resumption *resumption) {
  if (resumption->bytes != NULL) mbedtls_platform_zeroize(resumption->bytes, resumption->count);
  free(resumption->bytes);
  mbedtls_platform_zeroize(resumption, sizeof *resumption);
}

void cmbed_resumption_free(cmbed_resumption *resumption) {
  if (resumption == NULL) return;
  empty(resumption);
  free(resumption);
}

static int digest_string(mbedtls_md_context_t *digest, const char *string) {
  if (string == NULL) string = "";
  return mbedtls_md_update(digest, (const unsigned char *)string, strlen(string) + 1);
}

static int digest_chain(mbedtls_md_context_t *digest, const mbedtls_x509_crt *chain) {
  int error = 0;
  for (; chain != NULL && error == 0; chain = chain->next)
    if (chain->raw.p != NULL) error = mbedtls_md_update(digest, chain->raw.p, chain->raw.len);
  return error == 0 ? digest_string(digest, "") : error;
}

/* By content and not by path: a CA file that was changed, or a renewed certificate, ends what was before. */
static int bind_to_peer(cmbed_session *session) {
  mbedtls_md_context_t digest;
  mbedtls_md_init(&digest);
  int error = mbedtls_md_setup(&digest, mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), 0);
  if (error == 0) error = mbedtls_md_starts(&digest);
  if (error == 0) error = digest_string(&digest, session->host);
  if (error == 0) error = digest_string(&digest, session->alpn[0]);
  if (error == 0) error = digest_chain(&digest, &session->identity->chain);
  if (error == 0) error = mbedtls_md_update(&digest, session->identity->trust.bytes, session->identity->trust.count);
  if (error == 0) error = mbedtls_md_finish(&digest, session->binding);
  mbedtls_md_free(&digest);
  return error;
}

static void offer(cmbed_session *session) {
  cmbed_resumption *resumption = session->resumption;
  mbedtls_ssl_session kept;
  mbedtls_ssl_session_init(&kept);
  if (mbedtls_ssl_session_load(&kept, resumption->bytes, resumption->count) == 0 &&
      mbedtls_ssl_set_session(&session->ssl, &kept) == 0) {
    session->offered = 1;
    session->not_before = resumption->not_before;
    session->not_after = resumption->not_after;
    session->since = resumption->since;
  }
  mbedtls_ssl_session_free(&kept);
}

int cmbed_resumption_offer(cmbed_session *session) {
  cmbed_resumption *resumption = session->resumption;
  if (resumption == NULL) return 0;
  int error = bind_to_peer(session);
  if (error != 0) return error;
  if (resumption->bytes == NULL) return 0;
  if (memcmp(session->binding, resumption->binding, sizeof session->binding) == 0 &&
      is_fresh(resumption->not_before, resumption->not_after, resumption->since))
    offer(session);
  /* Used once. If this handshake fails, the next one is a whole one; if not, it leaves the next session here. */
  empty(resumption);
  return 0;
}

void cmbed_resumption_keep(cmbed_session *session) {
  cmbed_resumption *resumption = session->resumption;
  const mbedtls_ssl_session *current = session->ssl.MBEDTLS_PRIVATE(session);
  if (resumption == NULL || current == NULL) return;
  if (current->MBEDTLS_PRIVATE(ticket_len) == 0 && current->MBEDTLS_PRIVATE(id_len) == 0) return;
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
  int later = current->MBEDTLS_PRIVATE(tls_version) == MBEDTLS_SSL_VERSION_TLS1_3;
  if (later && current->MBEDTLS_PRIVATE(ticket_len) == 0) return;
#endif
  size_t count = 0;
  save(current, NULL, 0, &count);
  unsigned char *bytes = count == 0 ? NULL : malloc(count);
  if (bytes == NULL) return;
  if (save(current, bytes, count, &count) != 0) {
    free(bytes);
    return;
  }
  empty(resumption);
  resumption->bytes = bytes;
  resumption->count = count;
  resumption->not_before = session->not_before;
  resumption->not_after = session->not_after;
  resumption->since = session->since;
  memcpy(resumption->binding, session->binding, sizeof resumption->binding);
}

/* --- a server ------------------------------------------------------------------------------------------------ */

/* A ticket is the key's name and a nonce, then, sealed by them: the window in which the client's chain is valid, when
   it was verified, what its certificate says, and the session; then the seal. mbedTLS's own tickets would keep no topic for TLS 1.3,
   and would outlive the client's certificate. */

enum { NAME = 4, NONCE = 12, TAG = 16, TIMES = 24, HEAD = NAME + NONCE, INSIDE = TIMES + sizeof(cmbed_client) };

static void put_time(unsigned char *bytes, int64_t seconds) {
  for (int index = 0; index < 8; index++) bytes[index] = (unsigned char)((uint64_t)seconds >> (56 - 8 * index));
}

static int64_t get_time(const unsigned char *bytes) {
  uint64_t seconds = 0;
  for (int index = 0; index < 8; index++) seconds = seconds << 8 | bytes[index];
  return (int64_t)seconds;
}

static int rotate(cmbed_server *server) {
  int64_t now = cmbed_now();
  cmbed_ticket_key *key = &server->keys[0];
  if (key->made != 0 && now >= key->made && now - key->made < ROTATE_AFTER) return 0;
  server->keys[1] = *key;
  key->made = now;
  int error = cmbed_random(NULL, key->name, sizeof key->name);
  return error == 0 ? cmbed_random(NULL, key->secret, sizeof key->secret) : error;
}

static int seal(const cmbed_ticket_key *key, unsigned char *ticket, size_t count) {
  mbedtls_chachapoly_context cipher;
  mbedtls_chachapoly_init(&cipher);
  int error = mbedtls_chachapoly_setkey(&cipher, key->secret);
  if (error == 0)
    error = mbedtls_chachapoly_encrypt_and_tag(&cipher, count, ticket + NAME, ticket, NAME, ticket + HEAD,
                                               ticket + HEAD, ticket + HEAD + count);
  mbedtls_chachapoly_free(&cipher);
  return error;
}

static int unseal(const cmbed_ticket_key *key, unsigned char *ticket, size_t count) {
  mbedtls_chachapoly_context cipher;
  mbedtls_chachapoly_init(&cipher);
  int error = mbedtls_chachapoly_setkey(&cipher, key->secret);
  if (error == 0)
    error = mbedtls_chachapoly_auth_decrypt(&cipher, count, ticket + NAME, ticket, NAME, ticket + HEAD + count,
                                            ticket + HEAD, ticket + HEAD);
  mbedtls_chachapoly_free(&cipher);
  return error;
}

static int write_ticket(void *context, const mbedtls_ssl_session *current, unsigned char *start,
                        const unsigned char *end, size_t *count, uint32_t *lifetime) {
  cmbed_session *session = context;
  size_t room = (size_t)(end - start), saved = 0;
  int64_t left = session->since + RESUME_MAX - cmbed_now();
  *count = 0;
  *lifetime = left < 1 ? 1 : left > RESUME_MAX ? RESUME_MAX : (uint32_t)left;
  if (room < HEAD + INSIDE + TAG) return MBEDTLS_ERR_SSL_BUFFER_TOO_SMALL;
  int error = rotate(session->server);
  const cmbed_ticket_key *key = &session->server->keys[0];
  memcpy(start, key->name, NAME);
  if (error == 0) error = cmbed_random(NULL, start + NAME, NONCE);
  if (error == 0) error = save(current, start + HEAD + INSIDE, room - HEAD - INSIDE - TAG, &saved);
  if (error != 0) return error;
  unsigned char *inside = start + HEAD;
  put_time(inside, session->not_before);
  put_time(inside + 8, session->not_after);
  put_time(inside + 16, session->since);
  memcpy(inside + TIMES, &session->client, sizeof session->client);
  error = seal(key, start, INSIDE + saved);
  if (error == 0) *count = HEAD + INSIDE + saved + TAG;
  return error;
}

static int read_ticket(void *context, mbedtls_ssl_session *restored, unsigned char *ticket, size_t count) {
  cmbed_session *session = context;
  cmbed_server *server = session->server;
  if (count < HEAD + INSIDE + TAG) return MBEDTLS_ERR_SSL_INVALID_MAC;
  const cmbed_ticket_key *key = NULL;
  for (int index = 0; index < 2; index++) {
    const cmbed_ticket_key *each = &server->keys[index];
    if (each->made != 0 && memcmp(each->name, ticket, NAME) == 0) key = each;
  }
  if (key == NULL || unseal(key, ticket, count - HEAD - TAG) != 0) return MBEDTLS_ERR_SSL_INVALID_MAC;
  const unsigned char *inside = ticket + HEAD;
  int64_t not_before = get_time(inside), not_after = get_time(inside + 8), since = get_time(inside + 16);
  if (!is_fresh(not_before, not_after, since)) return MBEDTLS_ERR_SSL_SESSION_TICKET_EXPIRED;
  int error = mbedtls_ssl_session_load(restored, inside + INSIDE, count - HEAD - INSIDE - TAG);
  if (error != 0) return error;
  session->offered = 1;
  session->not_before = not_before;
  session->not_after = not_after;
  session->since = since;
  memcpy(&session->client, inside + TIMES, sizeof session->client);
  return 0;
}

int cmbed_tickets(cmbed_session *session) {
  mbedtls_ssl_conf_session_tickets_cb(&session->conf, write_ticket, read_ticket, session);
  return 0;
}
