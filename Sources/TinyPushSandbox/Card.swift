import TinyPush

/// A notification as a person likes to see it: a line of where it goes and how, and below it what it says.
struct Card {
  var frame: ReceivedFrame
  var summary: PayloadSummary
  var connection: Int64
  var palette: Palette

  /// Below the time of day.
  private static let indent: StaticString = "          "

  func write(token: Span<UInt8>, payload: Span<UInt8>, now: Int64, in text: inout Text) {
    text.append("to ")
    Self.write(shortToken: token, in: &text)
    text.append(palette.dim)
    text.append("  priority ")
    text.append(frame.priority ?? 10)
    text.append(", ")
    Self.write(expiration: frame.expiration, now: now, in: &text)
    text.append(", connection ")
    text.append(connection)
    if let identifier = frame.identifier {
      text.append(" no. ")
      text.append(identifier)
    }
    text.append(palette.end)
    text.append("\n")
    if let title = summary.title {
      text.append(Self.indent)
      text.append(palette.strong)
      text.append(jsonString: payload.extracting(title), indent: Self.indent)
      text.append(palette.end)
      text.append("\n")
    }
    if let body = summary.body {
      text.append(Self.indent)
      text.append(summary.title == nil ? palette.strong : "")
      text.append(jsonString: payload.extracting(body), indent: Self.indent)
      text.append(summary.title == nil ? palette.end : "")
      text.append("\n")
    }
    writeRest(payload, in: &text)
  }

  private func writeRest(_ payload: Span<UInt8>, in text: inout Text) {
    text.append(Self.indent)
    text.append(palette.dim)
    if summary.isSilent { text.append("silent, ") }
    write("text of the app's own: ", summary.locKey, payload, in: &text)
    write("badge ", summary.badge, payload, in: &text)
    write("sound ", summary.sound, payload, in: &text)
    write("category ", summary.category, payload, in: &text)
    if summary.isContentAvailable { text.append("content-available, ") }
    if summary.ownKeys > 0 {
      text.append(summary.ownKeys)
      text.append(summary.ownKeys == 1 ? " key of the app's own, " : " keys of the app's own, ")
    }
    text.append(payload.count)
    text.append(payload.count == 1 ? " byte" : " bytes")
    text.append(palette.end)
    text.append("\n")
  }

  private func write(
    _ name: StaticString, _ range: Range<Int>?, _ payload: Span<UInt8>, in text: inout Text
  ) {
    guard let range else { return }
    text.append(name)
    text.append(jsonString: payload.extracting(range), indent: Self.indent)
    text.append(", ")
  }

  /// Its beginning and its end, by which one knows it again.
  static func write(shortToken token: Span<UInt8>, in text: inout Text) {
    guard token.count > 8 else {
      text.append(hex: token)
      return
    }
    text.append(hex: token.extracting(0..<4))
    text.append("..")
    text.append(hex: token.extracting(token.count - 2..<token.count))
  }

  private static func write(expiration: UInt32?, now: Int64, in text: inout Text) {
    guard let expiration else { return text.append("no expiration") }
    guard expiration > 0 else { return text.append("not stored") }
    let left = Int64(expiration) - now
    guard left > 0 else { return text.append("already expired") }
    text.append("kept for ")
    switch left {
    case ..<120:
      text.append(left)
      text.append(" s")
    case ..<7200:
      text.append((left + 30) / 60)
      text.append(" min")
    case ..<172_800:
      text.append((left + 1800) / 3600)
      text.append(" h")
    default:
      text.append((left + 43_200) / 86_400)
      text.append(" days")
    }
  }
}

extension Text {
  /// The text that a valid JSON string stands for, safe for a terminal: a line end begins an indented line, and other
  /// control characters and those that turn the direction of writing come as `\xNN` of each byte.
  mutating func append(jsonString string: Span<UInt8>, indent: StaticString) {
    var index = 0
    while index < string.count {
      let byte = string[index]
      if byte == 0x5C {
        append(escape: string, at: &index, indent: indent)
      } else if byte < 0x80 {
        append(byte: byte)
        index += 1
      } else {
        let length = UTF8Sequence.length(in: string, at: index)
        guard length > 0 else { return }
        append(visible: string.extracting(index..<index + length))
        index += length
      }
    }
  }

  private mutating func append(escape string: Span<UInt8>, at index: inout Int, indent: StaticString) {
    let kind = string[index + 1]
    index += 2
    switch kind {
    case 0x6E:
      append("\n")
      append(indent)
    case 0x62: append("\\x08")
    case 0x66: append("\\x0c")
    case 0x72: append("\\x0d")
    case 0x74: append(" ")
    case 0x75:
      var scalar = Self.hexUnit(string, at: index)
      index += 4
      if scalar & 0xFC00 == 0xD800 {
        scalar = 0x10000 + (scalar & 0x3FF) << 10 + (Self.hexUnit(string, at: index + 2) & 0x3FF)
        index += 6
      }
      append(scalar: scalar, indent: indent)
    default: append(byte: kind)
    }
  }

  private static func hexUnit(_ string: Span<UInt8>, at start: Int) -> UInt32 {
    var unit: UInt32 = 0
    for index in start..<start + 4 {
      let digit = UInt32(string[index])
      unit = unit << 4 | (digit <= 0x39 ? digit - 0x30 : (digit | 0x20) - 0x57)
    }
    return unit
  }

  private mutating func append(scalar: UInt32, indent: StaticString) {
    if scalar == 0x0A {
      append("\n")
      append(indent)
      return
    }
    var bytes: InlineArray<4, UInt8> = .init(repeating: 0)
    let last = UInt8(scalar & 0x3F) | 0x80
    switch scalar {
    case ..<0x80:
      bytes[0] = UInt8(scalar)
      append(visible: bytes.span.extracting(0..<1))
    case ..<0x800:
      bytes[0] = 0xC0 | UInt8(scalar >> 6)
      bytes[1] = last
      append(visible: bytes.span.extracting(0..<2))
    case ..<0x10000:
      bytes[0] = 0xE0 | UInt8(scalar >> 12)
      bytes[1] = 0x80 | UInt8(scalar >> 6 & 0x3F)
      bytes[2] = last
      append(visible: bytes.span.extracting(0..<3))
    default:
      bytes[0] = 0xF0 | UInt8(scalar >> 18)
      bytes[1] = 0x80 | UInt8(scalar >> 12 & 0x3F)
      bytes[2] = 0x80 | UInt8(scalar >> 6 & 0x3F)
      bytes[3] = last
      append(visible: bytes.span)
    }
  }

  /// One character, as it is or, if it steers the terminal, byte by byte.
  private mutating func append(visible character: Span<UInt8>) {
    let isControl =
      switch character.count {
      case 1: character[0] < 0x20 || character[0] == 0x7F
      case 2: character[0] == 0xC2 && character[1] < 0xA0
      // U+200E and U+200F, U+2028 to U+202E, U+2066 to U+2069.
      case 3:
        character[0] == 0xE2
          && (character[1] == 0x80
            && (character[2] & 0xFE == 0x8E || character[2] >= 0xA8 && character[2] <= 0xAE)
            || character[1] == 0x81 && character[2] >= 0xA6 && character[2] <= 0xA9)
      default: false
      }
    if isControl { append(printable: character) } else { append(bytes: character) }
  }
}
