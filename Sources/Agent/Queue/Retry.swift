import CLinux
import TinyPush

/// Sends again what is in `failed/`, as far as it is right by now: of a file those notifications alone that were refused,
/// each to those alone who did not get it. What would be refused once more stays.
///
/// Wherever it ends nothing is lost, and the agent may go on beside it:
/// 1. What is to be sent is written in `tmp/`, and so is what stays.
/// 2. The file is renamed, so that what the agent has to say comes into a new one; what it wrote last is read then.
/// 3. What is to be sent is moved to `new/`, under a name that what is sent says: to do so twice makes no second one.
/// 4. What stays is moved to where the file was.
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
    /// It cannot be read, moved or removed (errno).
    case failed(Int32)
    case cannotWrite(DropBox.Problem)
  }

  /// The longest line of the agent's: a notification, and what is said of it.
  private static let lineBytesMax = NotificationReader.objectBytesMax + 16_384
  static let claimedSuffix: StaticString = ".retry"
  static let unreadSuffix: StaticString = ".unread"
  static let originalSuffix: StaticString = ".original"
  /// How often, every 10 ms, somebody who still writes to the renamed file is waited for: the agent writes a line at once.
  private static let writerTries = 100

  private let root: Descriptor
  private let failed: Descriptor
  private let rules: Rules
  private let lists: RecipientsLookup
  private var suppressed: SuppressedTokens
  private let input = FixedBuffer<UInt8>(capacity: lineBytesMax)
  private var findings = Findings()
  private var draft = Text(capacity: NotificationReader.objectBytesMax + 1024)
  private var why = Text(capacity: 2048)
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
    rules = config.pointee.courier.rules
    lists = RecipientsLookup(config.pointee.recipients.pointer)
    suppressed = SuppressedTokens(config.pointee.state.pointer)
  }

  @inline(never)
  deinit {}

  /// A file that is read line by line, and what has come of it.
  private struct Reading {
    /// Less than 0: there is none.
    let file: Int32
    var offset: Int64 = 0
    /// Bytes in the buffer that belong to a line which goes on.
    var bytes = 0
    /// That line is longer than any of the agent's, and its beginning has been passed on.
    var isBeyond = false
    /// The whole file can be sent, which the agent could not read.
    var hasUnread: Bool
    /// Of what is sent.
    var hash = Hash()
    var result = Result()
  }

  // MARK: - A file

  /// - Parameter body: is given why something stays, and its line in the file that was delivered; 0: it has none.
  @inline(never)
  public mutating func retry(
    _ file: borrowing QueueFile, _ body: (borrowing Text, UInt64) -> Void
  ) throws(Problem) -> Result {
    sentName.clear()
    guard file.descriptor >= 0 else { throw .failed(-file.descriptor) }
    if Self.hasReasons(file) {
      let base = Self.base(of: file.name, Self.claimedSuffix) ?? file.name.count
      var result = try retry(file.descriptor, file.name, base: base, body)
      // Files of one name may have come one after the other.
      while let unread = whole(of: file.name.extracting(0..<base), Self.unreadSuffix) {
        guard try retry(-1, unread.span, base: base, body).isFileSent else { break }
        result.isFileSent = true
      }
      return result
    }
    let isUnread = Self.wholeBase(of: file.name, Self.unreadSuffix) != nil
    if let base = Self.reasonsBase(of: file.name) {
      let reasons = QueueFile(failed.number, file.name.extracting(0..<base), in: .failed)
      if let reasons, Self.hasReasons(reasons) { return try retry(reasons, body) }
      if isUnread { return try retry(-1, file.name, base: base, body) }
    }
    why.clear()
    why.append(
      Self.reasonsBase(of: file.name) == nil
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
    _ = Refusal.forEach(in: file.descriptor, bytesMax: 0) { _ in isFound = true }
    lseek(file.descriptor, 0, SEEK_SET)
    return isFound
  }

  /// How much of the name is that of the file with the reasons; nil: it is no whole file.
  static func reasonsBase(of name: Span<UInt8>) -> Int? {
    wholeBase(of: name, unreadSuffix) ?? wholeBase(of: name, originalSuffix)
  }

  /// The same for one of the suffixes, behind which a number may stand: `NAME.unread.2`.
  private static func wholeBase(of name: Span<UInt8>, _ suffix: StaticString) -> Int? {
    var end = name.count
    while end > 0, name[end - 1] >= 0x30, name[end - 1] <= 0x39 { end -= 1 }
    let isNumbered = end > 0 && end < name.count && name[end - 1] == 0x2E
    return base(of: name.extracting(0..<(isNumbered ? end - 1 : name.count)), suffix)
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
  ///   - reasons: the file with the reasons; less than 0: there is none.
  ///   - fullName: its name, of which the first `base` bytes are that of the file that was delivered.
  @inline(never)
  private mutating func retry(
    _ reasons: Int32, _ fullName: Span<UInt8>, base baseBytes: Int,
    _ body: (borrowing Text, UInt64) -> Void
  ) throws(Problem) -> Result {
    let base = fullName.extracting(0..<baseBytes)
    let isClaimed = baseBytes < fullName.count
    var information = stat()
    if reasons >= 0 {
      guard flock(reasons, LOCK_EX | LOCK_NB) == 0 else { throw .busy }
      guard fstat(reasons, &information) == 0, information.st_nlink > 0 else { throw .gone }
    }
    let unreadName =
      reasons < 0
      ? CString(fullName)
      : whole(of: base, Self.unreadSuffix) ?? Self.name(base, Self.unreadSuffix)
    let unread = openRegular(unreadName)
    defer { if unread >= 0 { close(unread) } }

    var sent = try Self.makeBox(root.number)
    var left = try Self.makeBox(root.number)
    var reading = Reading(file: reasons, hasUnread: unread >= 0)
    if reasons >= 0 { try readOn(&reading, sent, left, body) }
    guard reading.result.sent > 0 || unread >= 0 else { return reading.result }

    let name = CString(fullName)
    let claimed = isClaimed ? CString(fullName) : Self.name(base, Self.claimedSuffix)
    if reasons >= 0 {
      if !isClaimed { try claim(name, as: claimed, information) }
      try readOn(&reading, sent, left, body)
      try add(reasons, to: &reading.hash)
    }
    if unread >= 0 { try copy(unread, to: sent, &reading) }

    sentName.clear()
    sentName.append(bytes: LaterName.source(of: base))
    sentName.append(".")
    sentName.append(hex: reading.hash.value)
    _ = try Self.drop(&sent, in: nil, as: sentName.bytes)
    if unread >= 0, unlinkat(failed.number, unreadName.pointer, 0) != 0 {
      throw .failed(clinux_errno())
    }
    guard reasons >= 0 else { return reading.result }

    if reading.result.left > 0 {
      left.belong(to: information)
      if try !Self.drop(&left, in: failed.number, as: base) { try append(left, to: CString(base)) }
    }
    guard unlinkat(failed.number, claimed.pointer, 0) == 0 else {
      throw .failed(clinux_errno())
    }
    if reading.result.left == 0 {
      let isOver = faccessat(failed.number, CString(base).pointer, F_OK, AT_SYMLINK_NOFOLLOW) != 0
      while isOver, let original = whole(of: base, Self.originalSuffix),
        unlinkat(failed.number, original.pointer, 0) == 0
      {}
    }
    // If this fails and the power does, too, the renamed file is back, and is sent once more.
    _ = Descriptor.syncDirectory(failed.number)
    return reading.result
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

  /// What tells the file from others, and stays when it is renamed: the same refusal, met once more, is another one.
  private func add(_ file: Int32, to hash: inout Hash) throws(Problem) {
    var information = stat()
    guard fstat(file, &information) == 0 else { throw .failed(clinux_errno()) }
    hash.add(UInt64(information.st_ino))
    hash.add(UInt64(bitPattern: clinux_modify_time_ns(&information)))
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
    default: throw .failed(error)
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

  /// Sends the whole file, behind what was refused of it.
  @inline(never)
  private mutating func copy(
    _ file: Int32, to box: borrowing DropBox, _ reading: inout Reading
  ) throws(Problem) {
    var offset: Int64 = 0
    while true {
      let count = Descriptor.read(file, input.room(), at: offset)
      guard count >= 0 else { throw .failed(Int32(-count)) }
      if count == 0 { break }
      offset += Int64(count)
      let bytes = input.looseSpan(0..<count)
      reading.hash.add(bytes)
      try Self.write(bytes, to: box)
    }
    reading.result.isFileSent = true
  }

  /// The agent has begun a file of that name: what stays goes to its end.
  @inline(never)
  private mutating func append(
    _ left: borrowing DropBox, to name: consuming CString
  ) throws(Problem) {
    var error: Int32 = 0
    let flags = O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK
    guard let file = Descriptor(failed.number, name.pointer, flags, error: &error) else {
      throw .failed(error)
    }
    // The agent does not take what is half written for torn.
    guard LineEnd.mend(file.number) != nil, flock(file.number, LOCK_EX) == 0 else { throw .busy }
    var offset: Int64 = 0
    while true {
      let count = left.read(input.room(), at: offset)
      guard count >= 0 else { throw .failed(Int32(-count)) }
      if count == 0 { break }
      offset += Int64(count)
      error = input.looseSpan(0..<count).withUnsafeBytes {
        Descriptor.writeAll(file.number, $0.baseAddress!, $0.count)
      }
      guard error == 0 else { throw .failed(error) }
    }
    guard fdatasync(file.number) == 0 else { throw .failed(clinux_errno()) }
  }

  // MARK: - Lines

  /// Reads to the end of the file, once nobody writes to it.
  @inline(never)
  private mutating func readOn(
    _ reading: inout Reading, _ sent: borrowing DropBox, _ left: borrowing DropBox,
    _ body: (borrowing Text, UInt64) -> Void
  ) throws(Problem) {
    var writer = clinux_is_being_written(reading.file)
    var tries = 0
    while writer == 1, tries < Self.writerTries {
      tries += 1
      poll(nil, 0, 10)
      writer = clinux_is_being_written(reading.file)
    }
    // Of somebody else's file that may not be asked.
    if writer < 0 { poll(nil, 0, 10) }
    while true {
      let room = input.room(from: reading.bytes)
      let count = Descriptor.read(reading.file, room, at: reading.offset)
      guard count >= 0 else { throw .failed(Int32(-count)) }
      reading.offset += Int64(count)
      reading.bytes += count
      var start = 0
      for index in 0..<reading.bytes {
        let isEnd = input[index] == 0x0A
        guard
          isEnd
            || index + 1 == reading.bytes
              && (count == 0 || start == 0 && reading.bytes == input.capacity)
        else { continue }
        try take(
          input.looseSpan(start..<index + 1), isEnded: isEnd || count == 0, &reading, sent, left,
          body)
        start = index + 1
      }
      reading.bytes -= start
      input.move(from: start, to: 0, count: reading.bytes)
      if count == 0 { return }
    }
  }

  /// - Parameter isEnded: whether it is the line's end; else it is longer than the buffer.
  @inline(never)
  private mutating func take(
    _ line: Span<UInt8>, isEnded: Bool, _ reading: inout Reading, _ sent: borrowing DropBox,
    _ left: borrowing DropBox, _ body: (borrowing Text, UInt64) -> Void
  ) throws(Problem) {
    let wasBeyond = reading.isBeyond
    reading.isBeyond = !isEnded
    why.clear()
    var number: UInt64 = 0
    if !wasBeyond {
      if isEnded, let refusal = Refusal(line) {
        number = refusal.line
        if refusal.notification.isEmpty, refusal.offset == nil, reading.hasUnread { return }
        if compose(refusal, line) {
          draft.append("\n")
          let bytes = draft.looseBytes
          reading.hash.add(bytes)
          try Self.write(bytes, to: sent)
          reading.result.sent += 1
          return
        }
      } else {
        why.append("is no line of the agent's")
      }
      reading.result.left += 1
      body(why, number)
    }
    try Self.write(line, to: left)
    if isEnded, line[line.count - 1] != 0x0A {
      try Self.write(("\n" as StaticString).span, to: left)
    }
  }

  // MARK: - A notification

  /// Puts into the draft what is sent again; else says why nothing is.
  @inline(never)
  private mutating func compose(_ refusal: borrowing Refusal, _ line: Span<UInt8>) -> Bool {
    guard !refusal.notification.isEmpty else {
      why.append(
        refusal.offset == nil
          ? "see the reason: what is in NAME.original or NAME.unread, mend and move to new/ yourself"
          : "it is not here as JSON: mend it, from NAME.original where there is one, and send it anew"
      )
      return false
    }
    let text = line.extracting(refusal.notification)
    guard let notification = check(text) else { return false }
    if case .until(let date) = notification.lifetime, date > 0, let now = Clock.time().wallSeconds,
      Int64(date) <= now
    {
      why.append("it has expired: its expiration was ")
      why.append(utc: date)
      return false
    }
    draft.clear()
    if refusal.token.count > 0 {
      guard let token = DeviceToken(hex: refusal.token.bytes) else {
        why.append("its token is none")
        return false
      }
      guard !suppressed.forbids(token, registered: notification.registered) else {
        why.append(
          "nothing is sent to its token: when it is a good one, say tinypush token register ")
        why.append(refusal.token)
        return false
      }
      readdress(notification, of: text, to: token)
    } else if refusal.list.count > 0 {
      guard isGood(refusal) else { return false }
      var recipient = Text(capacity: 80)
      recipient.append("\"to\":\"")
      recipient.append(refusal.list)
      recipient.append("\"")
      Readdressing.append(notification, of: text, for: recipient.bytes, alert: nil, to: &draft)
    } else {
      draft.append(bytes: text)
    }
    let composed = draft.looseBytes
    return check(composed) != nil
  }

  /// The notification that a text is, if it may be sent; else says why not.
  @inline(never)
  private mutating func check(_ text: Span<UInt8>) -> Notification? {
    var reader = NotificationReader()
    switch reader.next(in: text, isWhole: true, rules, &findings) {
    case .notification(let notification): return notification
    case .refused(let refusal, _): refusal.describe(in: &why)
    case .more, .end: why.append("there is no notification in it")
    }
    return nil
  }

  /// For one token alone, in its language.
  @inline(never)
  private mutating func readdress(
    _ notification: Notification, of text: Span<UInt8>, to token: DeviceToken
  ) {
    var recipient = Text(capacity: 80)
    recipient.append("\"token\":\"")
    recipient.append(hex: token.bytes.span)
    recipient.append("\"")
    var alert: Alert?
    if !notification.localized.isEmpty {
      var name = notification.firstList
      for index in 0..<notification.lists where alert == nil {
        if index > 0 { name = notification.nextString(after: name.upperBound, in: text) }
        guard let language = lists.look(into: text.extracting(name), for: token).language else {
          continue
        }
        alert = Localization.alert(for: language, in: notification.localized, of: text)
      }
    }
    Readdressing.append(notification, of: text, for: recipient.bytes, alert: alert, to: &draft)
  }

  /// Whether the recipients file, for the sake of which it was refused, is right by now.
  @inline(never)
  private mutating func isGood(_ refusal: borrowing Refusal) -> Bool {
    why.append("recipients file ")
    why.append(refusal.list)
    if refusal.listLine > 0 {
      why.append(", line ")
      why.append(refusal.listLine)
      why.append(" was wrong, and did not say who it is for: send it to that token yourself")
      return false
    }
    let found = lists.look(into: refusal.list.bytes, for: nil)
    guard found.error == 0 else {
      why.append(": ")
      why.append(cString: clinux_error_text(found.error))
      return false
    }
    if !found.hasRecipients { why.append(": no token is in it") }
    return found.hasRecipients
  }

  // MARK: - What is written

  @inline(never)
  private static func makeBox(_ root: Int32) throws(Problem) -> DropBox {
    do throws(DropBox.Problem) {
      return try DropBox(in: root)
    } catch {
      throw .cannotWrite(error)
    }
  }

  @inline(never)
  private static func write(_ bytes: Span<UInt8>, to box: borrowing DropBox) throws(Problem) {
    do throws(DropBox.Problem) {
      try box.write(bytes)
    } catch {
      throw .cannotWrite(error)
    }
  }

  /// - Parameter directory: nil: `new/`.
  @inline(never)
  private static func drop(
    _ box: inout DropBox, in directory: Int32?, as name: Span<UInt8>
  ) throws(Problem) -> Bool {
    do throws(DropBox.Problem) {
      guard let directory else { return try box.drop(as: name) }
      return try box.drop(in: directory, as: name)
    } catch {
      throw .cannotWrite(error)
    }
  }
}
