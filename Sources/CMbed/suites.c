#include "internal.h"

#include <mbedtls/ssl_ciphersuites.h>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

/* Whether AES-GCM is done by the processor: it must be able to, and this mbedTLS must know how. */
static int aes_is_fast(void) {
#if defined(__x86_64__) && defined(MBEDTLS_AESNI_C)
  unsigned eax, ebx, ecx, edx;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx)) return 0;
  return (ecx & bit_AES) != 0 && (ecx & bit_PCLMUL) != 0;
#elif defined(__aarch64__) && defined(MBEDTLS_AESCE_C)
  unsigned long capabilities = getauxval(AT_HWCAP);
  return (capabilities & HWCAP_AES) != 0 && (capabilities & HWCAP_PMULL) != 0;
#else
  return 0;
#endif
}

#if defined(MBEDTLS_SSL_PROTO_TLS1_3)
#define AES_13 MBEDTLS_TLS1_3_AES_128_GCM_SHA256, MBEDTLS_TLS1_3_AES_256_GCM_SHA384,
#define CHACHA_13 MBEDTLS_TLS1_3_CHACHA20_POLY1305_SHA256,
#else
#define AES_13
#define CHACHA_13
#endif

#define AES_12 \
  MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, MBEDTLS_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, \
  MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, MBEDTLS_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,

#define CHACHA_12 \
  MBEDTLS_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, MBEDTLS_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,

const int *cmbed_suites(void) {
  static const int aes_first[] = {AES_13 CHACHA_13 AES_12 CHACHA_12 0};
  static const int chacha_first[] = {CHACHA_13 AES_13 CHACHA_12 AES_12 0};
  return aes_is_fast() ? aes_first : chacha_first;
}
