import CLinux
import TinyPush

/// The directory `leaving/`, through which files leave the spool that were not renamed into `new/`.
///
/// Other programs do not find a file here, so none begins to write to it during the last check. If
/// this user may not ask whether a program has the file open, the file stays here until it was
/// unchanged for long enough.
///
/// The file name tells what was delivered: `BYTES.HASH.INODE.NAME`, the first three as 16 hex
/// digits each. The highest bit of BYTES is set if the delivered part ended with text that is no
/// object. So after a crash the file is still known, and only what was written later is sent.
struct LeavingDirectory: ~Copyable {
  private static let name: StaticString = "leaving"
  private static let headBytes = 51
  /// The seconds that a file with unknown writers stays; shorter times apply if there are more than
  /// ``filesMax`` files.
  private static let keptSeconds: InlineArray<4, Int64> = [86_400, 3600, 600, 60]
  private static let filesMax = 1000
  /// The number of remembered names that files got back, so that the agent knows its own renames.
  private static let putBackMax = 16

  /// The spool.
  private let root: Int32
  private var directory: Descriptor?
  private var putBackNames: InlineArray<16, UInt64> = .init(repeating: 0)
  private var nextPutBack = 0

  /// Opens the directory, and creates it if it is missing.
  ///
  /// - Parameter root: the spool, which must stay open as long as this is used.
  init(in root: Int32) {
    self.root = root
    var error: Int32 = 0
    directory = Self.open(root, &error)
  }

  private static func open(_ root: Int32, _ error: inout Int32) -> Descriptor? {
    if let directory = Descriptor(root, part: name, error: &error) { return directory }
    guard error == ENOENT else { return nil }
    guard mkdirat(root, name.cString, 0o700) == 0 else {
      error = clinux_errno()
      return nil
    }
    guard let made = Descriptor(root, part: name, error: &error) else { return nil }
    made.belong(to: root)
    return made
  }

  /// Whether a program has a file open for writing.
  enum Writer {
    case nobody
    case somebody
    /// This user may not ask, because the file belongs to another user.
    case unknown

    /// Asks for writers of an open file.
    init(of descriptor: Int32) { self.init(clinux_is_being_written(descriptor)) }

    /// Asks for writers, and makes programs that open the file for writing wait until the
    /// descriptor is closed.
    init(holding descriptor: Int32) { self.init(clinux_block_writers(descriptor)) }

    private init(_ answer: Int32) {
      switch answer {
      case 0: self = .nobody
      case 1: self = .somebody
      default: self = .unknown
      }
    }
  }

  /// How a file compares with what was delivered from it.
  enum Comparison {
    case same
    /// It begins with the delivered part, and more was written.
    case grown
    case other
  }

  /// Compares an open file with what was read from it before.
  ///
  /// - Parameter room: a buffer for reading.
  static func compare(
    _ descriptor: Int32, _ information: inout stat, _ identity: FileIdentity,
    _ content: FileContent, _ room: UnsafeMutableBufferPointer<UInt8>
  ) -> Comparison {
    let present = FileIdentity(&information)
    guard present.inode == identity.inode, present.size >= content.bytes else { return .other }
    let isWhole = present.size == content.bytes
    if present == identity { return isWhole ? .same : .grown }
    // The same text written once more is another notification.
    if isWhole, clinux_modify_time_ns(&information) > identity.changeTimeNs { return .other }
    // A file that cannot be read any more is unchanged if nothing was written.
    if descriptor < 0 { return isWhole ? .same : .other }
    guard hash(descriptor, bytes: content.bytes, room) == content.hash else { return .other }
    return isWhole ? .same : .grown
  }

  private static func hash(
    _ descriptor: Int32, bytes: Int64, _ room: UnsafeMutableBufferPointer<UInt8>
  ) -> UInt64? {
    var hash = ContentHash()
    while hash.bytes < bytes {
      let wanted = Int(clamping: min(Int64(room.count), bytes - hash.bytes))
      let part = UnsafeMutableBufferPointer(rebasing: room[..<wanted])
      let count = Descriptor.read(descriptor, part, at: hash.bytes)
      guard count > 0 else { return nil }
      hash.add(Span(_unsafeStart: UnsafePointer(part.baseAddress!), count: count))
    }
    return hash.value
  }

  // MARK: - Leaving

