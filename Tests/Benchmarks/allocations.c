/* allocations: counts what a program asks of malloc. Built as a shared object for LD_PRELOAD; the count is the eight
   bytes of the file that $ALLOCATIONS names, mapped, so that it survives whichever way the program ends. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static uint64_t unmapped, *count = &unmapped;

__attribute__((constructor)) static void map(void) {
  const char *name = getenv("ALLOCATIONS");
  int file = name ? open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0644) : -1;
  if (file < 0 || ftruncate(file, sizeof *count)) return;
  void *page = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (page != MAP_FAILED) count = page;
  close(file);
}

static void one(void) { __atomic_fetch_add(count, 1, __ATOMIC_RELAXED); }

void *malloc(size_t size) { return one(), __libc_malloc(size); }
void *calloc(size_t items, size_t size) { return one(), __libc_calloc(items, size); }
void *realloc(void *old, size_t size) { return one(), __libc_realloc(old, size); }
void *memalign(size_t alignment, size_t size) { return one(), __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { return one(), __libc_memalign(alignment, size); }

int posix_memalign(void **place, size_t alignment, size_t size) {
  one();
  return (*place = __libc_memalign(alignment, size)) ? 0 : ENOMEM;
}
