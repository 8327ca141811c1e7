import CLinux
import TinyPush
import TinyPushAgent

/// A command's arguments, read by getopt_long; and the options that every command has.
public struct Arguments: ~Copyable {
  private static var settingsMax: Int { 32 }
  /// What getopt_long returns for the first long option. Each has a number of its own: those that share one are not
  /// ambiguous to it.
  private static var longOption: Int32 { 256 }
  private static var common: InlineArray<3, Option> {
    [Option("config", .required), Option("option", .required), Option("help")]
  }

  private let command: StaticString
  private let usage: StaticString
  private let count: Int32
  private let arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
  private let optionCount: Int
  private let table: UnsafeMutablePointer<option>
  private let names: FixedBuffer<StaticString>
  private var configFile: UnsafePointer<CChar>?
  private var settings: InlineArray<32, UnsafePointer<CChar>?> = .init(repeating: nil)
  private var settingCount = 0

  @inline(never)
  public init(
    _ command: StaticString, _ count: Int32,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>,
    options: Span<Option>, usage: StaticString
  ) {
    self.command = command
    self.usage = usage
    self.count = count
    self.arguments = arguments
    optionCount = options.count
    let common = Self.common
    table = .allocate(capacity: options.count + common.count + 1)
    names = FixedBuffer(capacity: options.count + common.count)
    add(options, at: 0)
    add(common.span, at: options.count)
    table[options.count + common.count] = option()
  }

  @inline(never)
  private func add(_ options: Span<Option>, at start: Int) {
    for index in options.indices {
      var row = option()
      row.name = options[index].name.cString
      row.has_arg = options[index].value.rawValue
      row.val = Self.longOption + Int32(start + index)
      table[start + index] = row
      names[start + index] = options[index].name
    }
  }

  @inline(never)
  deinit { table.deallocate() }

  /// The next option's number; nil when there are only operands left. What is wrong is said, and thrown.
  public mutating func next() throws(ExitStatus) -> Int? {
    while true {
      var found: Int32 = -1
      let result = clinux_option(
        count, arguments, (":c:o:h" as StaticString).cString, table, &found)
      switch result {
      case -1: return nil
      case Self.longOption... where Int(found) < optionCount: return Int(found)
      case Self.longOption...:
        switch Int(found) - optionCount {
        case 0: configFile = clinux_option_argument()
        case 1: try addSetting()
        default: throw printUsage()
        }
      case Int32(UInt8(ascii: "c")): configFile = clinux_option_argument()
      case Int32(UInt8(ascii: "o")): try addSetting()
      case Int32(UInt8(ascii: "h")):
        // A text such as "-high water" is not lost for that.
        let word = CString.span(word(with: result))
        throw word.count > 2 ? complain(ofText: word) : printUsage()
      default: throw complain(isValueMissing: result == Int32(UInt8.colon))
      }
    }
  }

  /// The value of the option just found, if it has one.
  @_lifetime(immortal)
  public func value() -> Span<UInt8> {
    guard let value = clinux_option_argument() else { return ("" as StaticString).span }
    return CString.span(value)
  }

  public var hasValue: Bool { clinux_option_argument() != nil }

  /// The operands, by number.
  public func operand(_ index: Int) -> UnsafePointer<CChar>? {
    let place = Int(clinux_option_index()) + index
    return place < Int(count) ? UnsafePointer(arguments[place]) : nil
  }

  /// The number of a word among those that may stand there. Any other is refused, and thrown.
  ///
  /// - Parameter objection: stands before the word in the refusal.
  @inline(never)
  public func choice(
    _ word: Span<UInt8>, among known: Span<StaticString>, _ objection: StaticString
  ) throws(ExitStatus) -> Int {
    if let index = Choice.index(word, among: known) { return index }
    var text = Text()
    Choice.refuse(word, among: known, objection, in: &text)
    throw fail(.usage, text)
  }

  /// The path of the configuration's file.
  public var configPath: UnsafePointer<CChar> { namedFile ?? Config.defaultFile.cString }

  /// The one that an option names, or else the environment.
  private var namedFile: UnsafePointer<CChar>? {
    if let configFile { return configFile }
    guard let path = getenv(("TINYPUSH_CONFIG" as StaticString).cString), path[0] != 0 else {
      return nil
    }
    return UnsafePointer(path)
  }

  /// The configuration: the file, and what was said over it. What is wrong is said, and thrown.
  ///
  /// - Parameter mayBeClosed: whether a default file that this user may not read is passed over.
  public func readConfig(into config: inout Config, mayBeClosed: Bool = false) throws(ExitStatus) {
    var message = Text()
    do throws(ExitStatus) {
      try readConfig(into: &config, mayBeClosed: mayBeClosed, message: &message)
    } catch {
      throw fail(error, message)
    }
  }

  /// - Parameter message: on failure, what is wrong.
  public func readConfig(
    into config: inout Config, mayBeClosed: Bool = false, message: inout Text
  ) throws(ExitStatus) {
    do throws(ExitStatus) {
      try ConfigFile.read(
        configPath, into: &config, isRequired: namedFile != nil, message: &message)
    } catch {
      guard error == .noPermission, mayBeClosed, namedFile == nil else {
        throw error
      }
      message.clear()
    }
    for index in 0..<settingCount {
      let setting = CString.span(settings[index]!)
      var equals = 0
      while equals < setting.count, setting[equals] != .equals { equals += 1 }
      let name = trimmed(setting.extracting(0..<equals))
      guard equals < setting.count else {
        message.append("-o takes KEY=VALUE, not ")
        message.append(printable: setting)
        throw .usage
      }
      do throws(Config.Problem) {
        try config.set(name, to: trimmed(setting.extracting(equals + 1..<setting.count)))
      } catch {
        message.append("-o: ")
        ConfigFile.describe(error, name: name, in: &message)
        throw .usage
      }
    }
    try config.complete(configPath, message: &message)
  }

