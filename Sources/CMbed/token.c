#include "internal.h"

#include <mbedtls/aes.h>
#include <mbedtls/md.h>
#include <mbedtls/platform_util.h>
#include <string.h>

#define HALF (CMBED_TOKEN_KEY / 2)

/* Computes the tag: the first bytes of HMAC-SHA256 over the content, under the key's first half. */
static int authenticate(unsigned char tag[CMBED_TOKEN_CONTENT], const unsigned char *key, const unsigned char *content) {
  unsigned char whole[32];
  int error = mbedtls_md_hmac(mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), key, HALF, content, CMBED_TOKEN_CONTENT,
                              whole);
  memcpy(tag, whole, CMBED_TOKEN_CONTENT);
  return error;
}

/* Applies AES-256-CTR under the key's second half, with the tag as the first counter block. The
   same call encrypts and decrypts. */
static int encrypt(unsigned char *to, const unsigned char *key, const unsigned char *tag, const unsigned char *from) {
  mbedtls_aes_context aes;
  unsigned char counter[16], stream[16];
  size_t offset = 0;
  memcpy(counter, tag, sizeof counter);
  mbedtls_aes_init(&aes);
  int error = mbedtls_aes_setkey_enc(&aes, key + HALF, HALF * 8);
  if (error == 0) error = mbedtls_aes_crypt_ctr(&aes, CMBED_TOKEN_CONTENT, &offset, counter, stream, from, to);
  mbedtls_aes_free(&aes);
  mbedtls_platform_zeroize(stream, sizeof stream);
  return error;
}

int cmbed_token_seal(unsigned char *token, const unsigned char *key, const unsigned char *content) {
  int error = authenticate(token, key, content);
  if (error == 0) error = encrypt(token + CMBED_TOKEN_CONTENT, key, token, content);
  return error == 0 ? CMBED_OK : CMBED_INTERNAL;
}

int cmbed_token_open(unsigned char *content, const unsigned char *key, const unsigned char *token) {
  unsigned char tag[CMBED_TOKEN_CONTENT];
  int error = encrypt(content, key, token, token + CMBED_TOKEN_CONTENT);
  if (error == 0) error = authenticate(tag, key, content);
  if (error != 0) return CMBED_INTERNAL;
  unsigned char differs = 0;
  for (int i = 0; i < CMBED_TOKEN_CONTENT; i++) differs |= tag[i] ^ token[i];
  return !differs;
}

int cmbed_digest(unsigned char digest[32], const void *bytes, size_t count) {
  return mbedtls_md(mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), bytes, count, digest) == 0 ? CMBED_OK : CMBED_INTERNAL;
}
