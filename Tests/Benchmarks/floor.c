/* floor: a client of the binary protocol that does only what every agent must do. The benchmarks
   compare the agent with it.

     floor files DIR   PORT CA CERTIFICATE KEY     one notification in each file, which is renamed
                                                   into taken/ beside DIR, and unlinked once it is
                                                   written
     floor lines FILE  PORT CA CERTIFICATE KEY     one notification on each line
     floor idle  FILE  PORT CA CERTIFICATE KEY     sends the file's notification, then keeps the
                                                   connection
     floor watch DIR   PORT CA CERTIFICATE KEY     sends each file as soon as it is renamed into DIR

   It does not check or repeat anything. Every input has the form
   {"token":"HEX","expiration":N,"payload":{...}}. As the agent does, it ends with a barrier: a
   frame that the gateway must refuse, whose error response proves that everything arrived. */

#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <unistd.h>

#include <mbedtls/ctr_drbg.h>
#include <mbedtls/entropy.h>
#include <mbedtls/error.h>
#include <mbedtls/ssl.h>
#include <mbedtls/version.h>
#if MBEDTLS_VERSION_MAJOR >= 3
#include <psa/crypto.h>
#endif

enum { BATCH_BYTES = 16384, READ_BYTES = 65536, PRIORITY = 10 };

static int gateway;
static mbedtls_ssl_context ssl;
static mbedtls_ssl_config config;
static mbedtls_entropy_context entropy;
static mbedtls_ctr_drbg_context drbg;
static mbedtls_x509_crt ca, certificate;
static mbedtls_pk_context key;

static unsigned char batch[BATCH_BYTES];
static size_t batched;
static uint32_t identifier;

static void must(int code, const char *what) {
  if (code >= 0) return;
  char text[128] = "";
  if (code < -1) mbedtls_strerror(code, text, sizeof text);
  fprintf(stderr, "floor: %s: %s\n", what, *text ? text : "failed");
  exit(1);
}

/* --- TLS ------------------------------------------------------------------------------------ */

static const int suites[] = { /* in the agent's order */
#if MBEDTLS_VERSION_MAJOR >= 3
  MBEDTLS_TLS1_3_CHACHA20_POLY1305_SHA256, MBEDTLS_TLS1_3_AES_128_GCM_SHA256, MBEDTLS_TLS1_3_AES_256_GCM_SHA384,
#endif
  MBEDTLS_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, MBEDTLS_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
  MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, MBEDTLS_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
  MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, MBEDTLS_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, 0,
};

static int transmit(void *of, const unsigned char *bytes, size_t size) {
  return (void)of, write(gateway, bytes, size);
}

static int receive(void *of, unsigned char *bytes, size_t size) {
  return (void)of, read(gateway, bytes, size);
}

