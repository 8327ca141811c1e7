#include "internal.h"

#include <arpa/inet.h>
#include <mbedtls/asn1.h>
#include <mbedtls/oid.h>
#include <stdio.h>
#include <string.h>

#define OID(bytes) bytes, sizeof bytes - 1
#define OID_PRODUCTION "\x2a\x86\x48\x86\xf7\x63\x64\x06\x03\x02"
#define OID_TOPICS "\x2a\x86\x48\x86\xf7\x63\x64\x06\x03\x06"
#define SAN_DNS (MBEDTLS_ASN1_CONTEXT_SPECIFIC | 2)
#define SAN_IP (MBEDTLS_ASN1_CONTEXT_SPECIFIC | 7)

static int is(const mbedtls_x509_buf *oid, const char *bytes, size_t count) {
  return oid->len == count && memcmp(oid->p, bytes, count) == 0;
}

static const mbedtls_x509_buf *attribute(const mbedtls_x509_name *name, const char *oid, size_t count) {
  for (; name != NULL; name = name->next)
    if (is(&name->oid, oid, count)) return &name->val;
  return NULL;
}

void cmbed_name_common(char *to, size_t room, const mbedtls_x509_name *name) {
  const mbedtls_x509_buf *value = attribute(name, OID(MBEDTLS_OID_AT_CN));
  /* Some authorities have no common name and are known by their organisational unit. */
  if (value == NULL) value = attribute(name, OID(MBEDTLS_OID_AT_ORG_UNIT));
  if (value == NULL) value = attribute(name, OID(MBEDTLS_OID_AT_ORGANIZATION));
  if (value == NULL) value = attribute(name, OID(CMBED_OID_UID));
  if (value == NULL) cmbed_copy_clean(to, room, "", 0);
  else cmbed_copy_clean(to, room, value->p, value->len);
}

/* Copies the topic: the UID, else the common name after "Services: "; "" if there is none. */
static void read_topic(char to[CMBED_NAME_MAX], const mbedtls_x509_name *name) {
  static const char mark[] = "Services: ";
  const mbedtls_x509_buf *value = attribute(name, OID(CMBED_OID_UID));
  const unsigned char *bytes = value == NULL ? NULL : value->p;
  if (value == NULL) {
    value = attribute(name, OID(MBEDTLS_OID_AT_CN));
    bytes = value == NULL ? NULL : memmem(value->p, value->len, mark, sizeof mark - 1);
    if (bytes == NULL) return;
    bytes += sizeof mark - 1;
  }
  /* The topic decides what a client may do, so it is neither truncated nor cleaned. */
  size_t count = value->len - (size_t)(bytes - value->p);
  if (count >= CMBED_NAME_MAX) return;
  for (size_t index = 0; index < count; index++)
    if (bytes[index] <= 0x20 || bytes[index] == 0x7f) return;
  if (count > 0) memcpy(to, bytes, count);
  to[count] = '\0';
}

void cmbed_certificate_names(char *to, size_t room, const mbedtls_x509_crt *certificate) {
  to[0] = '\0';
  for (const mbedtls_x509_sequence *entry = &certificate->subject_alt_names; entry != NULL; entry = entry->next) {
    char name[CMBED_NAME_MAX];
    if (entry->buf.tag == SAN_DNS) {
      cmbed_copy_clean(name, sizeof name, entry->buf.p, entry->buf.len);
    } else if (entry->buf.tag == SAN_IP && (entry->buf.len == 4 || entry->buf.len == 16)) {
      inet_ntop(entry->buf.len == 4 ? AF_INET : AF_INET6, entry->buf.p, name, sizeof name);
    } else {
      continue;
    }
    if (strlen(to) + strlen(name) + sizeof ", ..." > room) {
      cmbed_append(to, room, ", ...");
      return;
    }
    cmbed_append(to, room, "%s%s", to[0] == '\0' ? "" : ", ", name);
  }
  if (to[0] == '\0') cmbed_name_common(to, room, &certificate->subject);
}

