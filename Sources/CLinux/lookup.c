#define _GNU_SOURCE
#include "CLinux.h"
#include <sys/prctl.h>

static void look_up(const char *host, const char *port, int flags, clinux_addresses *found) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | flags};
  struct addrinfo *list = NULL;
  memset(found, 0, sizeof *found);
  found->error = getaddrinfo(host, port, &hints, &list);
  /* Many addresses of one family must not hide those of the other, which may be the one that works. */
  int has_other_family = 0, of_first_family = 0;
  for (struct addrinfo *one = list; one; one = one->ai_next) has_other_family |= one->ai_family != list->ai_family;
  for (struct addrinfo *one = list; one && found->count < clinux_addresses_max; one = one->ai_next) {
    if (one->ai_addrlen > sizeof found->of[0].address) continue;
    int is_of_first = has_other_family && one->ai_family == list->ai_family;
    if (is_of_first && ++of_first_family > clinux_addresses_max / 2) continue;
    clinux_address *address = &found->of[found->count++];
    address->length = one->ai_addrlen;
    memcpy(&address->address, one->ai_addr, one->ai_addrlen);
  }
  if (list) freeaddrinfo(list);
}

int clinux_look_up(
  const char *host, const char *port, clinux_addresses *found, int *process, int *descriptor) {
  /* No server is asked for this machine's own name. */
  int is_here = strcmp(host, "localhost") == 0;
  look_up(host, port, is_here ? AI_ADDRCONFIG : AI_NUMERICHOST, found);
  if (is_here || found->error != EAI_NONAME) return 0;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return -errno;
  pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // What the parent closes must be closed, and epoll must forget it.
    if (ends[1] > STDERR_FILENO + 1) close_range(STDERR_FILENO + 1, (unsigned)ends[1] - 1, 0);
    close_range((unsigned)ends[1] + 1, ~0U, 0);
    look_up(host, port, AI_ADDRCONFIG, found);
    _exit(write(ends[1], found, sizeof *found) == sizeof *found ? 0 : 1);
  }
  int error = errno;
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    return -error;
  }
  *process = child;
  *descriptor = ends[0];
  return 0;
}

int clinux_looked_up(int descriptor, clinux_addresses *found) {
  ssize_t bytes = read(descriptor, found, sizeof *found);
  if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  // Something has ended the process.
  if (bytes != sizeof *found) *found = (clinux_addresses){.error = EAI_AGAIN};
  return 1;
}

void clinux_end_lookup(int process) {
  if (process <= 0) return;
  kill(process, SIGKILL);
  while (waitpid(process, NULL, 0) < 0 && errno == EINTR) {}
}

int clinux_connect(const clinux_addresses *found, int number) {
  const clinux_address *to = &found->of[number];
  int descriptor = socket(to->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return -errno;
  if (connect(descriptor, (const struct sockaddr *)&to->address, to->length) == 0 || errno == EINPROGRESS)
    return descriptor;
  int error = errno;
  close(descriptor);
  return -error;
}

int clinux_is_public_at(const clinux_addresses *found, int number) {
  return clinux_is_public((const struct sockaddr *)&found->of[number].address);
}

int clinux_is_private_host(const char *host) {
  clinux_addresses found;
  look_up(host, NULL, AI_NUMERICHOST, &found);
  return found.count > 0 && !clinux_is_public_at(&found, 0);
}
