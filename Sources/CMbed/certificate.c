#include "internal.h"

#include <arpa/inet.h>
#include <mbedtls/asn1.h>
#include <mbedtls/md.h>
#include <mbedtls/oid.h>
#include <stdio.h>
#include <string.h>

#define OID(bytes) bytes, sizeof bytes - 1
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
  /* Some authorities have none, and are known by their organisational unit. */
  if (value == NULL) value = attribute(name, OID(MBEDTLS_OID_AT_ORG_UNIT));
  if (value == NULL) value = attribute(name, OID(MBEDTLS_OID_AT_ORGANIZATION));
  if (value == NULL) value = attribute(name, OID(CMBED_OID_UID));
  if (value == NULL) cmbed_copy_clean(to, room, "", 0);
  else cmbed_copy_clean(to, room, value->p, value->len);
}

void cmbed_name_topic(char to[CMBED_NAME_MAX], const mbedtls_x509_name *name) {
  static const char mark[] = "Services: ";
  to[0] = '\0';
  const unsigned char *bytes = NULL;
  size_t count = 0;
  const mbedtls_x509_buf *uid = attribute(name, OID(CMBED_OID_UID));
  if (uid != NULL) {
    bytes = uid->p;
    count = uid->len;
  } else {
    const mbedtls_x509_buf *common = attribute(name, OID(MBEDTLS_OID_AT_CN));
    if (common == NULL) return;
    const unsigned char *found = memmem(common->p, common->len, mark, sizeof mark - 1);
    if (found == NULL) return;
    bytes = found + sizeof mark - 1;
    count = common->len - (size_t)(bytes - common->p);
  }
  /* It decides what a client may do, so it is whole and plain or it is none. */
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

int cmbed_certificate_bears_address(const mbedtls_x509_crt *certificate, const char *host) {
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

/* What follows the name of an extension, up to `*end`; NULL where it is not there. */
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

/* An OCTET STRING that holds a SEQUENCE, in which each topic (a UTF8String) has a SEQUENCE of its uses behind it. No
   document of Apple's tells; so it is in the certificates. */
static void read_topics(char *to, size_t room, const mbedtls_x509_crt *certificate) {
  const unsigned char *end;
  size_t count;
  unsigned char *at = find_extension(certificate, OID(CMBED_OID_APPLE_TOPICS), &end);
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

void cmbed_client_read(cmbed_client *client, const mbedtls_x509_crt *certificate) {
  cmbed_name_topic(client->topic, &certificate->subject);
  read_topics(client->topics, sizeof client->topics, certificate);
  client->kind = CMBED_PEER_SHOWN;
  if (has_extension(certificate, OID(CMBED_OID_APPLE_PRODUCTION))) client->kind |= CMBED_PEER_PRODUCTION;
  if (has_extension(certificate, OID(CMBED_OID_APPLE_SANDBOX))) client->kind |= CMBED_PEER_SANDBOX;
}

/* Whether `issuer` has signed `certificate`, and not only bears its issuer's name. */
static int has_issued(mbedtls_x509_crt *issuer, const mbedtls_x509_crt *certificate) {
  const mbedtls_x509_buf *named = &certificate->issuer_raw, *name = &issuer->subject_raw;
  if (named->len != name->len || memcmp(named->p, name->p, name->len) != 0) return 0;
  unsigned char hash[MBEDTLS_MD_MAX_SIZE];
  mbedtls_md_type_t kind = certificate->MBEDTLS_PRIVATE(sig_md);
  const mbedtls_md_info_t *digest = mbedtls_md_info_from_type(kind);
  if (digest == NULL || mbedtls_md(digest, certificate->tbs.p, certificate->tbs.len, hash) != 0) return 0;
  const mbedtls_x509_buf *signature = &certificate->MBEDTLS_PRIVATE(sig);
  return mbedtls_pk_verify_ext(certificate->MBEDTLS_PRIVATE(sig_pk), certificate->MBEDTLS_PRIVATE(sig_opts), &issuer->pk,
                               kind, hash, mbedtls_md_get_size(digest), signature->p, signature->len) == 0;
}

static int check_key(const mbedtls_x509_crt *chain, const char *path, const char *key_path, const char *password,
                     char *text) {
  mbedtls_pk_context key;
  mbedtls_pk_init(&key);
  int result = cmbed_key_read(&key, key_path, password, text);
  if (result == CMBED_OK) result = cmbed_pair_check(chain, &key, path, key_path, text);
  mbedtls_pk_free(&key);
  return result;
}

int cmbed_certificate_read(cmbed_certificate *certificate, const char *path, const char *key, const char *key_password,
                           char text[CMBED_TEXT_MAX]) {
  text[0] = '\0';
  memset(certificate, 0, sizeof *certificate);
  mbedtls_x509_crt chain;
  mbedtls_x509_crt_init(&chain);
  int result = cmbed_chain_read(&chain, path, text);
  if (result == CMBED_OK && key != NULL) result = check_key(&chain, path, key, key_password, text);
  if (result == CMBED_OK) {
    certificate->not_before = cmbed_seconds(&chain.valid_from);
    certificate->not_after = cmbed_seconds(&chain.valid_to);
    cmbed_name_topic(certificate->topic, &chain.subject);
    read_topics(certificate->topics, sizeof certificate->topics, &chain);
    certificate->sandbox = has_extension(&chain, OID(CMBED_OID_APPLE_SANDBOX));
    certificate->production = has_extension(&chain, OID(CMBED_OID_APPLE_PRODUCTION));
    snprintf(certificate->key, sizeof certificate->key, "%s, %u bits", mbedtls_pk_get_name(&chain.pk),
             (unsigned)mbedtls_pk_get_bitlen(&chain.pk));
    int index = 0;
    for (const mbedtls_x509_crt *each = &chain; each != NULL; each = each->next, index++) {
      cmbed_chain_note(&certificate->chain, index, each);
      if (certificate->broken == 0 && each->next != NULL && !has_issued(each->next, each)) certificate->broken = index + 1;
    }
  }
  mbedtls_x509_crt_free(&chain);
  return result;
}
