/* Preloaded: makes each sync of a file take SYNC_MS milliseconds, as on a memory card. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static int slowly(const char *name, int descriptor) {
  long milliseconds = atol(getenv("SYNC_MS"));
  struct timespec time = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000};
  nanosleep(&time, NULL);
  int (*sync)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  return sync(descriptor);
}

int fsync(int descriptor) { return slowly("fsync", descriptor); }
int fdatasync(int descriptor) { return slowly("fdatasync", descriptor); }