  /// Removes a delivered file from `new/`, unless it was replaced or is being written.
  ///
  /// - Parameter room: a buffer for reading.
  mutating func remove(
    _ path: UnsafePointer<CChar>, from new: Int32, _ identity: FileIdentity,
    _ content: FileContent, endsWithinText: Bool, _ room: UnsafeMutableBufferPointer<UInt8>
  ) -> Removal {
    let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
    let file = clinux_open(new, path, flags, 0)
    defer { if file >= 0 { close(file) } }
    var before = stat()
    let isThere =
      file >= 0 ? fstat(file, &before) : fstatat(new, path, &before, AT_SYMLINK_NOFOLLOW)
    guard isThere == 0 else { return clinux_errno() == ENOENT ? .moved : .failed }
    guard UInt64(before.st_ino) == identity.inode else { return .replaced }
    var error: Int32 = 0
    if directory == nil { directory = Self.open(root, &error) }
    guard let leaving = directory?.number else { return .failed }

    let hidden = Self.leavingName(
      CString.span(path), identity, content, endsWithinText: endsWithinText)
    guard renameat(new, path, leaving, hidden.pointer) == 0 else {
      switch clinux_errno() {
      case ENOENT: return .moved
      // If new/ is a file system of its own, the file cannot be moved out.
      case EXDEV: return end(file, path, new, isHere: false, &before, identity, content, room)
      default: return .failed
      }
    }
    let removal = end(
      file, hidden.pointer, leaving, isHere: true, &before, identity, content, room)
    switch removal {
    case .removed, .moved: break
    case .kept, .replaced, .grown, .beingWritten, .failed: putBack(hidden, to: new)
    }
    return removal
  }

  /// Removes a file that was just renamed here, if no program has it open for writing or has
  /// written more.
  ///
  /// - Parameters:
  ///   - isHere: whether `directory` is this one.
  ///   - before: the file's state before it was renamed.
  private func end(
    _ file: Int32, _ name: UnsafePointer<CChar>, _ directory: Int32, isHere: Bool,
    _ before: inout stat,
    _ identity: FileIdentity, _ content: FileContent, _ room: UnsafeMutableBufferPointer<UInt8>
  ) -> Removal {
    // No other program can find the file now, so only those that have it open matter.
    let writer = file >= 0 ? Writer(holding: file) : .unknown
    if case .somebody = writer { return .beingWritten }
    var after = stat()
    guard fstatat(directory, name, &after, AT_SYMLINK_NOFOLLOW) == 0 else { return .failed }
    // Another file may have taken the name before it was renamed.
    guard UInt64(after.st_ino) == identity.inode else { return .replaced }
    // The rename changes only the file's change time.
    let isUntouched =
      FileIdentity(&before) == identity && content.bytes == identity.size
      && Int64(after.st_size) == identity.size
      && clinux_modify_time_ns(&after) == clinux_modify_time_ns(&before)
    let comparison = isUntouched ? .same : Self.compare(file, &after, identity, content, room)
    switch comparison {
    case .grown: return .grown
    case .other: return .replaced
    case .same: break
    }
    // If this user may not ask for writers, the file stays in leaving/ for some time.
    if case .unknown = writer, isHere { return .removed }
    guard unlinkat(directory, name, 0) == 0 else { return .failed }
    return after.st_nlink > 1 ? .moved : .removed
  }

  private static func leavingName(
    _ name: Span<UInt8>, _ identity: FileIdentity, _ content: FileContent, endsWithinText: Bool
  ) -> CString {
    var text = Text(capacity: 300)
    text.append(hex: UInt64(bitPattern: content.bytes) | (endsWithinText ? 1 << 63 : 0))
    text.append(".")
    text.append(hex: content.hash)
    text.append(".")
    text.append(hex: identity.inode)
    text.append(".")
    text.append(bytes: name.extracting(0..<min(name.count, Int(NAME_MAX) - headBytes)))
    return text.cString()
  }

  /// The parts of a file name before NAME.
  private struct Head {
    var content: FileContent
    var endsWithinText: Bool
    var inode: UInt64
  }

  /// Parses a file name; nil if it is not one of the agent's.
  private static func read(_ name: Span<UInt8>) -> Head? {
    guard name.count > headBytes, name[16] == .dot, name[33] == .dot, name[50] == .dot,
      let bytes = number(name.extracting(0..<16)), let hash = number(name.extracting(17..<33)),
      let inode = number(name.extracting(34..<50))
    else { return nil }
    let content = FileContent(bytes: Int64(bytes & UInt64(Int64.max)), hash: hash)
    return Head(content: content, endsWithinText: bytes >> 63 == 1, inode: inode)
  }

