/// The name of a file in `later/`, where a notification waits for its `not-before`:
/// `DUE.KEY.HASH.NAME`, the UNIX second at which it is due in ten digits, the key of its `collapse-id` and a hash of what it
/// was taken from in 16 hex digits each, and the name of the file that held it.
///
/// So the smallest name is the next one due. The same notification, read again after a crash, comes to the same name.
public struct LaterName {
  package static let dueDigits = 10
  static let hashDigits = 16
  /// Where NAME begins.
  package static let headBytes = dueDigits + 2 * hashDigits + 3
  private static let nameBytesMax = 255

  /// UNIX seconds, UTC.
  package let due: Int64
  let key: UInt64
  private let hash: Range<Int>

  /// Nil: it is none of ours.
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

  /// Whether a summary is in the file of this name, which was taken from no file of `new/`.
  package static func isOfSummary(_ name: Span<UInt8>) -> Bool {
    name.count == headBytes + dueDigits + summaryEnd.utf8CodeUnitCount
      && name.extracting(headBytes + dueDigits..<name.count).equals(summaryEnd)
  }

  static let summaryEnd: StaticString = ".summary"

  /// Composes one.
  ///
  /// - Parameters:
  ///   - source: the name of the file that holds the notification.
  ///   - offset: where in it.
  ///   - token: of the one recipient; nil: all of them.
  static func append(
    due: UInt32, key: UInt64, source: Span<UInt8>, _ identity: FileIdentity, offset: Int64,
    _ token: DeviceToken? = nil, to text: inout Text
  ) {
    var hash = Hash()
    hash.add(source)
    hash.add(identity.inode)
    hash.add(UInt64(bitPattern: identity.changeTimeNs))
    hash.add(UInt64(bitPattern: offset))
    if let token { hash.add(token.bytes.span) }
    text.append(due, digits: dueDigits)
    text.append(".")
    text.append(hex: key)
    text.append(".")
    text.append(hex: hash.value)
    text.append(".")
    text.append(bytes: source.extracting(0..<min(source.count, nameBytesMax - headBytes)))
  }

  /// What the file is called in `new/` once it is due: as it was called before, so that it keeps its place, and never as
  /// another one.
  package func appendReleased(_ name: Span<UInt8>, to text: inout Text) {
    // However often it waits, its name stays as long.
    text.append(bytes: Self.source(of: name.extracting(Self.headBytes..<name.count)))
    text.append(".")
    text.append(bytes: name.extracting(hash))
  }

  /// Where in the name of a file in `later/` that of the file stands which held the notification; nil where the latter was
  /// too long to be kept whole.
  package static func sourceRange(in later: Span<UInt8>) -> Range<Int>? {
    later.count > headBytes && later.count < nameBytesMax ? headBytes..<later.count : nil
  }

  /// Of a file in `new/`, the name under which it came: what was released bears that of the file that held it. Where two are
  /// the same, which of them came later is not known.
  @_lifetime(copy name)
  package static func source(of name: Span<UInt8>) -> Span<UInt8> {
    let end = isReleased(name) ? name.count - hashDigits - 1 : name.count
    return name.extracting(0..<min(end, nameBytesMax - headBytes))
  }

  /// Whether a file in `new/` bears a name as those do that were released.
  static func isReleased(_ name: Span<UInt8>) -> Bool {
    let end = name.count - hashDigits - 1
    guard end > 0, name[end] == .dot else { return false }
    for index in end + 1..<name.count where DeviceToken.hexValue(name[index]) == nil {
      return false
    }
    return true
  }

  /// Whether a notification of the file `name` that has the key `key` replaces this one.
  public static func isReplaced(_ later: Span<UInt8>, by name: Span<UInt8>, key: UInt64) -> Bool {
    guard let known = LaterName(later), known.key == key else { return false }
    return !name.sorts(before: later.extracting(headBytes..<later.count))
  }
}