int cmbed_certificate_has_address(const mbedtls_x509_crt *certificate, const char *host) {
  unsigned char address[16];
  size_t count = inet_pton(AF_INET, host, address) == 1 ? 4 : inet_pton(AF_INET6, host, address) == 1 ? 16 : 0;
  if (count == 0) return 0;
  for (const mbedtls_x509_sequence *entry = &certificate->subject_alt_names; entry != NULL; entry = entry->next)
    if (entry->buf.tag == SAN_IP && entry->buf.len == count && memcmp(entry->buf.p, address, count) == 0) return 1;
  return 0;
}

void cmbed_chain_note(cmbed_chain *chain, int index, const mbedtls_x509_crt *certificate) {
  if (index >= chain->count) chain->count = index + 1;
  if (index >= CMBED_CHAIN_MAX) return;
  cmbed_link *link = &chain->links[index];
  link->not_before = cmbed_seconds(&certificate->valid_from);
  link->not_after = cmbed_seconds(&certificate->valid_to);
  cmbed_name_common(link->name, sizeof link->name, &certificate->subject);
  cmbed_name_common(link->issuer, sizeof link->issuer, &certificate->issuer);
}

/* Returns the bytes after an extension's OID, up to `*end`; NULL if the extension is missing. */
static unsigned char *find_extension(const mbedtls_x509_crt *certificate, const char *oid, size_t oid_count,
                                     const unsigned char **end) {
  unsigned char *at = certificate->v3_ext.p;
  if (at == NULL) return NULL;
  const unsigned char *last = at + certificate->v3_ext.len;
  size_t count;
  if (mbedtls_asn1_get_tag(&at, last, &count, MBEDTLS_ASN1_CONSTRUCTED | MBEDTLS_ASN1_SEQUENCE) != 0) return NULL;
  while (at < last) {
    if (mbedtls_asn1_get_tag(&at, last, &count, MBEDTLS_ASN1_CONSTRUCTED | MBEDTLS_ASN1_SEQUENCE) != 0) return NULL;
    unsigned char *next = at + count;
    if (mbedtls_asn1_get_tag(&at, next, &count, MBEDTLS_ASN1_OID) != 0) return NULL;
    *end = next;
    if (count == oid_count && memcmp(at, oid, count) == 0) return at + count;
    at = next;
  }
  return NULL;
}

static int has_extension(const mbedtls_x509_crt *certificate, const char *oid, size_t oid_count) {
  const unsigned char *end;
  return find_extension(certificate, oid, oid_count, &end) != NULL;
}

/* Reads an OCTET STRING with a SEQUENCE, in which a SEQUENCE of uses follows each topic
   (UTF8String). Apple documents none of this; it was found in Apple's certificates. */
static void read_topics(char *to, size_t room, const mbedtls_x509_crt *certificate) {
  const unsigned char *end;
  size_t count;
  unsigned char *at = find_extension(certificate, OID(OID_TOPICS), &end);
  if (at == NULL || mbedtls_asn1_get_tag(&at, end, &count, MBEDTLS_ASN1_OCTET_STRING) != 0) return;
  if (mbedtls_asn1_get_tag(&at, end, &count, MBEDTLS_ASN1_CONSTRUCTED | MBEDTLS_ASN1_SEQUENCE) != 0) return;
  while (at < end) {
    int tag = *at++;
    if (mbedtls_asn1_get_len(&at, end, &count) != 0) return;
    if (tag == MBEDTLS_ASN1_UTF8_STRING) {
      char topic[CMBED_NAME_MAX];
      cmbed_copy_clean(topic, sizeof topic, at, count);
      cmbed_append(to, room, "%s%s", to[0] == '\0' ? "" : ", ", topic);
    }
    at += count;
  }
}

void cmbed_rights_read(cmbed_rights *rights, const mbedtls_x509_crt *certificate) {
  memset(rights, 0, sizeof *rights);
  read_topic(rights->topic, &certificate->subject);
  read_topics(rights->topics, sizeof rights->topics, certificate);
  rights->kind = CMBED_PEER_PRESENT;
  if (has_extension(certificate, OID(OID_PRODUCTION))) rights->kind |= CMBED_PEER_PRODUCTION;
  if (has_extension(certificate, OID(CMBED_OID_APPLE_SANDBOX))) rights->kind |= CMBED_PEER_SANDBOX;
}
