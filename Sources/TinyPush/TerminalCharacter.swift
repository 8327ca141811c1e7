/// A character of untrusted text, made safe to show on a terminal.
///
/// The text may hold any bytes.
public struct TerminalCharacter {
  /// The number of bytes in the text.
  public private(set) var length = 1
  /// The number of columns on the terminal.
  ///
  /// 0 for a combining character, such as an accent; 2 for a wide character.
  public private(set) var columns = 1
  private(set) var kind = Kind.shown

  enum Kind {
    case shown
    /// White space of any kind.
    case space
    /// A character that would control the terminal or is invisible, or a byte that is not UTF-8.
    case hidden
  }

  /// Whether the character is white space.
  public var isSpace: Bool { kind == .space }

  /// Reads the character that begins at `index`.
  public init(in text: Span<UInt8>, at index: Int) {
    let first = text[index]
    if first < 0x80 {
      if first <= .space {
        kind = first == .space || first >= .tab && first <= .carriageReturn ? .space : .hidden
      }
      if first == .delete { kind = .hidden }
      return
    }
    length = UTF8Sequence.length(in: text, at: index)
    guard length > 0 else {
      length = 1
      kind = .hidden
      return
    }
    let unit = JSONUnit(in: text, at: index)
    switch unit.scalar {
    // Controls, changes of the writing direction, line ends, and characters without width.
    case 0x80...0x9F, 0x061C, 0x200B...0x200C, 0x200E...0x200F, 0x2028...0x202E, 0x2060...0x206F,
      0xFEFF, 0xFFF9...0xFFFB:
      kind = .hidden
    case _ where unit.isExtending: columns = 0
    // Source: Unicode Standard Annex 11, the common characters of `Wide` and `Fullwidth`.
    case 0x1100...0x115F, 0x231A...0x231B, 0x23E9...0x23EC, 0x23F0, 0x23F3, 0x2614...0x2615,
      0x2648...0x2653, 0x267F, 0x2693, 0x26A1, 0x26AA...0x26AB, 0x26BD...0x26BE, 0x26C4...0x26C5,
      0x26D4, 0x26EA, 0x26F2...0x26F3, 0x26F5, 0x26FA, 0x26FD, 0x2705, 0x270A...0x270B, 0x2728,
      0x274C, 0x274E, 0x2753...0x2757, 0x2795...0x2797, 0x27B0, 0x2B1B...0x2B1C, 0x2B50, 0x2B55,
      0x2E80...0x303E, 0x3041...0x4DBF, 0x4E00...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF,
      0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F680...0x1F6FF,
      0x1F7E0...0x1F7EB, 0x1F900...0x1F9FF, 0x1FA70...0x1FAFF, 0x20000...0x3FFFD:
      columns = 2
    default: break
    }
  }

  /// Reads the character that ends before `index`.
  init(in text: Span<UInt8>, before index: Int) {
    var start = index - 1
    while start > 0, index - start < 4, text[start] & 0xC0 == 0x80 { start -= 1 }
    self.init(in: text, at: start)
    guard start + length != index else { return }
    // A byte of no character, or of a character that extends past `index`.
    (length, columns, kind) = (1, 1, .hidden)
  }

  /// Appends the character: white space as a space, a hidden character as U+FFFD.
  public func append(from text: Span<UInt8>, at index: Int, to output: inout Text) {
    switch kind {
    case .shown: output.append(bytes: text.extracting(index..<index + length))
    case .space: output.append(" ")
    case .hidden: output.append("\u{FFFD}")
    }
  }
}

extension Text {
  /// Appends untrusted bytes, made safe to show on a terminal.
  @inline(never)
  public mutating func append(shown bytes: Span<UInt8>) {
    var index = 0
    while index < bytes.count {
      let character = TerminalCharacter(in: bytes, at: index)
      character.append(from: bytes, at: index, to: &self)
      index += character.length
    }
  }
}
