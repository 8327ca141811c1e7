#include "internal.h"

#include <time.h>

/* By hand, and not by gmtime_r and timegm: time_t may have 32 bits here, and certificates outlive it. */

static int64_t leap_days(int64_t year) {
  return year / 4 - year / 100 + year / 400;
}

static int is_leap(int64_t year) {
  return leap_days(year) != leap_days(year - 1);
}

static int64_t days_before(int64_t year) {
  return 365 * (year - 1970) + leap_days(year - 1) - leap_days(1969);
}

static int days_in(int month, int64_t year) {
  static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return days[month - 1] + (month == 2 && is_leap(year));
}

int64_t cmbed_now(void) {
  return (int64_t)time(NULL);
}

int64_t cmbed_seconds(const mbedtls_x509_time *time) {
  int64_t days = days_before(time->year) + time->day - 1;
  for (int month = 1; month < time->mon && month <= 12; month++) days += days_in(month, time->year);
  return ((days * 24 + time->hour) * 60 + time->min) * 60 + time->sec;
}

int cmbed_calendar_of(cmbed_calendar *calendar, int64_t seconds) {
  if (seconds < 0 || seconds >= days_before(10000) * 86400) return -1;
  int64_t days = seconds / 86400;
  int rest = (int)(seconds % 86400);
  int64_t year = 1970 + days / 366; /* never too late; the loop goes on from there */
  while (days_before(year + 1) <= days) year++;
  days -= days_before(year);
  int month = 1;
  while (days >= days_in(month, year)) days -= days_in(month++, year);
  *calendar = (cmbed_calendar){(int)year, month, (int)days + 1, rest / 3600, rest / 60 % 60, rest % 60};
  return 0;
}
