#include "internal.h"

#include <mbedtls/asn1.h>
#include <mbedtls/ecdsa.h>
#include <mbedtls/md.h>
#include <string.h>

/* A key of a push service for devices comes from Apple, and the key for browsers from this program. */
#define OTHER "Give the file that Apple (AuthKey_....p8) or \"tinypush recipient invite\" made, unchanged."
#define HALF (CMBED_SIGNATURE / 2)

/* Explains why a file is not an unencrypted PKCS#8 key. */
static int refuse_file(const cmbed_file *file, const char *path, char *text) {
  const char *begin = file->count == 0 ? NULL : strstr((const char *)file->bytes, "-----BEGIN ");
  if (file->count == 0)
    return cmbed_say(text, CMBED_FILE_INVALID, "The signing key %s is empty. Copy it again.", path);
  if (begin == NULL)
    return cmbed_say(text, CMBED_FILE_INVALID, "The signing key %s is not PEM: it has no line \"-----BEGIN PRIVATE "
                     "KEY-----\". " OTHER, path);
  begin += sizeof "-----BEGIN " - 1;
  if (strncmp(begin, "ENCRYPTED ", 10) == 0 || strstr(begin, "Proc-Type: 4,ENCRYPTED") != NULL)
    return cmbed_say(text, CMBED_KEY_PASSWORD, "The signing key %s is encrypted. Decrypt it with \"openssl pkcs8\".",
                     path);
  if (strncmp(begin, "EC PRIVATE KEY", 14) == 0 || strncmp(begin, "EC PARAMETERS", 13) == 0)
    return cmbed_say(text, CMBED_FILE_INVALID, "The signing key %s is not in PKCS#8. Convert the file with \"openssl "
                     "pkcs8 -topk8 -nocrypt\".", path);
  const char *what = strncmp(begin, "CERTIFICATE", 11) == 0   ? "a certificate"
                     : strncmp(begin, "PUBLIC KEY", 10) == 0 ? "a public key"
                     : strncmp(begin, "RSA ", 4) == 0        ? "an RSA key"
                                                             : "a file of another kind";
  return cmbed_say(text, CMBED_FILE_INVALID, "The signing key %s is %s. " OTHER, path, what);
}

static int parse(mbedtls_pk_context *key, const cmbed_file *file) {
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
  return mbedtls_pk_parse_key(key, file->bytes, file->count + 1, NULL, 0, cmbed_random, NULL);
#else
  return mbedtls_pk_parse_key(key, file->bytes, file->count + 1, NULL, 0);
#endif
}

/* The DER header of every P-256 public key; the point follows (RFC 5480). */
static const unsigned char head[] = {0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01,
                                     0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00};

/* Writes the public key, which is in the file or follows from the secret. Returns whether the key
   is on the curve P-256. */
static int write_public(unsigned char point[CMBED_POINT], mbedtls_pk_context *key) {
  unsigned char der[sizeof head + CMBED_POINT];
  if (mbedtls_pk_write_pubkey_der(key, der, sizeof der) != sizeof der || memcmp(der, head, sizeof head) != 0) return 0;
  memcpy(point, der + sizeof head, CMBED_POINT);
  return 1;
}

static int read_key(mbedtls_pk_context *key, unsigned char point[CMBED_POINT], const char *path, char *text) {
  cmbed_file file;
  int result = cmbed_file_read(&file, "The signing key", path, text);
  if (result != CMBED_OK) return result;
  /* Other text may stand above the key. */
  if (file.count == 0 || strstr((const char *)file.bytes, "-----BEGIN PRIVATE KEY-----") == NULL) {
    result = refuse_file(&file, path, text);
    cmbed_file_clear(&file);
    return result;
  }
  int error = parse(key, &file);
  cmbed_file_clear(&file);
  if (error == 0 && write_public(point, key)) return CMBED_OK;
  if (error == 0)
    return cmbed_say(text, CMBED_FILE_INVALID, "The signing key %s is an %s key of %u bits, and not an EC key of the "
                     "curve P-256. " OTHER, path, mbedtls_pk_get_name(key), (unsigned)mbedtls_pk_get_bitlen(key));
  int high = -(-error & 0xff80);
  if (high == MBEDTLS_ERR_PK_UNKNOWN_PK_ALG || high == MBEDTLS_ERR_PK_UNKNOWN_NAMED_CURVE)
    return cmbed_say(text, CMBED_FILE_INVALID, "The signing key %s is not an EC key of the curve P-256. " OTHER, path);
  char name[CMBED_NAME_MAX];
  cmbed_library_error(name, error);
  return cmbed_say(text, CMBED_FILE_INVALID, "The signing key %s is damaged: %s. Copy it again.", path, name);
}

