#define _GNU_SOURCE
#include "CLinux.h"

int clinux_is_clock_kept(void) {
  struct timex state = {.modes = 0};
  int result = adjtimex(&state);
  return result < 0 ? -1 : result != TIME_ERROR && (state.status & STA_UNSYNC) == 0;
}

int clinux_clock_descriptor(void) {
  int descriptor = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
  if (descriptor < 0) return -errno;
  clinux_clock_was_set(descriptor);
  return descriptor;
}

int clinux_clock_was_set(int descriptor) {
  uint64_t expirations;
  int was_set = read(descriptor, &expirations, sizeof expirations) < 0 && errno == ECANCELED;
  struct itimerspec never = {.it_value = {.tv_sec = (time_t)(UINT64_MAX >> 2)}};
  if (sizeof(time_t) == 4) never.it_value.tv_sec = INT32_MAX;
  timerfd_settime(descriptor, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL);
  return was_set;
}
