import CLinux
import TinyPush

/// Moves what is in `failed/` back to `new/`, as far as the check lets it pass by now: a line there is a notification for
/// those alone who did not get it. What would be refused once more stays.
///
/// Wherever it ends nothing is lost, and the agent may go on beside it:
/// 1. The file is renamed, so that what the agent has to say comes into a new one.
/// 2. Where all lines pass, the file is renamed once more, into `new/`, and that is all.
/// 3. Else what goes is written to a file in `tmp/`, and what stays to the end of the new one.
/// 4. What goes is moved to `new/`, under a name that what goes says: to do so twice makes no second one.
/// 5. The renamed file is removed. If it is still there, somebody may do it all again.
public struct Retry: ~Copyable {
  private let pinned = Pinned()
  public struct Result {
    /// Notifications that were sent again.
    public var sent: UInt64 = 0
    /// And the whole file, which the agent could not read before.
    public var isFileSent = false
    /// What stays.
    public var left: UInt64 = 0
  }

  public enum Problem: Error {
    /// It is not there any more.
    case gone
    /// Another one is at it.
    case busy
    /// One before was cut short, and its file has to be done first.
    case interrupted
    /// A file cannot be read, written or moved.
    case failed(DropBox.Problem)

    init(_ error: Int32) { self = .failed(.cannotWrite(error)) }
  }

  /// So much of a file shows whether it has reasons.
  private static let headBytes: Int64 = 65_536
  /// How often, every 10 ms, somebody who still writes to the renamed file is waited for: the agent writes a line at once.
  private static let writerTries = 100

  private let root: Descriptor
  private let failed: Descriptor
  private let new: Descriptor
  private var check: FailedCheck
  /// The name in `new/` of what was sent last.
  public private(set) var sentName = Text(capacity: 300)

  /// - Parameter error: on failure, the errno.
  @inline(never)
  public init?(_ config: borrowing Config, error: inout Int32) {
    guard let root = Descriptor.spool(config.spool.pointer, error: &error),
      let failed = Descriptor(root.number, part: "failed", error: &error),
      let new = Descriptor(root.number, part: "new", error: &error)
    else { return nil }
    self.root = root
    self.failed = failed
    self.new = new
    check = FailedCheck(config)
  }

  @inline(never)
  deinit {}

  // MARK: - A file

  /// - Parameter body: is given why something stays, and its line in the file that was delivered; 0: it has none.
  @inline(never)
  public mutating func retry(
    _ file: borrowing QueueFile, _ body: (borrowing Text, UInt64) -> Void
  ) throws(Problem) -> Result {
    sentName.clear()
    guard file.descriptor >= 0 else { throw Problem(-file.descriptor) }
    if Self.hasReasons(file) { return try retryLines(file, body) }
    if let reasons = reasons(of: file) { return try retryLines(reasons, body) }
    let base = FailedName.reasonsBase(of: file.name)
    if let base,
      FailedName.base(of: FailedName.unnumbered(file.name), FailedName.unreadSuffix) != nil
    {
      try sendWhole(file, base: base)
      return Result(isFileSent: true)
    }
    var why = Text()
    why.append(
      base == nil
        ? "it is no file of the agent's: move it to new/ yourself if it is to be delivered"
        : "nobody knows any more what of it was refused: mend it, and move it to new/")
    body(why, 0)
    return Result(left: 1)
  }

  /// Whether it is a whole file beside which there is the one with its reasons, and done with that one.
  @inline(never)
  public func isCompanion(_ file: borrowing QueueFile) -> Bool {
    !Self.hasReasons(file) && reasons(of: file) != nil
  }

  /// The file with the reasons for which a whole file is here.
  private func reasons(of file: borrowing QueueFile) -> QueueFile? {
    guard let base = FailedName.reasonsBase(of: file.name),
      let reasons = QueueFile(failed.number, file.name.extracting(0..<base), in: .failed),
      Self.hasReasons(reasons)
    else { return nil }
    return reasons
  }

  private static func hasReasons(_ file: borrowing QueueFile) -> Bool {
    var isFound = false
    FailedLine.forEach(in: file.descriptor, file.name, bytesMax: headBytes) { _, _ in
      isFound = true
    }
    return isFound
  }

  // MARK: - Names

