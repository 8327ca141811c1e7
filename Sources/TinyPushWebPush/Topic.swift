import TinyPush

/// The name under which a browser's push service keeps only the newest of several messages.
///
/// The service takes at most 32 characters of base64url (RFC 8030, section 5.4), and Apple's decodes
/// them. So the name is the start of a hash.
public struct Topic: Equatable {
  /// The number of characters.
  public static let count = 32
  private static let digestBytes = count / 4 * 3

  private var characters = InlineArray<32, UInt8>(repeating: 0)

  /// Names messages by any bytes.
  public init(_ bytes: Span<UInt8>) {
    let digest = SHA256.digest(bytes)
    var writer = Base64Writer(Base64Writer.forURL)
    for index in 0..<Self.count {
      characters[index] = writer.next(of: digest.span.extracting(0..<Self.digestBytes)) ?? 0
    }
  }

  /// The characters.
  public var text: Span<UInt8> {
    @_lifetime(borrow self) get { characters.span }
  }

  /// Returns whether two names are the same.
  public static func == (left: Topic, right: Topic) -> Bool { left.text.equals(right.text) }
}
