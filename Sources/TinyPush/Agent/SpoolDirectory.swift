import CLinux

/// The spool on disk: `new/`, `failed/` and `tmp/`, the lock that makes this the only agent there, and the progress in a
/// large file.
public struct SpoolDirectory: ~Copyable {
  static let lockName: StaticString = ".lock"
  private static let lockTries = 10
  private static let newName: StaticString = "new"

  let root: Descriptor
  private let lock: Descriptor
  private var new: Descriptor
  private var failed: FailedDirectory
  let later: LaterDirectory
  /// The file that is being read, while it does not fit the buffer.
  private var file: Int32 = -1

  /// - Parameter message: on failure, what is wrong, where, and what to do.
  public init(_ path: UnsafePointer<CChar>, message: inout Text) throws(ExitStatus) {
    var error: Int32 = 0
    guard let root = Descriptor(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, error: &error) else {
      throw Self.explain(
        error, path, "", "make it with new/, failed/ and tmp/ in it, or set spool", &message)
    }
    guard let lock = Self.openLock(root.number, error: &error) else {
      throw Self.explain(
        error, path, "/.lock", "give the agent's user the right to write there", &message)
    }
    var tries = 0
    while flock(lock.number, LOCK_EX | LOCK_NB) != 0, tries < Self.lockTries {
      // `send --wait` and `queue` take it for a moment, to see whether there is an agent.
      tries += 1
      poll(nil, 0, 20)
    }
    guard tries < Self.lockTries else {
      message.append(cString: path)
      message.append(": another agent works here already: stop it, or use another spool")
      throw .tryLater
    }
    let advice: StaticString = "make it a directory that the agent's user may write to"
    guard let new = Descriptor(root.number, directory: Self.newName, error: &error) else {
      throw Self.explain(error, path, "/new", advice, &message)
    }
    guard let failed = FailedDirectory(in: root.number, error: &error) else {
      throw Self.explain(error, path, "/failed", advice, &message)
    }
    guard faccessat(new.number, ".", W_OK | X_OK, AT_EACCESS) == 0 else {
      throw Self.explain(
        clinux_errno(), path, "/new", "the agent's user must be able to remove files there",
        &message)
    }
    self.root = root
    self.lock = lock
    self.new = new
    self.failed = failed
    later = LaterDirectory(in: self.root.number)
  }

  deinit { if file >= 0 { close(file) } }

  /// The file that is locked. It is the agent's also where root was here first.
  private static func openLock(_ root: Int32, error: inout Int32) -> Descriptor? {
    if let made = Descriptor.make(root, lockName.cString, error: &error) { return made }
    guard error == EEXIST else { return nil }
    return Descriptor(root, lockName.cString, O_RDWR | O_NOFOLLOW, error: &error)
  }

  /// Whether an agent works in the spool `root`; nil when this user may not know.
  static func isServed(_ root: Int32) -> Bool? {
    let lock = clinux_open(root, lockName.cString, O_RDONLY | O_NOFOLLOW, 0)
    guard lock >= 0 else { return lock == -ENOENT ? false : nil }
    defer { CLinux.close(lock) }
    if flock(lock, LOCK_SH | LOCK_NB) == 0 { return false }
    return clinux_errno() == EWOULDBLOCK ? true : nil
  }

  private static func explain(
    _ error: Int32, _ path: UnsafePointer<CChar>, _ part: StaticString, _ advice: StaticString,
    _ message: inout Text
  ) -> ExitStatus {
    message.append("spool ")
    message.append(cString: path)
    message.append(part)
    message.append(": ")
    message.append(cString: clinux_error_text(error))
    message.append(": ")
    message.append(advice)
    // 66 and 77 are the configuration's files, at which the service manager gives up: a spool may be there a moment later.
    return .inputOutput
  }

  // MARK: - Steps