int cmbed_signing_key_public(const char *path, unsigned char point[CMBED_POINT], char text[CMBED_TEXT_MAX]) {
  mbedtls_pk_context key;
  mbedtls_pk_init(&key);
  text[0] = '\0';
  int result = read_key(&key, point, path, text);
  mbedtls_pk_free(&key);
  return result;
}

int cmbed_digest(unsigned char digest[32], const void *bytes, size_t count) {
  return mbedtls_md(mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), bytes, count, digest) == 0 ? CMBED_OK : CMBED_INTERNAL;
}

/* Converts a DER SEQUENCE of two INTEGERs to the two 32-byte numbers of a JWS (RFC 7518, section
   3.4). */
static int unwrap(unsigned char *signature, unsigned char *der, size_t count) {
  mbedtls_mpi r, s;
  mbedtls_mpi_init(&r);
  mbedtls_mpi_init(&s);
  const unsigned char *end = der + count;
  int error = mbedtls_asn1_get_tag(&der, end, &count, MBEDTLS_ASN1_CONSTRUCTED | MBEDTLS_ASN1_SEQUENCE);
  if (error == 0) error = mbedtls_asn1_get_mpi(&der, end, &r);
  if (error == 0) error = mbedtls_asn1_get_mpi(&der, end, &s);
  if (error == 0) error = mbedtls_mpi_write_binary(&r, signature, HALF);
  if (error == 0) error = mbedtls_mpi_write_binary(&s, signature + HALF, HALF);
  mbedtls_mpi_free(&r);
  mbedtls_mpi_free(&s);
  return error;
}

static int sign(unsigned char *signature, mbedtls_pk_context *key, const void *bytes, size_t count) {
  unsigned char digest[32], der[MBEDTLS_PK_SIGNATURE_MAX_SIZE];
  size_t written;
  int error = cmbed_digest(digest, bytes, count);
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
  if (error == 0)
    error = mbedtls_pk_sign(key, MBEDTLS_MD_SHA256, digest, sizeof digest, der, sizeof der, &written, cmbed_random, NULL);
#else
  if (error == 0)
    error = mbedtls_pk_sign(key, MBEDTLS_MD_SHA256, digest, sizeof digest, der, &written, cmbed_random, NULL);
#endif
  return error == 0 ? unwrap(signature, der, written) : error;
}

int cmbed_sign(unsigned char signature[CMBED_SIGNATURE], const char *path, const void *bytes, size_t count,
               char text[CMBED_TEXT_MAX]) {
  unsigned char point[CMBED_POINT];
  mbedtls_pk_context key;
  mbedtls_pk_init(&key);
  text[0] = '\0';
  int result = read_key(&key, point, path, text);
  if (result == CMBED_OK) {
    int error = sign(signature, &key, bytes, count);
    char name[CMBED_NAME_MAX];
    if (error != 0) {
      cmbed_library_error(name, error);
      result = cmbed_say(text, CMBED_INTERNAL, "The signing key %s cannot sign: %s.", path, name);
    }
  }
  mbedtls_pk_free(&key);
  return result;
}

int cmbed_signature_is_good(const unsigned char signature[CMBED_SIGNATURE], const unsigned char point[CMBED_POINT],
                            const void *bytes, size_t count) {
  unsigned char digest[32];
  mbedtls_ecp_group group;
  mbedtls_ecp_point key;
  mbedtls_mpi r, s;
  mbedtls_ecp_group_init(&group);
  mbedtls_ecp_point_init(&key);
  mbedtls_mpi_init(&r);
  mbedtls_mpi_init(&s);
  int error = cmbed_digest(digest, bytes, count);
  if (error == 0) error = mbedtls_ecp_group_load(&group, MBEDTLS_ECP_DP_SECP256R1);
  if (error == 0) error = mbedtls_ecp_point_read_binary(&group, &key, point, CMBED_POINT);
  if (error == 0) error = mbedtls_ecp_check_pubkey(&group, &key);
  if (error == 0) error = mbedtls_mpi_read_binary(&r, signature, HALF);
  if (error == 0) error = mbedtls_mpi_read_binary(&s, signature + HALF, HALF);
  if (error == 0) error = mbedtls_ecdsa_verify(&group, digest, sizeof digest, &key, &r, &s);
  mbedtls_ecp_group_free(&group);
  mbedtls_ecp_point_free(&key);
  mbedtls_mpi_free(&r);
  mbedtls_mpi_free(&s);
  return error == 0;
}
