#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <mbedtls/base64.h>
#include <mbedtls/pem.h>
#include <mbedtls/pkcs5.h>
#include <mbedtls/platform_util.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- files ---------------------------------------------------------------------------------- */

/* Larger than any bundle of CA certificates, and small enough for memory. */
#define FILE_MAX (4 * 1024 * 1024)

static int describe_error(const char *what, const char *path, int error, char *text) {
  switch (error) {
  case ENOENT:
  case ENOTDIR:
    return cmbed_say(text, CMBED_FILE_MISSING, "%s %s does not exist. Put it there, or correct the path.", what, path);
  case EACCES:
  case EPERM:
    /* A service gets its credentials from systemd, and may not read the directory that they come from. */
    if (getenv("CREDENTIALS_DIRECTORY") != NULL)
      return cmbed_say(text, CMBED_FILE_UNREADABLE,
                       "%s %s may not be read by the service. Put it into the service's directory of credentials, and "
                       "restart the service.", what, path);
    return cmbed_say(text, CMBED_FILE_UNREADABLE,
                     "%s %s may not be read by this user (uid %u). Change its owner or its mode, or those of a "
                     "directory above it.", what, path, (unsigned)geteuid());
  case EFBIG:
    return cmbed_say(text, CMBED_FILE_INVALID, "%s %s is larger than 4 MB. Is it the right file?", what, path);
  default:
    return cmbed_say(text, CMBED_FILE_UNREADABLE, "%s %s cannot be read: %s.", what, path, strerror(error));
  }
}

/* Maps memory outside the heap: large, short-lived pieces would leave holes in the heap, which
   hardly shrinks again. */
static int map(cmbed_file *file, size_t room) {
  void *bytes = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bytes == MAP_FAILED) return ENOMEM;
  *file = (cmbed_file){bytes, 0, room};
  return 0;
}

static int read_whole(cmbed_file *file, int descriptor, off_t size) {
  int error = size > FILE_MAX ? EFBIG : map(file, (size_t)size + 1);
  while (error == 0 && file->count < (size_t)size) {
    ssize_t got = read(descriptor, file->bytes + file->count, (size_t)size - file->count);
    if (got == 0) break;
    if (got > 0) file->count += (size_t)got;
    else if (errno != EINTR) error = errno;
  }
  return error;
}

int cmbed_file_read(cmbed_file *file, const char *what, const char *path, char *text) {
  *file = (cmbed_file){NULL, 0, 0};
  /* Non-blocking, since a FIFO in place of the file would block the agent. */
  int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return describe_error(what, path, errno, text);
  struct stat status;
  int error = fstat(descriptor, &status) == 0 ? 0 : errno, is_file = error != 0 || S_ISREG(status.st_mode);
  if (error == 0 && is_file) error = read_whole(file, descriptor, status.st_size);
  close(descriptor);
  if (!is_file)
    return cmbed_say(text, CMBED_FILE_INVALID, "%s %s is %s. Give the path of a PEM file.", what, path,
                     S_ISDIR(status.st_mode) ? "a directory" : "not a file");
  if (error == 0) return CMBED_OK;
  cmbed_file_clear(file);
  return describe_error(what, path, error, text);
}

void cmbed_file_clear(cmbed_file *file) {
  if (file->bytes == NULL) return;
  mbedtls_platform_zeroize(file->bytes, file->count);
  munmap(file->bytes, file->room);
  *file = (cmbed_file){NULL, 0, 0};
}

static int contains(const cmbed_file *file, const char *words) {
  return strstr((const char *)file->bytes, words) != NULL;
}

/* Reads a PEM file that must contain `mark`, or explains what the file is instead. */
static int read_pem(cmbed_file *file, const char *what, const char *path, const char *mark, const char *wanted,
                    char *text) {
  int result = cmbed_file_read(file, what, path, text);
  if (result != CMBED_OK || contains(file, mark)) return result;
  if (file->count == 0)
    cmbed_say(text, 0, "%s %s is empty.", what, path);
  else if (file->bytes[0] == 0x30)
    cmbed_say(text, 0, "%s %s is not PEM: it looks like DER or PKCS#12 (.cer, .p12). Convert it with \"openssl x509 "
              "-inform DER\" or \"openssl pkcs12\".", what, path);
  else if (contains(file, "-----BEGIN "))
    cmbed_say(text, 0, "%s %s is PEM, but holds no %s. Is it the right file?", what, path, wanted);
  else
    cmbed_say(text, 0, "%s %s is not PEM: it has no line \"-----BEGIN ...-----\".", what, path);
  cmbed_file_clear(file);
  return CMBED_FILE_INVALID;
}

/* --- certificates --------------------------------------------------------------------------- */

static const char begin[] = "-----BEGIN CERTIFICATE-----", end[] = "-----END CERTIFICATE-----";