  /// Offers every name in `new/`. Returns how many there were.
  mutating func scan(_ courier: inout Courier) -> Int {
    reopenNew()
    let room = courier.inputRoom
    var names = 0
    let isComplete = DirectoryEntry.forEach(in: new.number, room) { entry in
      guard entry.mayBeFile else { return }
      courier.offer(CString.span(entry.name), inode: entry.inode)
      if Courier.isFileName(CString.span(entry.name)) { names += 1 }
    }
    if !isComplete { courier.couldNotScan() }
    return names
  }

  /// How many files there are in `new/`.
  func count(_ room: UnsafeMutableBufferPointer<UInt8>) -> Int {
    var names = 0
    DirectoryEntry.forEach(in: new.number, room) { entry in
      if entry.mayBeFile, Courier.isFileName(CString.span(entry.name)) { names += 1 }
    }
    return names
  }

  /// Somebody may have put another directory in the place of `new/`.
  private mutating func reopenNew() {
    var known = stat()
    var present = stat()
    var error: Int32 = 0
    guard fstat(new.number, &known) == 0,
      fstatat(root.number, Self.newName.cString, &present, AT_SYMLINK_NOFOLLOW) == 0,
      known.st_ino != present.st_ino || known.st_dev != present.st_dev,
      let other = Descriptor(root.number, directory: Self.newName, error: &error)
    else { return }
    new = other
  }

  /// Whether a file that has just appeared in `new/` was not linked there whole, but is being written there, as far as
  /// can be known.
  func isBeingWritten(_ name: UnsafePointer<CChar>) -> Bool {
    let descriptor = clinux_open(new.number, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0)
    guard descriptor >= 0 else { return true }
    defer { CLinux.close(descriptor) }
    switch clinux_is_being_written(descriptor) {
    case 0: return false
    case 1: return true
    default:
      var information = stat()
      return fstat(descriptor, &information) != 0 || information.st_nlink == 1
    }
  }

  /// Opens the courier's file and reads the first of it.
  mutating func open(_ courier: inout Courier) {
    // Neither a link nor a pipe holds us up.
    let descriptor = courier.fileName().withCPath {
      clinux_open(new.number, $0, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0)
    }
    guard descriptor >= 0 else {
      courier.couldNotOpen(OpenFailure(errno: -descriptor))
      return
    }
    var information = stat()
    guard fstat(descriptor, &information) == 0, clinux_is_regular(&information) != 0 else {
      CLinux.close(descriptor)
      courier.couldNotOpen(.notRegular)
      return
    }
    let identity = FileIdentity(&information)
    let size = Int64(information.st_size)
    let offset = courier.readOffset
    let room = courier.inputRoom
    let count = Descriptor.read(descriptor, room, at: offset)
    guard count >= 0 else {
      CLinux.close(descriptor)
      courier.couldNotOpen(.unreadable(Int32(-count)))
      return
    }
    let isWhole = offset + Int64(count) >= size
    if isWhole {
      CLinux.close(descriptor)
    } else {
      file = descriptor
    }
    let lastByte = isWhole || offset > 0 ? 0x7D : Self.lastByte(descriptor, size)
    courier.opened(identity, bytes: count, isWhole: isWhole, lastByte: lastByte)
  }

  /// The last byte that is not white space, of the last few.
  private static func lastByte(_ descriptor: Int32, _ size: Int64) -> UInt8 {
    var bytes: InlineArray<16, UInt8> = .init(repeating: 0x20)
    var span = bytes.mutableSpan
    let from = max(size - 16, 0)
    _ = span.withUnsafeMutableBufferPointer { Descriptor.read(descriptor, $0, at: from) }
    for index in 0..<16 where bytes[15 - index] > 0x20 { return bytes[15 - index] }
    return 0
  }

  /// Reads on in the open file.
  mutating func read(_ courier: inout Courier) {
    let count = Descriptor.read(file, courier.inputRoom, at: courier.readOffset)
    if count <= 0 { closeFile() }
    if count < 0 {
      courier.couldNotRead(Int32(-count))
    } else {
      courier.filled(bytes: count, isWhole: count == 0)
    }
  }

