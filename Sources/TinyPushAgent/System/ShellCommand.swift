import CLinux
import TinyPush

/// A shell command that runs beside the agent, one at a time.
///
/// It inherits only the agent's log. If it takes too long, it is killed together with its child
/// processes.
struct ShellCommand: ~Copyable {
  static let patience = Duration.seconds(60)

  private var process: Int32 = 0
  /// A descriptor that becomes readable when the command ends; -1 if the system has none.
  private var descriptor: Int32 = -1
  /// When to check the command again.
  private(set) var deadline: Instant?

  init() {}

  deinit { if descriptor >= 0 { close(descriptor) } }

  var isRunning: Bool { process > 0 }

  /// Starts the command; returns 0 or an errno.
  ///
  /// - Parameters:
  ///   - variables: environment variables NAME=VALUE, with NUL bytes between them.
  ///   - epoll: the epoll that reports the command's end.
  mutating func start(
    _ command: borrowing CString, _ variables: borrowing Text, epoll: Int32, at now: Instant
  ) -> Int32 {
    let started = variables.withCString {
      clinux_spawn_shell(command.pointer, $0, variables.count, &descriptor)
    }
    guard started > 0 else { return -started }
    process = started
    deadline = now + Self.patience
    watch(epoll: epoll)
    return 0
  }

  /// Has an epoll report the command's end.
  func watch(epoll: Int32) {
    if descriptor >= 0 { _ = clinux_epoll_set(epoll, EPOLL_CTL_ADD, descriptor, EPOLLIN.rawValue) }
  }

  /// Checks the command, and kills it after its time; returns its exit status once it has ended.
  ///
  /// The status is 128 plus the signal's number if a signal ended it.
  mutating func look(at now: Instant) -> Int32? {
    guard isRunning else { return nil }
    var status: Int32 = 0
    guard clinux_reap(process, &status) != 0 else {
      if let deadline, deadline <= now {
        kill(-process, SIGKILL)
        self.deadline = now + .seconds(1)
      }
      return nil
    }
    process = 0
    deadline = nil
    if descriptor >= 0 { close(descriptor) }
    descriptor = -1
    return status
  }
}
