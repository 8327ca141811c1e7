import CLinux
import TinyPush
import TinyPushAgent

/// The arguments of a command, read by getopt_long, with the options that every command has.
public struct Arguments: ~Copyable {
  private static var settingsMax: Int { 32 }
  /// The number that getopt_long returns for the first long option.
  ///
  /// Each option has its own number: getopt_long does not report an abbreviation as ambiguous
  /// if all options that it matches have the same number.
  private static var longOption: Int32 { 256 }
  /// The options that every command has, in the order of their short ones: `c`, `o`, `h`.
  private static var common: StaticString { " config= option= help" }
  /// The lines of `--help` about the common options.
  private static var commonUsage: StaticString {
    """
      -c, --config FILE     the configuration file (/etc/tinypush/tinypush.conf)
      -o KEY=VALUE          a setting that overrides the file; repeatable
      -h, --help            print this help

    """
  }

  /// The program and the command, as messages name them.
  let program: StaticString
  let command: StaticString
  private let usage: StaticString
  let count: Int32
  /// The arguments of the process, from the command on.
  public let values: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
  /// The names of the options, each followed by a NUL; the last three are the common options.
  private let names: FixedBuffer<CChar>
  private let table: FixedBuffer<option>
  private(set) var optionCount = 0
  private var configFile: UnsafePointer<CChar>?
  private var settings: InlineArray<32, UnsafePointer<CChar>?> = .init(repeating: nil)
  private var settingCount = 0

  /// Runs a command with its arguments and returns the exit status.
  ///
  /// - Parameters:
  ///   - program: the word before the command's name in messages.
  ///   - options: the names of the command's options, separated by spaces. `=` after a name: the
  ///     option needs a value; `?`: the value may be left out.
  ///   - usage: the text of `--help`, in which a tab stands for the common options.
  @inline(never)
  public static func handle(
    _ command: StaticString, of program: StaticString = "tinypush", _ count: Int32,
    _ values: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>, options: StaticString,
    usage: StaticString, _ body: (inout Arguments) throws(ExitStatus) -> ExitStatus
  ) -> Int32 {
    var arguments = Arguments(program, command, count, values, options, usage)
    do throws(ExitStatus) {
      return try body(&arguments).rawValue
    } catch {
      return error.rawValue
    }
  }

  @inline(never)
  private init(
    _ program: StaticString, _ command: StaticString, _ count: Int32,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>, _ options: StaticString,
    _ usage: StaticString
  ) {
    self.program = program
    self.command = command
    self.usage = usage
    self.count = count
    self.values = arguments
    var words = Text(capacity: 512)
    words.append(options)
    words.append(Self.common)
    names = FixedBuffer(capacity: words.count + 1)
    // Each word ends with a space, and a row without a name ends the table.
    var rows = 2
    for index in words.bytes.indices where words.bytes[index] == .space { rows += 1 }
    table = FixedBuffer(capacity: rows)
    var row = option()
    var start = words.bytes[0] == .space ? 1 : 0
    for index in start...words.count {
      let byte = index < words.count ? words.bytes[index] : .space
      switch byte {
      case .equals: row.has_arg = 1
      case UInt8(ascii: "?"): row.has_arg = 2
      case .space:
        row.name = UnsafePointer(names.room(from: start).baseAddress)
        row.val = Self.longOption + Int32(optionCount)
        table[optionCount] = row
        optionCount += 1
        row = option()
        start = index + 1
      default:
        names[index] = CChar(byte)
        continue
      }
      names[index] = 0
    }
    table[optionCount] = option()
  }

  @inline(never)
  deinit {}

  /// Returns the number of the next option; nil if only operands are left.
  ///
  /// Prints a message about a wrong option, and throws its exit status.
  @inline(never)
  public mutating func next() throws(ExitStatus) -> Int? {
    while true {
      var found: Int32 = -1
      let result = clinux_option(
        count, values, (":c:o:h" as StaticString).cString, table.room().baseAddress, &found)
      var common = Int(found) - (optionCount - 3)
      switch result {
      case -1: return nil
      case Self.longOption...: if common < 0 { return Int(found) }
      case Int32(UInt8(ascii: "c")): common = 0
      case Int32(UInt8(ascii: "o")): common = 1
      case Int32(UInt8(ascii: "h")):
        // A text such as "-high water" must not be taken for -h, and lost.
        let word = CString.span(word(with: result))
        guard word.count <= 2 else { throw complain(ofText: word) }
        common = 2
      default: throw complain(isValueMissing: result == Int32(UInt8.colon))
      }
      switch common {
      case 0: configFile = clinux_option_argument()
      case 1: try addSetting()
      default: throw printUsage()
      }
    }
  }

