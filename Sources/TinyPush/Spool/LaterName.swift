/// The name of a file in `later/`, where a notification waits for its `not-before`.
///
/// `DUE.KEY.HASH.NAME`: the UNIX second at which the notification is due, in ten digits; the key of
/// its `collapse-id` and a hash of its source, in 16 hex digits each; and the name of the file that
/// held the notification.
///
/// So the smallest name is the next one due. A notification that is read again after a crash gets
/// the same name.
public struct LaterName {
  package static let dueDigits = 10
  static let hashDigits = 16
  /// The number of bytes before NAME.
  package static let headBytes = dueDigits + 2 * hashDigits + 3
  private static let nameBytesMax = 255

  /// When the notification is due: UNIX seconds, UTC.
  package let due: Int64
  let key: UInt64
  private let hash: Range<Int>

  /// Reads a name; nil if the agent did not give it.
  public init?(_ name: Span<UInt8>) {
    guard name.count > Self.headBytes, name[10] == .dot, name[27] == .dot, name[44] == .dot else {
      return nil
    }
    var due: Int64 = 0
    for index in 0..<Self.dueDigits {
      guard name[index].isDigit else { return nil }
      due = due * 10 + Int64(name[index].digitValue)
    }
    var key: UInt64 = 0
    for index in 11..<27 {
      guard let digit = DeviceToken.hexValue(name[index]) else { return nil }
      key = key << 4 | UInt64(digit)
    }
    for index in 28..<44 where DeviceToken.hexValue(name[index]) == nil { return nil }
    self.due = due
    self.key = key
    hash = 28..<44
  }

  /// Returns whether the name is that of a summary, which comes from no file of `new/`.
  package static func isOfSummary(_ name: Span<UInt8>) -> Bool {
    name.count == headBytes + dueDigits + summaryEnd.utf8CodeUnitCount
      && name.extracting(headBytes + dueDigits..<name.count).equals(summaryEnd)
  }

  static let summaryEnd: StaticString = ".summary"

  /// Appends a name.
  ///
  /// - Parameters:
  ///   - source: the name of the file that holds the notification.
  ///   - offset: the place of the notification in the file.
  ///   - token: the only recipient; nil: all recipients.
  static func append(
    due: UInt32, key: UInt64, source: Span<UInt8>, _ identity: FileIdentity, offset: Int64,
    _ token: DeviceToken? = nil, to text: inout Text
  ) {
    var hash = Hash()
    hash.add(source)
    hash.add(identity.inode)
    hash.add(UInt64(bitPattern: identity.changeTimeNs))
    hash.add(UInt64(bitPattern: offset))
    if let token { hash.add(token.bytes) }
    text.append(due, digits: dueDigits)
    text.append(".")
    text.append(hex: key)
    text.append(".")
    text.append(hex: hash.value)
    text.append(".")
    text.append(bytes: source.extracting(0..<min(source.count, nameBytesMax - headBytes)))
  }

  /// Appends the name that the file gets in `new/` when it is due.
  ///
  /// It begins with the original name, so that the file keeps its place in the order, and ends with
  /// the hash, so that no other file has the name.
  package func appendReleased(_ name: Span<UInt8>, to text: inout Text) {
    // Drop an earlier hash, so that the name does not grow if the notification waits again.
    text.append(bytes: Self.source(of: name.extracting(Self.headBytes..<name.count)))
    text.append(".")
    text.append(bytes: name.extracting(hash))
  }

  /// Returns the range of the original name in a name of `later/`; nil if that was truncated.
  package static func sourceRange(in later: Span<UInt8>) -> Range<Int>? {
    later.count > headBytes && later.count < nameBytesMax ? headBytes..<later.count : nil
  }

  /// Returns the original name of a file in `new/`, which may have been released from `later/`.
  ///
  /// Of two files with the same original name, it is unknown which came later.
  @_lifetime(copy name)
  package static func source(of name: Span<UInt8>) -> Span<UInt8> {
    let end = isReleased(name) ? name.count - hashDigits - 1 : name.count
    return name.extracting(0..<min(end, nameBytesMax - headBytes))
  }

  /// Returns whether a name in `new/` has the form of a released file's name.
  static func isReleased(_ name: Span<UInt8>) -> Bool {
    let end = name.count - hashDigits - 1
    guard end > 0, name[end] == .dot else { return false }
    for index in end + 1..<name.count where DeviceToken.hexValue(name[index]) == nil {
      return false
    }
    return true
  }

  /// Returns whether a notification with key `key` in the file `name` replaces the file `later`.
  public static func isReplaced(_ later: Span<UInt8>, by name: Span<UInt8>, key: UInt64) -> Bool {
    guard let known = LaterName(later), known.key == key else { return false }
    return !name.sorts(before: later.extracting(headBytes..<later.count))
  }
}