  /// A whole file of this suffix that belongs to a file; nil: there is none. One whose name was cut is found by its
  /// beginning.
  private func whole(of base: Span<UInt8>, _ suffix: StaticString) -> QueueFile? {
    let room = FixedBuffer<UInt8>(capacity: 4096)
    var found = Text(capacity: 256)
    DirectoryEntry.forEach(in: failed.number, room.room()) { entry in
      let name = CString.span(entry.name)
      guard entry.mayBeFile, found.count == 0,
        let count = FailedName.base(of: FailedName.unnumbered(name), suffix),
        count == base.count || count < base.count && name.count == Int(NAME_MAX),
        base.begins(with: name.extracting(0..<count))
      else { return }
      found.append(bytes: name)
    }
    return found.count > 0 ? QueueFile(failed.number, found.bytes, in: .failed) : nil
  }

  /// Has ``sentName`` tell the file from others, also when it is renamed: the same refusal, met once more, is another one.
  private mutating func setName(_ base: Span<UInt8>, _ information: stat, _ content: Hash) {
    var (hash, information) = (content, information)
    hash.add(UInt64(information.st_ino))
    hash.add(UInt64(bitPattern: clinux_modify_time_ns(&information)))
    sentName.clear()
    sentName.append(bytes: LaterName.source(of: base))
    sentName.append(".")
    sentName.append(hex: hash.value)
  }

  // MARK: - The steps

  /// - Parameter file: the one with the reasons.
  @inline(never)
  private mutating func retryLines(
    _ file: borrowing QueueFile, _ body: (borrowing Text, UInt64) -> Void
  ) throws(Problem) -> Result {
    let claimedBase = FailedName.base(of: file.name, FailedName.claimedSuffix)
    let base = file.name.extracting(0..<(claimedBase ?? file.name.count))
    guard flock(file.descriptor, LOCK_EX | LOCK_NB) == 0 else { throw .busy }
    let before = try Self.information(file)
    guard before.st_nlink > 0 else { throw .gone }
    check.hasUnread = false
    if let unread = whole(of: base, FailedName.unreadSuffix) {
      check.hasUnread = unread.descriptor >= 0
    }

    var result = Result()
    var (doesAnyGo, doAllGo) = (false, true)
    let size = try check.forEach(in: file.descriptor) { (verdict, line, why) throws(Problem) in
      result.count(verdict)
      doAllGo = doAllGo && verdict == .goes
      doesAnyGo = doesAnyGo || verdict != .stays && verdict != .goesOn
      if verdict == .stays { body(why, FailedLine(line)?.line ?? 0) }
    }
    guard doesAnyGo || check.hasUnread else { return result }

    let claimed =
      claimedBase == nil ? FailedName.beside(base, FailedName.claimedSuffix) : CString(file.name)
    if claimedBase == nil { try claim(file, as: claimed, before) }
    awaitWriter(file.descriptor)
    let information = try Self.information(file)
    if doAllGo, information.st_size == size {
      setName(base, information, Hash())
      guard fdatasync(file.descriptor) == 0 else { throw Problem(clinux_errno()) }
      let target = sentName.cString()
      let error = clinux_rename_new(failed.number, claimed.pointer, new.number, target.pointer)
      guard error == 0 else { throw Problem(-error) }
      let syncError = Descriptor.syncDirectory(new.number)
      guard syncError == 0 else { throw .failed(.cannotSync(syncError)) }
    } else {
      result = try divide(file, base, information, isJudged: true)
      try remove(claimed.pointer)
    }
    while let unread = whole(of: base, FailedName.unreadSuffix), unread.descriptor >= 0 {
      try sendWhole(unread, base: base.count)
      result.isFileSent = true
    }
    // What has failed since may need it.
    if result.left == 0, QueueFile(failed.number, base, in: .failed) == nil {
      while let original = whole(of: base, FailedName.originalSuffix) {
        try remove(original.pointer)
      }
    }
    // If this fails and the power does, too, the renamed file is back, and is sent once more.
    _ = Descriptor.syncDirectory(failed.number)
    return result
  }

  /// Sends a whole file that the agent could not read.
  private mutating func sendWhole(_ file: borrowing QueueFile, base: Int) throws(Problem) {
    let information = try Self.information(file)
    _ = try divide(file, file.name.extracting(0..<base), information, isJudged: false)
    try remove(file.pointer)
    _ = Descriptor.syncDirectory(failed.number)
  }

