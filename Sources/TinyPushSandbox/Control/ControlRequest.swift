import TinyPush

/// A request to a running sandbox.
///
/// It has items of `key:1 | length:4 | bytes`, big-endian, up to the end of the stream. The answer
/// is `status:1 | text`, where the status is an exit status (sysexits).
public struct ControlRequest: ~Copyable {
  /// The kind of an item.
  public enum Key: UInt8 {
    case verb = 1
    case device, topic
    /// Asks for JSON Lines in the answer.
    case json
    /// The app's token in hexadecimal digits.
    case token
    /// The key under which the app decrypts payloads.
    case encryptionKey
    /// Asks for a page in a browser instead of an app.
    case browser
  }

  /// The largest request, in bytes.
  public static let bytesMax = 4096

  var text = Text(capacity: bytesMax)
  /// Whether the request is larger than ``bytesMax``.
  public var isTooLarge: Bool { text.isCut }

  /// Creates an empty request.
  public init() {}

  /// Appends an item.
  public mutating func append(_ key: Key, _ bytes: Span<UInt8>) {
    text.append(byte: key.rawValue)
    for shift in 0..<4 {
      text.append(byte: UInt8(truncatingIfNeeded: bytes.count >> (24 - 8 * shift)))
    }
    text.append(bytes: bytes)
  }

  // MARK: - Reading

  /// Returns the item at `place` and moves `place` behind it; nil: the end, or an incomplete item.
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

  /// Returns the value of the last item with this key; empty if absent.
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
}
