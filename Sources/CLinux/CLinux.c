#define _GNU_SOURCE
#include "CLinux.h"

/* More stack than a TLS handshake uses. */
#define STACK_BYTES (256 << 10)

static int argument_count;
static char **arguments;

/* glibc passes main's arguments to every constructor. */
__attribute__((constructor)) static void keep_arguments(int count, char **values) {
  argument_count = count;
  arguments = values;
}

int clinux_argument_count(void) { return argument_count; }

char **clinux_arguments(void) { return arguments; }

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

static int removed_directory;
static const char *volatile removed_path;

static void remove_and_end(int signal_number) {
  if (removed_path) unlinkat(removed_directory, removed_path, 0);
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

void clinux_remove_when_ended(int directory, const char *path) {
  static const int signals[] = {SIGHUP, SIGINT, SIGPIPE, SIGTERM, SIGXFSZ};
  removed_directory = directory;
  removed_path = path;
  for (size_t i = 0; path && i < sizeof signals / sizeof *signals; i++) {
    // Signals that the caller ignores, for example by nohup, stay ignored.
    if (signal(signals[i], SIG_IGN) != SIG_IGN) signal(signals[i], remove_and_end);
  }
}

const char *clinux_group_name(gid_t group) {
  FILE *file = fopen("/etc/group", "re");
  const struct group *entry = NULL;
  do {
    entry = file ? fgetgrent(file) : NULL;
  } while (entry && entry->gr_gid != group);
  if (file) fclose(file);
  return entry ? entry->gr_name : NULL;
}

const char *clinux_user_name(uid_t user, gid_t *group) {
  FILE *file = fopen("/etc/passwd", "re");
  const struct passwd *entry = NULL;
  do {
    entry = file ? fgetpwent(file) : NULL;
  } while (entry && entry->pw_uid != user);
  if (file) fclose(file);
  if (entry && group) *group = entry->pw_gid;
  return entry ? entry->pw_name : NULL;
}

enum { groups_max = 64 };

static int find_groups(const char *name, gid_t *groups) {
  int count = 0;
  FILE *file = name ? fopen("/etc/group", "re") : NULL;
  const struct group *entry;
  while (file && count < groups_max && (entry = fgetgrent(file)))
    for (char **member = entry->gr_mem; *member; member++)
      if (count < groups_max && strcmp(*member, name) == 0) groups[count++] = entry->gr_gid;
  if (file) fclose(file);
  return count;
}

static gid_t own_groups[groups_max];
static int own_group_count = -1;

int clinux_act_as(uid_t user, gid_t group) {
  gid_t groups[groups_max];
  int count = find_groups(clinux_user_name(user, &group), groups);
  own_group_count = getgroups(groups_max, own_groups);
  if (setgroups((size_t)count, groups) == 0 && setegid(group) == 0 && seteuid(user) == 0) return 0;
  int error = errno;
  clinux_stop_acting_as();
  return -error;
}

int clinux_become(uid_t user, gid_t group) {
  gid_t groups[groups_max];
  int count = find_groups(clinux_user_name(user, &group), groups);
  if (setgroups((size_t)count, groups) != 0) return -errno;
  if (setresgid(group, group, group) != 0) return -errno;
  return setresuid(user, user, user) == 0 ? 0 : -errno;
}

void clinux_hide_memory(void) { prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

void clinux_stop_acting_as(void) {
  if (seteuid(getuid()) != 0 || setegid(getgid()) != 0) return;
  if (own_group_count >= 0) setgroups((size_t)own_group_count, own_groups);
}

const char *clinux_file_system(int descriptor, int *trait) {
  static const struct {
    uint32_t number; // f_type: see statfs(2)
    char name[8];
    uint8_t trait;
  } known[] = {
    {0x01021994, "tmpfs", CLINUX_VOLATILE}, {0x858458F6, "ramfs", CLINUX_VOLATILE}, {0xEF53, "ext4", CLINUX_PLAIN},
    {0x9123683E, "btrfs", CLINUX_PLAIN},    {0x58465342, "xfs", CLINUX_PLAIN},      {0xF2F52010, "f2fs", CLINUX_PLAIN},
    {0x24051905, "ubifs", CLINUX_PLAIN},    {0x72B6, "jffs2", CLINUX_PLAIN},        {0x794C7630, "overlay", CLINUX_LAYERED},
    {0x6969, "nfs", CLINUX_REMOTE},         {0xFF534D42, "cifs", CLINUX_REMOTE},    {0xFE534D42, "smb2", CLINUX_REMOTE},
    {0x4D44, "vfat", CLINUX_FOREIGN},       {0x2011BAB0, "exfat", CLINUX_FOREIGN},
  };
  struct statfs status;
  *trait = CLINUX_PLAIN;
  if (fstatfs(descriptor, &status) != 0) return NULL;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (known[i].number != (uint32_t)status.f_type) continue;
    *trait = known[i].trait;
    return known[i].name;
  }
  return NULL;
}

int clinux_is_clock_kept(void) {
  struct timex state = {.modes = 0};
  int result = adjtimex(&state);
  return result < 0 ? -1 : result != TIME_ERROR && (state.status & STA_UNSYNC) == 0;
}

int clinux_rename_new(int from, const char *name, int to, const char *new_name) {
  if (renameat2(from, name, to, new_name, RENAME_NOREPLACE) == 0) return 0;
  // Without RENAME_NOREPLACE, two concurrent calls may both find the name free.
  if (errno != EINVAL && errno != ENOSYS) return -errno;
  if (faccessat(to, new_name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) return -EEXIST;
  return renameat(from, name, to, new_name) == 0 ? 0 : -errno;
}

int clinux_sync(int descriptor) { return syncfs(descriptor) == 0 ? 0 : -errno; }

// The kernel grants a read lease only on a file that nobody has open for writing (fcntl(2)).
int clinux_block_writers(int descriptor) {
  // The kernel sends SIGIO when a writer opens the file, which would end the process.
  static int is_ignored;
  if (!is_ignored) signal(SIGIO, SIG_IGN);
  is_ignored = 1;
  if (fcntl(descriptor, F_SETLEASE, F_RDLCK) == 0) return 0;
  return errno == EAGAIN ? 1 : -1;
}

void clinux_unblock_writers(int descriptor) { fcntl(descriptor, F_SETLEASE, F_UNLCK); }

int clinux_is_being_written(int descriptor) {
  int answer = clinux_block_writers(descriptor);
  if (answer == 0) clinux_unblock_writers(descriptor);
  return answer;
}

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

int clinux_lock_file(int descriptor) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  return fcntl(descriptor, F_OFD_SETLK, &lock);
}

int clinux_is_locked(int descriptor) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  return fcntl(descriptor, F_OFD_GETLK, &lock) != 0 ? -1 : lock.l_type == F_WRLCK;
}

