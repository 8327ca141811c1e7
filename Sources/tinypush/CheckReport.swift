import CLinux
import TinyPush
import TinyPushAgent

/// The findings about a text, as `tinypush check` and `tinypush send` print them.
///
/// For people with an excerpt of the source, for programs as JSON Lines.
struct CheckReport: ~Copyable {
  private let isJSON: Bool
  private let descriptor: Int32
  private let terminal: Terminal
  private let width: Int
  private var output = Text(capacity: 131_072)
  var progress: ProgressBar
  private(set) var hasErrors = false
  /// The code of the next finding.
  var code = Text(capacity: 64)
  /// The message of the next finding.
  var message = Text(capacity: 8192)

  /// The numbers of notifications or recipients in a file, refused ones, and warnings.
  struct Tally {
    var count: UInt64 = 0
    var refused: UInt64 = 0
    var warnings: UInt64 = 0
  }

  @inline(never)
  init(isJSON: Bool = false, to descriptor: Int32 = STDOUT_FILENO) {
    self.isJSON = isJSON
    self.descriptor = descriptor
    terminal = Terminal(descriptor)
    // Excerpts are indented by two.
    width = min(terminal.columns ?? 80, 400) - 2
    progress = ProgressBar(isWanted: true)
  }

  @inline(never)
  deinit {}

  /// Sets ``code`` and ``message`` from a finding.
  @inline(never)
  mutating func take(_ finding: Finding) {
    finding.appendCode(to: &code)
    finding.describe(in: &message)
  }

  /// Reports ``code`` and ``message`` at a place, which must not be before the last reported place.
  @inline(never)
  mutating func report(
    _ source: inout SourceText, _ place: Int, isWarning: Bool, notificationLine: Int64 = 0
  ) {
    if !isWarning { hasErrors = true }
    source.go(to: place)
    let text = source.text
    let end = Excerpt.end(of: place, in: text)
    let severity: StaticString = isWarning ? "warning" : "error"
    if isJSON {
      printJSON(source, place..<end, severity, notificationLine)
    } else {
      terminal.begin(.strong, in: &output)
      output.append(printable: CString.span(source.path))
      output.append(":")
      if source.hasLines {
        output.append(source.line)
        output.append(":", source.column, ": ")
        terminal.begin(isWarning ? .magenta : .red, in: &output)
        output.append(severity)
        output.append(":")
      }
      terminal.end(in: &output)
      output.append(" ", message, "\n  ")
      let excerpt = Excerpt(
        text, line: source.lineStart, place: place..<end, width: width, ellipsis: terminal.ellipsis)
      excerpt.appendLine(of: text, to: &output)
      output.append("\n  ")
      excerpt.appendIndent(to: &output)
      terminal.begin(.green, in: &output)
      excerpt.appendCaret(to: &output)
      terminal.end(in: &output)
      output.append("\n")
    }
    code.clear()
    message.clear()
    if output.count > 32_768 { flush() }
  }

  @inline(never)
  private mutating func printJSON(
    _ source: borrowing SourceText, _ place: Range<Int>, _ severity: StaticString,
    _ notificationLine: Int64
  ) {
    var endColumn = source.column
    let text = source.text
    for index in place where text[index] & 0xC0 != 0x80 { endColumn += 1 }
    output.beginObject()
    output.member("file", string: CString.span(source.path))
    output.member("line", number: source.line)
    output.member("column", number: source.column)
    output.member("end_column", number: endColumn)
    output.member("offset", number: source.byteOffset)
    if notificationLine > 0 { output.member("notification_line", number: notificationLine) }
    output.member("severity", word: severity)
    output.member("code", string: code)
    output.member("message", string: message)
    output.endLine()
  }

  /// Prints how many more findings a notification has than were printed.
  mutating func printMore(_ path: UnsafePointer<CChar>, _ count: Int) {
    guard count > 0, !isJSON else { return }
    output.append(printable: CString.span(path))
    output.append(": and ", count, " more in this notification\n")
  }

  /// Prints the sums of a file, unless it has a single entry whose only finding was printed.
  @inline(never)
  mutating func sum(_ path: UnsafePointer<CChar>, _ tally: Tally, _ noun: StaticString) {
    guard !isJSON, tally.count != 1 || tally.refused + tally.warnings != 1 else { return }
    output.append(printable: CString.span(path))
    output.append(": ")
    append(tally.count, noun)
    if tally.refused + tally.warnings == 0 { output.append(", no problems") }
    if tally.refused > 0 {
      output.append(", ", tally.refused, " refused")
    }
    if tally.warnings > 0 {
      output.append(", ")
      append(tally.warnings, "warning")
    }
    output.append("\n")
  }

  @inline(never)
  private mutating func append(_ count: UInt64, _ noun: StaticString) {
    output.append(count)
    output.append(" ", noun)
    if count != 1 { output.append("s") }
  }

  /// Writes the collected output.
  @inline(never)
  mutating func flush() {
    guard output.count > 0 else { return }
    progress.clear()
    output.flush(to: descriptor)
  }
}
