/* CLinux: what Swift needs of Linux and cannot import by itself: headers in one place, and a line of C for each macro,
   variadic function or union that the importer passes over. */

#ifndef CLINUX_H
#define CLINUX_H

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <grp.h>
#include <ini.h>
#include <linux/sockios.h>
#include <malloc.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

/* The program's arguments, which Embedded Swift has no other way to. */
int clinux_argument_count(void);
char **clinux_arguments(void);

static inline int clinux_errno(void) { return errno; }

/* Returns a descriptor, or -errno. */
int clinux_open(int directory, const char *path, int flags, unsigned mode);

/* A new file in the directory `path` that has no name yet, and is gone with its descriptor until linkat gives it one by way
   of /proc/self/fd. Returns a descriptor, or -errno: not every file system has it. */
int clinux_open_unnamed(int directory, const char *path, unsigned mode);

/* Has the signals that end a program by nature remove the file `path` first; both must last. Null: not any more. */
void clinux_remove_when_ended(int directory, const char *path);

/* The name of a group as /etc/group has it, good until the next call; null when it is not there. */
const char *clinux_group_name(gid_t group);

/* The same of a user; with its group, if there is room for that. */
const char *clinux_user_name(uid_t user, gid_t *group);

/* Has the superuser do with files what this user may do, in the groups that /etc/passwd and /etc/group have him in; `group`
   where they know nothing of him. Returns 0 or -errno. And back. */
int clinux_act_as(uid_t user, gid_t group);
void clinux_act_as_oneself(void);

/* Has the superuser be this user, in the same groups, with no way back. Returns 0 or -errno. */
int clinux_become(uid_t user, gid_t group);

/* What is to be known of a file system, besides its name. */
enum {
  CLINUX_PLAIN,
  CLINUX_VOLATILE, /* in memory */
  CLINUX_LAYERED,  /* over another one */
  CLINUX_REMOTE,   /* shared with other machines, of which inotify says nothing */
  CLINUX_FOREIGN,  /* without owners, modes and a journal */
};

/* The name of the file system that a descriptor's file lies on, or null. */
const char *clinux_file_system(int descriptor, int *trait);

/* Whether something keeps the clock right, as the kernel was told: 1, or 0; -1 when it does not say. */
int clinux_is_clock_kept(void);

/* A time in nanoseconds since 1970. What they cannot tell (before 1678, or after 2261) is the first or the last that they can. */
static inline int64_t clinux_nanoseconds(const struct timespec *time) {
  int64_t nanoseconds;
  if (__builtin_mul_overflow((int64_t)time->tv_sec, 1000000000, &nanoseconds) ||
      __builtin_add_overflow(nanoseconds, time->tv_nsec, &nanoseconds))
    return time->tv_sec < 0 ? INT64_MIN : INT64_MAX;
  return nanoseconds;
}

/* File times and kinds, which are macros and unions in glibc. */
static inline int64_t clinux_change_time_ns(const struct stat *file) { return clinux_nanoseconds(&file->st_ctim); }
static inline int64_t clinux_modify_time_ns(const struct stat *file) { return clinux_nanoseconds(&file->st_mtim); }
/* Gives the system the pages of the stack back that earlier calls have left, below this one. */
void clinux_give_back_stack(void);

/* As fstat, and when the file was made, in UNIX nanoseconds; where the file system does not know that, when it was last
   written. */
int clinux_stat(int descriptor, struct stat *file, int64_t *birth_ns);
static inline int clinux_is_regular(const struct stat *file) { return S_ISREG(file->st_mode); }
static inline int64_t clinux_change_time_s(const struct stat *file) { return (int64_t)file->st_ctim.tv_sec; }
static inline int clinux_is_directory(const struct stat *file) { return S_ISDIR(file->st_mode); }

/* Renames a file to a name that nobody has. Returns 0 or -errno: -EEXIST when somebody has it. */
int clinux_rename_new(int from, const char *name, int to, const char *new_name);

/* Has everything on disk that was written to the file system of `descriptor`. Returns 0 or -errno. */
int clinux_sync(int descriptor);

/* Whether somebody has the file open for writing: 1, or 0; -1 when that may not be asked of somebody else's file. */
int clinux_is_being_written(int descriptor);

/* The same; when it returns 0, a program that opens the file for writing waits until the descriptor is closed, or the second
   function is called. */
int clinux_hold_writers(int descriptor);
void clinux_let_writers(int descriptor);

/* Locks the file behind a descriptor for as long as that is open: 0, or -1 when somebody has. And whether somebody who may write
   to it has: 1, 0, or -1 when that cannot be known; asking disturbs nobody. */
int clinux_lock_file(int descriptor);
int clinux_is_locked(int descriptor);

/* Around a change of memory that other processes read: the number is odd while it lasts, and another one after it. */
static inline void clinux_begin_change(uint32_t *sequence) {
  __atomic_store_n(sequence, *sequence | 1, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_RELEASE);
}
static inline void clinux_end_change(uint32_t *sequence) {
  __atomic_store_n(sequence, *sequence + 1, __ATOMIC_RELEASE);
}

/* The bytes written to a TCP socket that the peer has not acknowledged (SIOCOUTQ), or -1. */
int clinux_unacknowledged(int socket);

