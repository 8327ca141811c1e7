#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <mbedtls/base64.h>
#include <mbedtls/pem.h>
#include <mbedtls/pkcs5.h>
#include <mbedtls/platform_util.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* More than any bundle of CA certificates, and little enough to hold in memory. */
#define FILE_MAX (4 * 1024 * 1024)

static int describe_open_error(const char *what, const char *path, int error, char *text) {
  switch (error) {
  case ENOENT:
  case ENOTDIR:
    return cmbed_say(text, CMBED_FILE_MISSING, "%s %s does not exist. Put it there, or correct the path.", what, path);
  case EACCES:
  case EPERM:
    return cmbed_say(text, CMBED_FILE_UNREADABLE,
                     "%s %s may not be read by this user (uid %u). Change its owner or its mode, or those of a "
                     "directory above it.", what, path, (unsigned)geteuid());
  case ENOMEM:
    return cmbed_say(text, CMBED_MEMORY, "There is not enough memory to read %s.", path);
  default:
    return cmbed_say(text, CMBED_FILE_UNREADABLE, "%s %s cannot be read: %s.", what, path, strerror(error));
  }
}

/* Not from the heap: what is large and short-lived would leave holes there, and the heap never shrinks again. */
static int map_file(cmbed_file *file, size_t room) {
  void *bytes = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bytes == MAP_FAILED) return ENOMEM;
  *file = (cmbed_file){bytes, 0, room};
  return 0;
}

