/* allocations: counts a program's allocations. Built as a shared object for LD_PRELOAD.
   $ALLOCATIONS names a file of sixteen bytes that is mapped, so the counts survive any end of the
   program: first the allocations within calls of nghttp2 and mbedTLS, then the program's own. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static struct counts { uint64_t libraries, own; } unmapped, *counts = &unmapped;
static int depth; /* of nested calls of the libraries */

__attribute__((constructor)) static void map(void) {
  const char *name = getenv("ALLOCATIONS");
  int file = name ? open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0644) : -1;
  if (file < 0 || ftruncate(file, sizeof *counts)) return;
  void *page = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (page != MAP_FAILED) counts = page;
  close(file);
}

static void one(void) { depth ? counts->libraries++ : counts->own++; }

void *malloc(size_t size) { return one(), __libc_malloc(size); }
void *calloc(size_t items, size_t size) { return one(), __libc_calloc(items, size); }
void *realloc(void *old, size_t size) { return one(), __libc_realloc(old, size); }
void *memalign(size_t alignment, size_t size) { return one(), __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { return one(), __libc_memalign(alignment, size); }

int posix_memalign(void **place, size_t alignment, size_t size) {
  one();
  return (*place = __libc_memalign(alignment, size)) ? 0 : ENOMEM;
}

/* The calls that handle a notification or its answer. */
#define LIBRARY(result, name, parameters, arguments) \
  result name parameters { \
    static result(*next) parameters; \
    if (!next) next = (result(*) parameters)dlsym(RTLD_NEXT, #name); \
    depth++; \
    result returned = next arguments; \
    depth--; \
    return returned; \
  }

LIBRARY(int, mbedtls_ssl_read, (void *ssl, unsigned char *bytes, size_t size), (ssl, bytes, size))
LIBRARY(int, mbedtls_ssl_write, (void *ssl, const unsigned char *bytes, size_t size), (ssl, bytes, size))
LIBRARY(ssize_t, nghttp2_session_mem_recv, (void *of, const uint8_t *bytes, size_t size), (of, bytes, size))
LIBRARY(ssize_t, nghttp2_session_mem_send, (void *of, const uint8_t **bytes), (of, bytes))
LIBRARY(int32_t, nghttp2_submit_request,
        (void *of, const void *priority, const void *headers, size_t count, const void *provider, void *user),
        (of, priority, headers, count, provider, user))
