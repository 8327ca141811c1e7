/* CLinux: the parts of Linux that Swift cannot import. It includes the system's headers in one
   place, and wraps macros, variadic functions and unions, which Swift's importer skips.

   Functions that return -errno return 0 or a useful value otherwise. */

#ifndef CLINUX_H
#define CLINUX_H

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <grp.h>
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
#include <sys/prctl.h>
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

/* Return the program's arguments, which Embedded Swift does not offer. */
int clinux_argument_count(void);
char **clinux_arguments(void);

/* Returns errno, which is a macro. */
static inline int clinux_errno(void) { return errno; }

/* Opens a file relative to a directory's descriptor. Returns a descriptor or -errno. */
int clinux_open(int directory, const char *path, int flags, unsigned mode);

/* Creates a file without a name in the directory `path`. The file disappears with its descriptor,
   unless linkat names it by /proc/self/fd. Returns a descriptor, or -errno where the file system
   cannot do this. */
int clinux_open_unnamed(int directory, const char *path, unsigned mode);

/* Lets the signals that end a program first remove the file `path`. The descriptor and the path
   must stay valid. NULL ends this. */
void clinux_remove_when_ended(int directory, const char *path);

/* Returns a group's name in /etc/group, valid until the next call; NULL if it has none. */
const char *clinux_group_name(gid_t group);

/* Returns a user's name in /etc/passwd, valid until the next call; NULL if it has none. Also sets
   `group`, unless it is NULL, to the user's group. */
const char *clinux_user_name(uid_t user, gid_t *group);

/* Lets the superuser access files as another user does, with the groups that /etc/passwd and
   /etc/group give that user; `group` is used for an unknown user. Returns 0 or -errno. */
int clinux_act_as(uid_t user, gid_t group);

/* Ends the effect of clinux_act_as. */
void clinux_stop_acting_as(void);

/* Changes from the superuser to another user for the rest of the process, with the same groups.
   Returns 0 or -errno. */
int clinux_become(uid_t user, gid_t group);

/* Keeps other processes of this user from reading the memory of this process, which may hold a key,
   and the kernel from writing it to a core dump. */
void clinux_hide_memory(void);

/* Returns whether a file is on a file system in memory, which is lost at a restart. */
int clinux_is_volatile(int descriptor);

/* Returns whether the kernel's clock is synchronized: 1 or 0; -1 if the kernel does not say. */
int clinux_is_clock_kept(void);

/* Returns a time in nanoseconds since 1970, limited to what 64 bits can hold (1678 to 2261). */
static inline int64_t clinux_nanoseconds(const struct timespec *time) {
  int64_t nanoseconds;
  if (__builtin_mul_overflow((int64_t)time->tv_sec, 1000000000, &nanoseconds) ||
      __builtin_add_overflow(nanoseconds, time->tv_nsec, &nanoseconds))
    return time->tv_sec < 0 ? INT64_MIN : INT64_MAX;
  return nanoseconds;
}

/* Return a file's times and kind, which are macros and unions in glibc. */
static inline int64_t clinux_change_time_ns(const struct stat *file) { return clinux_nanoseconds(&file->st_ctim); }
static inline int64_t clinux_modify_time_ns(const struct stat *file) { return clinux_nanoseconds(&file->st_mtim); }
static inline int clinux_is_regular(const struct stat *file) { return S_ISREG(file->st_mode); }
static inline int clinux_is_directory(const struct stat *file) { return S_ISDIR(file->st_mode); }

/* Returns the unused pages of the stack, which earlier calls have touched, to the system. */
void clinux_release_stack(void);

/* Renames a file unless the new name exists. Returns 0 or -errno: -EEXIST if the name exists. */
int clinux_rename_new(int from, const char *name, int to, const char *new_name);

/* Writes everything in the descriptor's file system to disk. Returns 0 or -errno. */
int clinux_sync(int descriptor);

/* Reserves space on disk for bytes of a file, whose size stays, if the file system can do that.
   Returns 0 or -errno. */
int clinux_reserve(int descriptor, int64_t start, int64_t count);

/* Returns whether anybody has the file open for writing: 1 or 0; -1 if the kernel does not tell
   this user. */
int clinux_is_being_written(int descriptor);

