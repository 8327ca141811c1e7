#include "internal.h"

#include <mbedtls/ecdh.h>
#include <mbedtls/gcm.h>
#include <mbedtls/hkdf.h>
#include <mbedtls/platform_util.h>
#include <string.h>

#define KEY 32
#define SALT CMBED_WEBPUSH_SALT
#define TAG 16

/* A body begins with the salt, the size of a record, and the sender's point behind its length (RFC
   8188, section 2.1). */
#define SIZE_AT SALT
#define LENGTH_AT (SIZE_AT + 4)
#define POINT_AT (LENGTH_AT + 1)
#define RECORD_AT (POINT_AT + CMBED_POINT)

/* The byte behind the text of the last record. */
#define LAST 2

_Static_assert(RECORD_AT + CMBED_WEBPUSH_TEXT + 1 + TAG == CMBED_WEBPUSH_BODY, "the longest text fills the body");

/* Reads a point. Returns 0, or an error of mbedTLS if it is not on the curve. */
static int read_point(mbedtls_ecp_group *group, mbedtls_ecp_point *to, const unsigned char point[CMBED_POINT]) {
  int error = mbedtls_ecp_point_read_binary(group, to, point, CMBED_POINT);
  return error == 0 ? mbedtls_ecp_check_pubkey(group, to) : error;
}

int cmbed_point_is_good(const unsigned char point[CMBED_POINT]) {
  mbedtls_ecp_group group;
  mbedtls_ecp_point read;
  mbedtls_ecp_group_init(&group);
  mbedtls_ecp_point_init(&read);
  int error = mbedtls_ecp_group_load(&group, MBEDTLS_ECP_DP_SECP256R1);
  if (error == 0) error = read_point(&group, &read, point);
  mbedtls_ecp_group_free(&group);
  mbedtls_ecp_point_free(&read);
  return error == 0;
}

int cmbed_webpush_pair(unsigned char private_key[KEY], unsigned char point[CMBED_POINT]) {
  size_t count;
  mbedtls_ecp_keypair pair;
  mbedtls_ecp_keypair_init(&pair);
  int error = mbedtls_ecp_gen_key(MBEDTLS_ECP_DP_SECP256R1, &pair, cmbed_random, NULL);
  if (error == 0) error = mbedtls_mpi_write_binary(&pair.MBEDTLS_PRIVATE(d), private_key, KEY);
  if (error == 0)
    error = mbedtls_ecp_point_write_binary(&pair.MBEDTLS_PRIVATE(grp), &pair.MBEDTLS_PRIVATE(Q),
                                           MBEDTLS_ECP_PF_UNCOMPRESSED, &count, point, CMBED_POINT);
  mbedtls_ecp_keypair_free(&pair);
  return error == 0 ? CMBED_OK : CMBED_INTERNAL;
}

/* Computes the secret that a private key and the other side's point share. */
static int agree(unsigned char secret[KEY], const unsigned char private_key[KEY],
                 const unsigned char point[CMBED_POINT]) {
  mbedtls_ecp_group group;
  mbedtls_ecp_point other;
  mbedtls_mpi own, shared;
  mbedtls_ecp_group_init(&group);
  mbedtls_ecp_point_init(&other);
  mbedtls_mpi_init(&own);
  mbedtls_mpi_init(&shared);
  int result = CMBED_INTERNAL;
  if (mbedtls_ecp_group_load(&group, MBEDTLS_ECP_DP_SECP256R1) == 0 &&
      mbedtls_mpi_read_binary(&own, private_key, KEY) == 0) {
    if (read_point(&group, &other, point) != 0)
      result = CMBED_FILE_INVALID;
    else if (mbedtls_ecdh_compute_shared(&group, &shared, &other, &own, cmbed_random, NULL) == 0 &&
             mbedtls_mpi_write_binary(&shared, secret, KEY) == 0)
      result = CMBED_OK;
  }
  mbedtls_ecp_group_free(&group);
  mbedtls_ecp_point_free(&other);
  mbedtls_mpi_free(&own);
  mbedtls_mpi_free(&shared);
  return result;
}

static int derive(unsigned char *to, size_t count, const unsigned char *salt, const unsigned char key[KEY],
                  const void *info, size_t info_count) {
  return mbedtls_hkdf(mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), salt, 16, key, KEY, info, info_count, to, count);
}

/* The key and the IV of a record. */
typedef struct {
  unsigned char key[16], iv[12];
} record_key;

/* Derives them (RFC 8291, section 3.4), whichever side's private key it is. */
static int derive_key(record_key *to, const unsigned char secret[KEY], const unsigned char browser[CMBED_POINT],
                      const unsigned char sender[CMBED_POINT], const unsigned char auth[CMBED_WEBPUSH_AUTH],
                      const unsigned char salt[SALT]) {
  static const char label[] = "WebPush: info", key[] = "Content-Encoding: aes128gcm", iv[] = "Content-Encoding: nonce";
  unsigned char info[sizeof label + 2 * CMBED_POINT], content[KEY];
  memcpy(info, label, sizeof label);
  memcpy(info + sizeof label, browser, CMBED_POINT);
  memcpy(info + sizeof label + CMBED_POINT, sender, CMBED_POINT);
  int error = derive(content, sizeof content, auth, secret, info, sizeof info);
  if (error == 0) error = derive(to->key, sizeof to->key, salt, content, key, sizeof key);
  if (error == 0) error = derive(to->iv, sizeof to->iv, salt, content, iv, sizeof iv);
  mbedtls_platform_zeroize(content, sizeof content);
  return error;
}

