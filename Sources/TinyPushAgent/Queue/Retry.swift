import CLinux
import TinyPush

/// Moves notifications from `failed/` back to `new/`, if the check accepts them now.
///
/// A line there is a notification to those recipients who did not get it. A notification that would
/// be refused again stays.
///
/// Nothing is lost at whatever step this ends, and the agent may run meanwhile:
/// 1. The file is renamed, so that the agent writes new reasons to another file.
/// 2. If all lines are accepted, the file is renamed into `new/`. This ends the work.
/// 3. Otherwise accepted lines are written to a file in `tmp/`, and the others to the end of the
///   new file.
/// 4. The accepted lines are moved to `new/` under a name made from their content, so that
///   repeating this step adds nothing.
/// 5. The renamed file is removed. If it is still there, all steps may be repeated.
public struct Retry: ~Copyable {
  private let pinned = Pinned()
  /// The result of a retry.
  public struct Result {
    /// The number of notifications that were sent again.
    public var sent: UInt64 = 0
    /// Whether a whole file was sent, which the agent could not read before.
    public var isFileSent = false
    /// The number of notifications that stay.
    public var left: UInt64 = 0
  }

  /// Why a file could not be retried.
  public enum Problem: Error {
    /// The file does not exist any more.
    case gone
    /// Another program is retrying or writing the file.
    case busy
    /// An earlier retry was interrupted, and its file must be retried first.
    case interrupted
    /// A file cannot be read, written or moved.
    case failed(DropBox.Problem)

    init(_ error: Int32) { self = .failed(.cannotWrite(error)) }
  }

  /// The number of bytes that are searched for reasons.
  private static let headBytes: Int64 = 65_536
  /// The checks, 10 ms apart, for a program that still writes to the renamed file.
  ///
  /// The agent writes a line at once.
  private static let writerAttempts = 100

  private let root: Descriptor
  private let failed: Descriptor
  private let new: Descriptor
  private var check: FailedCheck
  /// The name in `new/` of the last file that was sent.
  public private(set) var sentName = Text(capacity: 300)

  /// Opens the spool.
  ///
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