  private static func information(_ file: borrowing QueueFile) throws(Problem) -> stat {
    var information = stat()
    guard fstat(file.descriptor, &information) == 0 else { throw Problem(clinux_errno()) }
    return information
  }

  private func remove(_ name: UnsafePointer<CChar>) throws(Problem) {
    guard unlinkat(failed.number, name, 0) == 0 else { throw Problem(clinux_errno()) }
  }

  /// Renames the file, so that nobody begins to write to it any more.
  @inline(never)
  private func claim(
    _ file: borrowing QueueFile, as claimed: borrowing CString, _ information: stat
  ) throws(Problem) {
    switch -clinux_rename_new(failed.number, file.pointer, failed.number, claimed.pointer) {
    case 0: break
    case ENOENT: throw .gone
    case EEXIST: throw .interrupted
    case let error: throw Problem(error)
    }
    var present = stat()
    guard fstatat(failed.number, claimed.pointer, &present, AT_SYMLINK_NOFOLLOW) == 0,
      present.st_ino == information.st_ino
    else {
      // Another one took its name in the meantime.
      _ = clinux_rename_new(failed.number, claimed.pointer, failed.number, file.pointer)
      throw .gone
    }
  }

  /// Waits until nobody writes to the renamed file any more.
  private func awaitWriter(_ file: Int32) {
    var writer = clinux_is_being_written(file)
    var tries = 0
    while writer == 1, tries < Self.writerTries {
      tries += 1
      poll(nil, 0, 10)
      writer = clinux_is_being_written(file)
    }
    // Of somebody else's file that may not be asked.
    if writer < 0 { poll(nil, 0, 10) }
  }

  /// Puts what goes into a file in `new/`, and what stays at the end of the file of its name in `failed/`.
  ///
  /// - Parameter isJudged: else all of it goes, whatever it is.
  @inline(never)
  private mutating func divide(
    _ file: borrowing QueueFile, _ base: Span<UInt8>, _ information: stat, isJudged: Bool
  ) throws(Problem) -> Result {
    var result = Result()
    var hash = Hash()
    var rest: Int32 = -1
    defer { if rest >= 0 { close(rest) } }
    let (root, failed) = (root.number, failed.number)
    var box = try Self.attempt { () throws(DropBox.Problem) in try DropBox(in: root) }
    _ = try check.forEach(in: file.descriptor, isJudged: isJudged) {
      (verdict, line, _) throws(Problem) in
      result.count(verdict)
      switch verdict {
      case .isDone: break
      case .goes, .goesAnew:
        hash.add(line)
        try Self.attempt { () throws(DropBox.Problem) in try box.write(line) }
      case .stays, .goesOn:
        if rest < 0 { rest = try Self.openRest(failed, CString(base), information) }
        let error = line.withUnsafeBytes { Descriptor.writeAll(rest, $0.baseAddress!, $0.count) }
        guard error == 0 else { throw Problem(error) }
      }
    }
    guard rest < 0 || fdatasync(rest) == 0 else { throw Problem(clinux_errno()) }
    guard result.sent > 0 else { return result }
    setName(base, information, hash)
    let name = sentName.looseBytes
    _ = try Self.attempt { () throws(DropBox.Problem) in try box.drop(as: name) }
    return result
  }

  private static func attempt<Value: ~Copyable>(
    _ body: () throws(DropBox.Problem) -> Value
  ) throws(Problem) -> Value {
    do throws(DropBox.Problem) { return try body() } catch { throw .failed(error) }
  }

  /// Opens the file to whose end goes what stays: the agent may have begun it.
  @inline(never)
  private static func openRest(
    _ failed: Int32, _ name: borrowing CString, _ information: stat
  ) throws(Problem) -> Int32 {
    let flags = O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK
    let file = clinux_open(failed, name.pointer, flags, information.st_mode & 0o777)
    guard file >= 0 else { throw Problem(-file) }
    // The agent does not take what is half written for torn.
    guard let size = LineEnd.mend(file), flock(file, LOCK_EX) == 0 else {
      close(file)
      throw .busy
    }
    if size == 0 {
      fchown(file, information.st_uid, information.st_gid)
      fchmod(file, information.st_mode & 0o777)
    }
    return file
  }
}

extension Retry.Result {
  fileprivate mutating func count(_ verdict: FailedCheck.Verdict) {
    switch verdict {
    case .goes, .goesAnew: sent += 1
    case .stays: left += 1
    case .isDone, .goesOn: break
    }
  }
}
