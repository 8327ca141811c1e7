#define _GNU_SOURCE
#include "CLinux.h"

#include <iconv.h>
#include <syslog.h>

int clinux_to_utf8(const char *name, const char *bytes, size_t count, char *room, size_t size) {
  iconv_t converter = iconv_open("UTF-8", name);
  if (converter == (iconv_t)-1) return -errno;
  char *in = (char *)bytes, *out = room;
  while (count > 0) {
    if (iconv(converter, &in, &count, &out, &size) != (size_t)-1 || errno != EILSEQ || size < 3) break;
    memcpy(out, "\xEF\xBF\xBD", 3);
    out += 3, size -= 3;
    in++, count--;
  }
  // Some converters keep the last character, since a mark may follow.
  iconv(converter, NULL, NULL, &out, &size);
  iconv_close(converter);
  return (int)(out - room);
}

void clinux_log_mail_error(const char *program, const char *text) {
  openlog(program, LOG_PID, LOG_MAIL);
  syslog(LOG_ERR, "%s", text);
  closelog();
}
