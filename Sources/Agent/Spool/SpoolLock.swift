import CLinux

/// The locks by which there is one agent in a spool at most, and others can find out whether there is one.
struct SpoolLock: ~Copyable {
  /// Locked by the agent, and closed to all others: a lock on a file that others may read, others can hold, too.
  static let name: StaticString = ".agent"
  /// Locked by the agent as far as others let it, so that members of the group can find out whether an agent is at work.
  private static let signName: StaticString = ".lock"
  private static let tries = 10

  private let file: Descriptor
  private var sign: Descriptor?

  /// Locks the file that ``open(in:error:)`` gave. Nil when another agent has locked it.
  init?(_ file: consuming Descriptor) {
    guard Self.lock(file.number) else { return nil }
    self.file = file
    sign = nil
  }

  deinit {}

  /// The file that is locked. It is the agent's also where root was here first.
  static func open(in root: Int32, error: inout Int32) -> Descriptor? {
    if let made = Descriptor.make(root, name.cString, error: &error) {
      fchmod(made.number, 0o600)
      return made
    }
    guard error == EEXIST else { return nil }
    return Descriptor(root, name.cString, O_RDWR | O_NOFOLLOW, error: &error)
  }

  /// Shows that an agent is at work in the spool `root`, where others let it.
  mutating func showSign(in root: Int32) {
    var error: Int32 = 0
    let made = Descriptor.make(root, Self.signName.cString, error: &error)
    sign = made ?? Descriptor(root, Self.signName.cString, O_RDWR | O_NOFOLLOW, error: &error)
    // `send --wait` and `queue` lock it for a moment, to see whether there is an agent.
    if let number = sign?.number, !Self.lock(number) { sign = nil }
  }

  /// Locks a file, which somebody may be about to let go.
  private static func lock(_ file: Int32) -> Bool {
    for _ in 0..<tries {
      if flock(file, LOCK_EX | LOCK_NB) == 0 { return true }
      poll(nil, 0, 20)
    }
    return false
  }

  /// Whether an agent works in the spool `root`; nil when this user may not know.
  static func isServed(_ root: Int32) -> Bool? {
    let sign = clinux_open(root, signName.cString, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0)
    guard sign >= 0 else { return sign == -ENOENT ? false : nil }
    defer { CLinux.close(sign) }
    if flock(sign, LOCK_SH | LOCK_NB) == 0 { return false }
    return clinux_errno() == EWOULDBLOCK ? true : nil
  }
}
