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

#define KEY_PEM_MAX 4096
#define RSA_BITS 2048
#define RSA_EXPONENT 65537
#define CERTIFICATE_PEM_MAX 8192
#define HOST_MAX 255

typedef struct {
  mbedtls_x509write_cert writer;
  mbedtls_x509_crt issuer;
  mbedtls_pk_context key, issuer_key;
} work;

static int check_options(const cmbed_issue_options *options, char *text) {
  if (options->certificate == NULL || options->key == NULL || options->name == NULL || options->name[0] == '\0')
    return cmbed_say(text, CMBED_INTERNAL, "A certificate needs a name, and paths for itself and its key.");
  if ((options->issuer == NULL) != (options->issuer_key == NULL))
    return cmbed_say(text, CMBED_INTERNAL, "An issuing certificate needs its key, and the other way round.");
  if (strlen(options->name) >= CMBED_NAME_MAX || (options->topic != NULL && strlen(options->topic) >= CMBED_NAME_MAX))
    return cmbed_say(text, CMBED_INTERNAL, "A certificate's name and topic have %d characters at most.",
                     CMBED_NAME_MAX - 1);
  if (options->host != NULL && strlen(options->host) > HOST_MAX)
    return cmbed_say(text, CMBED_INTERNAL, "A host name has %d characters at most.", HOST_MAX);
  return CMBED_OK;
}

static int read_issuer(work *work, const cmbed_issue_options *options, char *text) {
  int result = cmbed_chain_read(&work->issuer, options->issuer, text);
  if (result != CMBED_OK) return result;
  result = cmbed_key_read(&work->issuer_key, options->issuer_key, NULL, text);
  if (result != CMBED_OK) return result;
  result = cmbed_pair_check(&work->issuer, &work->issuer_key, options->issuer, options->issuer_key, text);
  if (result != CMBED_OK) return result;
  if (!work->issuer.MBEDTLS_PRIVATE(ca_istrue))
    return cmbed_say(text, CMBED_FILE_INVALID, "The certificate in %s may not issue others. Give one of an authority.",
                     options->issuer);
  return CMBED_OK;
}

static int make_key(mbedtls_pk_context *key, int rsa) {
  if (rsa) {
    int failure = mbedtls_pk_setup(key, mbedtls_pk_info_from_type(MBEDTLS_PK_RSA));
    if (failure != 0) return failure;
    return mbedtls_rsa_gen_key(mbedtls_pk_rsa(*key), cmbed_random, NULL, RSA_BITS, RSA_EXPONENT);
  }
  int error = mbedtls_pk_setup(key, mbedtls_pk_info_from_type(MBEDTLS_PK_ECKEY));
  if (error != 0) return error;
  return mbedtls_ecp_gen_key(MBEDTLS_ECP_DP_SECP256R1, mbedtls_pk_ec(*key), cmbed_random, NULL);
}

static int add_name(mbedtls_asn1_named_data **names, const char *oid, size_t oid_count, const void *value,
                    size_t count, int tag) {
  mbedtls_asn1_named_data *entry = mbedtls_asn1_store_named_data(names, oid, oid_count, value, count);
  if (entry == NULL) return MBEDTLS_ERR_X509_ALLOC_FAILED;
  entry->val.tag = tag;
  return 0;
}