static void connect_to(const char *port, const char *ca_file, const char *certificate_file, const char *key_file) {
#if MBEDTLS_VERSION_MAJOR >= 3
  must(psa_crypto_init(), "psa");
#endif
  mbedtls_entropy_init(&entropy);
  mbedtls_ctr_drbg_init(&drbg);
  mbedtls_x509_crt_init(&ca);
  mbedtls_x509_crt_init(&certificate);
  mbedtls_pk_init(&key);
  mbedtls_ssl_config_init(&config);
  mbedtls_ssl_init(&ssl);
  must(mbedtls_ctr_drbg_seed(&drbg, mbedtls_entropy_func, &entropy, NULL, 0), "seed");
  must(mbedtls_x509_crt_parse_file(&ca, ca_file), ca_file);
  must(mbedtls_x509_crt_parse_file(&certificate, certificate_file), certificate_file);
#if MBEDTLS_VERSION_MAJOR >= 3
  must(mbedtls_pk_parse_keyfile(&key, key_file, NULL, mbedtls_ctr_drbg_random, &drbg), key_file);
#else
  must(mbedtls_pk_parse_keyfile(&key, key_file, NULL), key_file);
#endif
  must(mbedtls_ssl_config_defaults(&config, MBEDTLS_SSL_IS_CLIENT, MBEDTLS_SSL_TRANSPORT_STREAM,
                                   MBEDTLS_SSL_PRESET_DEFAULT), "config");
  mbedtls_ssl_conf_authmode(&config, MBEDTLS_SSL_VERIFY_REQUIRED);
  mbedtls_ssl_conf_ca_chain(&config, &ca, NULL);
  mbedtls_ssl_conf_ciphersuites(&config, suites);
  mbedtls_ssl_conf_rng(&config, mbedtls_ctr_drbg_random, &drbg);
  must(mbedtls_ssl_conf_own_cert(&config, &certificate, &key), "own certificate");
  must(mbedtls_ssl_setup(&ssl, &config), "setup");
  must(mbedtls_ssl_set_hostname(&ssl, "localhost"), "host name");

  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(port)),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  gateway = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  must(gateway, "socket");
  must(connect(gateway, (struct sockaddr *)&address, sizeof address), "connect");
  setsockopt(gateway, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
  mbedtls_ssl_set_bio(&ssl, NULL, transmit, receive, NULL);
  must(mbedtls_ssl_handshake(&ssl), "handshake");

  /* Only the handshake needs these, and an idle agent does not keep them either. */
  mbedtls_x509_crt_free(&ca);
  mbedtls_x509_crt_free(&certificate);
  mbedtls_pk_free(&key);
}

static void flush(void) {
  for (size_t at = 0; at < batched;) {
    int wrote = mbedtls_ssl_write(&ssl, batch + at, batched - at);
    must(wrote, "write");
    at += wrote;
  }
  batched = 0;
}

static void confirm(void) {
  unsigned char frame[] = {2, 0, 0, 0, 3 + 4 + 3 + 1 + 3 + 2, 3, 0, 4, 0, 0, 0, 0, 1, 0, 1, 0xff, 2, 0, 2, '{', '}'};
  unsigned char *name = frame + 5 + 3;
  unsigned char answer[6];
  identifier++;
  for (int i = 0; i < 4; i++) name[i] = identifier >> (24 - 8 * i);
  if (batched + sizeof frame > BATCH_BYTES) flush();
  memcpy(batch + batched, frame, sizeof frame);
  batched += sizeof frame;
  flush();
  for (int got = 0; got < 6;) {
    int more = mbedtls_ssl_read(&ssl, answer + got, 6 - got);
    if (more == 0) more = -1;
    must(more, "the barrier's answer");
    got += more;
  }
  if (answer[0] != 8 || answer[1] != 5 || memcmp(answer + 2, name, 4)) must(-1, "the barrier");
  mbedtls_ssl_close_notify(&ssl);
}

/* --- notifications -------------------------------------------------------------------------- */

static unsigned char nibbles[256];

static void item(unsigned char kind, size_t size) {
  batch[batched++] = kind;
  batch[batched++] = size >> 8;
  batch[batched++] = size;
}

static void number(uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) batch[batched++] = value >> shift;
}

static char *after(const char *text, size_t size, const char *what) {
  char *found = memmem(text, size, what, strlen(what));
  if (!found) must(-1, what);
  return found + strlen(what);
}

/* Frames `size` bytes from '{' to '}'. Returns 1 if the batch had to be written first. */
static int add(const char *text, size_t size) {
  const char *token = after(text, size, "\"token\":\""), *end = text + size;
  const char *expiration = after(token + 64, end - token - 64, "\"expiration\":");
  const char *payload = after(expiration, end - expiration, "\"payload\":");
  size_t payload_size = end - 1 - payload, items = 3 + 32 + 3 + payload_size + 3 + 4 + 3 + 4 + 3 + 1;
  int flushed = batched + 5 + items > BATCH_BYTES;
  if (flushed) flush();
  batch[batched++] = 2;
  number(items);
  item(3, 4);
  number(++identifier);
  item(1, 32);
  for (int i = 0; i < 64; i += 2)
    batch[batched++] = nibbles[(unsigned char)token[i]] << 4 | nibbles[(unsigned char)token[i + 1]];
  item(2, payload_size);
  memcpy(batch + batched, payload, payload_size);
  batched += payload_size;
  item(4, 4);
  number(strtoul(expiration, NULL, 10));
  item(5, 1);
  batch[batched++] = PRIORITY;
  return flushed;
}

