/* outage: ends tinypush at a chosen system call, as a kill or a power cut would. Built as a shared
   object for LD_PRELOAD; in any other program it does nothing.

     OUTAGE        a file that is mapped, so that it survives the program. It has three numbers of
                   eight bytes: the calls so far; the bytes that mbedtls_ssl_read has returned; and
                   those of them that must not be lost any more
     OUTAGE_AT     the number of the call before which the program ends; 0: none. A write counts
                   twice: before it, and after half of it. With the kind unsynced, it is the number
                   of the first fsync of the directory that fails
     OUTAGE_FROM   the bytes that mbedtls_ssl_read must have returned before calls count (0)
     OUTAGE_STATE  the watched directory
     OUTAGE_SHADOW an empty directory beside it, for a copy of what is known to be on disk
     OUTAGE_KIND   what is left of the directory:
                   kill: everything;
                   power: the names as of its last fsync, with each file's contents as of that file's
                   last fsync or fdatasync;
                   names: the present names, with contents as for power; ext4 does this if any file
                   was synced;
                   unsynced: everything, and the program goes on

   Once the program asks for more bytes, a kill must not lose the bytes that it has read. A power
   cut may lose at most UNSYNCED bytes, until the program waits for more or creates another file. */

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define PATH_BYTES 4096
#define UNSYNCED 16384 /* the bytes of a TLS record */

static struct {
  uint64_t calls, received, safe;
} none, *seen = &none;
static uint64_t fatal, from;
static uint64_t directory_syncs;
static int is_active, is_kill, is_unsynced;
static const char *kind, *state, *shadow;

/* --- the disk ------------------------------------------------------------------------------- */

static void fail(const char *what) {
  dprintf(2, "outage: %s: %s\n", what, strerror(errno));
  _exit(99);
}

