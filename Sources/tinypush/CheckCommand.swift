import CLinux
import TinyPush

/// `tinypush check`: look at notification files as the agent would, or at everything that the agent needs.
enum CheckCommand {
  static let usage: StaticString = """
    Usage: tinypush check [OPTION]... [FILE|-]...
    Checks notification files, and says where they are wrong and how to mend them. Without a
    file: checks the configuration, the certificate, the spool and the gateway.

      --json                a line of JSON for each problem
      -c, --config FILE     the configuration (/etc/tinypush/tinypush.conf)
      -o KEY=VALUE          a setting over it
      -h, --help            print this

    Ends with 0 when all is well, with 65 when a notification would be refused.

    """

  static func run(
    _ count: Int32, _ values: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
  ) -> Int32 {
    let options: InlineArray<1, Option> = [Option("json")]
    var arguments = Arguments("check", count, values, options: options.span, usage: usage)
    do throws(ExitStatus) {
      var config = Config()
      var isJSON = false
      while try arguments.next() != nil { isJSON = true }
      try arguments.readConfig(into: &config)
      guard arguments.operand(0) != nil else { return Checkup.run(config).rawValue }
      var status = ExitStatus.ok
      var index = 0
      while let path = arguments.operand(index) {
        index += 1
        do throws(InputFile.Problem) {
          var check = FileCheck(path, config.courier.rules, isJSON: isJSON)
          if try check.run() > 0 { status = .dataRefused }
        } catch {
          status = arguments.fail(error.status, error.text(path))
        }
      }
      return status.rawValue
    } catch {
      return error.rawValue
    }
  }
}

/// The check of one file, read in pieces.
struct FileCheck: ~Copyable {
  private let path: UnsafePointer<CChar>
  private let isJSON: Bool
  private let input = FixedBuffer<UInt8>(capacity: 2 * NotificationReader.objectBytesMax)
  private let rules: Rules
  private var findings = Findings(capacity: 64)
  private var inputBytes = 0
  private var lines = 0
  private var offset: Int64 = 0
  private var notifications: UInt64 = 0
  private var problems: UInt64 = 0

  init(_ path: UnsafePointer<CChar>, _ rules: Rules, isJSON: Bool) {
    self.path = path
    self.rules = rules
    self.isJSON = isJSON
  }

  deinit {}

  /// Says what is wrong, and returns in how many places.
  mutating func run() throws(InputFile.Problem) -> UInt64 {
    let descriptor = try InputFile.open(path)
    defer { close(descriptor) }
    var reader = NotificationReader()
    var isWhole = false
    reading: while true {
      switch reader.next(in: input.looseSpan(0..<inputBytes), isWhole: isWhole, rules, &findings) {
      case .notification: notifications += 1
      case .refused(let refusal, _):
        problems += 1
        say(refusal)
      case .end: break reading
      case .more(let from):
        // Whole lines are kept before the object, so that the excerpt of a problem is the line it stands in.
        let start = max(lineStart(before: from), from - 1024)
        lines += lineEnds(before: start)
        offset += Int64(start)
        inputBytes -= start
        input.move(from: start, to: 0, count: inputBytes)
        let room = input.room(from: inputBytes)
        let count = read(descriptor, room.baseAddress, room.count)
        guard count >= 0 else { throw .cannotRead(clinux_errno()) }
        isWhole = count == 0
        inputBytes += Int(count)
        reader.resume(at: from - start)
      }
    }
    if notifications == 0 && problems == 0 {
      problems = 1
      say(Finding(.notAnObject, at: 0))
    }
    if problems == 0 && !isJSON {
      var text = Text()
      text.append(printable: CString.span(path))
      text.append(": ")
      text.append(notifications)
      text.append(notifications == 1 ? " notification, all well\n" : " notifications, all well\n")
      text.write(to: STDOUT_FILENO)
    }
    return problems
  }

  private func lineStart(before index: Int) -> Int {
    var start = index
    while start > 0, input[start - 1] != 0x0A { start -= 1 }
    return start
  }

  private func lineEnds(before index: Int) -> Int {
    var count = 0
    for place in 0..<index where input[place] == 0x0A { count += 1 }
    return count
  }

  private func say(_ refusal: Finding) {
    let at = min(refusal.offset, inputBytes)
    let start = lineStart(before: at)
    let line = lines + lineEnds(before: start) + 1
    let column = characters(start..<at) + 1
    var text = Text(capacity: 4096)
    if isJSON {
      text.append("{\"file\":")
      text.append(json: CString.span(path))
      text.append(",\"line\":")
      text.append(line)
      text.append(",\"column\":")
      text.append(column)
      text.append(",\"offset\":")
      text.append(offset + Int64(at))
      text.append(",\"message\":")
      var message = Text()
      refusal.describe(in: &message)
      text.append(json: message)
      text.append("}\n")
    } else {
      text.append(printable: CString.span(path))
      text.append(":")
      text.append(line)
      text.append(":")
      text.append(column)
      text.append(": ")
      refusal.describe(in: &text)
      text.append("\n")
      excerpt(start, at, in: &text)
    }
    text.write(to: STDOUT_FILENO)
  }

  /// The line, cut to what a terminal shows, and a caret under the place.
  private func excerpt(_ start: Int, _ at: Int, in text: inout Text) {
    let width = 72
    var from = start
    if at - start > width - 12 { from = at - (width - 12) }
    while from > start, from < inputBytes, input[from] & 0xC0 == 0x80 { from -= 1 }
    var end = from
    while end < inputBytes, end - from < width, input[end] != 0x0A { end += 1 }
    while end < inputBytes, input[end] & 0xC0 == 0x80 { end += 1 }
    text.append("  ")
    for index in from..<end {
      let byte = input[index]
      text.append(byte: byte < 0x20 || byte == 0x7F ? 0x20 : byte)
    }
    text.append("\n  ")
    for _ in 0..<characters(from..<at) { text.append(" ") }
    text.append("^\n")
  }

  private func characters(_ range: Range<Int>) -> Int {
    var count = 0
    for index in range where input[index] & 0xC0 != 0x80 { count += 1 }
    return count
  }
}
