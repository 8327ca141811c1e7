/// Writes bytes in base64 (RFC 4648), a character at a time and without padding.
package struct Base64Writer {
  /// The alphabet for URLs and names of files.
  package static var forURL: StaticString {
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
  }
  static var standard: StaticString {
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
  }

  private let alphabet: StaticString
  private var index = 0
  private var bits: UInt32 = 0
  private var count: UInt32 = 0

  /// Makes a writer at the start of the bytes.
  package init(_ alphabet: StaticString) {
    self.alphabet = alphabet
  }

  /// Returns the next character; nil at the end.
  package mutating func next(of bytes: Span<UInt8>) -> UInt8? {
    if count < 6, index < bytes.count {
      bits = bits << 8 | UInt32(bytes[index])
      count += 8
      index += 1
    } else if count > 0, count < 6 {
      bits <<= 6 - count
      count = 6
    }
    guard count >= 6 else { return nil }
    count -= 6
    return alphabet.utf8Start[Int(bits >> count & 63)]
  }
}

extension Text {
  /// Appends bytes in base64, with padding.
  package mutating func append(base64 bytes: Span<UInt8>) {
    append(bytes, by: Base64Writer(Base64Writer.standard))
    for _ in 0..<(3 - bytes.count % 3) % 3 { append("=") }
  }

  /// Appends bytes in base64 without padding, in the alphabet for URLs.
  package mutating func append(base64URL bytes: Span<UInt8>) {
    append(bytes, by: Base64Writer(Base64Writer.forURL))
  }

  @inline(never)
  private mutating func append(_ bytes: Span<UInt8>, by writer: Base64Writer) {
    var writer = writer
    while let character = writer.next(of: bytes) { append(byte: character) }
  }
}
