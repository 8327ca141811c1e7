import CLinux
import TinyPush

/// The agent's side of the spool: its directories, its lock, and the progress in a large file.
public struct SpoolDirectory: ~Copyable {
  private let pinned = Pinned()
  private static let newName: StaticString = "new"

  let root: Descriptor
  private let lock: SpoolLock
  var new: Descriptor
  private var failed: FailedDirectory
  let later: LaterDirectory
  var leaving: LeavingDirectory
  /// A buffer for reading a file to compare it.
  private let room = FixedBuffer<UInt8>(capacity: 16_384)
  /// Whether other users could replace the spool's directories or each other's files until now.
  let wasOpen: Bool
  /// The file that is being read, if it does not fit the buffer; else -1.
  var file: Int32 = -1

  /// Opens and locks the spool.
  ///
  /// - Parameter message: on failure, what is wrong, where, and what to do.
  public init(_ path: UnsafePointer<CChar>, message: inout Text) throws(ExitStatus) {
    var error: Int32 = 0
    guard let root = Descriptor(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, error: &error) else {
      throw Self.explain(
        error, path, "", "create it with new/, failed/ and tmp/ in it, or set spool", &message)
    }
    var wasOpen = root.withhold(0o022, 0)
    guard let file = SpoolLock.open(in: root.number, error: &error) else {
      throw Self.explain(
        error, path, "/.agent", "give the agent's user the right to write there", &message)
    }
    guard var lock = SpoolLock(file) else {
      message.append(cString: path)
      message.append(": in use by another agent: stop that agent, or use another spool")
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
      message.append("belongs to another user than the spool: give it to the spool's owner")
    } else {
      message.append(advice)
    }
    // Not 66 or 77, after which the service manager gives up: the spool may exist a moment later.
    return .inputOutput
  }

  // MARK: - Steps

  /// Offers all names in `new/` to the courier, and returns their number.
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

  /// Returns the number of files in `new/`.
  func count(_ room: UnsafeMutableBufferPointer<UInt8>) -> Int {
    var names = 0
    DirectoryEntry.forEach(in: new.number, room) { entry in
      if entry.mayBeFile, SpoolName.isTaken(CString.span(entry.name)) { names += 1 }
    }
    return names
  }

  /// Opens `new/` again if another directory has taken its name.
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

  /// Returns whether a program writes to a file that has just appeared in `new/`.
  ///
  /// If this user may not ask, a file with more than one name is taken as complete, because it was
  /// linked here.
  func writer(of name: UnsafePointer<CChar>) -> LeavingDirectory.Writer {
    let descriptor = clinux_open(new.number, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0)
    guard descriptor >= 0 else { return .unknown }
    defer { CLinux.close(descriptor) }
    let writer = LeavingDirectory.Writer(of: descriptor)
    guard case .unknown = writer else { return writer }
    var information = stat()
    return fstat(descriptor, &information) == 0 && information.st_nlink > 1 ? .nobody : .unknown
  }

  /// Whether the agent itself renamed the file of this name into `new/`.
  func hasPutBack(_ name: Span<UInt8>) -> Bool { leaving.hasPutBack(name) }

  /// Sweeps the directory `leaving/`.
  mutating func sweep(_ courier: inout Courier) {
    leaving.sweep(to: new.number, &courier, room.room())
  }

  /// Removes the settled file from `new/`, unless it was replaced or is being written.
  ///
  /// The result tells whether the file may still wait under another name.
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
      // `tinypush send` gives each name to only one, complete file, so no other file can have taken
      // it.
      if !isSetAside, content.bytes == identity.size, SpoolName.isFromSend(CString.span(path)) {
        if unlinkat(new.number, path, 0) == 0 { return .removed }
        return clinux_errno() == ENOENT ? .moved : .failed
      }
      var information = stat()
      guard fstatat(new.number, path, &information, AT_SYMLINK_NOFOLLOW) == 0 else {
        return clinux_errno() == ENOENT ? .moved : .failed
      }
      if isSetAside {
        // The file is kept whole, and a program that has it open may go on writing.
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

  /// Writes the failure to `failed/` or `later/`, and returns whether that succeeded.
  ///
  /// If `failed/` then exceeds `limits`, its oldest files are removed.
  mutating func record(_ courier: inout Courier, _ limits: FailedLimits) -> Bool {
    if courier.isPostponing {
      return later.write(courier.failure(), as: CString(courier.laterFileName()))
    }
    let source = courier.failureMovesFile ? new.number : nil
    return courier.failureName().withCPath { path in
      return failed.append(courier.failure(), to: path, moving: source, limits)
    }
  }

  /// Whether the file that replaces a notification still exists.
  func isThere(_ courier: borrowing Courier) -> Bool {
    var information = stat()
    let found = courier.verifiedName().withCPath {
      fstatat(new.number, $0, &information, AT_SYMLINK_NOFOLLOW)
    }
    return found == 0 && FileIdentity(&information) == courier.verifiedIdentity
  }

  /// Returns the line of a file in `new/` at a byte offset, from 1 on; 0 if it is too far to count.
  ///
  /// Counting continues from the last offset of the same file.
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

  /// The number of lines of a file up to an offset.
  private struct CountedLines {
    var inode: UInt64 = 0
    var offset: Int64 = 0
    var line: Int64 = 1
  }

  private var counted = CountedLines()
  /// The most bytes that one call counts lines in.
  private static let countedMax: Int64 = 1 << 20

  mutating func release(_ courier: inout Courier) {
    reopenNew()
    later.release(&courier, to: new.number)
  }

  /// Whether a failure of this size could be recorded.
  mutating func hasRoom(_ bytes: Int) -> Bool { failed.hasRoom(bytes) && later.isWritable() }

  /// Syncs `failed/`, and returns whether that succeeded.
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
  /// Calls `body` with a name that a NUL byte follows in memory.
  func withCPath<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
    withUnsafeBufferPointer {
      body(UnsafeRawPointer($0.baseAddress!).assumingMemoryBound(to: CChar.self))
    }
  }
}