  /// Retries a file.
  ///
  /// - Parameter body: takes why a notification stays, and its line in the delivered file; 0 if
  ///   unknown.
  @inline(never)
  public mutating func retry(
    _ file: borrowing QueueFile, _ body: (borrowing Text, UInt64) -> Void
  ) throws(Problem) -> Result {
    sentName.clear()
    guard file.descriptor >= 0 else { throw Problem(-file.descriptor) }
    var error: Int32 = 0
    // The lock also keeps the agent from cutting off an incomplete line.
    guard let lock = DirectoryLock(failed.number, waitMs: DirectoryLock.patience, error: &error)
    else { throw error == EWOULDBLOCK ? .busy : Problem(error) }
    defer { extendLifetime(lock) }
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
        ? "the agent did not write this file: move it to new/ yourself to deliver it"
        : "the reasons for this file are gone: correct it, and move it to new/")
    body(why, 0)
    return Result(left: 1)
  }

  /// Whether it is a whole file whose file with reasons exists, and is retried together with that
  /// one.
  @inline(never)
  public func isCompanion(_ file: borrowing QueueFile) -> Bool {
    !Self.hasReasons(file) && reasons(of: file) != nil
  }

  /// Returns the file with the reasons for a whole file.
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

  /// Returns the whole file with this suffix that belongs to a file; nil if absent.
  private func whole(of base: Span<UInt8>, _ suffix: StaticString) -> QueueFile? {
    let room = FixedBuffer<UInt8>(capacity: 4096)
    var found = Text(capacity: 256)
    DirectoryEntry.forEach(in: failed.number, room.room()) { entry in
      let name = CString.span(entry.name)
      guard entry.mayBeFile, found.count == 0,
        let count = FailedName.base(of: FailedName.unnumbered(name), suffix),
        base.equals(name.extracting(0..<count))
      else { return }
      found.append(bytes: name)
    }
    return found.count > 0 ? QueueFile(failed.number, found.bytes, in: .failed) : nil
  }

  /// Sets ``sentName`` to a name that is unique for the file's content and age.
  ///
  /// A later refusal of the same notification gets another name.
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

  /// Retries the lines of a file.
  ///
  /// - Parameter file: the file with the reasons.
  @inline(never)
  private mutating func retryLines(
    _ file: borrowing QueueFile, _ body: (borrowing Text, UInt64) -> Void
  ) throws(Problem) -> Result {
    let claimedBase = FailedName.base(of: file.name, FailedName.claimedSuffix)
    let base = file.name.extracting(0..<(claimedBase ?? file.name.count))
    let before = try Self.information(file)
    guard before.st_nlink > 0 else { throw .gone }
    check.hasUnread = false
    if let unread = whole(of: base, FailedName.unreadSuffix) {
      check.hasUnread = unread.descriptor >= 0
    }

    var result = Result()
    var (isAnySent, areAllSent) = (false, true)
    let size = try check.forEach(in: file.descriptor) { (decision, line, why) throws(Problem) in
      result.count(decision)
      areAllSent = areAllSent && decision == .send
      isAnySent = isAnySent || decision != .stay && decision != .stayMore
      if decision == .stay { body(why, FailedLine(line)?.line ?? 0) }
    }
    guard isAnySent || check.hasUnread else { return result }

    let claimed =
      claimedBase == nil ? FailedName.beside(base, FailedName.claimedSuffix) : CString(file.name)
    if claimedBase == nil { try claim(file, as: claimed, before) }
    guard awaitWriter(file.descriptor) else {
      if claimedBase == nil {
        _ = clinux_rename_new(failed.number, claimed.pointer, failed.number, file.pointer)
      }
      throw .busy
    }
    let information = try Self.information(file)
    if areAllSent, information.st_size == size {
      setName(base, information, Hash())
      guard fdatasync(file.descriptor) == 0 else { throw Problem(clinux_errno()) }
      let target = sentName.cString()
      let error = clinux_rename_new(failed.number, claimed.pointer, new.number, target.pointer)
      guard error == 0 else { throw Problem(-error) }
      let syncError = Descriptor.syncDirectory(new.number)
      guard syncError == 0 else { throw .failed(.cannotSync(syncError)) }
    } else {
      result = try divide(file, base, information, isChecked: true)
      try remove(claimed.pointer)
    }
    while let unread = whole(of: base, FailedName.unreadSuffix), unread.descriptor >= 0 {
      try sendWhole(unread, base: base.count)
      result.isFileSent = true
    }
    // A reason that was added meanwhile may need the original.
    if result.left == 0, QueueFile(failed.number, base, in: .failed) == nil {
      while let original = whole(of: base, FailedName.originalSuffix) {
        try remove(original.pointer)
      }
    }
    // If this fails and the power fails, too, the renamed file is back, and is sent again.
    _ = Descriptor.syncDirectory(failed.number)
    return result
  }

  /// Sends a whole file that the agent could not read.
  private mutating func sendWhole(_ file: borrowing QueueFile, base: Int) throws(Problem) {
    let information = try Self.information(file)
    _ = try divide(file, file.name.extracting(0..<base), information, isChecked: false)
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

  /// Renames the file, so that no program begins to write to it.
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
      // Another file took the name meanwhile.
      _ = clinux_rename_new(failed.number, claimed.pointer, failed.number, file.pointer)
      throw .gone
    }
  }

  /// Waits until no program writes to the renamed file; returns false if that takes too long.
  private func awaitWriter(_ file: Int32) -> Bool {
    var writer = clinux_is_being_written(file)
    var attempts = 0
    while writer == 1 {
      guard attempts < Self.writerAttempts else { return false }
      attempts += 1
      poll(nil, 0, 10)
      writer = clinux_is_being_written(file)
    }
    // Writers of another user's file are unknown.
    if writer < 0 { poll(nil, 0, 10) }
    return true
  }

  /// Writes accepted lines to a file in `new/`, and the others to the file of its name in
  /// `failed/`.
  ///
  /// - Parameter isChecked: whether to check the lines; otherwise all are sent.
  @inline(never)
  private mutating func divide(
    _ file: borrowing QueueFile, _ base: Span<UInt8>, _ information: stat, isChecked: Bool
  ) throws(Problem) -> Result {
    var result = Result()
    var hash = Hash()
    var rest: Int32 = -1
    defer { if rest >= 0 { close(rest) } }
    let (root, failed) = (root.number, failed.number)
    var box = try Self.attempt { () throws(DropBox.Problem) in try DropBox(in: root) }
    _ = try check.forEach(in: file.descriptor, isChecked: isChecked) {
      (decision, line, _) throws(Problem) in
      result.count(decision)
      switch decision {
      case .drop: break
      case .send:
        hash.add(line)
        try Self.attempt { () throws(DropBox.Problem) in try box.write(line) }
      case .stay, .stayMore:
        if rest < 0 { rest = try Self.openRest(failed, CString(base), information) }
        let error = Descriptor.writeAll(rest, line)
        guard error == 0 else { throw Problem(error) }
      }
    }
    if rest >= 0 {
      guard fdatasync(rest) == 0 else { throw Problem(clinux_errno()) }
      let error = Descriptor.syncDirectory(failed)
      guard error == 0 else { throw Problem(error) }
    }
    guard result.sent > 0 else { return result }
    setName(base, information, hash)
    let name = sentName.unsafeBytes
    try Self.attempt { () throws(DropBox.Problem) in try box.drop(as: name) }
    return result
  }

  private static func attempt<Value: ~Copyable>(
    _ body: () throws(DropBox.Problem) -> Value
  ) throws(Problem) -> Value {
    do throws(DropBox.Problem) { return try body() } catch { throw .failed(error) }
  }

  /// Opens the file for the lines that stay; the agent may have created it again.
  @inline(never)
  private static func openRest(
    _ failed: Int32, _ name: borrowing CString, _ information: stat
  ) throws(Problem) -> Int32 {
    let flags = O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK
    let file = clinux_open(failed, name.pointer, flags, information.st_mode & 0o777)
    guard file >= 0 else { throw Problem(-file) }
    // The lock keeps the agent from cutting off an incomplete line here.
    guard let size = LineEnd.repair(file, in: nil) else {
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
  fileprivate mutating func count(_ decision: FailedCheck.Decision) {
    switch decision {
    case .send: sent += 1
    case .stay: left += 1
    case .drop, .stayMore: break
    }
  }
}
