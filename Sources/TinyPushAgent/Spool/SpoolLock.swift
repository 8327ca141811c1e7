import CLinux

/// The locks that keep a second agent out of a spool, and show other programs that there is one.
struct SpoolLock: ~Copyable {
  /// The file that only the agent can open: a program that may read a file can lock it, too.
  static let name: StaticString = ".agent"
  /// The file that the group can read, so that its members can see whether an agent is running.
  private static let signName: StaticString = ".lock"
  private static let attempts = 10

  private let file: Descriptor
  private var sign: Descriptor?

  /// Locks the file of ``open(in:error:)``; nil if another agent has locked it.
  init?(_ file: consuming Descriptor) {
    guard Self.lock(file.number) else { return nil }
    self.file = file
    sign = nil
  }

  deinit {}

  /// Opens the file to lock, which belongs to the spool's owner even if root creates it.
  static func open(in root: Int32, error: inout Int32) -> Descriptor? {
    if let made = Descriptor.make(root, name.cString, error: &error) {
      fchmod(made.number, 0o600)
      return made
    }
    guard error == EEXIST else { return nil }
    return Descriptor(root, name.cString, O_RDWR | O_NOFOLLOW, error: &error)
  }

  /// Locks the file that the group can read, if no other program has locked it.
  mutating func showSign(in root: Int32) {
    var error: Int32 = 0
    let made = Descriptor.make(root, Self.signName.cString, error: &error)
    sign = made ?? Descriptor(root, Self.signName.cString, O_RDWR | O_NOFOLLOW, error: &error)
    // `send --wait` and `queue` lock it for a moment, to see whether an agent is running.
    if let number = sign?.number, !Self.lock(number) { sign = nil }
  }

  /// Locks a file, and waits a moment for another program to unlock it.
  private static func lock(_ file: Int32) -> Bool {
    for _ in 0..<attempts {
      if flock(file, LOCK_EX | LOCK_NB) == 0 { return true }
      poll(nil, 0, 20)
    }
    return false
  }

  /// Returns whether an agent works in the spool `root`; nil if this user cannot see it.
  static func isServed(_ root: Int32) -> Bool? {
    let sign = clinux_open(root, signName.cString, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0)
    guard sign >= 0 else { return sign == -ENOENT ? false : nil }
    defer { CLinux.close(sign) }
    if flock(sign, LOCK_SH | LOCK_NB) == 0 { return false }
    return clinux_errno() == EWOULDBLOCK ? true : nil
  }
}
