import TinyPush

/// A short list of device tokens, known by their identities.
public struct TokenList: ~Copyable {
  /// The most tokens, enough for a command line.
  public static let countMax = 64

  private let tokens = FixedBuffer<TokenIdentity>(capacity: countMax)
  /// The number of tokens.
  public private(set) var count = 0

  /// Creates an empty list.
  public init() {}

  /// Adds a token; false: the list is full.
  public mutating func add(_ token: DeviceToken) -> Bool {
    guard count < Self.countMax else { return false }
    tokens[count] = token.identity
    count += 1
    return true
  }

  /// Whether the list has a token of these bytes.
  public func contains(_ token: Span<UInt8>) -> Bool {
    guard count > 0 else { return false }
    let identity = TokenIdentity(of: token)
    for index in 0..<count where tokens[index] == identity { return true }
    return false
  }
}
