import CLinux
import TinyPush
import TinyPushAgent

/// A command's arguments, read by getopt_long; and the options that every command has.
public struct Arguments: ~Copyable {
  private static var settingsMax: Int { 32 }
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
      row.val = 256
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
      case 256 where Int(found) < optionCount: return Int(found)
      case 256:
        switch Int(found) - optionCount {
        case 0: configFile = clinux_option_argument()
        case 1: try addSetting()
        default: throw printUsage()
        }
      case Int32(UInt8(ascii: "c")): configFile = clinux_option_argument()
      case Int32(UInt8(ascii: "o")): try addSetting()
      case Int32(UInt8(ascii: "h")): throw printUsage()
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
  public var configPath: UnsafePointer<CChar> { configFile ?? Config.defaultFile.cString }

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
        configPath, into: &config, isRequired: configFile != nil, message: &message)
    } catch {
      guard error == .noPermission, mayBeClosed, configFile == nil else {
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

  private func complain(isValueMissing: Bool) -> ExitStatus {
    let letter = clinux_option_letter()
    var option = Text(capacity: 2048)
    if letter != 0 {
      // It may be one of several in an argument that has not been passed yet.
      option.append("-")
      option.append(byte: UInt8(truncatingIfNeeded: letter))
    } else {
      option.append(cString: arguments[Int(clinux_option_index()) - 1])
    }
    let given = option.bytes
    var text = Text(capacity: 2048)
    if isValueMissing {
      text.append(printable: given)
      text.append(" needs a value")
    } else {
      text.append("there is no option ")
      text.append(printable: given)
      text.append(", or it takes no value")
      suggest(given, in: &text)
    }
    text.append("\nTry `tinypush ")
    text.append(command)
    text.append(" --help`.")
    return fail(.usage, text)
  }

  /// Asks whether the option is meant that resembles this one.
  private func suggest(_ given: Span<UInt8>, in text: inout Text) {
    guard given.count > 2, given[1] == .hyphen else { return }
    var end = 2
    while end < given.count, given[end] != .equals { end += 1 }
    Choice.suggest(
      given.extracting(2..<end), among: names.span(0..<names.capacity), ": did you mean --",
      in: &text)
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
