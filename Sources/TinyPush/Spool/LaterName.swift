/// The name of a file in `later/`, where a notification waits until it is due.
///
/// `DUE.KEY.IDENTITY@ARRIVAL.NAME`: the UNIX second at which the notification is due, in ten digits;
/// the key of its `collapse-id`, its identity, and when its file came into `new/` in UNIX
/// nanoseconds, in 16 hex digits each; and the name that the file had there. Version 0.2.0 gave no
/// `@ARRIVAL`.
///
/// So the smallest name is the next one due. A notification that is read again after a crash gets
/// the same name, and keeps its identity when it is due.
public struct LaterName {
  package static let dueDigits = 10
  static let hashDigits = 16
  private static let nameBytesMax = 255
  /// The most bytes of NAME.
  private static let restBytesMax = nameBytesMax - dueDigits - 3 * hashDigits - 4
  /// The most bytes of an original name: NAME also has room for what a released file's name adds.
  package static let sourceBytesMax = restBytesMax - 2 * (hashDigits + 1)

  /// When the notification is due: UNIX seconds, UTC.
  package let due: Int64
  let key: UInt64
  /// When the file came into `new/`, in UNIX nanoseconds; 0: before this version.
  let arrivalNs: Int64
  /// The number of bytes before NAME.
  package let headBytes: Int

  /// Reads a name; nil if the agent did not give it.
  @inline(never)
  public init?(_ name: Span<UInt8>) {
    guard name.count > 45, name[10] == .dot, name[27] == .dot,
      let due = name.extracting(0..<Self.dueDigits).wholeNumber,
      let key = Self.number(name, at: 11), Self.number(name, at: 28) != nil
    else { return nil }
    self.due = Int64(due)
    self.key = key
    if name[44] == .at, name.count > 62, name[61] == .dot {
      guard let arrival = Self.number(name, at: 45) else { return nil }
      arrivalNs = Int64(bitPattern: arrival)
      headBytes = 62
    } else {
      guard name[44] == .dot else { return nil }
      arrivalNs = 0
      headBytes = 45
    }
  }

  /// Returns the number with 16 hex digits at `start`; nil if something else is there.
  private static func number(_ name: Span<UInt8>, at start: Int) -> UInt64? {
    name.extracting(start..<start + hashDigits).hexNumber
  }

  /// Returns whether the name is that of a summary, which comes from no file of `new/`.
  package static func isOfSummary(_ name: Span<UInt8>) -> Bool {
    guard let known = LaterName(name) else { return false }
    let end = known.headBytes + dueDigits
    return name.count > end && name.extracting(end..<name.count).equals(summaryEnd)
  }

  static let summaryEnd: StaticString = ".summary"

  /// Appends a name.
  ///
  /// - Parameters:
  ///   - source: the name that the notification's file had in `new/`.
  ///   - arrivalNs: when the file came there.
  ///   - identity: the identity of the notification.
  static func append(
    due: UInt32, key: UInt64, source: Span<UInt8>, arrivalNs: Int64, identity: UInt64,
    to text: inout Text
  ) {
    text.append(due, digits: dueDigits)
    text.append(".")
    text.append(hex: key)
    text.append(".")
    text.append(hex: identity)
    text.append("@")
    text.append(hex: UInt64(bitPattern: arrivalNs))
    text.append(".", bytes: source.extracting(0..<min(source.count, restBytesMax)))
  }

  /// Appends the name that the file has when it is due, as if it had come from `new/`.
  ///
  /// The name begins with the original name and the arrival, so that the file keeps its place in
  /// the order, and ends with the identity, so that no other file has the name.
  package func appendReleased(_ name: Span<UInt8>, to text: inout Text) {
    // Drop an earlier identity, so that the name does not grow if the notification waits again.
    text.append(bytes: Self.source(of: name.extracting(headBytes..<name.count)))
    text.append(".")
    text.append(hex: UInt64(bitPattern: arrivalNs))
    text.append(".", bytes: name.extracting(28..<44))
  }

  /// Returns the range of the original name in a name of `later/`; nil if that was truncated.
  package static func sourceRange(in later: Span<UInt8>) -> Range<Int>? {
    guard let known = LaterName(later), later.count < nameBytesMax else { return nil }
    return known.headBytes..<later.count
  }

  /// Returns NAME in a name of `later/`; the whole name if the agent did not give it.
  @_lifetime(copy name)
  package static func rest(of name: Span<UInt8>) -> Span<UInt8> {
    name.extracting((LaterName(name)?.headBytes ?? 0)..<name.count)
  }

  /// Returns the original name of a file, which may have been released from `later/`.
  @_lifetime(copy name)
  @inline(never)
  package static func source(of name: Span<UInt8>) -> Span<UInt8> {
    let original = withoutNumber(withoutNumber(name))
    return original.extracting(0..<min(original.count, sourceBytesMax))
  }

  /// Returns the identity in the name of a released file; nil if the name has none.
  static func identity(in name: Span<UInt8>) -> UInt64? {
    isReleased(name) ? number(name, at: name.count - hashDigits) : nil
  }

  /// Returns when the original file of a released file came into `new/`, in UNIX nanoseconds; 0:
  /// before this version.
  static func arrivalNs(in name: Span<UInt8>) -> Int64 {
    Int64(bitPattern: identity(in: withoutNumber(name)) ?? 0)
  }

  /// Returns whether a name has the form of a released file's name.
  package static func isReleased(_ name: Span<UInt8>) -> Bool {
    let end = name.count - hashDigits - 1
    return end > 0 && name[end] == .dot && number(name, at: end + 1) != nil
  }

  /// Returns a name without the number at its end, if there is one.
  @_lifetime(copy name)
  private static func withoutNumber(_ name: Span<UInt8>) -> Span<UInt8> {
    isReleased(name) ? name.extracting(0..<name.count - hashDigits - 1) : name
  }
}