/* Locks a file until its descriptor is closed. Returns 0, or -1 if somebody else has locked it. */
int clinux_lock_file(int descriptor);

/* Returns whether somebody has locked the file: 1 or 0; -1 if unknown. Disturbs nobody. */
int clinux_is_locked(int descriptor);

/* Enclose a change of memory that other processes read: the sequence number is odd during the
   change and has a new even value after it. */
static inline void clinux_begin_change(uint32_t *sequence) {
  __atomic_store_n(sequence, *sequence | 1, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_RELEASE);
}
static inline void clinux_end_change(uint32_t *sequence) {
  __atomic_store_n(sequence, *sequence + 1, __ATOMIC_RELEASE);
}

/* Returns the bytes written to a TCP socket that the peer has not acknowledged (SIOCOUTQ), or
   -1. */
int clinux_unacknowledged(int socket);

/* Gets the smoothed round trip in microseconds and the milliseconds since the last acknowledgement
   (TCP_INFO). Returns 0, or -1 if the kernel does not tell. */
int clinux_tcp_times(int socket, uint32_t *round_trip_us, uint32_t *since_acknowledgement_ms);

/* Returns whether an address is one of the public Internet: not of this machine, of a private
   network, or reserved. */
int clinux_is_public(const struct sockaddr *address);

/* Sets an integer option of a socket. Returns 0 or -errno. */
int clinux_set_option(int socket, int level, int option, int value);

/* Lets close discard the TCP socket's unacknowledged bytes; otherwise the kernel keeps
   sending. */
void clinux_drop_unsent(int socket);

/* Returns a socket's pending error (SO_ERROR): 0 or a positive errno. */
int clinux_socket_error(int socket);

/* Return the columns and rows of a terminal; 0 if the descriptor is no terminal. */
int clinux_terminal_columns(int descriptor);
int clinux_terminal_rows(int descriptor);

/* Lets a terminal hand over each key at once, without echo, until clinux_terminal_release. */
void clinux_terminal_take(int descriptor);

/* Restores the terminal's settings from before clinux_terminal_take. */
void clinux_terminal_release(int descriptor);

/* Blocks the signals that matter to a program that controls its terminal, SIGINT, SIGTERM, SIGHUP,
   SIGQUIT, SIGTSTP and SIGWINCH. Returns a signalfd for them, or -errno. */
int clinux_terminal_signals(void);

/* Overwrites memory that held a secret. */
void clinux_wipe(void *bytes, size_t count);

/* Overwrites the part of the stack that earlier calls may have left secrets in. */
void clinux_wipe_stack(void);

/* Sends a state ("READY=1") to the service manager behind $NOTIFY_SOCKET, if there is one. */
void clinux_notify(const char *state);

/* Reads directory entries into `buffer`, from the start if `restart` is set. Returns the number of
   bytes, 0 at the end, or -errno. */
long clinux_read_directory(int directory, void *buffer, size_t size, int restart);

/* Returns the name of the entry at `*place` in that buffer, and moves `*place` to the next entry.
   `*kind` is one of DT_*. */
const char *clinux_next_entry(const void *buffer, size_t *place, uint64_t *inode, unsigned *kind);

/* Calls getopt_long. Returns its result. */
int clinux_option(int count, char **arguments, const char *brief, const struct option *options, int *found);

/* Returns the option's value, after clinux_option. */
const char *clinux_option_argument(void);

/* Returns the index of the next argument, after clinux_option. */
int clinux_option_index(void);

/* Returns the letter of an invalid short option, or 0. */
int clinux_option_letter(void);

/* Adds, changes or removes a descriptor in an epoll set, with its number as the event's data.
   Returns 0 or -errno. */
int clinux_epoll_set(int epoll, int operation, int descriptor, uint32_t events);

/* Returns the descriptor of an event. */
static inline int clinux_epoll_descriptor(const struct epoll_event *event) { return event->data.fd; }

/* Blocks SIGTERM, SIGINT and SIGHUP, and ignores SIGPIPE. Returns a signalfd for them, or
   -errno. Without with_ignored, leaves out those that are ignored, such as SIGHUP under nohup. */
int clinux_signal_descriptor(int with_ignored);

