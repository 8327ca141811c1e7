/* sink: the gateway of the benchmarks. It uses OpenSSL, so it shares no code with the measured
   programs.

     sink --certificate PEM --key PEM [--ca PEM] [--port N] [--tls 1.2|1.3] [--suite NAME]
          [--expect N] [--seconds N] [--record FILE] [--times FILE]

   Prints "listening PORT", then reads as fast as it can. With --ca it requires a client certificate. A frame
   whose token does not have 32 bytes is a barrier: the answer is an error response of status 5, and
   the connection is closed. At SIGTERM, after --seconds, or when --expect notifications have come
   and every connection is closed, it prints one JSON line of counts. --record keeps the plaintext.
   --times writes "INDEX NANOSECONDS" (CLOCK_MONOTONIC) as each notification is read; INDEX is the
   first four bytes of its token. */

#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>

enum { FRAME_BYTES_MAX = 16384, READ_BYTES = 16384, DRAIN_SECONDS = 2 };

struct protocol {
  size_t held;
  uint32_t identifier;
  uint64_t drained_by; /* not 0: answered; reads the rest, so that no reset is sent */
  unsigned char bytes[FRAME_BYTES_MAX + READ_BYTES];
};

#include "sink.h"

static uint64_t identifier_gaps, barriers;
static int record_file = -1;

static uint32_t number(const unsigned char *at, int size) {
  uint32_t value = 0;
  while (size--) value = value << 8 | *at++;
  return value;
}

static void close_protocol(struct connection *connection) { (void)connection; }

static void answer(struct connection *connection, uint32_t identifier) {
  unsigned char error[6] = {8, 5, identifier >> 24, identifier >> 16, identifier >> 8, identifier};
  barriers++;
  SSL_write(connection->ssl, error, sizeof error);
  SSL_shutdown(connection->ssl);
  shutdown(connection->fd, SHUT_WR);
  connection->protocol.drained_by = now() + DRAIN_SECONDS * 1000000000ull;
}

/* Returns the length of the frame at `frame`, 0 if it is incomplete, or -1 if it is invalid. */
static long frame(const unsigned char *frame, size_t size, const unsigned char **token, size_t *token_size,
                  uint32_t *identifier) {
  *token = NULL, *token_size = 0, *identifier = 0;
  if (frame[0] == 2) {
    if (size < 5) return 0;
    size_t whole = 5 + (size_t)number(frame + 1, 4);
    if (whole > FRAME_BYTES_MAX) return -1;
    if (size < whole) return 0;
    for (size_t at = 5; at < whole;) {
      if (whole - at < 3) return -1;
      size_t length = number(frame + at + 1, 2);
      if (at + 3 + length > whole) return -1;
      if (frame[at] == 1) *token = frame + at + 3, *token_size = length;
      if (frame[at] == 3 && length == 4) *identifier = number(frame + at + 3, 4);
      at += 3 + length;
    }
    return whole;
  }
  if (frame[0] > 1) return -1;
  size_t head = frame[0] ? 9 : 1;
  if (size < head + 2) return 0;
  *token_size = number(frame + head, 2);
  if (*token_size > FRAME_BYTES_MAX / 2) return -1;
  if (size < head + 4 + *token_size) return 0;
  size_t whole = head + 4 + *token_size + number(frame + head + 2 + *token_size, 2);
  if (whole > FRAME_BYTES_MAX) return -1;
  if (size < whole) return 0;
  *token = frame + head + 2;
  if (frame[0]) *identifier = number(frame + 1, 4);
  return whole;
}

static void take(struct connection *connection, size_t more) {
  struct protocol *of = &connection->protocol;
  uint64_t at = now();
  size_t done = 0;
  total.bytes += more;
  if (record_file >= 0 && write(record_file, of->bytes + of->held, more) < 0) fail("record");
  of->held += more;
  while (done < of->held && !of->drained_by) {
    const unsigned char *token;
    size_t token_size;
    uint32_t identifier;
    long size = frame(of->bytes + done, of->held - done, &token, &token_size, &identifier);
    if (size == 0) break;
    if (size < 0) {
      snprintf(fault, sizeof fault, "malformed after notification %llu", (unsigned long long)total.notifications);
      of->drained_by = at;
      break;
    }
    done += size;
    if (token_size != 32) {
      answer(connection, identifier);
      continue;
    }
    count(number(token, 4), at);
    if (identifier && identifier != ++of->identifier) {
      identifier_gaps++;
      of->identifier = identifier;
    }
  }
  if (of->drained_by) done = of->held;
  of->held -= done;
  memmove(of->bytes, of->bytes + done, of->held);
}

static int serve(struct connection *connection) {
  struct protocol *of = &connection->protocol;
  for (;;) {
    int more = SSL_read(connection->ssl, of->bytes + of->held, READ_BYTES);
    note_suite(connection->ssl);
    if (more <= 0) {
      int why = SSL_get_error(connection->ssl, more);
      if (why == SSL_ERROR_SSL && !of->drained_by)
        snprintf(fault, sizeof fault, "%s", ERR_reason_error_string(ERR_peek_error()));
      ERR_clear_error();
      return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE;
    }
    if (!of->drained_by) take(connection, more);
  }
}

static void take_option(int option) {
  (void)option;
  record_file = open(optarg, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
}

static void run(int listener, SSL_CTX *context, uint64_t expected, uint64_t until) {
  sigset_t during = block_signals();
  while (!ended && now() < until && !(expected && total.notifications >= expected && !open_count)) {
    struct pollfd polled[CONNECTIONS_MAX + 1] = {{.fd = listener, .events = POLLIN}};
    for (int i = 0; i < CONNECTIONS_MAX; i++)
      polled[i + 1] = (struct pollfd){.fd = connections[i].ssl ? connections[i].fd : -1, .events = POLLIN};
    if (ppoll(polled, CONNECTIONS_MAX + 1, &(struct timespec){.tv_sec = 1}, &during) < 0) continue;
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
      struct connection *connection = &connections[i];
      if (!connection->ssl) continue;
      int goes_on = !polled[i + 1].revents || serve(connection);
      uint64_t drained_by = connection->protocol.drained_by;
      if (!goes_on || (drained_by && now() > drained_by)) close_connection(connection);
    }
    if (polled[0].revents) accept_from(listener, context);
  }
}

int main(int count, char **words) {
  static const struct option options[] = {COMMON_OPTIONS, {"record", 1, 0, 'r'}, {0}};
  SSL_CTX *context = SSL_CTX_new(TLS_server_method());
  uint64_t expected = 0, seconds = 900;
  int port = 0;
  char own[80];
  read_options(count, words, options, context, &port, &expected, &seconds);
  run(open_listener(port, context), context, expected, now() + seconds * 1000000000ull);
  snprintf(own, sizeof own, "\"identifier_gaps\": %llu, \"barriers\": %llu, ", (unsigned long long)identifier_gaps,
           (unsigned long long)barriers);
  return print_counts(own);
}
