import CLinux
import TinyPush

/// What can be shown where a descriptor leads.
public struct Terminal {
  /// ECMA-48 section 8.3.117 (SGR).
  public enum Colour: UInt8 {
    case strong = 1
    case dim = 2
    case red = 31
    case green = 32
    case yellow = 33
  }

  private let descriptor: Int32
  private let isTerminal: Bool
  /// Whether it can take back what it shows.
  public let isCapable: Bool
  public let isColoured: Bool
  /// Whether it shows nothing but ASCII: the locale has no UTF-8, or the terminal is of a kind that knows none.
  public let isPlain: Bool

  @inline(never)
  public init(_ descriptor: Int32) {
    self.descriptor = descriptor
    isTerminal = isatty(descriptor) == 1
    let kind = Self.value("TERM")
    isCapable = isTerminal && !kind.isEmpty && !kind.equals("dumb")
    let isOld = !isCapable || kind.begins(with: ("vt" as StaticString).span)
    isColoured = !isOld && Self.value("NO_COLOR").isEmpty
    isPlain = isTerminal && (isOld || !Self.isUTF8)
  }

  /// The value of an environment variable; empty where it is not set.
  @_lifetime(immortal)
  private static func value(_ name: StaticString) -> Span<UInt8> {
    CString.span(
      getenv(name.cString) ?? UnsafeMutablePointer(mutating: ("" as StaticString).cString))
  }

  /// Whether the locale's characters are UTF-8. POSIX finds the locale by the first of these that is set, and takes "C"
  /// where none is.
  private static var isUTF8: Bool {
    let names: InlineArray<3, StaticString> = ["LC_ALL", "LC_CTYPE", "LANG"]
    for index in names.indices {
      guard let value = getenv(names[index].cString), value[0] != 0 else { continue }
      let locale = CString.span(value)
      for place in locale.indices {
        if holds("utf-8", locale.extracting(place...)) || holds("utf8", locale.extracting(place...))
        {
          return true
        }
      }
      return false
    }
    return false
  }

  /// Whether a text begins with these small letters, digits and hyphens, in either case.
  private static func holds(_ word: StaticString, _ text: Span<UInt8>) -> Bool {
    guard text.count >= word.utf8CodeUnitCount else { return false }
    for index in 0..<word.utf8CodeUnitCount where text[index] | 0x20 != word.utf8Start[index] {
      return false
    }
    return true
  }

  /// What stands for words that are cut, and its columns.
  public var ellipsis: StaticString { isPlain ? "..." : "…" }
  private var ellipsisColumns: Int { isPlain ? 3 : 1 }

  /// Appends text of one line, cut at the end if it takes more columns.
  @inline(never)
  public func append(_ words: Span<UInt8>, cutTo columns: Int, in text: inout Text) {
    var place = 0
    var used = 0
    var fitting = 0
    while place < words.count {
      let character = TerminalCharacter(in: words, at: place)
      used += character.columns
      if used > columns { break }
      place += character.length
      if used <= columns - ellipsisColumns { fitting = place }
    }
    guard place < words.count else { return text.append(bytes: words) }
    text.append(bytes: words.extracting(0..<fitting))
    text.append(ellipsis)
  }

  /// Appends a name in ASCII, of which the middle is left out if it takes more columns.
  @inline(never)
  public func append(_ name: Span<UInt8>, shortenedTo columns: Int, in text: inout Text) {
    guard name.count > columns else { return text.append(bytes: name) }
    let kept = max(columns - ellipsisColumns, 2)
    let head = kept * 4 / 7
    text.append(bytes: name.extracting(0..<head))
    text.append(ellipsis)
    text.append(bytes: name.extracting(name.count - (kept - head)..<name.count))
  }

  /// How wide a line may be; nil: as wide as it is.
  public var columns: Int? {
    let columns = isTerminal ? Int(clinux_terminal_columns(descriptor)) : 0
    return columns > 0 ? columns : nil
  }

  @inline(never)
  public func begin(_ colour: Colour, in text: inout Text) {
    guard isColoured else { return }
    text.append("\u{1B}[")
    text.append(colour.rawValue)
    text.append("m")
  }

  @inline(never)
  public func end(in text: inout Text) {
    if isColoured { text.append("\u{1B}[0m") }
  }
}