/* Frames the notification in a file. Returns what `add` does. */
static int add_file(int of, const char *name) {
  static char text[READ_BYTES];
  int file = openat(of, name, O_RDONLY | O_CLOEXEC);
  must(file, name);
  ssize_t size = read(file, text, sizeof text);
  must(size, name);
  close(file);
  while (size && text[size - 1] != '}') size--;
  return add(text, size);
}

/* The directory of the files, and the one into which they are renamed, as a crash must find them. */
static int directory, taken;

static void open_directories(const char *path) {
  directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  must(directory, path);
  taken = openat(directory, "../taken", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  must(taken, "taken/");
}

static int take_file(const char *name) {
  must(renameat2(directory, name, taken, name, RENAME_NOREPLACE), name);
  return add_file(taken, name);
}
static int is_visible(const struct dirent *entry) { return entry->d_name[0] != '.'; }

static void send_files(const char *path) {
  struct dirent **names;
  open_directories(path);
  int count = scandir(path, &names, is_visible, alphasort), written = 0;
  must(count, path);
  for (int i = 0; i < count; i++)
    if (take_file(names[i]->d_name))
      for (; written < i; written++) unlinkat(taken, names[written]->d_name, 0);
  flush();
  for (; written < count; written++) unlinkat(taken, names[written]->d_name, 0);
}

static void send_lines(const char *path) {
  static char text[READ_BYTES];
  size_t held = 0;
  ssize_t more;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  must(file, path);
  while ((more = read(file, text + held, sizeof text - held)) > 0) {
    held += more;
    char *line = text, *end;
    while ((end = memchr(line, '\n', text + held - line))) {
      add(line, end - line);
      line = end + 1;
    }
    held -= line - text;
    memmove(text, line, held);
  }
  must(more, path);
  close(file);
  flush();
  unlink(path);
}

static void watch(const char *path) {
  static char events[4096] __attribute__((aligned(8)));
  int watcher = inotify_init1(IN_CLOEXEC);
  open_directories(path);
  must(inotify_add_watch(watcher, path, IN_MOVED_TO), path);
  for (;;) {
    ssize_t size = read(watcher, events, sizeof events);
    must(size, "inotify");
    const struct inotify_event *event;
    for (ssize_t at = 0; at < size; at += sizeof *event + event->len) {
      event = (void *)(events + at);
      take_file(event->name);
    }
    flush();
    for (ssize_t at = 0; at < size; at += sizeof *event + event->len) {
      event = (void *)(events + at);
      unlinkat(taken, event->name, 0);
    }
  }
}

int main(int count, char **words) {
  if (count != 7) {
    fprintf(stderr, "usage: floor files|lines|idle|watch PATH PORT CA CERTIFICATE KEY\n");
    return 64;
  }
  for (int i = 0; i < 10; i++) nibbles['0' + i] = i;
  for (int i = 0; i < 6; i++) nibbles['a' + i] = nibbles['A' + i] = 10 + i;
  const char *mode = words[1], *path = words[2];
  connect_to(words[3], words[4], words[5], words[6]);
  if (!strcmp(mode, "files")) {
    send_files(path);
    confirm();
  } else if (!strcmp(mode, "lines")) {
    send_lines(path);
    confirm();
  } else if (!strcmp(mode, "idle")) {
    add_file(AT_FDCWD, path);
    flush();
    malloc_trim(0);
    for (;;) pause();
  } else if (!strcmp(mode, "watch")) {
    watch(path);
  } else {
    must(-1, mode);
  }
  return 0;
}
