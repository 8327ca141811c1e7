/// The 32 bytes by which everything knows a device token.
///
/// They are a token of 32 bytes itself, or the SHA-256 of a token of another length. So what is
/// remembered about tokens has the same size for all of them.
public struct TokenIdentity: BitwiseCopyable {
  /// The number of bytes of an identity.
  public static let byteCount = 32

  private var storage: InlineArray<32, UInt8>

  /// Makes the identity of a token.
  @inline(never)
  public init(of token: Span<UInt8>) {
    guard token.count == Self.byteCount else {
      storage = SHA256.digest(token)
      return
    }
    storage = .init(repeating: 0)
    for index in 0..<Self.byteCount { storage[index] = token[index] }
  }

  /// The bytes of the identity.
  public var bytes: Span<UInt8> {
    @_lifetime(borrow self) get { storage.span }
  }

  /// A hash of the identity.
  package var hash: UInt64 {
    storage.span.withUnsafeBytes { raw in
      var hash: UInt64 = 0
      for index in 0..<4 { hash ^= raw.loadUnaligned(fromByteOffset: 8 * index, as: UInt64.self) }
      return hash
    }
  }
}

extension TokenIdentity: Equatable {
  /// Returns whether two identities are the same.
  public static func == (left: TokenIdentity, right: TokenIdentity) -> Bool {
    for index in 0..<byteCount where left.storage[index] != right.storage[index] { return false }
    return true
  }

  /// Orders identities by their bytes.
  package static func < (left: TokenIdentity, right: TokenIdentity) -> Bool {
    left.bytes.sorts(before: right.bytes)
  }
}
