#include "internal.h"

#if MBEDTLS_VERSION_NUMBER < 0x03000000

#include <mbedtls/aes.h>
#include <mbedtls/asn1.h>
#include <mbedtls/md.h>
#include <mbedtls/oid.h>
#include <mbedtls/pem.h>
#include <mbedtls/pkcs5.h>
#include <mbedtls/platform_util.h>
#include <string.h>

/* What OpenSSL makes of a key and a password today; mbedTLS reads it from version 3.5 on. */

#define OID_AES "\x60\x86\x48\x01\x65\x03\x04\x01" /* and one more byte: the key's size and the mode */
#define SEQUENCE (MBEDTLS_ASN1_CONSTRUCTED | MBEDTLS_ASN1_SEQUENCE)

typedef struct {
  const unsigned char *salt, *iv, *bytes;
  size_t salt_count, count;
  int iterations, key_bits;
  mbedtls_md_type_t digest;
} recipe;

/* Goes into the next element, and gives its content and its end. */
static int enter(unsigned char **at, const unsigned char *end, int tag, const unsigned char **content_end) {
  size_t count;
  int error = mbedtls_asn1_get_tag(at, end, &count, tag);
  if (error == 0) *content_end = *at + count;
  return error;
}

static int is_next_oid(unsigned char **at, const unsigned char *end, const char *oid, size_t oid_count) {
  const unsigned char *oid_end;
  if (enter(at, end, MBEDTLS_ASN1_OID, &oid_end) != 0) return 0;
  const unsigned char *bytes = *at;
  *at = (unsigned char *)oid_end;
  return (size_t)(oid_end - bytes) == oid_count && memcmp(bytes, oid, oid_count) == 0;
}

static int read_derivation(unsigned char *at, const unsigned char *end, recipe *recipe) {
  const unsigned char *inner;
  int bytes;
  if (!is_next_oid(&at, end, MBEDTLS_OID_PKCS5_PBKDF2, MBEDTLS_OID_SIZE(MBEDTLS_OID_PKCS5_PBKDF2))) return -1;
  if (enter(&at, end, SEQUENCE, &end) != 0 || enter(&at, end, MBEDTLS_ASN1_OCTET_STRING, &inner) != 0) return -1;
  recipe->salt = at;
  recipe->salt_count = (size_t)(inner - at);
  at = (unsigned char *)inner;
  if (mbedtls_asn1_get_int(&at, end, &recipe->iterations) != 0 || recipe->iterations < 1) return -1;
  if (at < end && *at == MBEDTLS_ASN1_INTEGER && mbedtls_asn1_get_int(&at, end, &bytes) != 0) return -1;
  recipe->digest = MBEDTLS_MD_SHA1;
  if (at == end) return 0;
  mbedtls_asn1_buf oid, parameters;
  if (mbedtls_asn1_get_alg(&at, end, &oid, &parameters) != 0) return -1;
  return mbedtls_oid_get_md_hmac(&oid, &recipe->digest) == 0 ? 0 : -1;
}

static int read_cipher(unsigned char *at, const unsigned char *end, recipe *recipe) {
  const unsigned char *inner;
  if (enter(&at, end, MBEDTLS_ASN1_OID, &inner) != 0) return -1;
  if ((size_t)(inner - at) != sizeof OID_AES || memcmp(at, OID_AES, sizeof OID_AES - 1) != 0) return -1;
  switch (inner[-1]) {
  case 2:
    recipe->key_bits = 128;
    break;
  case 22:
    recipe->key_bits = 192;
    break;
  case 42:
    recipe->key_bits = 256;
    break;
  default:
    return -1;
  }
  at = (unsigned char *)inner;
  if (enter(&at, end, MBEDTLS_ASN1_OCTET_STRING, &inner) != 0 || inner - at != 16) return -1;
  recipe->iv = at;
  return 0;
}

static int read_recipe(unsigned char *at, const unsigned char *end, recipe *recipe) {
  const unsigned char *algorithm, *parameters, *inner;
  if (enter(&at, end, SEQUENCE, &end) != 0 || enter(&at, end, SEQUENCE, &algorithm) != 0) return -1;
  if (!is_next_oid(&at, algorithm, MBEDTLS_OID_PKCS5_PBES2, MBEDTLS_OID_SIZE(MBEDTLS_OID_PKCS5_PBES2))) return -1;
  if (enter(&at, algorithm, SEQUENCE, &parameters) != 0 || enter(&at, parameters, SEQUENCE, &inner) != 0) return -1;
  if (read_derivation(at, inner, recipe) != 0) return -1;
  at = (unsigned char *)inner;
  if (enter(&at, parameters, SEQUENCE, &inner) != 0 || read_cipher(at, inner, recipe) != 0) return -1;
  at = (unsigned char *)algorithm;
  if (enter(&at, end, MBEDTLS_ASN1_OCTET_STRING, &inner) != 0) return -1;
  recipe->bytes = at;
  recipe->count = (size_t)(inner - at);
  return recipe->count > 0 && recipe->count % 16 == 0 ? 0 : -1;
}

static int derive(const recipe *recipe, const char *password, unsigned char secret[32]) {
  mbedtls_md_context_t digest;
  mbedtls_md_init(&digest);
  int error = mbedtls_md_setup(&digest, mbedtls_md_info_from_type(recipe->digest), 1);
  if (error == 0)
    error = mbedtls_pkcs5_pbkdf2_hmac(&digest, (const unsigned char *)password, strlen(password), recipe->salt,
                                      recipe->salt_count, (unsigned)recipe->iterations,
                                      (uint32_t)recipe->key_bits / 8, secret);
  mbedtls_md_free(&digest);
  return error;
}

/* In place: `recipe->bytes` lies in the buffer that is decrypted. */
static int decrypt(const recipe *recipe, const char *password, unsigned char *bytes) {
  unsigned char secret[32], iv[16];
  int error = derive(recipe, password, secret);
  mbedtls_aes_context cipher;
  mbedtls_aes_init(&cipher);
  memcpy(iv, recipe->iv, sizeof iv);
  if (error == 0) error = mbedtls_aes_setkey_dec(&cipher, secret, (unsigned)recipe->key_bits);
  if (error == 0) error = mbedtls_aes_crypt_cbc(&cipher, MBEDTLS_AES_DECRYPT, recipe->count, iv, recipe->bytes, bytes);
  mbedtls_aes_free(&cipher);
  mbedtls_platform_zeroize(secret, sizeof secret);
  return error;
}

int cmbed_pbes2_open(mbedtls_pk_context *key, const cmbed_file *file, const char *password) {
  mbedtls_pem_context pem;
  mbedtls_pem_init(&pem);
  size_t used;
  int error = mbedtls_pem_read_buffer(&pem, "-----BEGIN ENCRYPTED PRIVATE KEY-----",
                                      "-----END ENCRYPTED PRIVATE KEY-----", file->bytes, NULL, 0, &used);
  recipe recipe;
  if (error == 0 && read_recipe(pem.buf, pem.buf + pem.buflen, &recipe) != 0)
    error = MBEDTLS_ERR_PK_FEATURE_UNAVAILABLE;
  if (error == 0) {
    unsigned char *bytes = pem.buf + (recipe.bytes - pem.buf);
    error = decrypt(&recipe, password, bytes);
    /* The padding is not looked at: DER knows its own length, and a wrong password makes none of it. */
    if (error == 0 && mbedtls_pk_parse_key(key, bytes, recipe.count, NULL, 0) != 0)
      error = MBEDTLS_ERR_PK_PASSWORD_MISMATCH;
  }
  mbedtls_pem_free(&pem);
  return error;
}

#endif