static int read_whole(cmbed_file *file, int descriptor, off_t size) {
  if (size > FILE_MAX) return EFBIG;
  int error = map_file(file, (size_t)size + 1);
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
  /* Non-blocking, for a FIFO in the place of a file would hold up everything. */
  int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return describe_open_error(what, path, errno, text);
  struct stat status;
  int error = fstat(descriptor, &status) == 0 ? 0 : errno;
  if (error == 0 && !S_ISREG(status.st_mode)) {
    close(descriptor);
    return cmbed_say(text, CMBED_FILE_INVALID, "%s %s is %s. Give the path of a PEM file.", what, path,
                     S_ISDIR(status.st_mode) ? "a directory" : "not a file");
  }
  if (error == 0) error = read_whole(file, descriptor, status.st_size);
  close(descriptor);
  if (error == 0) return CMBED_OK;
  cmbed_file_clear(file);
  if (error == EFBIG)
    return cmbed_say(text, CMBED_FILE_INVALID, "%s %s is larger than 4 MB. Is it the right file?", what, path);
  return describe_open_error(what, path, error, text);
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

/* Why a file is no PEM of what it should be, as far as its bytes tell. */
static int describe_not_pem(const cmbed_file *file, const char *what, const char *path, const char *wanted,
                            char *text) {
  if (file->count == 0)
    return cmbed_say(text, CMBED_FILE_INVALID, "%s %s is empty.", what, path);
  if (file->bytes[0] == 0x30)
    return cmbed_say(text, CMBED_FILE_INVALID,
                     "%s %s is not PEM: it looks like DER or PKCS#12 (.cer, .p12). Convert it with \"openssl x509 "
                     "-inform DER\" or \"openssl pkcs12\".", what, path);
  if (contains(file, "-----BEGIN "))
    return cmbed_say(text, CMBED_FILE_INVALID, "%s %s is PEM, but holds no %s. Is it the right file?", what, path,
                     wanted);
  return cmbed_say(text, CMBED_FILE_INVALID, "%s %s is not PEM: it has no line \"-----BEGIN ...-----\".", what, path);
}

static const char begin[] = "-----BEGIN CERTIFICATE-----", end[] = "-----END CERTIFICATE-----";

/* A file that holds, by its looks, certificates. */
static int read_certificates(cmbed_file *file, const char *what, const char *path, char *text) {
  int result = cmbed_file_read(file, what, path, text);
  if (result != CMBED_OK || contains(file, begin)) return result;
  result = describe_not_pem(file, what, path, "certificate", text);
  cmbed_file_clear(file);
  return result;
}

static int parse_certificates(mbedtls_x509_crt *certificates, const char *what, const char *path, int every,
                              char *text) {
  cmbed_file file;
  int result = read_certificates(&file, what, path, text);
  if (result != CMBED_OK) return result;
  int error = mbedtls_x509_crt_parse(certificates, file.bytes, file.count + 1);
  cmbed_file_clear(&file);
  if (error == 0 || (error > 0 && !every)) return CMBED_OK;
  mbedtls_x509_crt_free(certificates);
  mbedtls_x509_crt_init(certificates);
  if (cmbed_is_memory(error))
    return cmbed_say(text, CMBED_MEMORY, "There is not enough memory to read %s.", path);
  if (error > 0)
    return cmbed_say(text, CMBED_FILE_INVALID,
                     "%s %s is damaged: %d of its certificates cannot be read. Copy it again.", what, path, error);
  char name[CMBED_NAME_MAX];
  cmbed_library_error(name, error);
  return cmbed_say(text, CMBED_FILE_INVALID, "%s %s is damaged: its certificate cannot be read: %s.", what, path, name);
}

int cmbed_authorities_read(mbedtls_x509_crt *certificates, const char *path, char *text) {
  return parse_certificates(certificates, "The CA file", path, 0, text);
}

int cmbed_chain_read(mbedtls_x509_crt *certificates, const char *path, char *text) {
  return parse_certificates(certificates, "The certificate file", path, 1, text);
}

/* Out of PEM into one DER after the other; what is damaged is left out. */
static void decode_certificates(cmbed_file *trust, const cmbed_file *file) {
  const char *from = (const char *)file->bytes, *to;
  while ((from = strstr(from, begin)) != NULL) {
    from += sizeof begin - 1;
    if ((to = strstr(from, end)) == NULL) return;
    unsigned char *at = trust->bytes + trust->count;
    size_t count;
    if (mbedtls_base64_decode(at, trust->room - trust->count, &count, (const unsigned char *)from,
                              (size_t)(to - from)) == 0 && cmbed_der_count(at, count) == count)
      trust->count += count;
    from = to;
  }
}

int cmbed_trust_read(cmbed_file *trust, const char *path, char *text) {
  const char *what = "The CA file";
  cmbed_file file;
  int result = read_certificates(&file, what, path, text);
  if (result != CMBED_OK) return result;
  if (map_file(trust, file.count) == 0) decode_certificates(trust, &file);
  else result = cmbed_say(text, CMBED_MEMORY, "There is not enough memory to read %s.", path);
  cmbed_file_clear(&file);
  if (result == CMBED_OK && !cmbed_trust_is_usable(trust))
    result = cmbed_say(text, CMBED_FILE_INVALID, "%s %s is damaged: no certificate in it can be read. Copy it again.",
                       what, path);
  if (result != CMBED_OK) cmbed_file_clear(trust);
  return result;
}

int cmbed_authorities_count(const char *path, char text[CMBED_TEXT_MAX]) {
  cmbed_file trust;
  text[0] = '\0';
  int result = cmbed_trust_read(&trust, path, text);
  if (result != CMBED_OK) return result;
  int certificates = 0;
  for (size_t at = 0; at < trust.count; at += cmbed_der_count(trust.bytes + at, trust.count - at)) certificates++;
  cmbed_file_clear(&trust);
  return certificates;
}

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
  const char *what = "The key file";
  cmbed_file file;
  int result = cmbed_file_read(&file, what, path, text);
  if (result != CMBED_OK) return result;
  if (!contains(&file, " PRIVATE KEY-----")) {
    result = describe_not_pem(&file, what, path, "private key", text);
    cmbed_file_clear(&file);
    return result;
  }
  int error = parse_key(key, &file, password);
  int encrypted = contains(&file, "-----BEGIN ENCRYPTED PRIVATE KEY-----") || contains(&file, "Proc-Type: 4,ENCRYPTED");
  cmbed_file_clear(&file);
  if (error == 0) return CMBED_OK;
  mbedtls_pk_free(key);
  mbedtls_pk_init(key);
  if (cmbed_is_memory(error))
    return cmbed_say(text, CMBED_MEMORY, "There is not enough memory to read %s.", path);
  if (encrypted && (password == NULL || *password == '\0'))
    return cmbed_say(text, CMBED_KEY_PASSWORD, "The key in %s is encrypted. Give its password, or decrypt it with "
                     "\"openssl pkey\".", path);
  char name[CMBED_NAME_MAX];
  cmbed_library_error(name, error);
  int unknown = error == MBEDTLS_ERR_PK_FEATURE_UNAVAILABLE || error == MBEDTLS_ERR_PEM_UNKNOWN_ENC_ALG ||
    error == MBEDTLS_ERR_PKCS5_FEATURE_UNAVAILABLE;
  if (encrypted && unknown)
    return cmbed_say(text, CMBED_FILE_INVALID, "The key in %s is encrypted in a way that is not known here. Encrypt "
                     "it anew with \"openssl pkey -aes128\", or not at all.", path);
  /* A wrong password may also show as nonsense in what it decrypts. */
  if (encrypted)
    return cmbed_say(text, CMBED_KEY_PASSWORD, "The password does not open the key in %s. Correct the password.", path);
  return cmbed_say(text, CMBED_FILE_INVALID, "The key in %s cannot be read: %s.", path, name);
}

