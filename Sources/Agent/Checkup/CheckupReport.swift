import CLinux
import TinyPush

/// What a checkup says: under a heading for each step a line for each thing that was looked at, and below it what to do where it
/// is not well. Or the same as JSON Lines.
struct CheckupReport: ~Copyable {
  private let pinned = Pinned()
  enum State {
    case well
    case warning
    case wrong(ExitStatus)
    /// Nothing is known of it, since something before it is wrong.
    case skipped
  }

  private static let indent = 17
  private let isJSON: Bool
  private let terminal = Terminal(STDOUT_FILENO)
  /// Lines are broken at this column; nil: not at all, as for whoever reads them by a program.
  private let width: Int?
  private var step: StaticString = ""
  private var isHeadingDue = false
  private var warnings = 0
  private var errors = 0
  /// The status of the worst that was said.
  private(set) var worst = ExitStatus.ok
  private var output = Text(capacity: 16_384)
  private var column = 0
  /// What is said next: what was found, and what is to be done.
  var message = Text(capacity: 4096)
  var advice = Text(capacity: 4096)

  init(isJSON: Bool) {
    self.isJSON = isJSON
    width = terminal.columns.map { max($0, 40) }
  }

  deinit {}

  /// What comes is about this.
  mutating func begin(_ step: StaticString) {
    self.step = step
    isHeadingDue = true
  }

  /// What is being waited for, on a terminal.
  @inline(never)
  mutating func wait(for what: StaticString, _ name: Span<UInt8>) {
    guard !isJSON, terminal.isCapable else { return }
    heading()
    output.append("    ", what)
    output.append(printable: name)
    output.append(" ...")
    flush()
  }

  /// How bad a status is beside the others: what has to be mended first is the worst, and what may pass by itself the least.
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

  /// Says ``message``, and ``advice``.
  @inline(__always)
  mutating func report(_ item: StaticString, _ state: State = .well) {
    report(literal: item.utf8Start, state, ("" as StaticString).utf8Start)
  }

  /// The same with these words behind those of ``message``.
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
    flush()
  }

  /// What it came to.
  @inline(never)
  mutating func end() {
    guard !isJSON else { return }
    output.append("\n")
    if errors + warnings == 0 { output.append("all is well") }
    if errors > 0 {
      output.append(errors)
      output.append(errors == 1 ? " thing is wrong" : " things are wrong")
    }
    if warnings > 0 {
      if errors > 0 { output.append(", ") }
      output.append(warnings)
      output.append(warnings == 1 ? " warning" : " warnings")
    }
    output.append("\n")
    flush()
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
    wrap(message.looseBytes)
    output.append("\n")
    guard advice.count > 0 else { return }
    column = 0
    pad()
    output.append("→ ")
    column += 2
    wrap(advice.looseBytes)
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

  /// Appends words, on a terminal no further than its last column.
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

  @inline(never)
  private mutating func flush() {
    output.write(to: STDOUT_FILENO)
    output.clear()
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