void cmbed_authorities_init(cmbed_authorities *authorities) {
  authorities->der = (cmbed_file){NULL, 0, 0};
  mbedtls_x509_crt_init(&authorities->certificates);
}

void cmbed_authorities_clear(cmbed_authorities *authorities) {
  mbedtls_x509_crt_free(&authorities->certificates);
  cmbed_file_clear(&authorities->der);
  cmbed_authorities_init(authorities);
  /* Returns the memory of all authorities to the system. */
  malloc_trim(0);
}

/* Decodes the certificates of a CA file one by one and skips damaged ones. Returns their number or
   a negative code. If `chained`, they form a chain in `authorities`; otherwise each is freed at
   once. */
static int read_each(cmbed_authorities *authorities, int chained, const char *path, char *text) {
  cmbed_file pem, *der = &authorities->der;
  int certificates = 0, result = read_pem(&pem, "The CA file", path, begin, "certificate", text);
  if (result == CMBED_OK && map(der, pem.count) != 0) result = cmbed_say_memory(text);
  const char *from = (const char *)pem.bytes, *to;
  while (result == CMBED_OK && (from = strstr(from, begin)) != NULL && (to = strstr(from, end)) != NULL) {
    from += sizeof begin - 1;
    size_t count;
    unsigned char *at = der->bytes + der->count;
    if (mbedtls_base64_decode(at, der->room - der->count, &count, (const unsigned char *)from, (size_t)(to - from)) == 0 &&
        mbedtls_x509_crt_parse_der_nocopy(&authorities->certificates, at, count) == 0) {
      certificates++;
      if (chained) der->count += count;
      else mbedtls_x509_crt_free(&authorities->certificates);
    }
    from = to;
  }
  cmbed_file_clear(&pem);
  if (result != CMBED_OK || certificates > 0) return result == CMBED_OK ? certificates : result;
  return cmbed_say(text, CMBED_FILE_INVALID, "The CA file %s is damaged: no certificate in it can be read. Copy it again.",
                   path);
}

int cmbed_authorities_read(cmbed_authorities *authorities, const char *path, char *text) {
  int result = read_each(authorities, 1, path, text);
  return result < 0 ? result : CMBED_OK;
}

int cmbed_authorities_count(const char *path, char text[CMBED_TEXT_MAX]) {
  cmbed_authorities authorities;
  cmbed_authorities_init(&authorities);
  text[0] = '\0';
  int result = read_each(&authorities, 0, path, text);
  cmbed_authorities_clear(&authorities);
  return result;
}

int cmbed_chain_read(mbedtls_x509_crt *certificates, const char *path, char *text) {
  cmbed_file file;
  int result = read_pem(&file, "The certificate file", path, begin, "certificate", text);
  if (result != CMBED_OK) return result;
  int error = mbedtls_x509_crt_parse(certificates, file.bytes, file.count + 1);
  cmbed_file_clear(&file);
  if (error == 0) return CMBED_OK;
  if (error > 0)
    return cmbed_say(text, CMBED_FILE_INVALID, "The certificate file %s is damaged: %d of its certificates cannot be "
                     "read. Copy it again.", path, error);
  char name[CMBED_NAME_MAX];
  cmbed_library_error(name, error);
  return cmbed_say(text, CMBED_FILE_INVALID, "The certificate file %s is damaged: its certificate cannot be read: %s. "
                   "Copy it again.", path, name);
}

/* --- keys ----------------------------------------------------------------------------------- */

static int parse_key(mbedtls_pk_context *key, const cmbed_file *file, const char *password) {
  const unsigned char *bytes = (const unsigned char *)password;
  size_t count = password == NULL ? 0 : strlen(password);
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
  return mbedtls_pk_parse_key(key, file->bytes, file->count + 1, bytes, count, cmbed_random, NULL);
#else
  int error = mbedtls_pk_parse_key(key, file->bytes, file->count + 1, bytes, count);
  if (error == 0 || count == 0 || !contains(file, "-----BEGIN ENCRYPTED PRIVATE KEY-----")) return error;
  int other = cmbed_pbes2_open(key, file, password);
  return other == MBEDTLS_ERR_PK_FEATURE_UNAVAILABLE ? error : other;
#endif
}

