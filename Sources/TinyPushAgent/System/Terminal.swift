import CLinux
import TinyPush

/// The abilities of the terminal behind a descriptor.
public struct Terminal {
  /// Colours and styles of text (ECMA-48 section 8.3.117, SGR).
  public enum Colour: UInt8 {
    case strong = 1
    case dim = 2
    case red = 31
    case green = 32
    case yellow = 33
    case magenta = 35
  }

  private let descriptor: Int32
  private let isTerminal: Bool
  /// Whether the terminal can erase what it shows.
  public let isCapable: Bool
  /// Whether the terminal shows colours, and the user wants them.
  public let isColoured: Bool
  /// Whether the terminal shows only ASCII, because of the locale or its kind.
  public let isPlain: Bool

  /// Finds out the abilities from the descriptor and the environment.
  @inline(never)
  public init(_ descriptor: Int32) {
    self.descriptor = descriptor
    isTerminal = isatty(descriptor) == 1
    let kind = EnvironmentVariable.terminal.value
    isCapable = isTerminal && !kind.isEmpty && !kind.equals("dumb")
    let isOld = !isCapable || kind.begins(with: ("vt" as StaticString).span)
    isColoured = !isOld && EnvironmentVariable.noColor.value.isEmpty
    isPlain = isTerminal && (isOld || !Self.isUTF8)
  }

  /// Whether the locale uses UTF-8.
  ///
  /// POSIX takes the locale from the first of these variables that is set, and "C" if none is.
  private static var isUTF8: Bool {
    let variables: InlineArray<3, EnvironmentVariable> = [
      .localeOfAll, .localeOfCharacters, .locale,
    ]
    for index in variables.indices {
      let locale = variables[index].value
      guard !locale.isEmpty else { continue }
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

  /// Whether a text begins with a word of small letters, digits and hyphens, in either case.
  private static func holds(_ word: StaticString, _ text: Span<UInt8>) -> Bool {
    guard text.count >= word.utf8CodeUnitCount else { return false }
    for index in 0..<word.utf8CodeUnitCount where text[index] | 0x20 != word.utf8Start[index] {
      return false
    }
    return true
  }

  /// The mark for words that were cut.
  public var ellipsis: StaticString { isPlain ? "..." : "…" }
  private var ellipsisColumns: Int { isPlain ? 3 : 1 }

  /// Appends a line of text, cut at its end to a number of columns.
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

  /// Appends an ASCII name, shortened in its middle to a number of columns.
  @inline(never)
  public func append(_ name: Span<UInt8>, shortenedTo columns: Int, in text: inout Text) {
    guard name.count > columns else { return text.append(bytes: name) }
    let kept = max(columns - ellipsisColumns, 2)
    let head = kept * 4 / 7
    text.append(bytes: name.extracting(0..<head))
    text.append(ellipsis)
    text.append(bytes: name.extracting(name.count - (kept - head)..<name.count))
  }

  /// The width of the terminal; nil if lines may be of any width.
  public var columns: Int? {
    let columns = isTerminal ? Int(clinux_terminal_columns(descriptor)) : 0
    return columns > 0 ? columns : nil
  }

  /// Begins a colour or style, if the terminal shows colours.
  @inline(never)
  public func begin(_ colour: Colour, in text: inout Text) {
    guard isColoured else { return }
    text.append("\u{1B}[", colour.rawValue, "m")
  }

  /// Ends the colour or style.
  @inline(never)
  public func end(in text: inout Text) {
    if isColoured { text.append("\u{1B}[0m") }
  }
}
