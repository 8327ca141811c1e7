#include "internal.h"

#if MBEDTLS_VERSION_NUMBER < 0x03000000

#include <mbedtls/aes.h>
#include <mbedtls/asn1.h>
#include <mbedtls/oid.h>
#include <mbedtls/pem.h>
#include <mbedtls/pkcs5.h>
#include <mbedtls/platform_util.h>
#include <string.h>

/* Decrypts keys as OpenSSL encrypts them today (RFC 8018: PBES2 with AES-CBC). mbedTLS can do so
   since version 3.5. */

#define OID_AES "\x60\x86\x48\x01\x65\x03\x04\x01" /* one more byte follows: the key's size and the mode */
#define SEQUENCE (MBEDTLS_ASN1_CONSTRUCTED | MBEDTLS_ASN1_SEQUENCE)

typedef struct {
  mbedtls_asn1_buf salt, iv, content;
  int iterations, key_bits;
  mbedtls_md_type_t digest;
} recipe;

static int read_octets(mbedtls_asn1_buf *octets, unsigned char **at, const unsigned char *end) {
  if (mbedtls_asn1_get_tag(at, end, &octets->len, MBEDTLS_ASN1_OCTET_STRING) != 0) return -1;
  octets->p = *at;
  *at += octets->len;
  return 0;
}

static int read_derivation(recipe *recipe, const mbedtls_asn1_buf *parameters) {
  unsigned char *at = parameters->p;
  const unsigned char *end = at + parameters->len;
  mbedtls_asn1_buf oid, none;
  int key_bytes;
  recipe->digest = MBEDTLS_MD_SHA1;
  if (read_octets(&recipe->salt, &at, end) != 0 || mbedtls_asn1_get_int(&at, end, &recipe->iterations) != 0) return -1;
  if (at < end && *at == MBEDTLS_ASN1_INTEGER && mbedtls_asn1_get_int(&at, end, &key_bytes) != 0) return -1;
  if (at < end && (mbedtls_asn1_get_alg(&at, end, &oid, &none) != 0 || mbedtls_oid_get_md_hmac(&oid, &recipe->digest) != 0))
    return -1;
  return recipe->iterations > 0 ? 0 : -1;
}

static int read_recipe(recipe *recipe, unsigned char *at, const unsigned char *end) {
  size_t count;
  mbedtls_asn1_buf oid, parameters, derivation, salt, cipher;
  if (mbedtls_asn1_get_tag(&at, end, &count, SEQUENCE) != 0) return -1;
  if (mbedtls_asn1_get_alg(&at, end, &oid, &parameters) != 0 || MBEDTLS_OID_CMP(MBEDTLS_OID_PKCS5_PBES2, &oid) != 0)
    return -1;
  if (read_octets(&recipe->content, &at, end) != 0) return -1;
  at = parameters.p;
  end = at + parameters.len;
  if (mbedtls_asn1_get_alg(&at, end, &derivation, &salt) != 0 ||
      MBEDTLS_OID_CMP(MBEDTLS_OID_PKCS5_PBKDF2, &derivation) != 0 || read_derivation(recipe, &salt) != 0)
    return -1;
  if (mbedtls_asn1_get_alg(&at, end, &cipher, &recipe->iv) != 0 || cipher.len != sizeof OID_AES ||
      memcmp(cipher.p, OID_AES, sizeof OID_AES - 1) != 0 || recipe->iv.len != 16)
    return -1;
  int kind = cipher.p[cipher.len - 1];
  recipe->key_bits = kind == 2 ? 128 : kind == 22 ? 192 : kind == 42 ? 256 : 0;
  return recipe->key_bits != 0 && recipe->content.len > 0 && recipe->content.len % 16 == 0 ? 0 : -1;
}

/* Decrypts the content in place. */
static int decrypt(const recipe *recipe, const char *password) {
  unsigned char secret[32];
  mbedtls_md_context_t digest;
  mbedtls_aes_context cipher;
  mbedtls_md_init(&digest);
  mbedtls_aes_init(&cipher);
  int error = mbedtls_md_setup(&digest, mbedtls_md_info_from_type(recipe->digest), 1);
  if (error == 0)
    error = mbedtls_pkcs5_pbkdf2_hmac(&digest, (const unsigned char *)password, strlen(password), recipe->salt.p,
                                      recipe->salt.len, (unsigned)recipe->iterations, (uint32_t)recipe->key_bits / 8,
                                      secret);
  if (error == 0) error = mbedtls_aes_setkey_dec(&cipher, secret, (unsigned)recipe->key_bits);
  if (error == 0)
    error = mbedtls_aes_crypt_cbc(&cipher, MBEDTLS_AES_DECRYPT, recipe->content.len, recipe->iv.p, recipe->content.p,
                                  recipe->content.p);
  mbedtls_aes_free(&cipher);
  mbedtls_md_free(&digest);
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
  if (error == 0 && read_recipe(&recipe, pem.buf, pem.buf + pem.buflen) != 0) error = MBEDTLS_ERR_PK_FEATURE_UNAVAILABLE;
  if (error == 0) error = decrypt(&recipe, password);
  /* The padding needs no check: DER contains its length, and a wrong password yields no valid
     DER. */
  if (error == 0 && mbedtls_pk_parse_key(key, recipe.content.p, recipe.content.len, NULL, 0) != 0)
    error = MBEDTLS_ERR_PK_PASSWORD_MISMATCH;
  mbedtls_pem_free(&pem);
  return error;
}

#endif