  /// Returns the name of an option.
  @_lifetime(immortal)
  public func name(of option: Int) -> Span<UInt8> { CString.span(table[option].name) }

  /// Returns the value of the option that ``next()`` found last; empty if the option has none.
  @_lifetime(immortal)
  public func value() -> Span<UInt8> {
    guard let value = clinux_option_argument() else { return ("" as StaticString).span }
    return CString.span(value)
  }

  /// Whether the option that ``next()`` found last has a value.
  public var hasValue: Bool { clinux_option_argument() != nil }

  /// The most options and operands that there can be.
  public var countMax: Int { Int(count) }

  /// Returns an operand by its number; nil behind the last.
  public func operand(_ index: Int) -> UnsafePointer<CChar>? {
    let place = Int(clinux_option_index()) + index
    return place < Int(count) ? UnsafePointer(values[place]) : nil
  }

  /// Refuses the operand with this number, if there is one.
  @inline(never)
  public func refuseOperands(
    from index: Int = 0, _ message: StaticString = "unexpected argument "
  ) throws(ExitStatus) {
    guard let operand = operand(index) else { return }
    throw fail(.usage, message, CString.span(operand))
  }

  /// Returns the number of the action, which is the first operand; refuses an unknown action.
  ///
  /// - Parameters:
  ///   - choices: the actions, as the messages list them.
  ///   - standard: the number if no action is given; nil: an action must be given.
  @inline(never)
  public func action(
    among known: WordList, _ choices: StaticString, orElse standard: Int? = nil
  ) throws(ExitStatus) -> Int {
    var text = Text()
    guard let operand = operand(0) else {
      if let standard { return standard }
      text.append("give an action: ", choices)
      throw fail(.usage, text)
    }
    let word = CString.span(operand)
    if let index = known.index(of: word) { return index }
    text.append("takes ", choices, ", not ")
    text.append(printable: word)
    text.suggest(known.nearest(to: word), of: known, "; did you mean ")
    throw fail(.usage, text)
  }

  /// The path of the configuration file.
  public var configPath: UnsafePointer<CChar> { namedFile ?? Config.defaultFile.cString }

  /// The path from `--config`, or else from the environment variable `TINYPUSH_CONFIG`.
  private var namedFile: UnsafePointer<CChar>? {
    if let configFile { return configFile }
    let variable = EnvironmentVariable.config
    return variable.value.isEmpty ? nil : variable.pointer
  }

  /// Reads the configuration file, and then the settings that `-o` gives.
  ///
  /// Prints what is wrong, and throws the exit status. A command that needs few settings skips the
  /// default file if this user may not read it, and warns of a mistake in the other settings.
  public func readConfig(
    into config: inout Config, for reader: Config.Reader
  ) throws(ExitStatus) {
    var message = Text()
    do throws(ExitStatus) {
      try readConfig(into: &config, for: reader, message: &message)
    } catch {
      throw fail(error, message)
    }
    if config.isUnread, EnvironmentVariable.notifySocket.pointer != nil {
      message.append(printable: CString.span(configPath))
      message.append(": this service may not read the file, and its settings have their defaults")
      warn(message)
      return
    }
    guard message.count > 0 else { return }
    var text = Text(capacity: 2048)
    text.append("warning: ", message)
    text.append(": the agent does not start, or keeps its old settings, until this is corrected")
    _ = fail(.config, text)
  }

