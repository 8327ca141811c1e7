/* What floor.c and http2floor.c share: TLS, and the notifications in files. */

#ifndef FLOOR_H
#define FLOOR_H

#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
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

enum { BATCH_BYTES = 16384, READ_BYTES = 65536 };

static int gateway;
static mbedtls_ssl_context ssl;
static mbedtls_ssl_config config;
static mbedtls_entropy_context entropy;
static mbedtls_ctr_drbg_context drbg;
static mbedtls_x509_crt ca, certificate;
static mbedtls_pk_context key;

static unsigned char batch[BATCH_BYTES];
static size_t batched;
static uint64_t records, sent_bytes;

/* The directory of the files, and the one into which they are renamed, as a crash must find them. */
static int directory = -1, taken = -1;

/* Adds the notification in `size` bytes from '{' to '}', which is in the file `name` or on a line.
   Returns 1 if the batch had to be written first. */
static int add(const char *text, size_t size, const char *name);

static void must(int code, const char *what) {
  if (code >= 0) return;
  char text[128] = "";
  if (code < -1) mbedtls_strerror(code, text, sizeof text);
  fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, *text ? text : "failed");
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
  (void)of;
  for (;;) {
    ssize_t wrote = write(gateway, bytes, size);
    if (wrote >= 0 || errno != EAGAIN) return wrote;
    poll(&(struct pollfd){.fd = gateway, .events = POLLOUT}, 1, -1);
  }
}

static int receive(void *of, unsigned char *bytes, size_t size) {
  (void)of;
  ssize_t got = read(gateway, bytes, size);
  return got < 0 && errno == EAGAIN ? MBEDTLS_ERR_SSL_WANT_READ : got;
}

/* Connects with a client certificate, or without one if its file is NULL; `protocols` are ALPN's, or
   NULL. */
static void connect_to(const char *port, const char *ca_file, const char *certificate_file, const char *key_file,
                       const char **protocols) {
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
  must(mbedtls_ssl_config_defaults(&config, MBEDTLS_SSL_IS_CLIENT, MBEDTLS_SSL_TRANSPORT_STREAM,
                                   MBEDTLS_SSL_PRESET_DEFAULT), "config");
  mbedtls_ssl_conf_authmode(&config, MBEDTLS_SSL_VERIFY_REQUIRED);
  mbedtls_ssl_conf_ca_chain(&config, &ca, NULL);
  mbedtls_ssl_conf_ciphersuites(&config, suites);
  mbedtls_ssl_conf_rng(&config, mbedtls_ctr_drbg_random, &drbg);
  if (protocols) must(mbedtls_ssl_conf_alpn_protocols(&config, protocols), "ALPN");
  if (certificate_file && key_file) {
    must(mbedtls_x509_crt_parse_file(&certificate, certificate_file), certificate_file);
#if MBEDTLS_VERSION_MAJOR >= 3
    must(mbedtls_pk_parse_keyfile(&key, key_file, NULL, mbedtls_ctr_drbg_random, &drbg), key_file);
#else
    must(mbedtls_pk_parse_keyfile(&key, key_file, NULL), key_file);
#endif
    must(mbedtls_ssl_conf_own_cert(&config, &certificate, &key), "own certificate");
  }
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
  if (batched) records++;
  sent_bytes += batched;
  for (size_t at = 0; at < batched;) {
    int wrote = mbedtls_ssl_write(&ssl, batch + at, batched - at);
    must(wrote, "write");
    at += wrote;
  }
  batched = 0;
}

/* --- notifications -------------------------------------------------------------------------- */

static char *after(const char *text, size_t size, const char *what) {
  char *found = memmem(text, size, what, strlen(what));
  if (!found) must(-1, what);
  return found + strlen(what);
}

static int add_file(int of, const char *name) {
  static char text[READ_BYTES];
  int file = openat(of, name, O_RDONLY | O_CLOEXEC);
  must(file, name);
  ssize_t size = read(file, text, sizeof text);
  must(size, name);
  close(file);
  while (size && text[size - 1] != '}') size--;
  return add(text, size, name);
}

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

/* Adds the notification on each line of a file. */
static void add_lines(const char *path) {
  static char text[READ_BYTES];
  size_t held = 0;
  ssize_t more;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  must(file, path);
  while ((more = read(file, text + held, sizeof text - held)) > 0) {
    held += more;
    char *line = text, *end;
    while ((end = memchr(line, '\n', text + held - line))) {
      add(line, end - line, NULL);
      line = end + 1;
    }
    held -= line - text;
    memmove(text, line, held);
  }
  must(more, path);
  close(file);
}

#endif
