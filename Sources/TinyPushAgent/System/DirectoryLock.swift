import CLinux

/// A lock that keeps other programs that use it from changing a directory, as long as it lives.
///
/// The lock is that of a hidden file, which only those can open who may change the directory: a
/// program that can open a file can lock it for ever.
struct DirectoryLock: ~Copyable {
  /// How long a command waits for another program.
  static let patience: Int32 = 10_000
  private static let stepMs: Int32 = 50

  private let file: Descriptor

  /// Locks a directory.
  ///
  /// - Parameters:
  ///   - waitMs: how long to wait for another program.
  ///   - error: on failure, the errno; `EWOULDBLOCK` if another program has the lock.
  @inline(never)
  init?(_ directory: Int32, waitMs: Int32 = 0, error: inout Int32) {
    guard let file = Self.open(directory, error: &error) else { return nil }
    var waited: Int32 = 0
    while flock(file.number, LOCK_EX | LOCK_NB) != 0 {
      error = clinux_errno()
      if error == EINTR { continue }
      guard error == EWOULDBLOCK, waited < waitMs else { return nil }
      poll(nil, 0, Self.stepMs)
      waited += Self.stepMs
    }
    error = 0
    self.file = file
  }

  deinit {}

  private static func open(_ directory: Int32, error: inout Int32) -> Descriptor? {
    var information = stat()
    guard fstat(directory, &information) == 0 else {
      error = clinux_errno()
      return nil
    }
    // The group has a file of its own, so that a change of the directory's mode needs no other.
    let isOfGroup = information.st_mode & 0o020 != 0
    let name: StaticString = isOfGroup ? ".lock-group" : ".lock"
    if let made = Descriptor.make(directory, name.cString, mode: 0o600, error: &error) {
      if isOfGroup {
        fchown(made.number, uid_t.max, information.st_gid)
        fchmod(made.number, 0o660)
      }
      return made
    }
    guard error == EEXIST else { return nil }
    error = 0
    return Descriptor(directory, name.cString, O_RDWR | O_NOFOLLOW | O_NONBLOCK, error: &error)
  }
}
