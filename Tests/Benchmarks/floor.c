/* floor: a client of the binary protocol that does only what every agent must do. The benchmarks
   compare the agent with it.

     floor files DIR   PORT CA CERTIFICATE KEY     one notification in each file, which is renamed
                                                   into taken/ beside DIR, and unlinked once it is
                                                   written
     floor lines FILE  PORT CA CERTIFICATE KEY     one notification on each line
     floor idle  FILE  PORT CA CERTIFICATE KEY     sends the file's notification, then keeps the
                                                   connection
     floor watch DIR   PORT CA CERTIFICATE KEY     sends each file as soon as it is renamed into DIR

   It does not check or repeat anything. Every input has the form
   {"token":"HEX","expiration":N,"payload":{...}}. As the agent does, it ends with a barrier: a
   frame that the gateway must refuse, whose error response proves that everything arrived. */

#include "floor.h"

enum { PRIORITY = 10 };

static uint32_t identifier;

static void confirm(void) {
  unsigned char frame[] = {2, 0, 0, 0, 3 + 4 + 3 + 1 + 3 + 2, 3, 0, 4, 0, 0, 0, 0, 1, 0, 1, 0xff, 2, 0, 2, '{', '}'};
  unsigned char *name = frame + 5 + 3;
  unsigned char answer[6];
  identifier++;
  for (int i = 0; i < 4; i++) name[i] = identifier >> (24 - 8 * i);
  if (batched + sizeof frame > BATCH_BYTES) flush();
  memcpy(batch + batched, frame, sizeof frame);
  batched += sizeof frame;
  flush();
  for (int got = 0; got < 6;) {
    int more = mbedtls_ssl_read(&ssl, answer + got, 6 - got);
    if (more == 0) more = -1;
    must(more, "the barrier's answer");
    got += more;
  }
  if (answer[0] != 8 || answer[1] != 5 || memcmp(answer + 2, name, 4)) must(-1, "the barrier");
  mbedtls_ssl_close_notify(&ssl);
}

/* --- notifications -------------------------------------------------------------------------- */

static unsigned char nibbles[256];

static void item(unsigned char kind, size_t size) {
  batch[batched++] = kind;
  batch[batched++] = size >> 8;
  batch[batched++] = size;
}

static void number(uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) batch[batched++] = value >> shift;
}

static int add(const char *text, size_t size, const char *name) {
  (void)name;
  const char *token = after(text, size, "\"token\":\""), *end = text + size;
  const char *expiration = after(token + 64, end - token - 64, "\"expiration\":");
  const char *payload = after(expiration, end - expiration, "\"payload\":");
  size_t payload_size = end - 1 - payload, items = 3 + 32 + 3 + payload_size + 3 + 4 + 3 + 4 + 3 + 1;
  int flushed = batched + 5 + items > BATCH_BYTES;
  if (flushed) flush();
  batch[batched++] = 2;
  number(items);
  item(3, 4);
  number(++identifier);
  item(1, 32);
  for (int i = 0; i < 64; i += 2)
    batch[batched++] = nibbles[(unsigned char)token[i]] << 4 | nibbles[(unsigned char)token[i + 1]];
  item(2, payload_size);
  memcpy(batch + batched, payload, payload_size);
  batched += payload_size;
  item(4, 4);
  number(strtoul(expiration, NULL, 10));
  item(5, 1);
  batch[batched++] = PRIORITY;
  return flushed;
}

static void send_files(const char *path) {
  struct dirent **names;
  open_directories(path);
  int count = scandir(path, &names, is_visible, alphasort), written = 0;
  must(count, path);
  for (int i = 0; i < count; i++)
    if (take_file(names[i]->d_name))
      for (; written < i; written++) unlinkat(taken, names[written]->d_name, 0);
  flush();
  for (; written < count; written++) unlinkat(taken, names[written]->d_name, 0);
}

static void watch(const char *path) {
  static char events[4096] __attribute__((aligned(8)));
  int watcher = inotify_init1(IN_CLOEXEC);
  open_directories(path);
  must(inotify_add_watch(watcher, path, IN_MOVED_TO), path);
  for (;;) {
    ssize_t size = read(watcher, events, sizeof events);
    must(size, "inotify");
    const struct inotify_event *event;
    for (ssize_t at = 0; at < size; at += sizeof *event + event->len) {
      event = (void *)(events + at);
      take_file(event->name);
    }
    flush();
    for (ssize_t at = 0; at < size; at += sizeof *event + event->len) {
      event = (void *)(events + at);
      unlinkat(taken, event->name, 0);
    }
  }
}

int main(int count, char **words) {
  if (count != 7) {
    fprintf(stderr, "usage: floor files|lines|idle|watch PATH PORT CA CERTIFICATE KEY\n");
    return 64;
  }
  for (int i = 0; i < 10; i++) nibbles['0' + i] = i;
  for (int i = 0; i < 6; i++) nibbles['a' + i] = nibbles['A' + i] = 10 + i;
  const char *mode = words[1], *path = words[2];
  connect_to(words[3], words[4], words[5], words[6], NULL);
  if (!strcmp(mode, "files")) {
    send_files(path);
    confirm();
  } else if (!strcmp(mode, "lines")) {
    add_lines(path);
    flush();
    unlink(path);
    confirm();
  } else if (!strcmp(mode, "idle")) {
    add_file(AT_FDCWD, path);
    flush();
    malloc_trim(0);
    for (;;) pause();
  } else if (!strcmp(mode, "watch")) {
    watch(path);
  } else {
    must(-1, mode);
  }
  return 0;
}
