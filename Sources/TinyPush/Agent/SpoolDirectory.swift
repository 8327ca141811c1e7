import CLinux

/// The spool on disk: `new/`, `failed/` and `tmp/`, the lock that makes this the only agent there, and the progress in a
/// large file.
public struct SpoolDirectory: ~Copyable {
  /// Locked by the agent, and closed to all others: a lock on a file that others may read, others can hold, too.
  static let lockName: StaticString = ".agent"
  /// Locked by the agent as far as others let it, so that members of the group can find out whether an agent is at work.
  private static let signName: StaticString = ".lock"
  private static let lockTries = 10
  private static let newName: StaticString = "new"

  let root: Descriptor
  private let lock: Descriptor
  private let sign: Descriptor?
  private var new: Descriptor
  private var failed: FailedDirectory
  let later: LaterDirectory
  private var leaving: LeavingDirectory
  /// For what is read of a file to compare it.
  private let room = FixedBuffer<UInt8>(capacity: 16_384)
  /// Others could replace the spool's directories or each other's files until now.
  let wasOpen: Bool
  /// The file that is being read, while it does not fit the buffer.
  private var file: Int32 = -1

  /// - Parameter message: on failure, what is wrong, where, and what to do.
  public init(_ path: UnsafePointer<CChar>, message: inout Text) throws(ExitStatus) {
    var error: Int32 = 0
    guard let root = Descriptor(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, error: &error) else {
      throw Self.explain(
        error, path, "", "make it with new/, failed/ and tmp/ in it, or set spool", &message)
    }
    var wasOpen = root.withhold(0o022, 0)
    guard let lock = Self.openLock(root.number, error: &error) else {
      throw Self.explain(
        error, path, "/.agent", "give the agent's user the right to write there", &message)
    }
    guard Self.lock(lock.number) else {
      message.append(cString: path)
      message.append(": another agent works here already: stop it, or use another spool")
      throw .tryLater
    }
    let advice: StaticString = "make it a directory that the agent's user may write to"
    guard let new = Descriptor(root.number, part: Self.newName, error: &error) else {
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
    if new.withhold(0, 0o1000) { wasOpen = true }
    if let tmp = Descriptor(root.number, part: "tmp", error: &error), tmp.withhold(0, 0o1000) {
      wasOpen = true
    }
    if failed.closeToOthers() { wasOpen = true }
    self.root = root
    self.lock = lock
    self.new = new
    self.failed = failed
    self.wasOpen = wasOpen
    sign = Self.makeSign(self.root.number)
    later = LaterDirectory(in: self.root.number)
    leaving = LeavingDirectory(in: self.root.number)
  }

  deinit { if file >= 0 { close(file) } }

  /// The file that is locked. It is the agent's also where root was here first.
  private static func openLock(_ root: Int32, error: inout Int32) -> Descriptor? {
    if let made = Descriptor.make(root, lockName.cString, error: &error) {
      fchmod(made.number, 0o600)
      return made
    }
    guard error == EEXIST else { return nil }
    return Descriptor(root, lockName.cString, O_RDWR | O_NOFOLLOW, error: &error)
  }

  /// Shows that an agent is at work here. Nil where others do not let it.
  private static func makeSign(_ root: Int32) -> Descriptor? {
    var error: Int32 = 0
    let made = Descriptor.make(root, signName.cString, error: &error)
    guard
      let sign = made ?? Descriptor(root, signName.cString, O_RDWR | O_NOFOLLOW, error: &error)
    else { return nil }
    // `send --wait` and `queue` lock it for a moment, to see whether there is an agent.
    guard Self.lock(sign.number) else { return nil }
    return sign
  }

  /// Locks a file, which somebody may be about to let go.
  private static func lock(_ file: Int32) -> Bool {
    for _ in 0..<lockTries {
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
    if error == EPERM {
      message.append("it belongs to another user than the spool: give it to the spool's owner")
    } else {
      message.append(advice)
    }
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
      let other = Descriptor(root.number, part: Self.newName, error: &error)
    else { return }
    new = other
  }

  /// Who writes to a file that has just appeared in `new/`. Where this user may not ask, a file with more than one name was
  /// linked there whole.
  func writer(of name: UnsafePointer<CChar>) -> LeavingDirectory.Writer {
    let descriptor = clinux_open(new.number, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0)
    guard descriptor >= 0 else { return .unknown }
    defer { CLinux.close(descriptor) }
    let writer = LeavingDirectory.Writer(of: descriptor)
    guard case .unknown = writer else { return writer }
    var information = stat()
    return fstat(descriptor, &information) == 0 && information.st_nlink > 1 ? .nobody : .unknown
  }

  /// Whether it was the agent who renamed the file of this name into `new/`.
  func hasPutBack(_ name: Span<UInt8>) -> Bool { leaving.hasPutBack(name) }

  /// Looks through `leaving/`.
  mutating func sweep(_ courier: inout Courier) {
    leaving.sweep(to: new.number, &courier, room.room())
  }

  /// Opens the courier's file and reads the first of it.
  mutating func open(_ courier: inout Courier) {
    // Neither a link nor a pipe holds us up.
    let descriptor = courier.fileName().withCPath {
      clinux_open(new.number, $0, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0)
    }
    guard descriptor >= 0 else { return couldNotOpen(-descriptor, &courier) }
    var information = stat()
    guard fstat(descriptor, &information) == 0, clinux_is_regular(&information) != 0 else {
      CLinux.close(descriptor)
      courier.couldNotOpen(.notRegular)
      return
    }
    let mayBeUnfinished = courier.mayBeUnfinished
    if mayBeUnfinished, clinux_hold_writers(descriptor) == 1 {
      CLinux.close(descriptor)
      courier.couldNotOpen(.beingWritten)
      return
    }
    var identity = FileIdentity(&information)
    var delivered: Int64 = 0
    let size = identity.size
    if let known = courier.known(inode: identity.inode) {
      let comparison = LeavingDirectory.compare(
        descriptor, &information, known.identity, known.content, courier.inputRoom)
      if comparison != .other {
        if courier.isNewFile { delivered = known.content.bytes } else { identity = known.identity }
      }
    }
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
      if mayBeUnfinished { clinux_let_writers(descriptor) }
      file = descriptor
    }
    let lastByte = isWhole || offset > 0 ? .closeBrace : Self.lastByte(descriptor, size)
    courier.opened(
      identity, bytes: count, isWhole: isWhole, lastByte: lastByte, delivered: delivered)
  }

  private func couldNotOpen(_ error: Int32, _ courier: inout Courier) {
    var information = stat()
    let isKnown =
      courier.fileName().withCPath {
        fstatat(new.number, $0, &information, AT_SYMLINK_NOFOLLOW)
      } == 0
    if error == EACCES, isKnown, clinux_is_regular(&information) != 0 {
      courier.couldNotRead(FileIdentity(&information), error)
    } else {
      courier.couldNotOpen(OpenFailure(errno: error))
    }
  }

  /// The last byte that is not white space, of the last few.
  private static func lastByte(_ descriptor: Int32, _ size: Int64) -> UInt8 {
    var bytes: InlineArray<16, UInt8> = .init(repeating: .space)
    var span = bytes.mutableSpan
    let from = max(size - 16, 0)
    _ = span.withUnsafeMutableBufferPointer { Descriptor.read(descriptor, $0, at: from) }
    for index in 0..<16 where bytes[15 - index] > .space { return bytes[15 - index] }
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

  /// Takes the settled file out of the spool, unless it is another one by now or somebody writes to it. Where it may wait
  /// under another name, too, that is said, so that it is looked for.
  mutating func remove(_ courier: inout Courier, _ limits: FailedLimits) -> Removal {
    let identity = courier.settledIdentity
    let content = courier.settledContent
    let isSetAside = courier.isSettledSetAside
    let isCertain = courier.settledCameWhole
    let endsWithinText = courier.settledEndsWithinText
    return courier.settledName().withCPath { path in
      guard isCertain || isSetAside else {
        return leaving.remove(
          path, from: new.number, identity, content, endsWithinText: endsWithinText, room.room())
      }
      var information = stat()
      guard fstatat(new.number, path, &information, AT_SYMLINK_NOFOLLOW) == 0 else {
        return clinux_errno() == ENOENT ? .moved : .failed
      }
      if isSetAside {
        // The file stays whole, and whoever has it open writes on.
        guard UInt64(information.st_ino) == identity.inode,
          Int64(information.st_size) == identity.size,
          clinux_modify_time_ns(&information) <= identity.changeTimeNs
        else { return .replaced }
        return failed.moveOriginal(path, from: new.number, limits) ? .removed : .failed
      }
      guard FileIdentity(&information) == identity, content.bytes == identity.size else {
        return leaving.remove(
          path, from: new.number, identity, content, endsWithinText: endsWithinText, room.room())
      }
      guard unlinkat(new.number, path, 0) == 0 else {
        return clinux_errno() == ENOENT ? .moved : .failed
      }
      return information.st_nlink > 1 ? .moved : .removed
    }
  }

  /// Appends the failure to the file of its name in `failed/`. When that is more than `limits` says, the oldest go.
  mutating func record(_ courier: inout Courier, _ limits: FailedLimits) -> Bool {
    if courier.isPostponing {
      return later.write(courier.failure.bytes, as: CString(courier.laterFileName()))
    }
    let source = courier.failureMovesFile ? new.number : nil
    return courier.failureName().withCPath { path in
      return failed.append(courier.failure.bytes, to: path, moving: source, limits)
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
