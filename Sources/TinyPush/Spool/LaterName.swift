/// The name of a file in `later/`, where a notification waits for its `not-before`.
///
/// `DUE.KEY.IDENTITY.NAME`: the UNIX second at which the notification is due, in ten digits; the key
/// of its `collapse-id` and its identity, in 16 hex digits each; and the name that its file had in
/// `new/`.
///
/// So the smallest name is the next one due. A notification that is read again after a crash gets
/// the same name, and keeps its identity when it is due.
public struct LaterName {
  package static let dueDigits = 10
  static let hashDigits = 16
  /// The number of bytes before NAME.
  package static let headBytes = dueDigits + 2 * hashDigits + 3
  private static let nameBytesMax = 255
  /// The most bytes of NAME.
  package static let sourceBytesMax = nameBytesMax - headBytes

  /// When the notification is due: UNIX seconds, UTC.
  package let due: Int64
  let key: UInt64

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
  ///   - source: the name that the notification's file had in `new/`.
  ///   - identity: the identity of the notification.
  static func append(
    due: UInt32, key: UInt64, source: Span<UInt8>, identity: UInt64, to text: inout Text
  ) {
    text.append(due, digits: dueDigits)
    text.append(".")
    text.append(hex: key)
    text.append(".")
    text.append(hex: identity)
    text.append(".")
    text.append(bytes: source.extracting(0..<min(source.count, sourceBytesMax)))
  }

  /// Appends the name that the file has when it is due, as if it had come from `new/`.
  ///
  /// It begins with the original name, so that the file keeps its place in the order, and ends with
  /// the identity, so that no other file has the name.
  package func appendReleased(_ name: Span<UInt8>, to text: inout Text) {
    // Drop an earlier identity, so that the name does not grow if the notification waits again.
    text.append(bytes: Self.source(of: name.extracting(Self.headBytes..<name.count)))
    text.append(".")
    text.append(bytes: name.extracting(28..<44))
  }

  /// Returns the range of the original name in a name of `later/`; nil if that was truncated.
  package static func sourceRange(in later: Span<UInt8>) -> Range<Int>? {
    later.count > headBytes && later.count < nameBytesMax ? headBytes..<later.count : nil
  }

  /// Returns the original name of a file, which may have been released from `later/`.
  ///
  /// Of two files with the same original name, it is unknown which came later.
  @_lifetime(copy name)
  package static func source(of name: Span<UInt8>) -> Span<UInt8> {
    let end = isReleased(name) ? name.count - hashDigits - 1 : name.count
    return name.extracting(0..<min(end, sourceBytesMax))
  }

  /// Returns the identity in the name of a released file; nil if the name has none.
  static func identity(in name: Span<UInt8>) -> UInt64? {
    guard isReleased(name) else { return nil }
    var identity: UInt64 = 0
    for index in name.count - hashDigits..<name.count {
      identity = identity << 4 | UInt64(DeviceToken.hexValue(name[index]) ?? 0)
    }
    return identity
  }

  /// Returns whether a name has the form of a released file's name.
  package static func isReleased(_ name: Span<UInt8>) -> Bool {
    let end = name.count - hashDigits - 1
    guard end > 0, name[end] == .dot else { return false }
    for index in end + 1..<name.count where DeviceToken.hexValue(name[index]) == nil {
      return false
    }
    return true
  }

  /// Returns whether a notification with key `key` in the file `name` replaces the file `later`.
  ///
  /// - Parameter isOutdated: whether a newer file of this name put a notification into `later/`.
  public static func isReplaced(
    _ later: Span<UInt8>, by name: Span<UInt8>, key: UInt64, isOutdated: Bool = false
  ) -> Bool {
    guard let known = LaterName(later), known.key == key else { return false }
    let (new, old) = (source(of: name), source(of: later.extracting(headBytes..<later.count)))
    // Of the same file, a notification that has waited before is the older one.
    return new.equals(old) ? !isReleased(name) && !isOutdated : !new.sorts(before: old)
  }
}
