#define _GNU_SOURCE
#include "CLinux.h"

static int removed_directory;
static const char *volatile removed_path;

static int is_ignored(int signal_number) {
  struct sigaction action;
  return sigaction(signal_number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

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
    // Signals that the caller ignores, for example by nohup, stay ignored. To ignore a signal for a
    // moment, in order to ask, would lose one that is pending.
    if (!is_ignored(signals[i])) signal(signals[i], remove_and_end);
  }
}

int clinux_epoll_set(int epoll, int operation, int descriptor, uint32_t events) {
  struct epoll_event event = {.events = events, .data.fd = descriptor};
  return epoll_ctl(epoll, operation, descriptor, &event) == 0 ? 0 : -errno;
}

int clinux_signal_descriptor(int with_ignored) {
  static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
  sigset_t signals;
  signal(SIGPIPE, SIG_IGN);
  sigemptyset(&signals);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    if (with_ignored || !is_ignored(numbers[i])) sigaddset(&signals, numbers[i]);
  }
  if (sigprocmask(SIG_BLOCK, &signals, NULL) != 0) return -errno;
  int descriptor = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
  return descriptor < 0 ? -errno : descriptor;
}

enum { variables_max = 512 };

static int is_private(const char *variable) {
  static const char *const names[] = {"NOTIFY_SOCKET=", "WATCHDOG_", "CREDENTIALS_DIRECTORY=", "LISTEN_"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strncmp(variable, names[i], strlen(names[i])) == 0) return 1;
  return 0;
}

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
