import CLinux
import TinyPush

/// A command that the shell runs beside the agent, one at a time. It has none of the agent's descriptors but its log, and is
/// killed with all that it has started when it takes too long.
struct ShellCommand: ~Copyable {
  static let patience = Duration.seconds(60)

  private var process: Int32 = 0
  /// Readable when it has ended; -1 where the system does not tell.
  private var descriptor: Int32 = -1
  /// When to look after it.
  private(set) var deadline: Instant?

  init() {}

  deinit { if descriptor >= 0 { close(descriptor) } }

  var isRunning: Bool { process > 0 }

  /// Starts it. Returns 0, or the errno.
  ///
  /// - Parameters:
  ///   - variables: of its environment, each as NAME=VALUE with a NUL behind it, one behind the other.
  ///   - epoll: woken when it ends.
  mutating func start(
    _ command: borrowing CString, _ variables: borrowing Text, epoll: Int32, at now: Instant
  ) -> Int32 {
    let started = variables.withCString {
      clinux_spawn_shell(command.pointer, $0, variables.count, &descriptor)
    }
    guard started > 0 else { return -started }
    process = started
    deadline = now + Self.patience
    if descriptor >= 0 { _ = clinux_epoll_set(epoll, EPOLL_CTL_ADD, descriptor, EPOLLIN.rawValue) }
    return 0
  }

  /// Looks after it. Returns its exit status once it has ended, 128 and more where a signal ended it.
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