/* Copies a file's data, without space that is only reserved. */
static void copy(int source, const char *path) {
  int to = NEXT(open)(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
  if (to < 0) fail(path);
  char bytes[16384];
  off_t at = 0, size = source < 0 ? 0 : lseek(source, 0, SEEK_END);
  while (at < size && (at = lseek(source, at, SEEK_DATA)) >= 0) {
    ssize_t count = pread(source, bytes, sizeof bytes, at);
    if (count <= 0 || NEXT(pwrite)(to, bytes, (size_t)count, at) != count) fail(path);
    at += count;
  }
  if (NEXT(ftruncate)(to, size) != 0) fail(path);
  close(to);
}

static void place(char path[PATH_BYTES], const char *directory, const char *name) {
  snprintf(path, PATH_BYTES, "%s/%s", directory, name);
}

static void kept(char path[PATH_BYTES], const char *what, ino_t number) {
  snprintf(path, PATH_BYTES, "%s/%s%ju", shadow, what, (uintmax_t)number);
}

static DIR *listing(const char *path) {
  DIR *directory = opendir(path);
  if (directory == NULL && errno != ENOENT) fail(path);
  return directory;
}

/* Returns the next regular file; NULL at the end. */
static const char *next(DIR *directory, struct stat *information) {
  struct dirent *entry;
  while (directory != NULL && (entry = readdir(directory)) != NULL)
    if (fstatat(dirfd(directory), entry->d_name, information, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(information->st_mode))
      return entry->d_name;
  if (directory != NULL) closedir(directory);
  return NULL;
}

/* Notes that a file's contents are on disk. */
static void keep_content(int file) {
  struct stat information;
  char path[PATH_BYTES], source[64];
  if (fstat(file, &information) != 0 || !S_ISREG(information.st_mode)) return;
  snprintf(source, sizeof source, "/proc/self/fd/%d", file);
  int readable = NEXT(open)(source, O_RDONLY | O_CLOEXEC);
  if (readable < 0) return; /* a file without a name */
  kept(path, "content-", information.st_ino);
  copy(readable, path);
  close(readable);
}

/* Notes that the names are on disk. A second link keeps a file's number from being used again. */
static void keep_names(void) {
  struct stat information;
  char list[PATH_BYTES], path[PATH_BYTES], link_path[PATH_BYTES];
  place(list, shadow, "names");
  FILE *names = fopen(list, "w");
  if (names == NULL) fail(list);
  DIR *directory = listing(state);
  const char *name;
  while ((name = next(directory, &information)) != NULL) {
    fprintf(names, "%ju %s\n", (uintmax_t)information.st_ino, name);
    place(path, state, name);
    kept(link_path, "link-", information.st_ino);
    if (NEXT(link)(path, link_path) != 0 && errno != EEXIST) fail(path);
  }
  fclose(names);
}

/* Notes that everything in the directory is on disk. */
static void keep_all(void) {
  struct stat information;
  const char *name;
  if (is_kill) return;
  DIR *directory = listing(state);
  while ((name = next(directory, &information)) != NULL) {
    int content = NEXT(openat)(dirfd(directory), name, O_RDONLY | O_CLOEXEC);
    if (content >= 0) keep_content(content);
    close(content);
  }
  keep_names();
}

static int is_watched(int file) {
  struct stat information, watched;
  return fstat(file, &information) == 0 && stat(state, &watched) == 0 &&
         information.st_ino == watched.st_ino && information.st_dev == watched.st_dev;
}

static void restore_content(const char *name, ino_t number) {
  char path[PATH_BYTES], source[PATH_BYTES];
  place(path, state, name);
  kept(source, "content-", number);
  int content = NEXT(open)(source, O_RDONLY | O_CLOEXEC);
  NEXT(unlink)(path);
  copy(content, path); /* empty if nothing of it is on disk */
  if (content >= 0) close(content);
}

static void restore(void) {
  struct stat information;
  char path[PATH_BYTES], name[NAME_MAX + 1];
  const char *found;
  int has_names = strcmp(kind, "names") == 0;
  if (has_names) keep_names();
  DIR *directory = listing(state);
  while ((found = next(directory, &information)) != NULL) {
    place(path, state, found);
    NEXT(unlink)(path);
  }
  place(path, shadow, "names");
  FILE *names = fopen(path, "r");
  uintmax_t number;
  while (names != NULL && fscanf(names, "%ju %255s", &number, name) == 2) restore_content(name, (ino_t)number);
}

/* --- the calls ------------------------------------------------------------------------------ */

static void end(void) {
  if (!is_kill) restore();
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

/* Counts a call. Returns whether the program must end at it. */
static int is_due(void) { return is_active && !is_unsynced && seen->received >= from && ++seen->calls == fatal; }
static void point(void) {
  if (is_due()) end();
}

__attribute__((constructor)) static void start(void) {
  const char *name = getenv("OUTAGE"), *at = getenv("OUTAGE_AT");
  if (name == NULL || at == NULL || strcmp(program_invocation_short_name, "tinypush") != 0) return;
  kind = getenv("OUTAGE_KIND");
  state = getenv("OUTAGE_STATE");
  shadow = getenv("OUTAGE_SHADOW");
  fatal = strtoull(at, NULL, 10);
  if (getenv("OUTAGE_FROM") != NULL) from = strtoull(getenv("OUTAGE_FROM"), NULL, 10);
  int file = NEXT(open)(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (kind == NULL || state == NULL || shadow == NULL || file < 0 || ftruncate(file, sizeof *seen) != 0) fail("start");
  seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (seen == MAP_FAILED) fail("mmap");
  close(file);
  is_active = 1;
  is_unsynced = strcmp(kind, "unsynced") == 0;
  is_kill = is_unsynced || strcmp(kind, "kill") == 0;
  keep_all();
}

int mbedtls_ssl_read(void *session, unsigned char *bytes, size_t size) {
  uint64_t at_risk = is_kill ? 0 : UNSYNCED;
  if (size > 0 && seen->received > seen->safe + at_risk) seen->safe = seen->received - at_risk;
  point();
  int (*read_next)(void *, unsigned char *, size_t) = dlsym(RTLD_NEXT, "mbedtls_ssl_read");
  int got = read_next(session, bytes, size);
  if (got > 0) seen->received += (uint64_t)got;
  return got;
}

int poll(struct pollfd *files, nfds_t count, int milliseconds) {
  seen->safe = seen->received;
  point();
  return NEXT(poll)(files, count, milliseconds);
}

int epoll_wait(int file, struct epoll_event *events, int count, int milliseconds) {
  seen->safe = seen->received;
  point();
  return NEXT(epoll_wait)(file, events, count, milliseconds);
}

static int opened(int directory, const char *path, int flags, mode_t mode) {
  if (flags & O_CREAT) {
    seen->safe = seen->received; /* the program does something else */
    point();
  }
  return NEXT(openat)(directory, path, flags, mode);
}

static mode_t mode_of(int flags, va_list arguments) {
  return flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
}

int open(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return opened(AT_FDCWD, path, flags, mode);
}

int openat(int directory, const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return opened(directory, path, flags, mode);
}

ssize_t write(int file, const void *bytes, size_t size) {
  if (file > 2) {
    point();
    if (is_due()) {
      NEXT(write)(file, bytes, size / 2);
      end();
    }
  }
  return NEXT(write)(file, bytes, size);
}

ssize_t pwrite(int file, const void *bytes, size_t size, off_t at) {
  point();
  if (is_due()) {
    NEXT(pwrite)(file, bytes, size / 2, at);
    end();
  }
  return NEXT(pwrite)(file, bytes, size, at);
}

int posix_fallocate(int file, off_t at, off_t size) {
  point();
  return NEXT(posix_fallocate)(file, at, size);
}

int fallocate(int file, int mode, off_t at, off_t size) {
  point();
  return NEXT(fallocate)(file, mode, at, size);
}

int ftruncate(int file, off_t size) {
  point();
  return NEXT(ftruncate)(file, size);
}

int fdatasync(int file) {
  point();
  int result = NEXT(fdatasync)(file);
  if (result == 0 && is_active && !is_kill) keep_content(file);
  return result;
}

int fsync(int file) {
  point();
  if (is_unsynced && is_watched(file) && ++directory_syncs >= fatal) {
    errno = EIO;
    return -1;
  }
  int result = NEXT(fsync)(file);
  if (result != 0 || !is_active || is_kill) return result;
  keep_content(file);
  if (is_watched(file)) keep_names();
  return result;
}

int syncfs(int file) {
  point();
  int result = NEXT(syncfs)(file);
  if (result == 0 && is_active) keep_all();
  return result;
}

int mkdir(const char *path, mode_t mode) {
  point();
  return NEXT(mkdir)(path, mode);
}

int rename(const char *from, const char *to) {
  point();
  return NEXT(rename)(from, to);
}

int renameat(int from_directory, const char *from, int to_directory, const char *to) {
  point();
  return NEXT(renameat)(from_directory, from, to_directory, to);
}

int renameat2(int from_directory, const char *from, int to_directory, const char *to, unsigned flags) {
  point();
  return NEXT(renameat2)(from_directory, from, to_directory, to, flags);
}

int linkat(int from_directory, const char *from, int to_directory, const char *to, int flags) {
  point();
  return NEXT(linkat)(from_directory, from, to_directory, to, flags);
}

int unlink(const char *path) {
  point();
  return NEXT(unlink)(path);
}

int unlinkat(int directory, const char *path, int flags) {
  point();
  return NEXT(unlinkat)(directory, path, flags);
}
