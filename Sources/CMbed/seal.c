#include "internal.h"

#include <mbedtls/aes.h>
#include <mbedtls/base64.h>
#include <mbedtls/gcm.h>
#include <mbedtls/platform_util.h>
#include <string.h>

#define BLOCK 16
#define TAG 16
#define ROOM (CMBED_SEAL_CONTENT + BLOCK + TAG)

static size_t iv_count(cmbed_seal_mode mode) { return mode == CMBED_SEAL_GCM ? CMBED_SEAL_GCM_IV : CMBED_SEAL_CBC_IV; }

/* Makes an IV of letters and digits, since the app takes the bytes of a text. */
static int make_iv(char *iv, size_t count) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  unsigned char bytes[CMBED_SEAL_CBC_IV];
  if (cmbed_random(NULL, bytes, count) != 0) return CMBED_INTERNAL;
  for (size_t i = 0; i < count; i++) iv[i] = letters[bytes[i] & 63];
  return CMBED_OK;
}

/* Applies AES-CBC, which changes the IV that it is given. */
static int cbc(unsigned char *to, const unsigned char *from, size_t count, const unsigned char *key, size_t key_count,
               const char *iv, int operation) {
  unsigned char block[BLOCK];
  mbedtls_aes_context aes;
  mbedtls_aes_init(&aes);
  memcpy(block, iv, BLOCK);
  int error = operation == MBEDTLS_AES_ENCRYPT ? mbedtls_aes_setkey_enc(&aes, key, (unsigned)key_count * 8)
                                               : mbedtls_aes_setkey_dec(&aes, key, (unsigned)key_count * 8);
  if (error == 0) error = mbedtls_aes_crypt_cbc(&aes, operation, count, block, from, to);
  mbedtls_aes_free(&aes);
  return error;
}

/* Encrypts with the padding of PKCS#7. Returns the number of bytes or a negative code. */
static int seal_cbc(unsigned char *to, unsigned char *text, size_t count, const unsigned char *key, size_t key_count,
                    const char *iv) {
  size_t padding = BLOCK - count % BLOCK;
  memset(text + count, (int)padding, padding);
  int error = cbc(to, text, count + padding, key, key_count, iv, MBEDTLS_AES_ENCRYPT);
  return error == 0 ? (int)(count + padding) : CMBED_INTERNAL;
}

/* Encrypts, and appends the tag. Returns the number of bytes or a negative code. */
static int seal_gcm(unsigned char *to, const unsigned char *text, size_t count, const unsigned char *key,
                    size_t key_count, const char *iv) {
  mbedtls_gcm_context gcm;
  mbedtls_gcm_init(&gcm);
  int error = mbedtls_gcm_setkey(&gcm, MBEDTLS_CIPHER_ID_AES, key, (unsigned)key_count * 8);
  if (error == 0)
    error = mbedtls_gcm_crypt_and_tag(&gcm, MBEDTLS_GCM_ENCRYPT, count, (const unsigned char *)iv, CMBED_SEAL_GCM_IV,
                                      NULL, 0, text, to, TAG, to + count);
  mbedtls_gcm_free(&gcm);
  return error == 0 ? (int)count + TAG : CMBED_INTERNAL;
}

int cmbed_seal(char *sealed, size_t room, char *iv, cmbed_seal_mode mode, const unsigned char *key, size_t key_count,
               const void *bytes, size_t count) {
  unsigned char text[ROOM], code[ROOM];
  size_t written = 0;
  if (count > CMBED_SEAL_CONTENT || make_iv(iv, iv_count(mode)) != 0) return CMBED_INTERNAL;
  memcpy(text, bytes, count);
  int result = mode == CMBED_SEAL_GCM ? seal_gcm(code, text, count, key, key_count, iv)
                                      : seal_cbc(code, text, count, key, key_count, iv);
  mbedtls_platform_zeroize(text, sizeof text);
  if (result < 0) return result;
  if (mbedtls_base64_encode((unsigned char *)sealed, room, &written, code, (size_t)result) != 0) return CMBED_INTERNAL;
  return (int)written;
}

/* Removes the padding of PKCS#7. Returns the number of bytes that are left, or a negative code. */
static int without_padding(const unsigned char *bytes, size_t count) {
  size_t padding = count == 0 ? 0 : bytes[count - 1];
  if (padding == 0 || padding > BLOCK || padding > count) return CMBED_FILE_INVALID;
  for (size_t i = count - padding; i < count; i++)
    if (bytes[i] != padding) return CMBED_FILE_INVALID;
  return (int)(count - padding);
}

int cmbed_unseal(unsigned char *bytes, cmbed_seal_mode mode, const unsigned char *key, size_t key_count, const char *iv,
                 size_t given_iv_count, const void *sealed, size_t sealed_count) {
  unsigned char code[ROOM];
  size_t count = 0;
  if (given_iv_count != iv_count(mode) || mbedtls_base64_decode(code, sizeof code, &count, sealed, sealed_count) != 0)
    return CMBED_FILE_INVALID;
  if (mode == CMBED_SEAL_CBC) {
    if (count % BLOCK != 0 || cbc(bytes, code, count, key, key_count, iv, MBEDTLS_AES_DECRYPT) != 0)
      return CMBED_FILE_INVALID;
    return without_padding(bytes, count);
  }
  if (count < TAG) return CMBED_FILE_INVALID;
  mbedtls_gcm_context gcm;
  mbedtls_gcm_init(&gcm);
  int error = mbedtls_gcm_setkey(&gcm, MBEDTLS_CIPHER_ID_AES, key, (unsigned)key_count * 8);
  if (error == 0)
    error = mbedtls_gcm_auth_decrypt(&gcm, count - TAG, (const unsigned char *)iv, CMBED_SEAL_GCM_IV, NULL, 0,
                                     code + count - TAG, TAG, code, bytes);
  mbedtls_gcm_free(&gcm);
  return error == 0 ? (int)(count - TAG) : CMBED_FILE_INVALID;
}
