/* lookup: lets the look-up of the host slow.example last for ever, as with name servers that do not
   answer. Built as a shared object for LD_PRELOAD. LOOKUP is the path of a file to which the
   process that looks up writes its ID. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **found) {
  int is_name = !hints || !(hints->ai_flags & AI_NUMERICHOST);
  if (is_name && host && strcmp(host, "slow.example") == 0) {
    int file = open(getenv("LOOKUP"), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    dprintf(file, "%d\n", getpid());
    close(file);
    for (;;) pause();
  }
  __typeof__(&getaddrinfo) next = (__typeof__(&getaddrinfo))dlsym(RTLD_NEXT, "getaddrinfo");
  return next(host, port, hints, found);
}