int cmbed_webpush_seal_with(unsigned char body[CMBED_WEBPUSH_BODY], const unsigned char private_key[KEY],
                            const unsigned char sender[CMBED_POINT], const unsigned char salt[SALT],
                            const unsigned char point[CMBED_POINT], const unsigned char auth[CMBED_WEBPUSH_AUTH],
                            const void *text, size_t count) {
  unsigned char secret[KEY], *record = body + RECORD_AT;
  record_key key;
  if (count > CMBED_WEBPUSH_TEXT) return CMBED_INTERNAL;
  int result = agree(secret, private_key, point);
  if (result == CMBED_OK && derive_key(&key, secret, point, sender, auth, salt) != 0) result = CMBED_INTERNAL;
  mbedtls_platform_zeroize(secret, sizeof secret);
  if (result != CMBED_OK) return result;
  memcpy(body, salt, SALT);
  memcpy(body + SIZE_AT, (const unsigned char[]){0, 0, CMBED_WEBPUSH_BODY >> 8, 0, CMBED_POINT}, 5);
  memcpy(body + POINT_AT, sender, CMBED_POINT);
  if (count > 0) memcpy(record, text, count);
  record[count++] = LAST;
  mbedtls_gcm_context gcm;
  mbedtls_gcm_init(&gcm);
  int error = mbedtls_gcm_setkey(&gcm, MBEDTLS_CIPHER_ID_AES, key.key, sizeof key.key * 8);
  if (error == 0)
    error = mbedtls_gcm_crypt_and_tag(&gcm, MBEDTLS_GCM_ENCRYPT, count, key.iv, sizeof key.iv, NULL, 0, record, record,
                                      TAG, record + count);
  mbedtls_gcm_free(&gcm);
  mbedtls_platform_zeroize(&key, sizeof key);
  return error == 0 ? RECORD_AT + (int)count + TAG : CMBED_INTERNAL;
}

int cmbed_webpush_seal(unsigned char body[CMBED_WEBPUSH_BODY], const unsigned char point[CMBED_POINT],
                       const unsigned char auth[CMBED_WEBPUSH_AUTH], const void *text, size_t count) {
  unsigned char private_key[KEY], sender[CMBED_POINT], salt[SALT];
  int result = cmbed_random(NULL, salt, sizeof salt) == 0 ? cmbed_webpush_pair(private_key, sender) : CMBED_INTERNAL;
  if (result == CMBED_OK) result = cmbed_webpush_seal_with(body, private_key, sender, salt, point, auth, text, count);
  mbedtls_platform_zeroize(private_key, sizeof private_key);
  return result;
}

/* Returns the bytes of the text before the padding, or a negative code. */
static int without_padding(const unsigned char *record, size_t count) {
  while (count > 0 && record[count - 1] == 0) count--;
  return count > 0 && record[count - 1] == LAST ? (int)count - 1 : CMBED_FILE_INVALID;
}

int cmbed_webpush_open(unsigned char text[CMBED_WEBPUSH_TEXT], const unsigned char private_key[KEY],
                       const unsigned char point[CMBED_POINT], const unsigned char auth[CMBED_WEBPUSH_AUTH],
                       const void *body, size_t count) {
  const unsigned char *bytes = body, *record = bytes + RECORD_AT;
  unsigned char secret[KEY], plain[CMBED_WEBPUSH_TEXT + 1];
  record_key key;
  if (count < RECORD_AT + TAG + 1 || count > CMBED_WEBPUSH_BODY || bytes[LENGTH_AT] != CMBED_POINT)
    return CMBED_FILE_INVALID;
  const unsigned char *size = bytes + SIZE_AT;
  uint32_t limit = (uint32_t)size[0] << 24 | (uint32_t)size[1] << 16 | (uint32_t)size[2] << 8 | size[3];
  count -= RECORD_AT;
  /* There is one record (RFC 8291, section 4). */
  if (count > limit) return CMBED_FILE_INVALID;
  count -= TAG;
  int result = agree(secret, private_key, bytes + POINT_AT);
  if (result == CMBED_OK && derive_key(&key, secret, point, bytes + POINT_AT, auth, bytes) != 0) result = CMBED_INTERNAL;
  mbedtls_platform_zeroize(secret, sizeof secret);
  if (result != CMBED_OK) return result;
  mbedtls_gcm_context gcm;
  mbedtls_gcm_init(&gcm);
  int error = mbedtls_gcm_setkey(&gcm, MBEDTLS_CIPHER_ID_AES, key.key, sizeof key.key * 8);
  if (error == 0)
    error = mbedtls_gcm_auth_decrypt(&gcm, count, key.iv, sizeof key.iv, NULL, 0, record + count, TAG, record, plain);
  mbedtls_gcm_free(&gcm);
  mbedtls_platform_zeroize(&key, sizeof key);
  result = error == 0 ? without_padding(plain, count) : CMBED_FILE_INVALID;
  if (result > 0) memcpy(text, plain, (size_t)result);
  mbedtls_platform_zeroize(plain, sizeof plain);
  return result;
}
