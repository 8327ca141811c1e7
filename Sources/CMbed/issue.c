#include "internal.h"

#include <mbedtls/asn1write.h>
#include <mbedtls/bignum.h>
#include <mbedtls/ecp.h>
#include <mbedtls/oid.h>
#include <mbedtls/pem.h>
#include <mbedtls/platform_util.h>
#include <mbedtls/rsa.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Makes the sandbox's certificates and signing keys. */

#define RSA_BITS 2048
#define RSA_EXPONENT 65537

typedef struct {
  mbedtls_x509write_cert writer;
  cmbed_identity issuer;
  mbedtls_pk_context key;
} work;

static int make_key(mbedtls_pk_context *key, int rsa) {
  int error = mbedtls_pk_setup(key, mbedtls_pk_info_from_type(rsa ? MBEDTLS_PK_RSA : MBEDTLS_PK_ECKEY));
  if (error != 0) return error;
  if (rsa) return mbedtls_rsa_gen_key(mbedtls_pk_rsa(*key), cmbed_random, NULL, RSA_BITS, RSA_EXPONENT);
  return mbedtls_ecp_gen_key(MBEDTLS_ECP_DP_SECP256R1, mbedtls_pk_ec(*key), cmbed_random, NULL);
}

static int set_names(work *work, const cmbed_issue_options *options) {
  char subject[CMBED_NAME_MAX], issuer[CMBED_NAME_MAX];
  snprintf(subject, sizeof subject, "CN=%s", options->name);
  snprintf(issuer, sizeof issuer, "%s", subject);
  if (options->issuer != NULL) {
    int count = mbedtls_x509_dn_gets(issuer, sizeof issuer, &work->issuer.chain.subject);
    if (count < 0) return count;
  }
  int error = mbedtls_x509write_crt_set_subject_name(&work->writer, subject);
  return error == 0 ? mbedtls_x509write_crt_set_issuer_name(&work->writer, issuer) : error;
}

/* Adds the topic to a client's subject as Apple's certificates have it: as the UID. */
static int set_topic(mbedtls_x509write_cert *writer, const cmbed_issue_options *options) {
  static const char mark[] = "Services: ";
  const char *topic = strstr(options->name, mark);
  if (options->kind != CMBED_CLIENT || topic == NULL) return 0;
  topic += sizeof mark - 1;
  mbedtls_asn1_named_data *entry =
    mbedtls_asn1_store_named_data(&writer->MBEDTLS_PRIVATE(subject), CMBED_OID_UID, sizeof CMBED_OID_UID - 1,
                                  (const unsigned char *)topic, strlen(topic));
  if (entry == NULL) return MBEDTLS_ERR_ASN1_ALLOC_FAILED;
  entry->val.tag = MBEDTLS_ASN1_UTF8_STRING;
  return 0;
}

static int set_serial(mbedtls_x509write_cert *writer) {
  unsigned char serial[16];
  int error = cmbed_random(NULL, serial, sizeof serial);
  if (error != 0) return error;
  serial[0] = (serial[0] & 0x3f) | 0x40; /* positive, and always of this length */
#if MBEDTLS_VERSION_NUMBER >= 0x03040000
  return mbedtls_x509write_crt_set_serial_raw(writer, serial, sizeof serial);
#else
  mbedtls_mpi number;
  mbedtls_mpi_init(&number);
  error = mbedtls_mpi_read_binary(&number, serial, sizeof serial);
  if (error == 0) error = mbedtls_x509write_crt_set_serial(writer, &number);
  mbedtls_mpi_free(&number);
  return error;
#endif
}

static int set_validity(mbedtls_x509write_cert *writer, const cmbed_issue_options *options) {
  char dates[2][32];
  const time_t times[2] = {(time_t)options->not_before, (time_t)options->not_after};
  for (int index = 0; index < 2; index++) {
    struct tm parts;
    if (gmtime_r(&times[index], &parts) == NULL) return MBEDTLS_ERR_X509_INVALID_DATE;
    strftime(dates[index], sizeof dates[index], "%Y%m%d%H%M%S", &parts);
  }
  return mbedtls_x509write_crt_set_validity(writer, dates[0], dates[1]);
}

/* Sets the extended key usage; for servers also localhost, 127.0.0.1 and ::1, and for clients
   Apple's development extension. */
static int set_purpose(mbedtls_x509write_cert *writer, cmbed_issue_kind kind) {
  static const unsigned char null[] = {0x05, 0},
    server[] = {0x30, 10, 0x06, 8, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01},
    client[] = {0x30, 10, 0x06, 8, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x02},
    hosts[] = {0x30, 35, 0x82, 9, 'l', 'o', 'c', 'a', 'l', 'h', 'o', 's', 't', 0x87, 4, 127, 0, 0, 1, 0x87, 16,
               0,    0,  0,    0, 0,   0,   0,   0,   0,   0,   0,   0,   0,   0,    0, 1};
  if (kind == CMBED_AUTHORITY) return 0;
  int error = mbedtls_x509write_crt_set_extension(
    writer, MBEDTLS_OID_EXTENDED_KEY_USAGE, MBEDTLS_OID_SIZE(MBEDTLS_OID_EXTENDED_KEY_USAGE), 0,
    kind == CMBED_SERVER ? server : client, sizeof server);
  if (error != 0) return error;
  if (kind == CMBED_CLIENT)
    return mbedtls_x509write_crt_set_extension(writer, CMBED_OID_APPLE_SANDBOX, sizeof CMBED_OID_APPLE_SANDBOX - 1, 0, null,
                                               sizeof null);
  return mbedtls_x509write_crt_set_extension(writer, MBEDTLS_OID_SUBJECT_ALT_NAME,
                                             MBEDTLS_OID_SIZE(MBEDTLS_OID_SUBJECT_ALT_NAME), 0, hosts, sizeof hosts);
}

