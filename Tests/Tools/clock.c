/* clock: a wall clock that says what it is told. Built as a shared object for LD_PRELOAD.

     CLOCK  UNIX seconds */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static time_t told(void) { return (time_t)atoll(getenv("CLOCK")); }

time_t time(time_t *seconds) {
  if (seconds) *seconds = told();
  return told();
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  if (clock != CLOCK_REALTIME) return ((__typeof__(&clock_gettime))dlsym(RTLD_NEXT, "clock_gettime"))(clock, time);
  *time = (struct timespec){.tv_sec = told()};
  return 0;
}
