#define _GNU_SOURCE
#include "CLinux.h"

int clinux_unacknowledged(int socket) {
  int bytes;
  return ioctl(socket, SIOCOUTQ, &bytes) == 0 ? bytes : -1;
}

int clinux_tcp_times(int socket, uint32_t *round_trip_us, uint32_t *since_acknowledgement_ms) {
  struct tcp_info info;
  socklen_t size = sizeof info;
  memset(&info, 0, sizeof info);
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return -1;
  // An emulated kernel may return less.
  if (size < offsetof(struct tcp_info, tcpi_rtt) + sizeof info.tcpi_rtt) return -1;
  *round_trip_us = info.tcpi_rtt;
  *since_acknowledgement_ms = info.tcpi_last_ack_recv;
  return 0;
}

int clinux_set_option(int socket, int level, int option, int value) {
  return setsockopt(socket, level, option, &value, sizeof value) == 0 ? 0 : -errno;
}

void clinux_drop_unsent(int socket) {
  struct linger linger = {.l_onoff = 1};
  setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
}

int clinux_socket_error(int socket) {
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

union ip_address {
  struct sockaddr any;
  struct sockaddr_in v4;
  struct sockaddr_in6 v6;
};

static int listen_on(const union ip_address *address, socklen_t size, int backlog) {
  int family = address->any.sa_family;
  int listener = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (listener < 0) return -errno;
  int result = clinux_set_option(listener, SOL_SOCKET, SO_REUSEADDR, 1);
  if (result == 0 && family == AF_INET6) result = clinux_set_option(listener, IPPROTO_IPV6, IPV6_V6ONLY, 1);
  if (result == 0 && bind(listener, &address->any, size) != 0) result = -errno;
  if (result == 0 && listen(listener, backlog) != 0) result = -errno;
  if (result == 0) return listener;
  close(listener);
  return result;
}

int clinux_listen_address(const char *text, uint16_t port, int backlog) {
  union ip_address address;
  memset(&address, 0, sizeof address);
  socklen_t size = sizeof address.v4;
  if (inet_pton(AF_INET, text, &address.v4.sin_addr) == 1) {
    address.v4.sin_family = AF_INET;
    address.v4.sin_port = htons(port);
  } else if (inet_pton(AF_INET6, text, &address.v6.sin6_addr) == 1) {
    address.v6.sin6_family = AF_INET6;
    address.v6.sin6_port = htons(port);
    size = sizeof address.v6;
  } else {
    return -EINVAL;
  }
  return listen_on(&address, size, backlog);
}

int clinux_is_reachable(int listener) {
  int is_listening = 0, type = 0;
  socklen_t size = sizeof type;
  if (getsockopt(listener, SOL_SOCKET, SO_TYPE, &type, &size) != 0) return -errno;
  size = sizeof is_listening;
  if (getsockopt(listener, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &size) != 0) return -errno;
  if (type != SOCK_STREAM || !is_listening) return -EINVAL;
  union {
    struct sockaddr_storage storage;
    union ip_address ip;
  } address;
  memset(&address, 0, sizeof address);
  size = sizeof address;
  if (getsockname(listener, (struct sockaddr *)&address.storage, &size) != 0) return -errno;
  switch (address.storage.ss_family) {
    case AF_UNIX: return 0;
    case AF_INET: return ntohl(address.ip.v4.sin_addr.s_addr) >> 24 != 127;
    case AF_INET6: return !IN6_IS_ADDR_LOOPBACK(&address.ip.v6.sin6_addr);
    default: return 1;
  }
}

void clinux_adopt(int descriptor) {
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

/* Goes through the directory's descriptor, since a path may be too long for an address. */
static struct sockaddr_un local_address(int directory, const char *name) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", directory, name);
  return address;
}

/* Whether the name is a socket's; -EEXIST if another file has it, -ENOENT if none has it. */
static int find_socket(int directory, const char *name) {
  struct stat information;
  if (fstatat(directory, name, &information, AT_SYMLINK_NOFOLLOW) != 0) return -errno;
  return S_ISSOCK(information.st_mode) ? 0 : -EEXIST;
}

/* Whether a process listens at a socket; 0 as well if that is unknown. */
static int is_listening(int directory, const char *name) {
  struct sockaddr_un address = local_address(directory, name);
  int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return 0;
  // EAGAIN: connections wait to be accepted.
  int is_listening = connect(descriptor, (struct sockaddr *)&address, sizeof address) == 0 || errno == EAGAIN;
  close(descriptor);
  return is_listening;
}

int clinux_listen_local(int directory, const char *name, int backlog) {
  // A client that finds the socket can connect: the socket gets its name once it listens.
  char hidden[sizeof((struct sockaddr_un *)0)->sun_path];
  if ((size_t)snprintf(hidden, sizeof hidden, ".%s", name) >= sizeof hidden) return -ENAMETOOLONG;
  // Sockets of earlier processes are replaced, and no other files.
  int found = find_socket(directory, name);
  if (found == -EEXIST) return -EEXIST;
  if (found == 0 && is_listening(directory, name)) return -EADDRINUSE;
  if (find_socket(directory, hidden) == 0) unlinkat(directory, hidden, 0);
  int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (listener < 0) return -errno;
  struct sockaddr_un address = local_address(directory, hidden);
  // The socket's mode when it is bound becomes the file's mode.
  if (fchmod(listener, 0600) == 0 && bind(listener, (struct sockaddr *)&address, sizeof address) == 0 &&
      listen(listener, backlog) == 0 && renameat(directory, hidden, directory, name) == 0)
    return listener;
  int error = errno;
  close(listener);
  return -error;
}

int clinux_connect_local(int directory, const char *name) {
  struct sockaddr_un address = local_address(directory, name);
  int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return -errno;
  if (connect(descriptor, (struct sockaddr *)&address, sizeof address) == 0) return descriptor;
  int error = errno;
  close(descriptor);
  return -error;
}

void clinux_set_timeout(int socket, int seconds) {
  struct timeval limit = {.tv_sec = seconds};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

static int port_of(const union ip_address *address) {
  return ntohs(address->any.sa_family == AF_INET6 ? address->v6.sin6_port : address->v4.sin_port);
}

int clinux_local_port(int socket) {
  union ip_address address;
  socklen_t size = sizeof address;
  return getsockname(socket, &address.any, &size) == 0 ? port_of(&address) : -errno;
}

int clinux_accept(int listener, uint16_t *peer_port) {
  union ip_address address;
  memset(&address, 0, sizeof address);
  socklen_t size = sizeof address;
  int descriptor;
  do {
    descriptor = accept4(listener, &address.any, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
  } while (descriptor < 0 && (errno == EINTR || errno == ECONNABORTED));
  if (descriptor < 0) return -errno;
  *peer_port = (uint16_t)port_of(&address);
  return descriptor;
}

/* Source: IANA IPv4 Special-Purpose Address Registry. */
static int is_public_v4(uint32_t address) {
  static const struct {
    uint32_t prefix;
    int bits;
  } special[] = {
      {0x00000000, 8},  /* this network */
      {0x0A000000, 8},  /* private */
      {0x64400000, 10}, /* shared by a provider's customers */
      {0x7F000000, 8},  /* loopback */
      {0xA9FE0000, 16}, /* link-local */
      {0xAC100000, 12}, /* private */
      {0xC0000000, 24}, /* protocol assignments */
      {0xC0000200, 24}, /* documentation */
      {0xC0586300, 24}, /* 6to4 relays */
      {0xC0A80000, 16}, /* private */
      {0xC6120000, 15}, /* benchmarks */
      {0xC6336400, 24}, /* documentation */
      {0xCB007100, 24}, /* documentation */
      {0xE0000000, 3},  /* multicast and reserved */
  };
  for (size_t i = 0; i < sizeof special / sizeof *special; i++)
    if ((address ^ special[i].prefix) >> (32 - special[i].bits) == 0) return 0;
  return 1;
}

static uint32_t big_endian(const uint8_t *bytes) {
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* Source: IANA IPv6 Special-Purpose Address Registry. Addresses that hold one of IPv4 are judged by
   that. */
static int is_public_v6(const uint8_t *bytes) {
  static const uint8_t mapped[12] = {[10] = 0xFF, [11] = 0xFF};
  static const uint8_t translated[12] = {0x00, 0x64, 0xFF, 0x9B};
  if (memcmp(bytes, mapped, 12) == 0 || memcmp(bytes, translated, 12) == 0)
    return is_public_v4(big_endian(bytes + 12));
  if (bytes[0] >> 5 != 1) return 0;
  uint32_t first = big_endian(bytes);
  if (first >> 16 == 0x2002) return is_public_v4(big_endian(bytes + 2));
  return first != 0x20010DB8 && first >> 9 != 0x20010000 >> 9;
}

int clinux_is_public(const struct sockaddr *address) {
  switch (address->sa_family) {
  case AF_INET: return is_public_v4(ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr));
  case AF_INET6: return is_public_v6(((const struct sockaddr_in6 *)address)->sin6_addr.s6_addr);
  default: return 0;
  }
}