static int fill(work *work, const cmbed_issue_options *options) {
  mbedtls_x509write_cert *writer = &work->writer;
  int authority = options->kind == CMBED_AUTHORITY, error;
  unsigned usage = authority ? MBEDTLS_X509_KU_KEY_CERT_SIGN | MBEDTLS_X509_KU_CRL_SIGN : MBEDTLS_X509_KU_DIGITAL_SIGNATURE;
  if (options->rsa && !authority) usage |= MBEDTLS_X509_KU_KEY_ENCIPHERMENT;
  mbedtls_x509write_crt_set_version(writer, MBEDTLS_X509_CRT_VERSION_3);
  mbedtls_x509write_crt_set_md_alg(writer, MBEDTLS_MD_SHA256);
  mbedtls_x509write_crt_set_subject_key(writer, &work->key);
  mbedtls_x509write_crt_set_issuer_key(writer, options->issuer == NULL ? &work->key : &work->issuer.key);
  if ((error = make_key(&work->key, options->rsa)) != 0) return error;
  if ((error = set_names(work, options)) != 0) return error;
  if ((error = set_topic(writer, options)) != 0) return error;
  if ((error = set_serial(writer)) != 0) return error;
  if ((error = set_validity(writer, options)) != 0) return error;
  if ((error = mbedtls_x509write_crt_set_basic_constraints(writer, authority, -1)) != 0) return error;
  if ((error = mbedtls_x509write_crt_set_key_usage(writer, usage)) != 0) return error;
  if ((error = mbedtls_x509write_crt_set_subject_key_identifier(writer)) != 0) return error;
  if ((error = mbedtls_x509write_crt_set_authority_key_identifier(writer)) != 0) return error;
  return set_purpose(writer, options->kind);
}

int cmbed_issue(char certificate[CMBED_PEM_MAX], char key[CMBED_PEM_MAX], const cmbed_issue_options *options,
                char text[CMBED_TEXT_MAX]) {
  work work;
  text[0] = '\0';
  mbedtls_x509write_crt_init(&work.writer);
  cmbed_identity_init(&work.issuer);
  mbedtls_pk_init(&work.key);
  int result = CMBED_OK, error = 0;
  if (options->issuer != NULL)
    result = cmbed_identity_read(&work.issuer, options->issuer, options->issuer_key, NULL, text);
  if (result == CMBED_OK) error = fill(&work, options);
  if (result == CMBED_OK && error == 0)
    error = mbedtls_x509write_crt_pem(&work.writer, (unsigned char *)certificate, CMBED_PEM_MAX, cmbed_random, NULL);
  if (result == CMBED_OK && error == 0) error = mbedtls_pk_write_key_pem(&work.key, (unsigned char *)key, CMBED_PEM_MAX);
  mbedtls_x509write_crt_free(&work.writer);
  cmbed_identity_clear(&work.issuer);
  mbedtls_pk_free(&work.key);
  if (error == 0) return result;
  char name[CMBED_NAME_MAX];
  cmbed_library_error(name, error);
  return cmbed_say(text, CMBED_INTERNAL, "The certificate \"%s\" cannot be made: %s.", options->name, name);
}

/* mbedTLS writes keys in SEC 1's format, 121 bytes for this curve. PKCS#8 puts the algorithm before
   that (RFC 5208, section 5; RFC 5480). */
int cmbed_signing_key_make(char pem[CMBED_PEM_MAX], char text[CMBED_TEXT_MAX]) {
  enum { INNER = 121 };
  unsigned char der[] = {0x30, 0x81, 26 + INNER, 0x02, 1, 0, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d,
                         0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x04, INNER,
                         [29 + INNER - 1] = 0};
  size_t written;
  mbedtls_pk_context key;
  mbedtls_pk_init(&key);
  text[0] = '\0';
  int error = make_key(&key, 0);
  if (error == 0 && mbedtls_pk_write_key_der(&key, der + 29, INNER) != INNER) error = MBEDTLS_ERR_PK_KEY_INVALID_FORMAT;
  if (error == 0)
    error = mbedtls_pem_write_buffer("-----BEGIN PRIVATE KEY-----\n", "-----END PRIVATE KEY-----\n", der, sizeof der,
                                     (unsigned char *)pem, CMBED_PEM_MAX, &written);
  mbedtls_pk_free(&key);
  mbedtls_platform_zeroize(der, sizeof der);
  if (error == 0) return CMBED_OK;
  char name[CMBED_NAME_MAX];
  cmbed_library_error(name, error);
  return cmbed_say(text, CMBED_INTERNAL, "The signing key cannot be made: %s.", name);
}
