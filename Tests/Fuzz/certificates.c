/* Checks how CMbed reads files with arbitrary bytes, with libFuzzer and the sanitizers.
   Tests/Fuzz/fuzz compiles this file together with CMbed. An input is `kind:1 | text...`. */

#include "../../Sources/CMbed/internal.h"

#include <mbedtls/base64.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char text[CMBED_TEXT_MAX];

static void check(int holds) {
  if (!holds) abort();
}

/* An error must have a text that is terminated and not empty. */
static void check_result(int result) {
  check(memchr(text, '\0', sizeof text) != NULL);
  if (result < 0) check(text[0] != '\0' && result <= CMBED_FILE_MISSING);
}

/* mbedTLS's own parsers are not checked, only what CMbed makes of their results. A key is also read
   with a password. */
static void read_certificate(const char *path) {
  cmbed_certificate certificate;
  int result = cmbed_certificate_read(&certificate, path, NULL, NULL, text);
  check_result(result);
  if (result == CMBED_OK) {
    check(certificate.chain.count > 0 && certificate.broken < certificate.chain.count);
    check(memchr(certificate.rights.topic, '\0', sizeof certificate.rights.topic) != NULL);
    check(memchr(certificate.rights.topics, '\0', sizeof certificate.rights.topics) != NULL);
    check(memchr(certificate.key, '\0', sizeof certificate.key) != NULL);
    char date[CMBED_DATE_MAX];
    cmbed_date(date, certificate.not_before);
    cmbed_date(date, certificate.not_after);
  }
  mbedtls_x509_crt chain;
  mbedtls_x509_crt_init(&chain);
  if (cmbed_chain_read(&chain, path, text) == CMBED_OK) {
    char names[192];
    names[0] = '\0';
    cmbed_certificate_names(names, sizeof names, &chain);
    check(memchr(names, '\0', sizeof names) != NULL);
    cmbed_certificate_has_address(&chain, "127.0.0.1");
    cmbed_certificate_has_address(&chain, "::1");
  }
  mbedtls_x509_crt_free(&chain);
}

static void read_authorities(const char *path) {
  int count = cmbed_authorities_count(path, text);
  check_result(count);
  check(count != CMBED_OK);
  cmbed_authorities authorities;
  cmbed_authorities_init(&authorities);
  int result = cmbed_authorities_read(&authorities, path, text);
  check_result(result);
  check(result != CMBED_OK || (count > 0 && authorities.certificates.raw.p != NULL));
  cmbed_authorities_clear(&authorities);
}

static void read_key(const char *path, const char *password) {
  mbedtls_pk_context key;
  mbedtls_pk_init(&key);
  check_result(cmbed_key_read(&key, path, password, text));
  mbedtls_pk_free(&key);
}

/* Puts PEM around DER, which the fuzzer would take long to find. Returns the bytes written to
   `to`. */
static size_t wrap(char *to, size_t room, const char *label, const uint8_t *bytes, size_t count) {
  size_t used = (size_t)snprintf(to, room, "-----BEGIN %s-----\n", label), written = 0;
  if (mbedtls_base64_encode((unsigned char *)to + used, room - used - 100, &written, bytes, count) != 0) return 0;
  used += written;
  return used + (size_t)snprintf(to + used, room - used, "\n-----END %s-----\n", label);
}

static void show_text(const uint8_t *bytes, size_t count) {
  char clean[32];
  cmbed_copy_clean(clean, sizeof clean, bytes, count);
  for (const char *each = clean; *each != '\0'; each++) check((unsigned char)*each >= 0x20 && *each != 0x7f);
  char joined[48];
  joined[0] = '\0';
  for (size_t at = 0; at < count && at < 8; at++) cmbed_append(joined, sizeof joined, "%s,", clean);
  int64_t seconds = 0;
  memcpy(&seconds, bytes, count < sizeof seconds ? count : sizeof seconds);
  char date[CMBED_DATE_MAX];
  cmbed_date(date, seconds);
}

enum { CERTIFICATE, AUTHORITIES, KEY, KEY_DER, CERTIFICATE_DER, TEXT, KINDS };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  if (count == 0) return 0;
  unsigned kind = bytes[0] % KINDS;
  bytes++, count--;
  if (kind == TEXT) return show_text(bytes, count), 0;
  static char pem[65536];
  if (kind == KEY_DER || kind == CERTIFICATE_DER) {
    count = wrap(pem, sizeof pem, kind == KEY_DER ? "ENCRYPTED PRIVATE KEY" : "CERTIFICATE", bytes, count);
    bytes = (const uint8_t *)pem;
  }
  static int descriptor = -1;
  static char path[64];
  if (descriptor < 0) {
    descriptor = memfd_create("fuzz", 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
  }
  if (ftruncate(descriptor, 0) != 0 || pwrite(descriptor, bytes, count, 0) != (ssize_t)count) return 0;
  text[0] = '\0';
  if (kind == CERTIFICATE || kind == CERTIFICATE_DER) read_certificate(path);
  if (kind == AUTHORITIES || kind == CERTIFICATE_DER) read_authorities(path);
  if (kind == KEY || kind == KEY_DER) {
    read_key(path, NULL);
    read_key(path, "secret");
  }
  return 0;
}
