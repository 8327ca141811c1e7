import TinyPush

/// What is asked of a running sandbox: items of `key:1 | length:4 | bytes`, big-endian, up to the end of the stream. The
/// answer is `status:1 | text`, the status being an exit status (sysexits).
public struct ControlRequest: ~Copyable {
  /// What an item is.
  public enum Key: UInt8 {
    case verb = 1
    case device, topic
    /// What an app brings along: a file's bytes, `NAME=BUTTON,BUTTON`. Each may be there several times.
    case strings, category
    /// The answer is to be JSON Lines.
    case json
  }

  /// Above what apps bring along.
  public static let bytesMax = 1 << 20

  var text = Text(capacity: bytesMax)
  /// Whether it has become larger than ``bytesMax``.
  public var isTooLarge: Bool { text.isCut }

  public init() {}

  public mutating func append(_ key: Key, _ bytes: Span<UInt8>) {
    text.append(byte: key.rawValue)
    for shift in 0..<4 {
      text.append(byte: UInt8(truncatingIfNeeded: bytes.count >> (24 - 8 * shift)))
    }
    text.append(bytes: bytes)
  }

  // MARK: - Reading

  /// The items of a request one after the other, from `place` on; nil at the end, or where it is none.
  static func next(_ bytes: Span<UInt8>, _ place: inout Int) -> (key: Key?, value: Range<Int>)? {
    guard bytes.count - place >= 5 else { return nil }
    var number: UInt32 = 0
    for index in place + 1..<place + 5 { number = number << 8 | UInt32(bytes[index]) }
    let count = Int(clamping: number)
    let start = place + 5
    guard count <= bytes.count - start else { return nil }
    let key = Key(rawValue: bytes[place])
    place = start + count
    return (key, start..<place)
  }

  /// The value of the last item of this key; empty where there is none.
  @_lifetime(copy bytes)
  static func value(_ key: Key, in bytes: Span<UInt8>) -> Span<UInt8> {
    bytes.extracting(range(key, in: bytes) ?? 0..<0)
  }

  static func has(_ key: Key, in bytes: Span<UInt8>) -> Bool { range(key, in: bytes) != nil }

  private static func range(_ key: Key, in bytes: Span<UInt8>) -> Range<Int>? {
    var place = 0
    var found: Range<Int>?
    while let item = next(bytes, &place) {
      if item.key == key { found = item.value }
    }
    return found
  }

  /// The values of all items of this key, each with a line end behind it.
  static func values(_ key: Key, in bytes: Span<UInt8>) -> Text {
    var text = Text(capacity: bytes.count + 1)
    var place = 0
    while let item = next(bytes, &place) {
      guard item.key == key else { continue }
      text.append(bytes: bytes.extracting(item.value))
      text.append("\n")
    }
    return text
  }
}
