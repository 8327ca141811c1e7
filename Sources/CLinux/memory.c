#define _GNU_SOURCE
#include "CLinux.h"

/* More stack than a TLS handshake uses. */
#define STACK_BYTES (256 << 10)

void clinux_hide_memory(void) { prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

/* Not inlined: below the frame of a caller that inlines it lie that caller's own variables. */
__attribute__((noinline)) void clinux_release_stack(void) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  /* One page is kept for this call and for a signal handler. */
  uintptr_t end = ((uintptr_t)__builtin_frame_address(0) / page - 1) * page;
  madvise((void *)(end - STACK_BYTES), STACK_BYTES, MADV_DONTNEED);
}

void clinux_wipe(void *bytes, size_t count) { explicit_bzero(bytes, count); }

__attribute__((noinline)) void clinux_wipe_stack(void) {
  char left[64 * 1024];
  explicit_bzero(left, sizeof left);
}