/* Straight into the lists: mbedTLS's parser of names knows no UID, and gives commas a meaning. */
static int set_names(work *work, const cmbed_issue_options *options) {
  mbedtls_asn1_named_data **subject = &work->writer.MBEDTLS_PRIVATE(subject);
  mbedtls_asn1_named_data **issuer = &work->writer.MBEDTLS_PRIVATE(issuer);
  mbedtls_asn1_named_data **both[] = {subject, options->issuer == NULL ? issuer : NULL};
  for (int index = 0; index < 2 && both[index] != NULL; index++) {
    int error = add_name(both[index], MBEDTLS_OID_AT_CN, MBEDTLS_OID_SIZE(MBEDTLS_OID_AT_CN), options->name,
                         strlen(options->name), MBEDTLS_ASN1_UTF8_STRING);
    if (error == 0 && options->topic != NULL)
      error = add_name(both[index], CMBED_OID_UID, sizeof CMBED_OID_UID - 1, options->topic, strlen(options->topic),
                       MBEDTLS_ASN1_UTF8_STRING);
    if (error != 0) return error;
  }
  if (options->issuer == NULL) return 0;
  for (const mbedtls_x509_name *name = &work->issuer.subject; name != NULL; name = name->next) {
    int error = add_name(issuer, (const char *)name->oid.p, name->oid.len, name->val.p, name->val.len, name->val.tag);
    if (error != 0) return error;
  }
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
  const int64_t seconds[2] = {options->not_before, options->not_after};
  for (int index = 0; index < 2; index++) {
    cmbed_calendar calendar;
    if (cmbed_calendar_of(&calendar, seconds[index]) != 0) return MBEDTLS_ERR_X509_INVALID_DATE;
    snprintf(dates[index], sizeof dates[index], "%04d%02d%02d%02d%02d%02d", calendar.year % 10000, calendar.month % 100,
             calendar.day % 100, calendar.hour % 100, calendar.minute % 100, calendar.second % 100);
  }
  if (options->not_after < options->not_before) return MBEDTLS_ERR_X509_INVALID_DATE;
  return mbedtls_x509write_crt_set_validity(writer, dates[0], dates[1]);
}

/* DER is written backwards: each of these puts something before what `*at` points at. */

static int put(unsigned char **at, unsigned char *start, int tag, const void *bytes, size_t count) {
  int error = mbedtls_asn1_write_raw_buffer(at, start, bytes, count);
  if (error >= 0) error = mbedtls_asn1_write_len(at, start, count);
  if (error >= 0) error = mbedtls_asn1_write_tag(at, start, (unsigned char)tag);
  return error;
}

static int wrap(unsigned char **at, unsigned char *start, unsigned char *end) {
  size_t count = (size_t)(end - *at);
  int error = mbedtls_asn1_write_len(at, start, count);
  if (error < 0) return error;
  error = mbedtls_asn1_write_tag(at, start, MBEDTLS_ASN1_CONSTRUCTED | MBEDTLS_ASN1_SEQUENCE);
  return error < 0 ? error : 0;
}

static int set_purposes(mbedtls_x509write_cert *writer, const cmbed_issue_options *options) {
  int server = options->host != NULL || options->loopback, client = options->topic != NULL;
  if (!server && !client) return 0;
  unsigned char space[64], *end = space + sizeof space, *at = end;
  int error = 0;
  if (client)
    error = put(&at, space, MBEDTLS_ASN1_OID, MBEDTLS_OID_CLIENT_AUTH, MBEDTLS_OID_SIZE(MBEDTLS_OID_CLIENT_AUTH));
  if (server && error >= 0)
    error = put(&at, space, MBEDTLS_ASN1_OID, MBEDTLS_OID_SERVER_AUTH, MBEDTLS_OID_SIZE(MBEDTLS_OID_SERVER_AUTH));
  if (error >= 0) error = wrap(&at, space, end);
  if (error < 0) return error;
  return mbedtls_x509write_crt_set_extension(writer, MBEDTLS_OID_EXTENDED_KEY_USAGE,
                                             MBEDTLS_OID_SIZE(MBEDTLS_OID_EXTENDED_KEY_USAGE), 0, at,
                                             (size_t)(end - at));
}

static int set_hosts(mbedtls_x509write_cert *writer, const cmbed_issue_options *options) {
  static const unsigned char v4[4] = {127, 0, 0, 1}, v6[16] = {[15] = 1};
  if (options->host == NULL && !options->loopback) return 0;
  unsigned char space[HOST_MAX + 64], *end = space + sizeof space, *at = end;
  int error = 0;
  if (options->loopback) {
    error = put(&at, space, MBEDTLS_ASN1_CONTEXT_SPECIFIC | 7, v6, sizeof v6);
    if (error >= 0) error = put(&at, space, MBEDTLS_ASN1_CONTEXT_SPECIFIC | 7, v4, sizeof v4);
  }
  if (options->host != NULL && error >= 0)
    error = put(&at, space, MBEDTLS_ASN1_CONTEXT_SPECIFIC | 2, options->host, strlen(options->host));
  if (error >= 0) error = wrap(&at, space, end);
  if (error < 0) return error;
  return mbedtls_x509write_crt_set_extension(writer, MBEDTLS_OID_SUBJECT_ALT_NAME,
                                             MBEDTLS_OID_SIZE(MBEDTLS_OID_SUBJECT_ALT_NAME), 0, at,
                                             (size_t)(end - at));
}

