#include "internal.h"

#include <mbedtls/asn1.h>
#include <string.h>
#include <strings.h>

size_t cmbed_der_count(unsigned char *bytes, size_t count) {
  unsigned char *at = bytes;
  size_t inside;
  int error = mbedtls_asn1_get_tag(&at, bytes + count, &inside, MBEDTLS_ASN1_CONSTRUCTED | MBEDTLS_ASN1_SEQUENCE);
  return error == 0 ? (size_t)(at - bytes) + inside : 0;
}

int cmbed_trust_is_usable(const cmbed_file *trust) {
  for (size_t at = 0, count; at < trust->count; at += count) {
    count = cmbed_der_count(trust->bytes + at, trust->count - at);
    mbedtls_x509_crt each;
    mbedtls_x509_crt_init(&each);
    int error = mbedtls_x509_crt_parse_der_nocopy(&each, trust->bytes + at, count);
    mbedtls_x509_crt_free(&each);
    if (error == 0) return 1;
  }
  return 0;
}

/* No stricter than mbedTLS, which compares them again: it must not miss the one that mbedTLS would have taken. */
static int may_be_same(const mbedtls_x509_name *one, const mbedtls_x509_name *other) {
  for (; one != NULL && other != NULL; one = one->next, other = other->next) {
    if (one->oid.len != other->oid.len || one->val.len != other->val.len) return 0;
    if (one->oid.len > 0 && memcmp(one->oid.p, other->oid.p, one->oid.len) != 0) return 0;
    if (one->val.len > 0 && strncasecmp((const char *)one->val.p, (const char *)other->val.p, one->val.len) != 0)
      return 0;
  }
  return one == NULL && other == NULL;
}

static int is_issuer(const mbedtls_x509_crt *authority, const mbedtls_x509_crt *certificates) {
  for (; certificates != NULL; certificates = certificates->next)
    if (may_be_same(&certificates->issuer, &authority->subject)) return 1;
  return 0;
}

int cmbed_trust_select(mbedtls_x509_crt *selected, const cmbed_file *trust, const mbedtls_x509_crt *certificates) {
  int error = 0;
  for (size_t at = 0, count; at < trust->count && error == 0; at += count) {
    count = cmbed_der_count(trust->bytes + at, trust->count - at);
    mbedtls_x509_crt each;
    mbedtls_x509_crt_init(&each);
    if (mbedtls_x509_crt_parse_der_nocopy(&each, trust->bytes + at, count) == 0 && is_issuer(&each, certificates))
      error = mbedtls_x509_crt_parse_der_nocopy(selected, trust->bytes + at, count);
    mbedtls_x509_crt_free(&each);
  }
  return error;
}
