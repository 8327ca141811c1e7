#define _GNU_SOURCE
#include "CLinux.h"

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