static int set_apple(mbedtls_x509write_cert *writer, const cmbed_issue_options *options) {
  static const unsigned char null[] = {MBEDTLS_ASN1_NULL, 0};
  if (!options->sandbox && options->topic == NULL) return 0;
  const char *oid = options->sandbox ? CMBED_OID_APPLE_SANDBOX : CMBED_OID_APPLE_PRODUCTION;
  return mbedtls_x509write_crt_set_extension(writer, oid, sizeof CMBED_OID_APPLE_SANDBOX - 1, 0, null, sizeof null);
}

static int fill(work *work, const cmbed_issue_options *options) {
  mbedtls_x509write_cert *writer = &work->writer;
  mbedtls_x509write_crt_set_version(writer, MBEDTLS_X509_CRT_VERSION_3);
  mbedtls_x509write_crt_set_md_alg(writer, MBEDTLS_MD_SHA256);
  mbedtls_x509write_crt_set_subject_key(writer, &work->key);
  mbedtls_x509write_crt_set_issuer_key(writer, options->issuer == NULL ? &work->key : &work->issuer_key);
  unsigned usage = MBEDTLS_X509_KU_DIGITAL_SIGNATURE;
  if (options->rsa) usage |= MBEDTLS_X509_KU_KEY_ENCIPHERMENT;
  if (options->authority) usage = MBEDTLS_X509_KU_KEY_CERT_SIGN | MBEDTLS_X509_KU_CRL_SIGN;
  int error;
  if ((error = make_key(&work->key, options->rsa)) != 0) return error;
  if ((error = set_names(work, options)) != 0) return error;
  if ((error = set_serial(writer)) != 0) return error;
  if ((error = set_validity(writer, options)) != 0) return error;
  if ((error = mbedtls_x509write_crt_set_basic_constraints(writer, options->authority != 0, -1)) != 0) return error;
  if ((error = mbedtls_x509write_crt_set_key_usage(writer, usage)) != 0) return error;
  if ((error = set_purposes(writer, options)) != 0) return error;
  if ((error = mbedtls_x509write_crt_set_subject_key_identifier(writer)) != 0) return error;
  if ((error = mbedtls_x509write_crt_set_authority_key_identifier(writer)) != 0) return error;
  if ((error = set_hosts(writer, options)) != 0) return error;
  return set_apple(writer, options);
}

/* mbedTLS writes the issuer's name anew, and cannot write every name; what differs would chain to nothing. */
static int check_issuer_name(const work *work, const char *pem) {
  mbedtls_x509_crt made;
  mbedtls_x509_crt_init(&made);
  int error = mbedtls_x509_crt_parse(&made, (const unsigned char *)pem, strlen(pem) + 1);
  const mbedtls_x509_buf *theirs = &work->issuer.subject_raw;
  if (error == 0 && (made.issuer_raw.len != theirs->len || memcmp(made.issuer_raw.p, theirs->p, theirs->len) != 0))
    error = MBEDTLS_ERR_X509_INVALID_NAME;
  mbedtls_x509_crt_free(&made);
  return error;
}

static int write_files(const cmbed_issue_options *options, const char *certificate, const char *key, char *text) {
  if (strcmp(options->certificate, options->key) == 0) {
    char both[CERTIFICATE_PEM_MAX + KEY_PEM_MAX];
    snprintf(both, sizeof both, "%s%s", certificate, key);
    int result = cmbed_file_write(options->key, both, 0600, text);
    mbedtls_platform_zeroize(both, sizeof both);
    return result;
  }
  int result = cmbed_file_write(options->key, key, 0600, text);
  return result == CMBED_OK ? cmbed_file_write(options->certificate, certificate, 0644, text) : result;
}