  /// Says why the command fails.
  public func fail(_ status: ExitStatus, _ message: borrowing Text) -> ExitStatus {
    var text = Text(capacity: 2048)
    text.append("tinypush ")
    text.append(command)
    text.append(": ")
    text.append(bytes: message.bytes)
    text.append("\n")
    text.write(to: STDERR_FILENO)
    return status
  }

  public func fail(_ status: ExitStatus, _ message: StaticString, _ value: Span<UInt8>?)
    -> ExitStatus
  {
    var text = Text()
    text.append(message)
    if let value { text.append(printable: value) }
    return fail(status, text)
  }

  private mutating func addSetting() throws(ExitStatus) {
    guard settingCount < Self.settingsMax else {
      throw fail(.usage, "too many settings: write a config file; the first too many is ", value())
    }
    settings[settingCount] = clinux_option_argument()
    settingCount += 1
  }

  private func printUsage() -> ExitStatus {
    var text = Text(capacity: 4096)
    text.append(usage)
    text.write(to: STDOUT_FILENO)
    return .ok
  }

  // MARK: - Wrong options

  private func complain(isValueMissing: Bool) -> ExitStatus {
    let letter = clinux_option_letter()
    let word = CString.span(word(with: letter))
    let nearest = nearest(to: word)
    // Of several letters in an argument, one is wrong.
    var option = Text(capacity: 2048)
    if letter == 0 || nearest != nil && !isValueMissing {
      option.append(bytes: word)
    } else {
      option.append("-")
      option.append(byte: UInt8(truncatingIfNeeded: letter))
    }
    var text = Text(capacity: 2048)
    if isValueMissing {
      text.append(printable: option)
      text.append(" needs a value")
      return fail(options: &text)
    }
    if isText(word) { return complain(ofText: word) }
    if letter == 0, explain(word, in: &text) { return fail(options: &text) }
    text.append("unknown option ")
    text.append(printable: option)
    if let nearest {
      text.append("; did you mean --")
      text.append(nearest)
      text.append("?")
    }
    return fail(options: &text)
  }

  /// Says of an argument that begins as an option does that it may be a text.
  private func complain(ofText word: Span<UInt8>) -> ExitStatus {
    var text = Text(capacity: 2048)
    text.append("\"")
    text.append(printable: word)
    text.append("\" is not an option: put -- before a text that begins with -")
    return fail(options: &text)
  }

  private func fail(options text: inout Text) -> ExitStatus {
    text.append("\nTry `tinypush ")
    text.append(command)
    text.append(" --help`.")
    return fail(.usage, text)
  }

  /// The argument with the letter of a short option; getopt passes over it with its last letter.
  private func word(with letter: Int32) -> UnsafePointer<CChar> {
    let index = Int(clinux_option_index())
    if letter != 0, index < Int(count), let word = arguments[index],
      word[0] == CChar(UInt8.hyphen), word[1] != CChar(UInt8.hyphen), strchr(word, letter) != nil
    {
      return UnsafePointer(word)
    }
    return UnsafePointer(arguments[index - 1]!)
  }

  /// The name that an argument gives to its option, without hyphens and value.
  @_lifetime(copy word)
  private func name(in word: Span<UInt8>) -> Span<UInt8> {
    var start = 0
    while start < word.count, word[start] == .hyphen { start += 1 }
    var end = start
    while end < word.count, word[end] != .equals { end += 1 }
    return word.extracting(start..<end)
  }

  /// Whether an argument that begins as an option does is rather a text: a number, or words.
  private func isText(_ word: Span<UInt8>) -> Bool {
    let name = name(in: word)
    if name.count > 0, name[0].isDigit { return true }
    for index in name.indices where name[index] == .space { return true }
    return false
  }

  /// The option that was meant by an argument, if there is one like it.
  private func nearest(to word: Span<UInt8>) -> StaticString? {
    let name = name(in: word)
    return name.count > 1 ? Nearest.match(name, among: names.span(0..<names.capacity)) : nil
  }

  /// Says why an argument that begins as options do is refused: the option takes no value, or several begin so; false: none
  /// does.
  private func explain(_ word: Span<UInt8>, in text: inout Text) -> Bool {
    let name = name(in: word)
    var matches = 0
    var isExact = false
    for index in 0..<names.capacity where isShort(name, for: index) {
      matches += 1
      if names[index].utf8CodeUnitCount == name.count { isExact = true }
    }
    guard matches > 0 else { return false }
    if isExact || matches == 1 {
      text.append(printable: word)
      text.append(": this option takes no value")
      return true
    }
    text.append("ambiguous option ")
    text.append(printable: word)
    text.append(":")
    for index in 0..<names.capacity where isShort(name, for: index) {
      text.append(" --")
      text.append(names[index])
    }
    return true
  }

  private func isShort(_ name: Span<UInt8>, for index: Int) -> Bool {
    name.count > 0 && names[index].span.begins(with: name)
  }

  @_lifetime(copy text)
  private func trimmed(_ text: Span<UInt8>) -> Span<UInt8> {
    var start = 0
    var end = text.count
    while start < end, text[start] == .space { start += 1 }
    while end > start, text[end - 1] == .space { end -= 1 }
    return text.extracting(start..<end)
  }
}