  /// Reads the configuration file, and then the settings that `-o` gives, without printing.
  ///
  /// - Parameter message: what is wrong. Without a failure: a mistake that the reader ignores.
  public func readConfig(
    into config: inout Config, for reader: Config.Reader, message: inout Text
  ) throws(ExitStatus) {
    // The agent reads keys; the configuration may have a password.
    if reader == .agent { clinux_hide_memory() }
    do throws(ExitStatus) {
      try ConfigFile.read(
        configPath, into: &config, for: reader, isRequired: namedFile != nil, message: &message)
    } catch {
      guard error == .noPermission, reader == .command, namedFile == nil else {
        throw error
      }
      message.clear()
      config.isUnread = true
    }
    for index in 0..<settingCount {
      let setting = CString.span(settings[index]!)
      var equals = 0
      while equals < setting.count, setting[equals] != .equals { equals += 1 }
      let name = setting.extracting(0..<equals).trimmed()
      guard equals < setting.count, !name.isEmpty else {
        message.clear()
        message.append("-o takes KEY=VALUE, not ", printable: setting)
        throw .usage
      }
      var problem = Text(capacity: 512)
      let value = setting.extracting(equals + 1..<setting.count).trimmed()
      guard config.set(name, to: value, &problem) else {
        message.clear()
        message.append("-o: ", problem)
        throw .usage
      }
    }
    var contradiction = Text()
    do throws(ExitStatus) {
      try config.complete(configPath, message: &contradiction)
    } catch {
      let isIgnored = reader == .command && error == .config
      if !isIgnored || message.count == 0 { swap(&message, &contradiction) }
      if !isIgnored { throw error }
    }
  }

  /// Prints a message on standard error.
  @inline(never)
  public func warn(_ message: borrowing Text) {
    var text = Text(capacity: 2048)
    appendName(to: &text)
    text.append(": ", bytes: message.bytes, "\n")
    text.write(to: STDERR_FILENO)
  }

  /// Prints a message on standard error.
  @inline(never)
  public func warn(_ message: StaticString) {
    var text = Text(capacity: 512)
    text.append(message)
    warn(text)
  }

  /// Prints a message on standard error, and returns the exit status to throw.
  @inline(never)
  public func fail(_ status: ExitStatus, _ message: borrowing Text) -> ExitStatus {
    warn(message)
    return status
  }

  /// Returns what `body` makes; prints why that fails, and throws its exit status.
  @inline(never)
  public func attempt<Value: ~Copyable>(
    _ body: (_ message: inout Text) throws(ExitStatus) -> Value
  ) throws(ExitStatus) -> Value {
    var message = Text(capacity: 2048)
    do throws(ExitStatus) {
      return try body(&message)
    } catch {
      throw fail(error, message)
    }
  }

  /// Appends the words that the user types for the command.
  func appendName(to text: inout Text) {
    if program.utf8CodeUnitCount > 0 { text.append(program, " ") }
    text.append(command)
  }

  /// Prints a message and a value on standard error, and returns the exit status to throw.
  @inline(never)
  public func fail(
    _ status: ExitStatus, _ message: StaticString, _ value: Span<UInt8>? = nil
  ) -> ExitStatus {
    var text = Text(capacity: 2048)
    text.append(message)
    if let value { text.append(printable: value) }
    return fail(status, text)
  }

  /// Whether `-o` gives a setting.
  public var hasSettings: Bool { settingCount > 0 }

  /// Refuses `--config` and `-o`, for a command that reads no configuration.
  public func refuseConfig() throws(ExitStatus) {
    guard configFile == nil, settingCount == 0 else {
      throw fail(.usage, "takes no --config and no -o, since it reads no configuration")
    }
  }

  private mutating func addSetting() throws(ExitStatus) {
    guard settingCount < Self.settingsMax else {
      throw fail(.usage, "more than 32 settings: write them to a file; the 33rd is ", value())
    }
    settings[settingCount] = clinux_option_argument()
    settingCount += 1
  }

  private func printUsage() -> ExitStatus {
    var text = Text(capacity: 8192)
    for byte in 0..<usage.utf8CodeUnitCount {
      if usage.utf8Start[byte] == .tab {
        text.append(Self.commonUsage)
      } else {
        text.append(byte: usage.utf8Start[byte])
      }
    }
    text.write(to: STDOUT_FILENO)
    return .ok
  }
}

extension Text {
  /// Appends a question that suggests a known word, if there is a similar one.
  ///
  /// - Parameters:
  ///   - nearest: the number of the similar word; nil if absent.
  ///   - question: the question, up to the word.
  @inline(never)
  public mutating func suggest(_ nearest: Int?, of known: WordList, _ question: StaticString) {
    guard let nearest else { return }
    append(question)
    append(bytes: known[nearest])
    append("?")
  }
}