  private static func number(_ digits: Span<UInt8>) -> UInt64? {
    var number: UInt64 = 0
    for index in digits.indices {
      guard let digit = DeviceToken.hexValue(digits[index]) else { return nil }
      number = number << 4 | UInt64(digit)
    }
    return number
  }

  // MARK: - Moving back

  /// Whether the agent itself renamed the file of this name into `new/`.
  func hasPutBack(_ name: Span<UInt8>) -> Bool {
    let hash = Self.nameHash(name)
    for index in putBackNames.indices where putBackNames[index] == hash { return true }
    return false
  }

  private static func nameHash(_ name: Span<UInt8>) -> UInt64 {
    var hash = Hash()
    hash.add(name)
    return hash.value
  }

  /// Moves a file back into `new/` under its own name, or with a number if another file has it.
  private mutating func putBack(_ hidden: borrowing CString, to new: Int32) {
    guard let leaving = directory?.number else { return }
    let name = hidden.span.extracting(Self.headBytes..<hidden.span.count)
    var attempts = 0
    while attempts < 100 {
      var text = Text(capacity: 300)
      text.append(bytes: name.extracting(0..<min(name.count, Int(NAME_MAX) - 4)))
      if attempts > 0 {
        text.append(".")
        text.append(attempts)
      }
      // Remembered before the rename, because the event comes at once.
      putBackNames[nextPutBack] = Self.nameHash(text.bytes)
      nextPutBack = (nextPutBack + 1) % Self.putBackMax
      let target = text.cString()
      if clinux_rename_new(leaving, hidden.pointer, new, target.pointer) != -EEXIST { return }
      attempts += 1
    }
  }

  /// Removes delivered files that were not changed, and moves files that were written to back into
  /// `new/`.
  mutating func sweep(
    to new: Int32, _ courier: inout Courier, _ room: UnsafeMutableBufferPointer<UInt8>
  ) {
    guard let leaving = directory?.number else { return }
    let buffer = FixedBuffer<UInt8>(capacity: 8192)
    var kept = 0
    for round in Self.keptSeconds.indices {
      kept = 0
      // A file that is renamed meanwhile may be seen twice or not at all; then the next sweep sees
      // it.
      DirectoryEntry.forEach(in: leaving, buffer.room()) { entry in
        guard entry.mayBeFile, !entry.isHidden else { return }
        let name = CString(CString.span(entry.name))
        if inspect(name, leaving, new, &courier, room, Self.keptSeconds[round]) { kept += 1 }
      }
      if kept <= Self.filesMax { return }
    }
  }

  /// Handles a file of a sweep, and returns whether it stays here.
  private mutating func inspect(
    _ name: borrowing CString, _ leaving: Int32, _ new: Int32, _ courier: inout Courier,
    _ room: UnsafeMutableBufferPointer<UInt8>, _ seconds: Int64
  ) -> Bool {
    var error: Int32 = 0
    let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
    guard let head = Self.read(name.span),
      let file = Descriptor(leaving, name.pointer, flags, error: &error)
    else { return true }
    var information = stat()
    guard fstat(file.number, &information) == 0 else { return true }
    let writer = Writer(of: file.number)
    // Times before the file came here prove nothing, so the content is compared, unless nothing was
    // written since the rename.
    let identity = FileIdentity(inode: head.inode, changeTimeNs: .max, size: -1)
    let isUntouched =
      Int64(information.st_size) == head.content.bytes
      && clinux_modify_time_ns(&information) < clinux_change_time_ns(&information)
    let comparison =
      isUntouched
      ? .same : Self.compare(file.number, &information, identity, head.content, room)
    switch comparison {
    case .same:
      switch writer {
      case .somebody: return true
      case .unknown:
        let age = Clock.wallSeconds() - clinux_change_time_s(&information)
        if age < seconds { return true }
      case .nobody: break
      }
      unlinkat(leaving, name.pointer, 0)
    case .grown:
      courier.wasDelivered(
        FileIdentity(&information), head.content, endsWithinText: head.endsWithinText)
      putBack(name, to: new)
    case .other: putBack(name, to: new)
    }
    return false
  }
}
