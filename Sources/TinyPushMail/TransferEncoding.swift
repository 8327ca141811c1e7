import TinyPush

/// How the bytes of a body or of an encoded word are written (RFC 2045, section 6).
enum TransferEncoding: UInt8, BitwiseCopyable {
  case none
  case quotedPrintable
  case base64
  /// As quoted-printable, with `_` for a space (RFC 2047, section 4.2).
  case words

  /// The encoding of a name in `Content-Transfer-Encoding`.
  init(_ name: Span<UInt8>) {
    self =
      name.equals(ignoringCase: "quoted-printable")
      ? .quotedPrintable : name.equals(ignoringCase: "base64") ? .base64 : .none
  }

  /// Appends the bytes that a text stands for.
  func decode(_ text: Span<UInt8>, to output: inout Text) {
    switch self {
    case .none: output.append(bytes: text)
    case .quotedPrintable, .words: decodeQuoted(text, to: &output)
    case .base64: Self.decodeBase64(text, to: &output)
    }
  }

  private func decodeQuoted(_ text: Span<UInt8>, to output: inout Text) {
    var index = 0
    while index < text.count {
      let byte = text[index]
      index += 1
      if byte == .underscore, self == .words {
        output.append(byte: .space)
        continue
      }
      guard byte == .equals else {
        output.append(byte: byte)
        continue
      }
      if index + 1 < text.count, let high = DeviceToken.hexValue(text[index]),
        let low = DeviceToken.hexValue(text[index + 1])
      {
        output.append(byte: high << 4 | low)
        index += 2
        continue
      }
      // At the end of a line, the sign joins the next line to this one.
      var next = index
      while next < text.count, text[next] <= .space, text[next] != .lineFeed { next += 1 }
      if next == text.count || text[next] == .lineFeed {
        index = min(next + 1, text.count)
      } else {
        output.append(byte: byte)
      }
    }
  }

  private static func decodeBase64(_ text: Span<UInt8>, to output: inout Text) {
    var bits: UInt32 = 0
    var count: UInt32 = 0
    for index in text.indices {
      if text[index] == .equals { count = 0 }
      // Line ends, and characters that do not belong here.
      guard let six = DeviceToken.base64Value(text[index]) else { continue }
      bits = bits << 6 | UInt32(six)
      count += 6
      guard count >= 8 else { continue }
      count -= 8
      output.append(byte: UInt8(truncatingIfNeeded: bits >> count))
    }
  }
}
