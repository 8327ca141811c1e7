/* clock: replaces the clocks of a program. Built as a shared object for LD_PRELOAD.

     CLOCK         the wall clock's UNIX seconds, which never change
     CLOCK_FILE    a file with them, which may change; without both, the wall clock is unchanged
     CLOCK_SET     a pipe: a byte in it means that the clock was set, and cancels a timer for that
     CLOCK_AWAKE   a file with the seconds that have passed in addition, which may change
     CLOCK_ASLEEP  a file with the seconds that the machine has slept, which may change */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static int timer = -1;

/* Returns the seconds in the file that an environment variable names; 0 without the variable. */
static time_t seconds(const char *variable) {
  const char *path = getenv(variable);
  if (!path) return 0;
  char text[32] = "";
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (pread(file, text, sizeof text - 1, 0) < 0) abort();
  close(file);
  return (time_t)atoll(text);
}

static time_t wall_time(void) {
  const char *clock = getenv("CLOCK");
  return clock ? (time_t)atoll(clock) : seconds("CLOCK_FILE");
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  if (clock == CLOCK_REALTIME && (getenv("CLOCK") || getenv("CLOCK_FILE"))) {
    *time = (struct timespec){.tv_sec = wall_time()};
    return 0;
  }
  int result = ((__typeof__(&clock_gettime))dlsym(RTLD_NEXT, "clock_gettime"))(clock, time);
  if (clock == CLOCK_MONOTONIC || clock == CLOCK_BOOTTIME) time->tv_sec += seconds("CLOCK_AWAKE");
  if (clock == CLOCK_BOOTTIME) time->tv_sec += seconds("CLOCK_ASLEEP");
  return result;
}

time_t time(time_t *seconds) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (seconds) *seconds = now.tv_sec;
  return now.tv_sec;
}

int timerfd_create(clockid_t clock, int flags) {
  const char *path = getenv("CLOCK_SET");
  if (!path || clock != CLOCK_REALTIME)
    return ((__typeof__(&timerfd_create))dlsym(RTLD_NEXT, "timerfd_create"))(clock, flags);
  return timer = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
}

ssize_t read(int file, void *bytes, size_t count) {
  ssize_t taken = ((__typeof__(&read))dlsym(RTLD_NEXT, "read"))(file, bytes, count);
  if (file != timer || timer < 0 || taken < 0) return taken;
  errno = ECANCELED;
  return -1;
}
