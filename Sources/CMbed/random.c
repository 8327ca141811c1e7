#include "internal.h"

#include <errno.h>
#include <mbedtls/entropy.h>
#include <sys/random.h>

int cmbed_random(void *unused, unsigned char *bytes, size_t count) {
  (void)unused;
  while (count > 0) {
    ssize_t got = getrandom(bytes, count, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return MBEDTLS_ERR_ENTROPY_SOURCE_FAILED;
    bytes += got;
    count -= (size_t)got;
  }
  return 0;
}