/* The addresses of a host, with the port in them. */
enum { clinux_addresses_max = 8 };
typedef struct {
  socklen_t length;
  struct sockaddr_storage address;
} clinux_address;
typedef struct {
  int error; /* of getaddrinfo */
  int count;
  clinux_address of[clinux_addresses_max];
} clinux_addresses;

/* Looks up a host and a port number. An address, and localhost, is found at once. For a name, a child
   process is started: servers that do not answer hold up nothing else. Then *descriptor is readable
   once the name was looked up. Returns 0 or -errno. */
int clinux_look_up(
  const char *host, const char *port, clinux_addresses *found, int *process, int *descriptor);

/* Takes the result of a look-up, and returns whether there was one. The caller closes the
   descriptor. */
int clinux_looked_up(int descriptor, clinux_addresses *found);

/* Starts to connect to an address. Returns a socket or -errno. */
int clinux_connect(const clinux_addresses *found, int number);

/* Returns whether an address is public, as clinux_is_public does. */
int clinux_is_public_at(const clinux_addresses *found, int number);

/* Returns whether a host is an address, and a private one. */
int clinux_is_private_host(const char *host);

/* Ends the process of a look-up, if it is not 0. */
void clinux_end_lookup(int process);

/* Lets writing to a closed pipe return an error instead of ending the program. */
static inline void clinux_ignore_broken_pipes(void) { signal(SIGPIPE, SIG_IGN); }

/* Returns a descriptor that becomes readable when somebody sets the wall clock, or -errno. */
int clinux_clock_descriptor(void);

/* Returns whether the wall clock was set, and prepares the descriptor for the next time. */
int clinux_clock_was_set(int descriptor);

/* Starts /bin/sh with a command, in its own process group. Standard input is /dev/null, output goes
   to this process's standard error, and no other descriptor is open. Signals have their defaults.
   The environment is this process's, without the service manager's private variables, and with
   `variables`: `count` bytes of NAME=VALUE, separated by NULs, and a NUL after them.
   Returns the process ID or -errno. `*ended` receives a descriptor that is readable once the shell
   has ended, or -1. */
int clinux_spawn_shell(const char *command, const char *variables, size_t count, int *ended);

/* Returns whether the process has ended. Then `*status` is its exit status, or 128 plus the number
   of the signal that ended it. */
int clinux_reap(int process, int *status);

/* Converts `count` bytes from a character set to UTF-8; what is malformed becomes U+FFFD. Returns the number of bytes written
   to `room`, at most `size`, or -errno if the name of the set is unknown. */
int clinux_to_utf8(const char *name, const char *bytes, size_t count, char *room, size_t size);

/* Logs an error about a mail with syslog(3), under a program's name. */
void clinux_log_mail_error(const char *program, const char *text);

/* Returns the text of an errno, never NULL. */
const char *clinux_error_text(int error);

/* Creates a non-blocking listener as the socket file `name` (mode 0600) in a directory, and
   replaces an existing socket. The file appears when the socket listens. Returns a descriptor or
   -errno; -EEXIST if another file has the name. */
int clinux_listen_local(int directory, const char *name, int backlog);

/* Creates a non-blocking TCP listener on a numeric address: `192.0.2.1`, `::1`, or `0.0.0.0` for all.
   Port 0 means any. Returns a descriptor or -errno; -EINVAL if it is no such address. */
int clinux_listen_address(const char *address, uint16_t port, int backlog);

/* Returns whether other machines can reach a listener: 1 or 0 (a loopback address or a local
   socket); -errno if the descriptor is no listening stream socket. */
int clinux_is_reachable(int listener);

/* Makes an inherited descriptor non-blocking, and closes it in child processes. */
void clinux_adopt(int descriptor);

/* Connects to a listener of clinux_listen_local, blocking. Returns a descriptor or -errno. */
int clinux_connect_local(int directory, const char *name);

/* Lets reads and writes of a blocking socket fail with EAGAIN after `seconds`. */
void clinux_set_timeout(int socket, int seconds);

/* Returns the port that a socket is bound to, or -errno. */
int clinux_local_port(int socket);

/* Accepts the next connection, non-blocking, and gets its peer's port. Returns a descriptor or
   -errno. */
int clinux_accept(int listener, uint16_t *peer_port);

#endif
