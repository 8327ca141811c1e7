import TinyPush

/// A few device tokens to be known again.
public struct TokenList: ~Copyable {
  /// As many as somebody types on a command line.
  public static let countMax = 64

  private let bytes = FixedBuffer<UInt8>(capacity: countMax * DeviceToken.byteCount)
  public private(set) var count = 0

  public init() {}

  /// Adds one; `false` when the list is full.
  public mutating func add(_ token: DeviceToken) -> Bool {
    guard count < Self.countMax else { return false }
    bytes.store(token.bytes.span, at: count * DeviceToken.byteCount)
    count += 1
    return true
  }

  /// Whether a token of these bytes is among them.
  public func contains(_ token: Span<UInt8>) -> Bool {
    for index in 0..<count {
      let start = index * DeviceToken.byteCount
      if bytes.span(start..<start + DeviceToken.byteCount).equals(token) { return true }
    }
    return false
  }
}
