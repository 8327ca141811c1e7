import TinyPush

/// A short list of device tokens.
public struct TokenList: ~Copyable {
  /// The most tokens, enough for a command line.
  public static let countMax = 64

  private let bytes = FixedBuffer<UInt8>(capacity: countMax * DeviceToken.byteCount)
  /// The number of tokens.
  public private(set) var count = 0

  /// Creates an empty list.
  public init() {}

  /// Adds a token; false: the list is full.
  public mutating func add(_ token: DeviceToken) -> Bool {
    guard count < Self.countMax else { return false }
    bytes.store(token.bytes.span, at: count * DeviceToken.byteCount)
    count += 1
    return true
  }

  /// Whether the list has a token of these bytes.
  public func contains(_ token: Span<UInt8>) -> Bool {
    for index in 0..<count {
      let start = index * DeviceToken.byteCount
      if bytes.span(start..<start + DeviceToken.byteCount).equals(token) { return true }
    }
    return false
  }
}