static int issue(work *work, const cmbed_issue_options *options, char *text) {
  if (options->issuer != NULL) {
    int result = read_issuer(work, options, text);
    if (result != CMBED_OK) return result;
  }
  unsigned char certificate[CERTIFICATE_PEM_MAX], key[KEY_PEM_MAX];
  int error = fill(work, options);
  if (error == 0)
    error = mbedtls_x509write_crt_pem(&work->writer, certificate, sizeof certificate, cmbed_random, NULL);
  if (error == 0 && options->issuer != NULL) error = check_issuer_name(work, (const char *)certificate);
  if (error == 0) error = mbedtls_pk_write_key_pem(&work->key, key, sizeof key);
  if (error == 0) {
    int result = write_files(options, (const char *)certificate, (const char *)key, text);
    mbedtls_platform_zeroize(key, sizeof key);
    return result;
  }
  mbedtls_platform_zeroize(key, sizeof key);
  if (cmbed_is_memory(error)) return cmbed_say(text, CMBED_MEMORY, "There is not enough memory for a certificate.");
  if (error == MBEDTLS_ERR_X509_INVALID_DATE)
    return cmbed_say(text, CMBED_INTERNAL, "A certificate's dates must be in order, and between 1970 and 9999.");
  char name[CMBED_NAME_MAX];
  cmbed_library_error(name, error);
  return cmbed_say(text, CMBED_INTERNAL, "The certificate \"%s\" cannot be made: %s.", options->name, name);
}

/* mbedTLS writes keys as SEC 1 has them; PKCS#8 puts the algorithm before that (RFC 5208, section 5; RFC 5480). */
static int write_pkcs8(char *pem, size_t room, mbedtls_pk_context *key) {
  static const unsigned char head[] = {MBEDTLS_ASN1_INTEGER, 1, 0, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d,
                                       0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07};
  unsigned char space[512], *end = space + sizeof space, inner[256];
  int count = mbedtls_pk_write_key_der(key, inner, sizeof inner);
  if (count < 0) return count;
  unsigned char *at = end;
  int error = put(&at, space, MBEDTLS_ASN1_OCTET_STRING, inner + sizeof inner - count, (size_t)count);
  if (error >= 0) error = mbedtls_asn1_write_raw_buffer(&at, space, head, sizeof head);
  if (error >= 0) error = wrap(&at, space, end);
  size_t written;
  if (error >= 0)
    error = mbedtls_pem_write_buffer("-----BEGIN PRIVATE KEY-----\n", "-----END PRIVATE KEY-----\n", at,
                                     (size_t)(end - at), (unsigned char *)pem, room, &written);
  mbedtls_platform_zeroize(space, sizeof space);
  mbedtls_platform_zeroize(inner, sizeof inner);
  return error < 0 ? error : 0;
}

int cmbed_signing_key_make(const char *path, char text[CMBED_TEXT_MAX]) {
  text[0] = '\0';
  char pem[KEY_PEM_MAX];
  mbedtls_pk_context key;
  mbedtls_pk_init(&key);
  int error = make_key(&key, 0);
  if (error == 0) error = write_pkcs8(pem, sizeof pem, &key);
  mbedtls_pk_free(&key);
  int result;
  if (error == 0) {
    result = cmbed_file_write(path, pem, 0600, text);
  } else {
    char name[CMBED_NAME_MAX];
    cmbed_library_error(name, error);
    result = cmbed_say(text, CMBED_INTERNAL, "The signing key %s cannot be made: %s.", path, name);
  }
  mbedtls_platform_zeroize(pem, sizeof pem);
  return result;
}

int cmbed_issue(const cmbed_issue_options *options, char text[CMBED_TEXT_MAX]) {
  text[0] = '\0';
  int result = check_options(options, text);
  if (result != CMBED_OK) return result;
  work work;
  mbedtls_x509write_crt_init(&work.writer);
  mbedtls_x509_crt_init(&work.issuer);
  mbedtls_pk_init(&work.key);
  mbedtls_pk_init(&work.issuer_key);
  result = issue(&work, options, text);
  mbedtls_x509write_crt_free(&work.writer);
  mbedtls_x509_crt_free(&work.issuer);
  mbedtls_pk_free(&work.key);
  mbedtls_pk_free(&work.issuer_key);
  return result;
}
