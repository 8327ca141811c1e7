import CLinux
import TinyPush

/// The spool on disk: `new/`, `failed/` and `tmp/`, the lock that makes this the only agent there, and the progress in a
/// large file.
public struct SpoolDirectory: ~Copyable {
  private let pinned = Pinned()
  private static let newName: StaticString = "new"

  let root: Descriptor
  private let lock: SpoolLock
  var new: Descriptor
  private var failed: FailedDirectory
  let later: LaterDirectory
  var leaving: LeavingDirectory
  /// For what is read of a file to compare it.
  private let room = FixedBuffer<UInt8>(capacity: 16_384)
  /// Others could replace the spool's directories or each other's files until now.
  let wasOpen: Bool
  /// The file that is being read, while it does not fit the buffer.
  var file: Int32 = -1

  /// - Parameter message: on failure, what is wrong, where, and what to do.
  public init(_ path: UnsafePointer<CChar>, message: inout Text) throws(ExitStatus) {
    var error: Int32 = 0
    guard let root = Descriptor(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, error: &error) else {
      throw Self.explain(
        error, path, "", "make it with new/, failed/ and tmp/ in it, or set spool", &message)
    }
    var wasOpen = root.withhold(0o022, 0)
    guard let file = SpoolLock.open(in: root.number, error: &error) else {
      throw Self.explain(
        error, path, "/.agent", "give the agent's user the right to write there", &message)
    }
    guard var lock = SpoolLock(file) else {
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
    lock.showSign(in: root.number)
    self.root = root
    self.lock = lock
    self.new = new
    self.failed = failed
    self.wasOpen = wasOpen
    later = LaterDirectory(in: self.root.number)
    leaving = LeavingDirectory(in: self.root.number)
  }

  deinit { if file >= 0 { close(file) } }

  @inline(never)
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
      if SpoolName.isTaken(CString.span(entry.name)) { names += 1 }
    }
    if !isComplete { courier.couldNotScan() }
    return names
  }

  /// How many files there are in `new/`.
  func count(_ room: UnsafeMutableBufferPointer<UInt8>) -> Int {
    var names = 0
    DirectoryEntry.forEach(in: new.number, room) { entry in
      if entry.mayBeFile, SpoolName.isTaken(CString.span(entry.name)) { names += 1 }
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
      // The name that `tinypush send` gives is given to one file, whole: no other file can be in its place.
      if !isSetAside, content.bytes == identity.size, SpoolName.isFromSend(CString.span(path)) {
        if unlinkat(new.number, path, 0) == 0 { return .removed }
        return clinux_errno() == ENOENT ? .moved : .failed
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
      return later.write(courier.failure(), as: CString(courier.laterFileName()))
    }
    let source = courier.failureMovesFile ? new.number : nil
    return courier.failureName().withCPath { path in
      return failed.append(courier.failure(), to: path, moving: source, limits)
    }
  }

  /// Whether the file that is to replace a notification is there still.
  func isThere(_ courier: borrowing Courier) -> Bool {
    var information = stat()
    let found = courier.verifiedName().withCPath {
      fstatat(new.number, $0, &information, AT_SYMLINK_NOFOLLOW)
    }
    return found == 0 && FileIdentity(&information) == courier.verifiedIdentity
  }

  /// The line of a file in `new/` that holds the byte at `offset`, from 1 on; 0: that is too far in to be counted. Counting
  /// goes on from the place of the same file that was asked for last.
  @inline(never)
  mutating func line(of name: Span<UInt8>, at offset: Int64) -> Int64 {
    var error: Int32 = 0
    let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
    let path = CString(name)
    defer { extendLifetime(path) }
    var information = stat()
    guard let file = Descriptor(new.number, path.pointer, flags, error: &error),
      fstat(file.number, &information) == 0
    else { return 0 }
    if counted.inode != UInt64(information.st_ino) || counted.offset > offset {
      counted = CountedLines(inode: UInt64(information.st_ino))
    }
    guard offset - counted.offset <= Self.countedMax else { return 0 }
    while counted.offset < offset {
      let count = Descriptor.read(file.number, room.room(), at: counted.offset)
      guard count > 0 else { return 0 }
      let bytes = Int(min(Int64(count), offset - counted.offset))
      for index in 0..<bytes where room[index] == .lineFeed { counted.line += 1 }
      counted.offset += Int64(bytes)
    }
    return counted.line
  }

  /// How many lines of a file begin up to a place in it.
  private struct CountedLines {
    var inode: UInt64 = 0
    var offset: Int64 = 0
    var line: Int64 = 1
  }

  private var counted = CountedLines()
  /// Lines are counted in so many bytes at a time.
  private static let countedMax: Int64 = 1 << 20

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
