import CLinux
import TinyPush

/// The agent's side of the spool: its directories and its lock.
public struct SpoolDirectory: ~Copyable {
  private let pinned = Pinned()
  private static let newName: StaticString = "new"

  let root: Descriptor
  private let lock: SpoolLock
  var new: Descriptor
  private var failed: FailedDirectory
  let later: LaterDirectory
  var taken: TakenDirectory
  /// Whether other users could replace the spool's directories or each other's files until now.
  let wasOpen: Bool
  /// The file that is being read, if more of it follows.
  var file: Descriptor?
  /// What tells that file from all others in `taken/`: two may have come at the same moment.
  var fileName = Text(capacity: 300)

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
    guard let taken = TakenDirectory(in: root.number, error: &error) else {
      throw Self.explain(error, path, "/taken", advice, &message)
    }
    Takeover.run(root.number, new.number, taken.number)
    self.root = root
    self.lock = lock
    self.new = new
    self.failed = failed
    self.wasOpen = wasOpen
    self.taken = taken
    later = LaterDirectory(in: self.root.number)
  }

  deinit {}

  @inline(never)
  private static func explain(
    _ error: Int32, _ path: UnsafePointer<CChar>, _ part: StaticString, _ advice: StaticString,
    _ message: inout Text
  ) -> ExitStatus {
    message.append("spool ", cString: path)
    message.append(part)
    message.append(": ", cString: clinux_error_text(error), ": ")
    if error == EPERM {
      message.append("belongs to another user than the spool: give it to the spool's owner")
    } else {
      message.append(advice)
    }
    // Not 66 or 77, after which the service manager gives up: the spool may exist a moment later.
    return .inputOutput
  }

  // MARK: - Steps

  /// Does a scan of the courier, and returns the number of files in `new/` and `taken/`, if the scan
  /// is of `new/`.
  ///
  /// - Parameter replaced: receives the names of the notifications of `later/` that were replaced.
  mutating func scan(
    _ directory: Courier.Directory, _ courier: inout Courier, _ limits: FailedLimits,
    replaced: inout Text
  ) -> Int? {
    let room = FixedBuffer<UInt8>(capacity: 32_768)
    switch directory {
    case .later: later.scan(&courier, replaced: &replaced)
    case .taken:
      reopenTaken()
      let directory = taken.number
      taken.scan(&courier, room.room()) { name, known in
        guard known.movesToFailed else { return unlinkat(directory, name, 0) == 0 }
        let source = CString(CString.span(name).extracting(0..<known.nameBytes))
        return failed.moveWhole(
          name, from: directory, as: source.pointer, FailedName.originalSuffix, limits)
      }
    case .new:
      reopenNew()
      var names = 0
      let isComplete = DirectoryEntry.forEach(in: new.number, room.room()) { entry in
        guard entry.mayBeFile else { return }
        courier.offer(CString.span(entry.name), in: .new)
        if SpoolName.isTaken(CString.span(entry.name)) { names += 1 }
      }
      courier.scanned(.new, isComplete: isComplete)
      return names + courier.filesInTaken
    }
    return nil
  }

  /// Opens `new/` again if another directory has taken its name.
  private mutating func reopenNew() {
    var error: Int32 = 0
    guard !isAt(Self.newName, new.number),
      let other = Descriptor(root.number, part: Self.newName, error: &error)
    else { return }
    new = other
  }

  /// Opens `taken/` again if another directory has taken its name, and makes it if it is missing.
  mutating func reopenTaken() {
    var error: Int32 = 0
    guard !isAt(TakenDirectory.name, taken.number),
      let other = TakenDirectory(in: root.number, error: &error)
    else { return }
    taken = other
  }

  /// Whether a directory still has its name.
  private func isAt(_ name: StaticString, _ directory: Int32) -> Bool {
    var known = stat()
    var present = stat()
    return fstat(directory, &known) == 0
      && fstatat(root.number, name.cString, &present, AT_SYMLINK_NOFOLLOW) == 0
      && known.st_ino == present.st_ino && known.st_dev == present.st_dev
  }

  /// Returns whether a program writes to a file that has just appeared in `new/`.
  ///
  /// If this user may not ask, a file with more than one name is taken as complete, because it was
  /// linked here.
  func writer(of name: UnsafePointer<CChar>) -> Writer {
    var error: Int32 = 0
    guard let descriptor = Descriptor(new.number, name, Self.flags, error: &error) else {
      return .unknown
    }
    let writer = Writer(of: descriptor.number)
    guard case .unknown = writer else { return writer }
    var information = stat()
    return fstat(descriptor.number, &information) == 0 && information.st_nlink > 1
      ? .nobody : .unknown
  }

  /// Removes the settled file, or moves it to `failed/`.
  mutating func remove(_ courier: inout Courier, _ limits: FailedLimits) -> Courier.RemovalResult {
    courier.stepName().withCPath { remove($0, courier, limits) }
  }

  private mutating func remove(
    _ name: UnsafePointer<CChar>, _ courier: borrowing Courier, _ limits: FailedLimits
  ) -> Courier.RemovalResult {
    // `tinypush send` gives each file its name when it is complete. Into any other file, a program
    // that has it open may have written meanwhile.
    if !courier.isSettledUnreadable, !SpoolName.isFromSend(courier.settledName()) {
      var information = stat()
      guard fstatat(taken.number, name, &information, AT_SYMLINK_NOFOLLOW) == 0 else {
        return isGone(name) ? .removed : .failed
      }
      if Int64(information.st_size) > courier.settledBytes { return .grown }
    }
    if courier.isSettledSetAside || courier.isSettledUnreadable {
      let suffix =
        courier.isSettledUnreadable ? FailedName.unreadSuffix : FailedName.originalSuffix
      let isMoved = courier.settledName().withCPath {
        failed.moveWhole(name, from: taken.number, as: $0, suffix, limits)
      }
      return isMoved || isGone(name) ? .removed : .failed
    }
    let error = unlinkat(taken.number, name, 0) == 0 ? 0 : clinux_errno()
    // Just before the agent took the name, a program may have exchanged the file for a directory,
    // which the agent ignores.
    if error == EISDIR { unlinkat(taken.number, name, AT_REMOVEDIR) }
    return error == 0 || error == ENOENT || error == EISDIR ? .removed : .failed
  }

  /// Whether somebody has removed a file from `taken/`.
  private func isGone(_ name: UnsafePointer<CChar>) -> Bool {
    // After any other error, the file may be there.
    faccessat(taken.number, name, F_OK, AT_SYMLINK_NOFOLLOW) != 0
      && clinux_errno() == ENOENT
  }

  /// Has the courier drop the files that somebody has removed from `taken/`.
  func dropRemoved(_ courier: inout Courier) {
    courier.dropRemoved { name in
      let path = CString(name)
      defer { extendLifetime(path) }
      return isGone(path.pointer)
    }
  }

  /// Renames a file in `taken/`, and returns whether that succeeded, or whether there is none.
  func rename(_ courier: borrowing Courier) -> Bool {
    let name = CString(courier.stepName())
    let target = CString(courier.stepTarget())
    defer { extendLifetime(name) }
    return renameat(taken.number, name.pointer, taken.number, target.pointer) == 0
      || isGone(name.pointer)
  }

  /// Writes the record to `failed/` or `later/`, and returns whether that succeeded.
  ///
  /// If `failed/` then exceeds `limits`, its oldest files are removed.
  mutating func record(_ courier: inout Courier, _ limits: FailedLimits) -> Bool {
    switch courier.recordTask {
    case .report: return true
    case .probe: return failed.hasRoom(courier.failureBytesMax)
    case .postponed, .summary:
      return later.write(courier.failure(), as: CString(courier.stepTarget()))
    case .failure:
      return courier.recordedName().withCPath { failed.append(courier.failure(), to: $0, limits) }
    }
  }

  mutating func release(_ courier: inout Courier) {
    reopenNew()
    courier.released(later.release(courier, to: taken, new.number))
  }

  /// Syncs `failed/`, and returns whether that succeeded.
  func sync() -> Bool { failed.sync() }
}

extension FileIdentity {
  init(_ information: inout stat) {
    self.init(
      inode: UInt64(information.st_ino), changeTimeNs: clinux_change_time_ns(&information),
      size: Int64(information.st_size))
  }

  /// Returns the identity of the file that has a name; nil if absent.
  init?(_ directory: Int32, _ name: StaticString) {
    var information = stat()
    guard fstatat(directory, name.cString, &information, AT_SYMLINK_NOFOLLOW) == 0 else {
      return nil
    }
    self.init(&information)
  }
}

extension Span<UInt8> {
  /// Calls `body` with a name that a NUL byte follows in memory.
  func withCPath<Result: ~Copyable>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
    withUnsafeBufferPointer {
      body(UnsafeRawPointer($0.baseAddress!).assumingMemoryBound(to: CChar.self))
    }
  }
}
