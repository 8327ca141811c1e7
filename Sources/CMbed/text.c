#include "internal.h"

#include <mbedtls/error.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

int cmbed_say(char *text, int code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, CMBED_TEXT_MAX, format, arguments);
  va_end(arguments);
  return code;
}

int cmbed_say_memory(char *text) {
  return cmbed_say(text, CMBED_MEMORY, "There is not enough memory for a TLS connection.");
}

void cmbed_append(char *text, size_t room, const char *format, ...) {
  size_t used = strlen(text);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text + used, room - used, format, arguments);
  va_end(arguments);
}

void cmbed_copy_clean(char *to, size_t room, const void *from, size_t count) {
  const unsigned char *bytes = from;
  if (count > room - 1) count = room - 1;
  for (size_t index = 0; index < count; index++) {
    /* In UTF-8, the control characters that some terminals obey have two bytes. */
    int is_control = index > 0 && bytes[index - 1] == 0xc2 && bytes[index] >= 0x80 && bytes[index] < 0xa0;
    to[index] = bytes[index] < 0x20 || bytes[index] == 0x7f || is_control ? '?' : (char)bytes[index];
  }
  to[count] = '\0';
}

int64_t cmbed_seconds(const mbedtls_x509_time *time) {
  struct tm parts = {.tm_year = time->year - 1900, .tm_mon = time->mon - 1, .tm_mday = time->day,
                     .tm_hour = time->hour, .tm_min = time->min, .tm_sec = time->sec};
  return timegm(&parts);
}

void cmbed_date(char date[CMBED_DATE_MAX], int64_t seconds) {
  time_t time = (time_t)seconds;
  struct tm parts;
  if (gmtime_r(&time, &parts) == NULL || strftime(date, CMBED_DATE_MAX, "%Y-%m-%d %H:%M UTC", &parts) == 0)
    snprintf(date, CMBED_DATE_MAX, "an unknown time");
}

void cmbed_library_error(char name[CMBED_NAME_MAX], int error) {
  char words[CMBED_NAME_MAX - 16];
  mbedtls_strerror(error, words, sizeof words);
  snprintf(name, CMBED_NAME_MAX, "%s (-0x%04X)", words, (unsigned)-error);
}