int clinux_terminal_columns(int descriptor) {
  struct winsize size;
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int clinux_terminal_rows(int descriptor) {
  struct winsize size;
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

static struct termios terminal_before;

void clinux_terminal_take(int descriptor) {
  if (tcgetattr(descriptor, &terminal_before) != 0) return;
  struct termios taken = terminal_before;
  taken.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
  tcsetattr(descriptor, TCSANOW, &taken);
}

void clinux_terminal_release(int descriptor) {
  if (terminal_before.c_cflag != 0) tcsetattr(descriptor, TCSANOW, &terminal_before);
}

int clinux_terminal_signals(void) {
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};
  sigset_t signals;
  sigemptyset(&signals);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) sigaddset(&signals, numbers[i]);
  sigprocmask(SIG_BLOCK, &signals, NULL);
  int descriptor = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
  return descriptor < 0 ? -errno : descriptor;
}

int clinux_epoll_set(int epoll, int operation, int descriptor, uint32_t events) {
  struct epoll_event event = {.events = events, .data.fd = descriptor};
  return epoll_ctl(epoll, operation, descriptor, &event) == 0 ? 0 : -errno;
}

int clinux_signal_descriptor(void) {
  sigset_t signals;
  signal(SIGPIPE, SIG_IGN);
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  if (sigprocmask(SIG_BLOCK, &signals, NULL) != 0) return -errno;
  int descriptor = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
  return descriptor < 0 ? -errno : descriptor;
}

int clinux_clock_descriptor(void) {
  int descriptor = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
  if (descriptor < 0) return -errno;
  clinux_clock_was_set(descriptor);
  return descriptor;
}

int clinux_clock_was_set(int descriptor) {
  uint64_t expirations;
  int was_set = read(descriptor, &expirations, sizeof expirations) < 0 && errno == ECANCELED;
  struct itimerspec never = {.it_value = {.tv_sec = (time_t)(UINT64_MAX >> 2)}};
  if (sizeof(time_t) == 4) never.it_value.tv_sec = INT32_MAX;
  timerfd_settime(descriptor, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL);
  return was_set;
}

static struct timespec time_of(struct statx_timestamp time) {
  return (struct timespec){.tv_sec = (time_t)time.tv_sec, .tv_nsec = time.tv_nsec};
}

int clinux_stat(int descriptor, struct stat *file, int64_t *birth_ns) {
  struct statx found;
  if (statx(descriptor, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &found) != 0) {
    /* Some containers forbid statx. */
    if (fstat(descriptor, file) != 0) return -1;
    *birth_ns = clinux_modify_time_ns(file);
    return 0;
  }
  *file = (struct stat){
    .st_dev = makedev(found.stx_dev_major, found.stx_dev_minor),
    .st_ino = found.stx_ino,
    .st_mode = found.stx_mode,
    .st_nlink = found.stx_nlink,
    .st_uid = found.stx_uid,
    .st_gid = found.stx_gid,
    .st_size = (off_t)found.stx_size,
    .st_mtim = time_of(found.stx_mtime),
    .st_ctim = time_of(found.stx_ctime),
  };
  struct timespec birth = found.stx_mask & STATX_BTIME ? time_of(found.stx_btime) : file->st_mtim;
  *birth_ns = clinux_nanoseconds(&birth);
  return 0;
}

