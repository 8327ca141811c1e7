#include "internal.h"

#include <mbedtls/asn1.h>
#include <mbedtls/bignum.h>
#include <mbedtls/cipher.h>
#include <mbedtls/ecp.h>
#include <mbedtls/error.h>
#include <mbedtls/md.h>
#include <mbedtls/pem.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int cmbed_say(char *text, int code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, CMBED_TEXT_MAX, format, arguments);
  va_end(arguments);
  return code;
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
  for (size_t index = 0; index < count; index++)
    to[index] = bytes[index] < 0x20 || bytes[index] == 0x7f ? '?' : (char)bytes[index];
  to[count] = '\0';
}

void cmbed_date(char date[CMBED_DATE_MAX], int64_t seconds) {
  cmbed_calendar calendar;
  if (cmbed_calendar_of(&calendar, seconds) != 0) {
    snprintf(date, CMBED_DATE_MAX, "%s", seconds < 0 ? "before 1970" : "after 9999");
    return;
  }
  snprintf(date, CMBED_DATE_MAX, "%04d-%02d-%02d %02d:%02d UTC", calendar.year % 10000, calendar.month % 100,
           calendar.day % 100, calendar.hour % 100, calendar.minute % 100);
}

void cmbed_library_error(char name[CMBED_NAME_MAX], int error) {
  char words[CMBED_NAME_MAX - 16];
  mbedtls_strerror(error, words, sizeof words);
  snprintf(name, CMBED_NAME_MAX, "%s (-0x%04X)", words, (unsigned)-error);
}

int cmbed_is_memory(int error) {
  switch (error) {
  case MBEDTLS_ERR_SSL_ALLOC_FAILED:
  case MBEDTLS_ERR_X509_ALLOC_FAILED:
  case MBEDTLS_ERR_PK_ALLOC_FAILED:
  case MBEDTLS_ERR_PEM_ALLOC_FAILED:
  case MBEDTLS_ERR_MD_ALLOC_FAILED:
  case MBEDTLS_ERR_CIPHER_ALLOC_FAILED:
  case MBEDTLS_ERR_ECP_ALLOC_FAILED:
    return 1;
  }
  /* The low-level modules' codes come added to a high-level one. */
  int low = -(-error & 0x7f);
  return low == MBEDTLS_ERR_MPI_ALLOC_FAILED || low == MBEDTLS_ERR_ASN1_ALLOC_FAILED;
}

const char *cmbed_library(void) {
  static const char name[] = "mbed TLS " MBEDTLS_VERSION_STRING;
  return name;
}