int cmbed_pair_check(const mbedtls_x509_crt *certificate, mbedtls_pk_context *key, const char *certificate_path,
                     const char *key_path, char *text) {
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
  int error = mbedtls_pk_check_pair(&certificate->pk, key, cmbed_random, NULL);
#else
  int error = mbedtls_pk_check_pair(&certificate->pk, key);
#endif
  if (error == 0) return CMBED_OK;
  char name[CMBED_NAME_MAX];
  cmbed_name_common(name, sizeof name, &certificate->subject);
  if (strcmp(certificate_path, key_path) == 0)
    return cmbed_say(text, CMBED_KEY_MISMATCH, "The key in %s does not belong to the first certificate there (\"%s\"). "
                     "Put the key's own certificate first, or the right key.", key_path, name);
  return cmbed_say(text, CMBED_KEY_MISMATCH, "The key in %s does not belong to the first certificate in %s (\"%s\"). "
                   "Give the two that belong together.", key_path, certificate_path, name);
}

static int write_whole(int descriptor, const char *content) {
  size_t count = strlen(content);
  while (count > 0) {
    ssize_t put = write(descriptor, content, count);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return -1;
    content += put;
    count -= (size_t)put;
  }
  return fsync(descriptor);
}

/* Makes a rename last: the directory is what changes. Some file systems cannot sync a directory. */
static int sync_directory(char *path) {
  char *slash = strrchr(path, '/');
  if (slash != NULL) slash[slash == path] = '\0';
  int descriptor = open(slash == NULL ? "." : path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return -1;
  int result = fsync(descriptor) == 0 || errno == EINVAL ? 0 : -1, error = errno;
  close(descriptor);
  errno = error;
  return result;
}

int cmbed_file_write(const char *path, const char *content, unsigned mode, char *text) {
  size_t room = strlen(path) + sizeof ".XXXXXX";
  char *beside = malloc(room);
  if (beside == NULL) return cmbed_say(text, CMBED_MEMORY, "There is not enough memory to write %s.", path);
  snprintf(beside, room, "%s.XXXXXX", path);
  int descriptor = mkostemp(beside, O_CLOEXEC), error = 0;
  if (descriptor < 0) {
    error = errno;
  } else {
    if (fchmod(descriptor, (mode_t)mode) != 0 || write_whole(descriptor, content) != 0) error = errno;
    if (close(descriptor) != 0 && error == 0) error = errno;
    if (error == 0 && rename(beside, path) != 0) error = errno;
    if (error != 0) unlink(beside);
    else if (sync_directory(beside) != 0) error = errno;
  }
  free(beside);
  if (error == 0) return CMBED_OK;
  if (error == ENOENT)
    return cmbed_say(text, CMBED_FILE_WRITE, "%s cannot be written: its directory does not exist. Make it first.",
                     path);
  return cmbed_say(text, CMBED_FILE_WRITE, "%s cannot be written: %s.", path, strerror(error));
}