/* Not inlined: below the frame of a caller that inlines it lie that caller's own variables. */
__attribute__((noinline)) void clinux_release_stack(void) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  /* One page is kept for this call and for a signal handler. */
  uintptr_t end = ((uintptr_t)__builtin_frame_address(0) / page - 1) * page;
  madvise((void *)(end - STACK_BYTES), STACK_BYTES, MADV_DONTNEED);
}

static void leave(int signal) {
  (void)signal;
  _exit(0);
}

void clinux_let_signals_end(int let) {
  static sigset_t before;
  static struct sigaction terminate, interrupt;
  if (!let) {
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (!sigismember(&before, SIGTERM)) return;
    sigaction(SIGTERM, &terminate, NULL);
    sigaction(SIGINT, &interrupt, NULL);
    return;
  }
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigprocmask(SIG_BLOCK, NULL, &before);
  if (sigismember(&before, SIGTERM)) {
    const struct sigaction action = {.sa_handler = leave};
    sigaction(SIGTERM, &action, &terminate);
    sigaction(SIGINT, &action, &interrupt);
  }
  sigprocmask(SIG_UNBLOCK, &signals, NULL);
}

static int is_private(const char *variable) {
  static const char *const names[] = {"NOTIFY_SOCKET=", "WATCHDOG_", "CREDENTIALS_DIRECTORY=", "LISTEN_"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strncmp(variable, names[i], strlen(names[i])) == 0) return 1;
  return 0;
}

enum { variables_max = 512 };

int clinux_spawn_shell(const char *command, const char *variables, size_t count, int *ended) {
  char *environment[variables_max + 1];
  size_t used = 0;
  for (size_t i = 0; i <= count && used < variables_max; i += strlen(variables + i) + 1)
    environment[used++] = (char *)(variables + i);
  for (char **variable = environ; *variable && used < variables_max; variable++)
    if (!is_private(*variable)) environment[used++] = *variable;
  environment[used] = NULL;

  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  char *const arguments[] = {"sh", "-c", (char *)command, NULL};
  pid_t process = 0;
  int error = posix_spawn(&process, "/bin/sh", &files, &attributes, arguments, environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) return -error;
  *ended = (int)syscall(SYS_pidfd_open, process, 0);
  return process;
}

int clinux_reap(int process, int *status) {
  int state;
  pid_t ended = waitpid(process, &state, WNOHANG);
  if (ended == 0) return 0;
  *status = ended < 0 ? 127 : WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
  return 1;
}

const char *clinux_error_text(int error) {
  const char *text = strerrordesc_np(error);
  return text ? text : "unknown error";
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

int clinux_listen_loopback(int family, uint16_t port, int backlog) {
  union ip_address address;
  memset(&address, 0, sizeof address);
  socklen_t size = family == AF_INET6 ? sizeof address.v6 : sizeof address.v4;
  address.any.sa_family = (sa_family_t)family;
  if (family == AF_INET6) {
    address.v6.sin6_port = htons(port);
    address.v6.sin6_addr = in6addr_loopback;
  } else {
    address.v4.sin_port = htons(port);
    address.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  }
  return listen_on(&address, size, backlog);
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

int clinux_listen_local(int directory, const char *name, int backlog) {
  // A client that finds the socket can connect: the socket gets its name once it listens.
  char hidden[sizeof((struct sockaddr_un *)0)->sun_path];
  if ((size_t)snprintf(hidden, sizeof hidden, ".%s", name) >= sizeof hidden) return -ENAMETOOLONG;
  // Sockets of earlier processes are replaced, and no other files.
  if (find_socket(directory, name) == -EEXIST) return -EEXIST;
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

void clinux_notify(const char *state) {
  const char *path = getenv("NOTIFY_SOCKET");
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t length = path ? strlen(path) : 0;
  if (length == 0 || length >= sizeof address.sun_path || (path[0] != '/' && path[0] != '@')) return;
  memcpy(address.sun_path, path, length);
  if (path[0] == '@') address.sun_path[0] = 0;
  int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return;
  sendto(descriptor, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address,
         (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
  close(descriptor);
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

int clinux_option(int count, char **arguments, const char *brief, const struct option *options, int *found) {
  opterr = 0;
  return getopt_long(count, arguments, brief, options, found);
}

const char *clinux_option_argument(void) { return optarg; }

int clinux_option_index(void) { return optind; }

int clinux_option_letter(void) { return optopt < 256 ? optopt : 0; }

/* --- secrets -------------------------------------------------------------------------------- */

void clinux_wipe(void *bytes, size_t count) { explicit_bzero(bytes, count); }

__attribute__((noinline)) void clinux_wipe_stack(void) {
  char left[64 * 1024];
  explicit_bzero(left, sizeof left);
}
