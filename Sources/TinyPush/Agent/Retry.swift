import CLinux

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
  }

  static let claimedSuffix: StaticString = ".retry"
  static let unreadSuffix: StaticString = ".unread"
  static let originalSuffix: StaticString = ".original"
  /// So much of a file shows whether it has reasons.
  private static let headBytes: Int64 = 65_536
  /// How often, every 10 ms, somebody who still writes to the renamed file is waited for: the agent writes a line at once.
  private static let writerTries = 100

  private let root: Descriptor
  private let failed: Descriptor
  private var check: FailedCheck
  /// The name in `new/` of what was sent last.
  public private(set) var sentName = Text(capacity: 300)

  /// - Parameters:
  ///   - config: outlives this, with the paths in it.
  ///   - error: on failure, the errno.
  @inline(never)
  public init?(_ config: UnsafePointer<Config>, error: inout Int32) {
    guard let root = Descriptor.spool(config.pointee.spool.pointer, error: &error),
      let failed = Descriptor(root.number, part: "failed", error: &error)
    else { return nil }
    self.root = root
    self.failed = failed
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
    guard file.descriptor >= 0 else { throw .failed(.cannotWrite(-file.descriptor)) }
    if Self.hasReasons(file) {
      let base = Self.base(of: file.name, Self.claimedSuffix) ?? file.name.count
      var result = try retry(file.descriptor, file.name, base: base, body)
      // Files of one name may have come one after the other.
      while let unread = whole(of: file.name.extracting(0..<base), Self.unreadSuffix),
        try sendWhole(unread, base: base)
      { result.isFileSent = true }
      return result
    }
    let base = Self.reasonsBase(of: file.name)
    if let base {
      let reasons = QueueFile(failed.number, file.name.extracting(0..<base), in: .failed)
      if let reasons, Self.hasReasons(reasons) { return try retry(reasons, body) }
      if Self.wholeBase(of: file.name, Self.unreadSuffix) != nil,
        try sendWhole(CString(file.name), base: base)
      {
        return Result(isFileSent: true)
      }
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
    guard let base = Self.reasonsBase(of: file.name), !Self.hasReasons(file),
      let reasons = QueueFile(failed.number, file.name.extracting(0..<base), in: .failed)
    else { return false }
    return Self.hasReasons(reasons)
  }

  private static func hasReasons(_ file: borrowing QueueFile) -> Bool {
    var isFound = false
    FailedLine.forEach(in: file.descriptor, file.name, bytesMax: headBytes) { _, _ in
      isFound = true
    }
    return isFound
  }

  /// How much of the name is that of the file with the reasons; nil: it is no whole file.
  static func reasonsBase(of name: Span<UInt8>) -> Int? {
    wholeBase(of: name, unreadSuffix) ?? wholeBase(of: name, originalSuffix)
  }

  /// The same for one of the suffixes, behind which a number may stand: `NAME.unread.2`.
  private static func wholeBase(of name: Span<UInt8>, _ suffix: StaticString) -> Int? {
    base(of: unnumbered(name), suffix)
  }

  /// A name without the number that may stand behind it.
  @_lifetime(copy name)
  static func unnumbered(_ name: Span<UInt8>) -> Span<UInt8> {
    var end = name.count
    while end > 0, name[end - 1] >= 0x30, name[end - 1] <= 0x39 { end -= 1 }
    let isNumbered = end > 0 && end < name.count && name[end - 1] == 0x2E
    return name.extracting(0..<(isNumbered ? end - 1 : name.count))
  }

  /// The name of a whole file of this suffix that belongs to a file; nil: there is none. One whose name was cut is found by
  /// its beginning.
  private func whole(of base: Span<UInt8>, _ suffix: StaticString) -> CString? {
    let room = FixedBuffer<UInt8>(capacity: 4096)
    var found = Text(capacity: 256)
    DirectoryEntry.forEach(in: failed.number, room.room()) { entry in
      let name = CString.span(entry.name)
      guard entry.mayBeFile, found.count == 0, let count = Self.wholeBase(of: name, suffix),
        count == base.count || count < base.count && name.count == Int(NAME_MAX),
        base.begins(with: name.extracting(0..<count))
      else { return }
      found.append(bytes: name)
    }
    return found.count > 0 ? found.cString() : nil
  }

  /// How much of a name stands before the suffix; nil: it ends otherwise.
  private static func base(of name: Span<UInt8>, _ suffix: StaticString) -> Int? {
    let base = name.count - suffix.utf8CodeUnitCount
    return base > 0 && name.extracting(base..<name.count).equals(suffix) ? base : nil
  }

  /// The name of the file beside another one; what is too long is cut, as the agent does.
  @inline(never)
  private static func name(_ base: Span<UInt8>, _ suffix: StaticString) -> CString {
    var text = Text(capacity: 300)
    let room = Int(NAME_MAX) - suffix.utf8CodeUnitCount
    text.append(bytes: base.extracting(0..<min(base.count, room)))
    text.append(suffix)
    return text.cString()
  }

  // MARK: - The steps

  /// - Parameters:
  ///   - file: the file with the reasons.
  ///   - fullName: its name, of which the first `base` bytes are that of the file that was delivered.
  @inline(never)
  private mutating func retry(
    _ file: Int32, _ fullName: Span<UInt8>, base baseBytes: Int,
    _ body: (borrowing Text, UInt64) -> Void
  ) throws(Problem) -> Result {
    let base = fullName.extracting(0..<baseBytes)
    var information = stat()
    guard flock(file, LOCK_EX | LOCK_NB) == 0 else { throw .busy }
    guard fstat(file, &information) == 0, information.st_nlink > 0 else { throw .gone }
    check.hasUnread = false
    if let unread = whole(of: base, Self.unreadSuffix) { check.hasUnread = canOpen(unread) }

    var result = Result()
    // Whether anything does not stay; and whether nothing but what goes as it is is in the file.
    var (isAny, isAll) = (false, true)
    var lines = FileLines(file, capacity: FailedCheck.lineBytesMax)
    while try next(&lines) {
      switch check.judge(lines) {
      case .goes: result.sent += 1
      case .goesAnew, .isDone: isAll = false
      case .stays:
        isAll = false
        guard lines.isBeginning else { continue }
        result.left += 1
        body(check.why, FailedLine(lines.line)?.line ?? 0)
        continue
      }
      isAny = true
    }
    guard isAny else { return result }

    let claimed =
      baseBytes < fullName.count ? CString(fullName) : Self.name(base, Self.claimedSuffix)
    if baseBytes == fullName.count { try claim(CString(fullName), as: claimed, information) }
    awaitWriter(file)
    var present = stat()
    if isAll, fstat(file, &present) == 0, present.st_size == lines.place {
      try move(claimed, file, base)
    } else {
      result = try divide(file, base, isWhole: false, information)
      try remove(claimed)
    }
    if result.left == 0 {
      let isOver = faccessat(failed.number, CString(base).pointer, F_OK, AT_SYMLINK_NOFOLLOW) != 0
      while isOver, let original = whole(of: base, Self.originalSuffix) { try remove(original) }
    }
    // If this fails and the power does, too, the renamed file is back, and is sent once more.
    _ = Descriptor.syncDirectory(failed.number)
    return result
  }

  private func canOpen(_ name: borrowing CString) -> Bool {
    let file = openRegular(name)
    if file >= 0 { close(file) }
    return file >= 0
  }

  /// Sends a whole file that the agent could not read. Returns whether it can be read by now.
  @inline(never)
  private mutating func sendWhole(_ unread: borrowing CString, base: Int) throws(Problem) -> Bool {
    let number = openRegular(unread)
    guard number >= 0 else { return false }
    let file = Descriptor(number: number)
    _ = try divide(file.number, unread.span.extracting(0..<base), isWhole: true, stat())
    try remove(unread)
    _ = Descriptor.syncDirectory(failed.number)
    return true
  }

  private func next(_ lines: inout FileLines) throws(Problem) -> Bool {
    let count = lines.next()
    guard count >= 0 else { throw .failed(.cannotWrite(Int32(-count))) }
    return count > 0
  }

  private func remove(_ name: borrowing CString) throws(Problem) {
    guard unlinkat(failed.number, name.pointer, 0) == 0 else {
      throw .failed(.cannotWrite(clinux_errno()))
    }
  }

  /// Opens a regular file in `failed/`; -errno where there is none.
  private func openRegular(_ name: borrowing CString) -> Int32 {
    let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
    let file = clinux_open(failed.number, name.pointer, flags, 0)
    var information = stat()
    guard file >= 0, fstat(file, &information) != 0 || clinux_is_regular(&information) == 0 else {
      return file
    }
    close(file)
    return -EINVAL
  }

  /// Renames the file, so that nobody begins to write to it any more.
  @inline(never)
  private func claim(
    _ name: borrowing CString, as claimed: borrowing CString, _ information: stat
  ) throws(Problem) {
    let error = -clinux_rename_new(failed.number, name.pointer, failed.number, claimed.pointer)
    switch error {
    case 0: break
    case ENOENT: throw .gone
    case EEXIST: throw .interrupted
    default: throw .failed(.cannotWrite(error))
    }
    var present = stat()
    guard fstatat(failed.number, claimed.pointer, &present, AT_SYMLINK_NOFOLLOW) == 0,
      present.st_ino == information.st_ino
    else {
      // Another one took its name in the meantime.
      _ = clinux_rename_new(failed.number, claimed.pointer, failed.number, name.pointer)
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

  /// The name in `new/`: it tells the file from others, and stays when that is renamed. The same refusal, met once more, is
  /// another one.
  private mutating func setName(
    _ base: Span<UInt8>, of file: Int32, _ content: Hash = Hash()
  ) {
    var hash = content
    var information = stat()
    if fstat(file, &information) == 0 {
      hash.add(UInt64(information.st_ino))
      hash.add(UInt64(bitPattern: clinux_modify_time_ns(&information)))
    }
    sentName.clear()
    sentName.append(bytes: LaterName.source(of: base))
    sentName.append(".")
    sentName.append(hex: hash.value)
  }

  /// Moves a file to `new/` whose lines all pass.
  @inline(never)
  private mutating func move(
    _ name: borrowing CString, _ file: Int32, _ base: Span<UInt8>
  ) throws(Problem) {
    setName(base, of: file)
    let target = sentName.cString()
    var error: Int32 = 0
    guard let new = Descriptor(root.number, part: "new", error: &error) else {
      throw .failed(.cannotWrite(error))
    }
    error = fdatasync(file) == 0 ? 0 : clinux_errno()
    if error == 0 {
      error = -clinux_rename_new(failed.number, name.pointer, new.number, target.pointer)
    }
    guard error == 0 else { throw .failed(.cannotWrite(error)) }
    error = Descriptor.syncDirectory(new.number)
    guard error == 0 else { throw .failed(.cannotSync(error)) }
  }

  /// Puts the lines that pass into a file in `new/`, and those that stay into the one of their name in `failed/`.
  ///
  /// - Parameters:
  ///   - isWhole: all of it goes, whatever it is.
  ///   - information: of the file whose lines stay.
  @inline(never)
  private mutating func divide(
    _ file: Int32, _ base: Span<UInt8>, isWhole: Bool, _ information: stat
  ) throws(Problem) -> Result {
    var result = Result()
    var hash = Hash()
    var rest: Int32 = -1
    defer { if rest >= 0 { close(rest) } }
    var lines = FileLines(file, capacity: FailedCheck.lineBytesMax)
    do throws(DropBox.Problem) {
      var box = try DropBox(in: root.number)
      while true {
        let count = lines.next()
        guard count >= 0 else { throw .cannotWrite(Int32(-count)) }
        if count == 0 { break }
        switch isWhole ? .goes : check.judge(lines) {
        case .goes:
          hash.add(lines.line)
          try box.write(lines.line)
          result.sent += 1
        case .goesAnew:
          hash.add(check.draft.looseBytes)
          try box.write(check.draft.looseBytes)
          result.sent += 1
        case .isDone: break
        case .stays:
          if rest < 0 { rest = try openRest(CString(base), information) }
          let error = lines.line.withUnsafeBytes {
            Descriptor.writeAll(rest, $0.baseAddress!, $0.count)
          }
          guard error == 0 else { throw .cannotWrite(error) }
          if lines.isBeginning { result.left += 1 }
        }
      }
      guard rest < 0 || fdatasync(rest) == 0 else { throw .cannotWrite(clinux_errno()) }
      if result.sent > 0 {
        setName(base, of: file, hash)
        _ = try box.drop(as: sentName.bytes)
      }
    } catch {
      throw .failed(error)
    }
    return result
  }

  /// Opens the file to whose end goes what stays: the agent may have begun it.
  @inline(never)
  private func openRest(
    _ name: borrowing CString, _ information: stat
  ) throws(DropBox.Problem) -> Int32 {
    let flags = O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK
    let file = clinux_open(failed.number, name.pointer, flags, information.st_mode & 0o777)
    guard file >= 0 else { throw .cannotWrite(-file) }
    // The agent does not take what is half written for torn.
    guard let size = LineEnd.mend(file), flock(file, LOCK_EX) == 0 else {
      close(file)
      throw .cannotWrite(EBUSY)
    }
    if size == 0 {
      fchown(file, information.st_uid, information.st_gid)
      fchmod(file, information.st_mode & 0o777)
    }
    return file
  }
}
