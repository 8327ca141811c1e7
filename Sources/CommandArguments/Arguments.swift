import CLinux
import TinyPush
import TinyPushAgent

/// A command's arguments, read by getopt_long; and the options that every command has.
public struct Arguments: ~Copyable {
  private static var settingsMax: Int { 32 }
  /// What getopt_long returns for the first long option. Each has a number of its own: those that share one are not
  /// ambiguous to it.
  private static var longOption: Int32 { 256 }
  /// The options that every command has, in the order of their short ones: `c`, `o`, `h`.
  private static var common: StaticString { " config= option= help" }
  /// What `--help` says of them.
  private static var commonUsage: StaticString {
    """
      -c, --config FILE     the configuration (/etc/tinypush/tinypush.conf)
      -o KEY=VALUE          a setting over it; may be given several times
      -h, --help            print this

    """
  }

  let command: StaticString
  private let usage: StaticString
  let count: Int32
  let arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
  /// The names of the options, each with a NUL behind it; the last three are the common ones.
  private let names: FixedBuffer<CChar>
  private let table: FixedBuffer<option>
  private(set) var optionCount = 0
  private var configFile: UnsafePointer<CChar>?
  private var settings: InlineArray<32, UnsafePointer<CChar>?> = .init(repeating: nil)
  private var settingCount = 0

  /// Does what a command does with its arguments. Returns the exit status.
  ///
  /// - Parameters:
  ///   - options: their names, with spaces between: `=` behind the name of one that needs a value, `?` where it may have one.
  ///   - usage: in which a tab stands for the options that every command has.
  @inline(never)
  public static func handle(
    _ command: StaticString, _ count: Int32,
    _ values: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>, options: StaticString,
    usage: StaticString, _ body: (inout Arguments) throws(ExitStatus) -> ExitStatus
  ) -> Int32 {
    var arguments = Arguments(command, count, values, options, usage)
    do throws(ExitStatus) {
      return try body(&arguments).rawValue
    } catch {
      return error.rawValue
    }
  }

  @inline(never)
  private init(
    _ command: StaticString, _ count: Int32,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>, _ options: StaticString,
    _ usage: StaticString
  ) {
    self.command = command
    self.usage = usage
    self.count = count
    self.arguments = arguments
    var words = Text(capacity: 512)
    words.append(options)
    words.append(Self.common)
    names = FixedBuffer(capacity: words.count + 1)
    table = FixedBuffer(capacity: 40)
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

  /// The next option's number; nil when there are only operands left. What is wrong is said, and thrown.
  @inline(never)
  public mutating func next() throws(ExitStatus) -> Int? {
    while true {
      var found: Int32 = -1
      let result = clinux_option(
        count, arguments, (":c:o:h" as StaticString).cString, table.room().baseAddress, &found)
      var common = Int(found) - (optionCount - 3)
      switch result {
      case -1: return nil
      case Self.longOption...: if common < 0 { return Int(found) }
      case Int32(UInt8(ascii: "c")): common = 0
      case Int32(UInt8(ascii: "o")): common = 1
      case Int32(UInt8(ascii: "h")):
        // A text such as "-high water" is not lost for that.
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

  /// The name of an option.
  @_lifetime(immortal)
  public func name(of option: Int) -> Span<UInt8> { CString.span(table[option].name) }

  /// The value of the option just found, if it has one.
  @_lifetime(immortal)
  public func value() -> Span<UInt8> {
    guard let value = clinux_option_argument() else { return ("" as StaticString).span }
    return CString.span(value)
  }

  public var hasValue: Bool { clinux_option_argument() != nil }

  /// The arguments are no more than so many.
  public var countMax: Int { Int(count) }

  /// The operands, by number.
  public func operand(_ index: Int) -> UnsafePointer<CChar>? {
    let place = Int(clinux_option_index()) + index
    return place < Int(count) ? UnsafePointer(arguments[place]) : nil
  }

  /// Refuses operands from this one on.
  @inline(never)
  public func refuseOperands(
    from index: Int = 0, _ message: StaticString = "takes no operands, but was given "
  ) throws(ExitStatus) {
    guard let operand = operand(index) else { return }
    throw fail(.usage, message, CString.span(operand))
  }

  /// The number of the word that says what to do, which is the first operand. Another word is refused, and thrown.
  ///
  /// - Parameters:
  ///   - choices: the words, for a person.
  ///   - standard: the number where there is no word; nil: there must be one.
  @inline(never)
  public func action(
    among known: WordList, _ choices: StaticString, orElse standard: Int? = nil
  ) throws(ExitStatus) -> Int {
    var text = Text()
    guard let operand = operand(0) else {
      if let standard { return standard }
      text.append("say what to do: ", choices)
      throw fail(.usage, text)
    }
    text.append("takes ", choices, ", not ")
    return try choice(CString.span(operand), among: known, text)
  }

  /// The number of a word among those that may stand there. Any other is refused, and thrown.
  ///
  /// - Parameter objection: stands before the word in the refusal.
  @inline(never)
  public func choice(
    _ word: Span<UInt8>, among known: WordList, _ objection: borrowing Text
  ) throws(ExitStatus) -> Int {
    if let index = known.index(of: word) { return index }
    var text = Text()
    text.append(objection)
    text.append(printable: word)
    text.suggest(known.nearest(to: word), of: known, ": did you mean ")
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
      let name = setting.extracting(0..<equals).trimmed()
      guard equals < setting.count else {
        message.append("-o takes KEY=VALUE, not ", printable: setting)
        throw .usage
      }
      do throws(Config.Problem) {
        try config.set(name, to: setting.extracting(equals + 1..<setting.count).trimmed())
      } catch {
        message.append("-o: ")
        ConfigFile.describe(error, name: name, in: &message)
        throw .usage
      }
    }
    try config.complete(configPath, message: &message)
  }

  /// Says why the command fails.
  @inline(never)
  public func fail(_ status: ExitStatus, _ message: borrowing Text) -> ExitStatus {
    var text = Text(capacity: 2048)
    text.append("tinypush ", command)
    text.append(": ", bytes: message.bytes, "\n")
    text.write(to: STDERR_FILENO)
    return status
  }

  /// The same in these words, with a value behind them.
  @inline(never)
  public func fail(
    _ status: ExitStatus, _ message: StaticString, _ value: Span<UInt8>? = nil
  ) -> ExitStatus {
    var text = Text(capacity: 2048)
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
  /// Asks whether a known word is meant, if there is one that resembles what was given.
  @inline(never)
  public mutating func suggest(_ nearest: Int?, of known: WordList, _ question: StaticString) {
    guard let nearest else { return }
    append(question)
    append(bytes: known[nearest])
    append("?")
  }
}