int cmbed_key_read(mbedtls_pk_context *key, const char *path, const char *password, char *text) {
  cmbed_file file;
  int result = read_pem(&file, "The key file", path, " PRIVATE KEY-----", "private key", text);
  if (result != CMBED_OK) return result;
  int error = parse_key(key, &file, password);
  int encrypted = contains(&file, "-----BEGIN ENCRYPTED PRIVATE KEY-----") || contains(&file, "Proc-Type: 4,ENCRYPTED");
  cmbed_file_clear(&file);
  if (error == 0) return CMBED_OK;
  if (encrypted && (password == NULL || *password == '\0'))
    return cmbed_say(text, CMBED_KEY_PASSWORD, "The key in %s is encrypted. Give its password, or decrypt it with "
                     "\"openssl pkey\".", path);
  if (encrypted && (error == MBEDTLS_ERR_PK_FEATURE_UNAVAILABLE || error == MBEDTLS_ERR_PEM_UNKNOWN_ENC_ALG ||
                    error == MBEDTLS_ERR_PKCS5_FEATURE_UNAVAILABLE))
    return cmbed_say(text, CMBED_FILE_INVALID, "The key in %s is encrypted in an unsupported way. Encrypt "
                     "it again with \"openssl pkey -aes128\", or not at all.", path);
  /* With a wrong password, the decrypted bytes may also be nonsense. */
  if (encrypted)
    return cmbed_say(text, CMBED_KEY_PASSWORD, "The password does not open the key in %s. Correct the password.", path);
  char name[CMBED_NAME_MAX];
  cmbed_library_error(name, error);
  return cmbed_say(text, CMBED_FILE_INVALID, "The key in %s cannot be read: %s.", path, name);
}

void cmbed_identity_init(cmbed_identity *identity) {
  mbedtls_x509_crt_init(&identity->chain);
  mbedtls_pk_init(&identity->key);
}

void cmbed_identity_clear(cmbed_identity *identity) {
  mbedtls_x509_crt_free(&identity->chain);
  mbedtls_pk_free(&identity->key);
}

int cmbed_identity_load(cmbed_identity *identity, const char *certificate, const char *key, const char *password,
                        char *text) {
  int result = cmbed_chain_read(&identity->chain, certificate, text);
  return result == CMBED_OK ? cmbed_key_read(&identity->key, key == NULL ? certificate : key, password, text) : result;
}

int cmbed_identity_check(cmbed_identity *identity, const char *certificate, const char *key, char *text) {
  if (key == NULL) key = certificate;
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
  int error = mbedtls_pk_check_pair(&identity->chain.pk, &identity->key, cmbed_random, NULL);
#else
  int error = mbedtls_pk_check_pair(&identity->chain.pk, &identity->key);
#endif
  if (error == 0) return CMBED_OK;
  char name[CMBED_NAME_MAX];
  cmbed_name_common(name, sizeof name, &identity->chain.subject);
  if (strcmp(certificate, key) == 0)
    return cmbed_say(text, CMBED_KEY_MISMATCH, "The key in %s does not belong to the first certificate there (\"%s\"). "
                     "Put the key's certificate first, or use the right key.", key, name);
  return cmbed_say(text, CMBED_KEY_MISMATCH, "The key in %s does not belong to the first certificate in %s (\"%s\"). "
                   "Give the two that belong together.", key, certificate, name);
}

int cmbed_identity_read(cmbed_identity *identity, const char *certificate, const char *key, const char *password,
                        char *text) {
  int result = cmbed_identity_load(identity, certificate, key, password, text);
  return result == CMBED_OK ? cmbed_identity_check(identity, certificate, key, text) : result;
}

/* Returns whether a later certificate in the file signed this one. */
static int is_issued_there(mbedtls_x509_crt *certificate) {
  uint32_t flags = 0;
  mbedtls_x509_crt_verify(certificate, certificate->next, NULL, NULL, &flags, NULL, NULL);
  return (flags & MBEDTLS_X509_BADCERT_NOT_TRUSTED) == 0;
}

int cmbed_certificate_read(cmbed_certificate *certificate, const char *path, const char *key, const char *key_password,
                           char text[CMBED_TEXT_MAX]) {
  text[0] = '\0';
  memset(certificate, 0, sizeof *certificate);
  cmbed_identity identity;
  cmbed_identity_init(&identity);
  mbedtls_x509_crt *first = &identity.chain;
  int result = key == NULL ? cmbed_chain_read(first, path, text)
                           : cmbed_identity_read(&identity, path, key, key_password, text);
  if (result == CMBED_OK) {
    certificate->not_before = cmbed_seconds(&first->valid_from);
    certificate->not_after = cmbed_seconds(&first->valid_to);
    cmbed_rights_read(&certificate->rights, first);
    snprintf(certificate->key, sizeof certificate->key, "%s, %u bits", mbedtls_pk_get_name(&first->pk),
             (unsigned)mbedtls_pk_get_bitlen(&first->pk));
    int index = 0;
    for (mbedtls_x509_crt *each = first; each != NULL; each = each->next, index++) {
      cmbed_chain_note(&certificate->chain, index, each);
      if (certificate->broken == 0 && each->next != NULL && !is_issued_there(each)) certificate->broken = index + 1;
    }
  }
  cmbed_identity_clear(&identity);
  return result;
}
