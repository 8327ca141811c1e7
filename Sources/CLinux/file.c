#define _GNU_SOURCE
#include "CLinux.h"
#include <linux/magic.h>

int clinux_open(int directory, const char *path, int flags, unsigned mode) {
  int descriptor;
  do {
    descriptor = openat(directory, path, flags | O_CLOEXEC, (mode_t)mode);
  } while (descriptor < 0 && errno == EINTR);
  return descriptor < 0 ? -errno : descriptor;
}

int clinux_open_unnamed(int directory, const char *path, unsigned mode) {
  if (access("/proc/self/fd", X_OK) != 0) return -ENOSYS;
  return clinux_open(directory, path, O_RDWR | O_TMPFILE, mode);
}

int clinux_is_volatile(int descriptor) {
  struct statfs status;
  if (fstatfs(descriptor, &status) != 0) return 0;
  uint32_t type = (uint32_t)status.f_type;
  return type == TMPFS_MAGIC || type == RAMFS_MAGIC;
}

int clinux_sync(int descriptor) { return syncfs(descriptor) == 0 ? 0 : -errno; }

int clinux_reserve(int descriptor, int64_t start, int64_t count) {
  return fallocate(descriptor, FALLOC_FL_KEEP_SIZE, start, count) == 0 || errno == EOPNOTSUPP ? 0 : -errno;
}

int clinux_rename_new(int from, const char *name, int to, const char *new_name) {
  if (renameat2(from, name, to, new_name, RENAME_NOREPLACE) == 0) return 0;
  // Without RENAME_NOREPLACE, two concurrent calls may both find the name free.
  if (errno != EINVAL && errno != ENOSYS) return -errno;
  if (faccessat(to, new_name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) return -EEXIST;
  return renameat(from, name, to, new_name) == 0 ? 0 : -errno;
}

// The kernel grants a read lease only on a file that nobody has open for writing (fcntl(2)).
int clinux_is_being_written(int descriptor) {
  // The kernel sends SIGIO when a writer opens the file, which would end the process.
  static int is_ignored;
  if (!is_ignored) signal(SIGIO, SIG_IGN);
  is_ignored = 1;
  if (fcntl(descriptor, F_SETLEASE, F_RDLCK) != 0) return errno == EAGAIN ? 1 : -1;
  fcntl(descriptor, F_SETLEASE, F_UNLCK);
  return 0;
}

int clinux_lock_file(int descriptor) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  return fcntl(descriptor, F_OFD_SETLK, &lock);
}

int clinux_is_locked(int descriptor) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  return fcntl(descriptor, F_OFD_GETLK, &lock) != 0 ? -1 : lock.l_type == F_WRLCK;
}

long clinux_read_directory(int directory, void *buffer, size_t size, int restart) {
  if (restart && lseek(directory, 0, SEEK_SET) < 0) return -errno;
  long count = getdents64(directory, buffer, size);
  return count < 0 ? -errno : count;
}

const char *clinux_next_entry(const void *buffer, size_t *place, uint64_t *inode, unsigned *kind) {
  const struct dirent64 *entry = (const struct dirent64 *)((const char *)buffer + *place);
  *place += entry->d_reclen;
  *inode = entry->d_ino;
  *kind = entry->d_type;
  return entry->d_name;
}
