import CLinux
import TinyPush

/// The report of a check, as text or as JSON Lines.
///
/// As text, each step has a heading, and below it a line for each item, followed by what to do if
/// there is a problem.
struct CheckupReport: ~Copyable {
  private let pinned = Pinned()
  enum State {
    case well
    case warning
    case wrong(ExitStatus)
    /// Not known, because an earlier item is wrong.
    case skipped
  }

  private static let indent = 17
  private let isJSON: Bool
  private let terminal = Terminal(STDOUT_FILENO)
  /// The column at which lines are broken; nil if the reader is a program.
  private let width: Int?
  private var step: StaticString = ""
  private var isHeadingDue = false
  private var warnings = 0
  private var errors = 0
  /// The worst status so far.
  private(set) var worst = ExitStatus.ok
  private var output = Text(capacity: 16_384)
  private var column = 0
  /// The message and the advice of the next item.
  var message = Text(capacity: 4096)
  var advice = Text(capacity: 4096)

  init(isJSON: Bool) {
    self.isJSON = isJSON
    width = terminal.columns.map { max($0, 40) }
  }

  deinit {}

  /// Begins a step, whose name is the heading of the items that follow.
  mutating func begin(_ step: StaticString) {
    self.step = step
    isHeadingDue = true
  }

  /// Shows on a terminal what the check waits for.
  @inline(never)
  mutating func wait(for what: StaticString, _ name: Span<UInt8>) {
    guard !isJSON, terminal.isCapable else { return }
    heading()
    output.append("    ", what)
    output.append(printable: name)
    output.append(" ...")
    output.flush()
  }

  /// Returns how urgent a status is: highest if the user must act first, lowest if the problem may
  /// go away by itself.
  private static func rank(_ status: ExitStatus) -> Int {
    switch status {
    case .config: 6
    case .noPermission: 5
    case .noInput: 4
    case .inputOutput, .cannotCreate: 3
    case .unavailable: 2
    case .tryLater: 1
    default: 0
    }
  }

  /// Reports an item with ``message`` and ``advice``.
  @inline(__always)
  mutating func report(_ item: StaticString, _ state: State = .well) {
    report(literal: item.utf8Start, state, ("" as StaticString).utf8Start)
  }

  /// Reports an item, with these words after ``message``.
  @inline(__always)
  mutating func report(_ item: StaticString, _ state: State, _ words: StaticString) {
    report(literal: item.utf8Start, state, words.utf8Start)
  }

  @inline(never)
  private mutating func report(
    literal item: UnsafePointer<UInt8>, _ state: State, _ words: UnsafePointer<UInt8>
  ) {
    message.append(terminated: words)
    switch state {
    case .warning: warnings += 1
    case .wrong(let status):
      errors += 1
      if Self.rank(status) > Self.rank(worst) { worst = status }
    case .well, .skipped: break
    }
    if isJSON { printJSON(item, state) } else { printLine(item, state) }
    message.clear()
    advice.clear()
    output.flush()
  }

  /// Prints the number of errors and warnings.
  @inline(never)
  mutating func end() {
    guard !isJSON else { return }
    output.append("\n")
    if errors + warnings == 0 { output.append("no problems found") }
    if errors > 0 {
      output.append(errors)
      output.append(errors == 1 ? " error" : " errors")
    }
    if warnings > 0 {
      if errors > 0 { output.append(", ") }
      output.append(warnings)
      output.append(warnings == 1 ? " warning" : " warnings")
    }
    output.append("\n")
    output.flush()
  }

  // MARK: - For people

  private mutating func printLine(_ item: UnsafePointer<UInt8>, _ state: State) {
    if terminal.isCapable { output.append("\r\u{1B}[K") }
    heading()
    output.append("  ")
    switch state {
    case .well: paint(.green, "✓")
    case .warning: paint(.yellow, "!")
    case .wrong: paint(.red, "✗")
    case .skipped: output.append("-")
    }
    output.append(" ")
    let start = output.count
    output.append(terminated: item)
    column = 4 + output.count - start
    pad()
    wrap(message.unsafeBytes)
    output.append("\n")
    guard advice.count > 0 else { return }
    column = 0
    pad()
    output.append("→ ")
    column += 2
    wrap(advice.unsafeBytes)
    output.append("\n")
  }

  private mutating func heading() {
    guard isHeadingDue else { return }
    isHeadingDue = false
    paint(.strong, step)
    output.append("\n")
  }

  @inline(never)
  private mutating func pad() {
    repeat {
      output.append(" ")
      column += 1
    } while column < Self.indent
  }

  /// Appends words, and breaks the line before a terminal's last column.
  @inline(never)
  private mutating func wrap(_ text: Span<UInt8>) {
    var start = 0
    while start < text.count {
      var end = start
      while end < text.count, text[end] != .space { end += 1 }
      if let width, start > 0 {
        if column + 1 + end - start > width {
          output.append("\n")
          column = 0
          pad()
        } else {
          output.append(" ")
          column += 1
        }
      } else if start > 0 {
        output.append(" ")
      }
      output.append(bytes: text.extracting(start..<end))
      column += end - start
      start = end + 1
    }
  }

  @inline(never)
  private mutating func paint(_ colour: Terminal.Colour, _ words: StaticString) {
    terminal.begin(colour, in: &output)
    output.append(words)
    terminal.end(in: &output)
  }

  // MARK: - For programs

  private mutating func printJSON(_ item: UnsafePointer<UInt8>, _ state: State) {
    let word: StaticString =
      switch state {
      case .well: "ok"
      case .warning: "warning"
      case .wrong: "error"
      case .skipped: "skipped"
      }
    output.beginObject()
    output.key("name")
    output.append("\"", step, ".")
    output.append(terminated: item)
    output.append("\"")
    output.member("state", word: word)
    output.member("message", string: message)
    if advice.count > 0 { output.member("advice", string: advice) }
    output.endLine()
  }
}