/* From TCP_INFO: the smoothed round trip in microseconds, and milliseconds since an acknowledgement last came; -1 on
   failure. */
int clinux_tcp_times(int socket, uint32_t *round_trip_us, uint32_t *since_acknowledgement_ms);

/* setsockopt with an int. Returns 0 or -errno. */
int clinux_set_option(int socket, int level, int option, int value);

/* What the peer has not acknowledged is thrown away when the TCP socket is closed; otherwise the kernel goes on sending it. */
void clinux_drop_unsent(int socket);

/* The pending error of a socket (SO_ERROR): 0 or a positive errno. */
int clinux_socket_error(int socket);

/* Columns and rows of the terminal behind a descriptor; 0 when it is none. */
int clinux_terminal_columns(int descriptor);
int clinux_terminal_rows(int descriptor);

/* Has the terminal behind a descriptor hand over each key at once and show none, until the second is called. */
void clinux_terminal_take(int descriptor);
void clinux_terminal_give_back(int descriptor);

/* A signalfd for what happens to a program that has taken its terminal: SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP and
   SIGWINCH, which are blocked. Or -errno. */
int clinux_terminal_signals(void);

/* Reads a file as ini_parse_file does, and closes it. Of what it holds, such as a password, nothing stays in memory that the handler
   has not put there. */
int clinux_ini_parse(FILE *file, ini_handler handler, void *user);

/* The line of the file, from 1, whose setting the handler has been given. */
int clinux_ini_line(void);

/* The last value of a key in such a file, or "" where there is none or the file cannot be read. */
void clinux_ini_value(const char *path, const char *key, char *value, size_t room);

/* Overwrites memory that held a secret; and so much of the stack as calls have left behind that worked with one. */
void clinux_wipe(void *bytes, size_t count);
void clinux_wipe_stack(void);

/* One word to the service manager behind $NOTIFY_SOCKET ("READY=1"), if there is one. */
void clinux_notify(const char *state);

/* Reads directory entries into `buffer`, beginning again where `restart` is set. Returns bytes, 0 at the end, -errno. */
long clinux_read_directory(int directory, void *buffer, size_t size, int restart);

/* The entry at `*place` of what clinux_read_directory read, which is moved on. `*kind` is one of DT_*. */
const char *clinux_next_entry(const void *buffer, size_t *place, uint64_t *inode, unsigned *kind);

/* getopt_long over arguments of its own, and what it leaves in globals. */
int clinux_option(int count, char **arguments, const char *brief, const struct option *options, int *found);
const char *clinux_option_argument(void);
int clinux_option_index(void);
/* The letter of a short option that is wrong, or 0. */
int clinux_option_letter(void);

/* One descriptor in an epoll set, its number as the event's data. Returns 0 or -errno. */
int clinux_epoll_set(int epoll, int operation, int descriptor, uint32_t events);
static inline int clinux_epoll_descriptor(const struct epoll_event *event) { return event->data.fd; }

/* A signalfd for SIGTERM, SIGINT and SIGHUP, which are blocked; SIGPIPE is ignored. Or -errno. */
int clinux_signal_descriptor(void);

/* Writing to what nobody reads any more is an error, and not the end. */
static inline void clinux_ignore_broken_pipes(void) { signal(SIGPIPE, SIG_IGN); }

/* A descriptor that is readable once the wall clock has been set, or -errno; and whether it has been, which makes it ready
   for the next time. */
int clinux_clock_descriptor(void);
int clinux_clock_was_set(int descriptor);

/* Whether SIGTERM and SIGINT end the process at once, or wait for the signalfd. A process that has them wait ends with 0
   then, as it does when it is asked to stop. */
void clinux_let_signals_end(int let);

/* Has /bin/sh run a command beside this process, in a process group of its own: with nothing open but /dev/null and, for what it
   says, this process's standard error; with the signals as they are at first, with the environment but for what the
   service manager has told this process alone, and with `count` bytes of NAME=VALUE in addition, a NUL between each two and at
   the end. Returns its process ID, or -errno. `*ended` is a descriptor that is readable once it has ended, or -1. */
int clinux_spawn_shell(const char *command, const char *variables, size_t count, int *ended);

/* Whether the process has ended: then `*status` is its exit status, or 128 and the number of the signal that ended it. */
int clinux_reap(int process, int *status);

/* The text of an errno, never null. */
const char *clinux_error_text(int error);

/* A non-blocking TCP listener on the loopback address of `family` (AF_INET or AF_INET6); port 0: any. Returns a
   descriptor, or -errno. */
int clinux_listen_loopback(int family, uint16_t port, int backlog);

/* A non-blocking listener that is the file `name` (mode 0600) in a directory, in place of what bears that name; and a
   blocking connection to one. Return a descriptor, or -errno. */
int clinux_listen_local(int directory, const char *name);
int clinux_connect_local(int directory, const char *name);

/* Lets reads and writes of a blocking socket fail with EAGAIN after so long. */
void clinux_set_timeout(int socket, int seconds);

/* The port that a socket is bound to, or -errno. */
int clinux_local_port(int socket);

/* The next connection, non-blocking, and its peer's port. Returns a descriptor, or -errno. */
int clinux_accept(int listener, uint16_t *peer_port);

#endif