  mutating func closeFile() {
    guard file >= 0 else { return }
    CLinux.close(file)
    file = -1
  }

  /// Unlinks the settled file, unless it is another one by now. Where it may wait under another name, too, it counts as
  /// replaced, so that it is looked for.
  mutating func remove(_ courier: inout Courier, limit: Int) -> Removal {
    let identity = courier.settledIdentity
    return courier.settledName().withCPath { path in
      var information = stat()
      guard fstatat(new.number, path, &information, AT_SYMLINK_NOFOLLOW) == 0 else {
        return clinux_errno() == ENOENT ? .replaced : .failed
      }
      guard FileIdentity(&information) == identity else { return .replaced }
      if courier.isSettledSetAside {
        return failed.moveOriginal(path, from: new.number, limit: limit) ? .removed : .failed
      }
      guard unlinkat(new.number, path, 0) == 0 else {
        return clinux_errno() == ENOENT ? .replaced : .failed
      }
      return information.st_nlink > 1 ? .replaced : .removed
    }
  }

  /// Appends the failure to the file of its name in `failed/`. When that makes one file more than `limit`, the oldest go.
  mutating func record(_ courier: inout Courier, limit: Int) -> Bool {
    if courier.isPostponing {
      return later.write(courier.failure.bytes, as: CString(courier.laterFileName()))
    }
    let source = courier.failureMovesFile ? new.number : nil
    return courier.failureName().withCPath { path in
      return failed.append(courier.failure.bytes, to: path, moving: source, limit: limit)
    }
  }

  /// Reads on in the file in which the courier looks for what waits.
  func survey(_ courier: inout Courier) {
    let descriptor = courier.surveyName().withCPath {
      clinux_open(new.number, $0, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0)
    }
    guard descriptor >= 0 else { return courier.couldNotSurvey() }
    defer { CLinux.close(descriptor) }
    var information = stat()
    guard fstat(descriptor, &information) == 0, clinux_is_regular(&information) != 0 else {
      return courier.couldNotSurvey()
    }
    let offset = courier.surveyOffset
    let count = Descriptor.read(descriptor, courier.surveyRoom, at: offset)
    guard count >= 0 else { return courier.couldNotSurvey() }
    let identity = FileIdentity(&information)
    courier.surveyed(
      identity, bytes: count, isWhole: count == 0 || offset + Int64(count) >= identity.size)
  }

  /// Whether the file that is to replace a notification is there still.
  func isThere(_ courier: borrowing Courier) -> Bool {
    var information = stat()
    let found = courier.verifiedName().withCPath {
      fstatat(new.number, $0, &information, AT_SYMLINK_NOFOLLOW)
    }
    return found == 0 && FileIdentity(&information) == courier.verifiedIdentity
  }

  mutating func release(_ courier: inout Courier) {
    reopenNew()
    later.release(&courier, to: new.number)
  }

  /// Whether a failure of so many bytes could be recorded.
  mutating func hasRoom(_ bytes: Int) -> Bool { failed.hasRoom(bytes) && later.isWritable() }

  /// Whether everything in `failed/` is on disk.
  func sync() -> Bool { failed.sync() }
}

extension FileIdentity {
  init(_ information: inout stat) {
    self.init(
      inode: UInt64(information.st_ino), changeTimeNs: clinux_change_time_ns(&information),
      size: Int64(information.st_size))
  }
}

extension Span<UInt8> {
  /// Calls `body` with a name of which a NUL follows.
  func withCPath<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
    withUnsafeBufferPointer {
      body(UnsafeRawPointer($0.baseAddress!).assumingMemoryBound(to: CChar.self))
    }
  }
}

extension OpenFailure {
  init(errno: Int32) {
    switch errno {
    case ENOENT: self = .vanished
    case ELOOP, ENXIO, ENODEV: self = .notRegular
    case EMFILE, ENFILE, ENOMEM, EAGAIN: self = .later
    default: self = .unreadable(errno)
    }
  }
}
