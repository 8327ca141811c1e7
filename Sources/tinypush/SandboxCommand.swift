import CLinux
import TinyPush
import TinyPushSandbox

/// `tinypush sandbox`: a gateway and a feedback service on this machine.
enum SandboxCommand {
  static let usage: StaticString = """
    Usage: tinypush sandbox [OPTION]...
    Runs a push gateway and a feedback service on this machine, for trying and testing.

      --dir DIR             where its certificates, config and spool are kept, and made
                            at the first start (tinypush-sandbox)
      --port N              the gateway's port (2195); 0: any that is free
      --feedback-port N     the feedback service's port (one above the gateway's)
      --json                say what happens as JSON Lines
      --quiet               say only the sums at the end
      --payload-limit N     refuse larger payloads with status 7 (2048 bytes)
      --invalid TOKEN       refuse this device token with status 8, as is done with 64
                            zeros; may be given up to 64 times
      --help                print this

    The first start makes DIR/tinypush.conf for `tinypush run --config`. Lines of
    UNIXSECONDS HEXTOKEN in DIR/feedback are what the feedback service tells next.

    """

  private static let names: InlineArray<8, StaticString> = [
    "--dir", "--port", "--feedback-port", "--json", "--quiet", "--payload-limit", "--invalid",
    "--help",
  ]
  private static let usageStatus: Int32 = 64

  static func run(
    argumentCount: Int32, arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
  ) -> Int32 {
    var options = SandboxOptions(directory: cString("tinypush-sandbox"))
    var feedbackPort: UInt16?
    var line = ArgumentLine(arguments, count: Int(argumentCount))
    do throws(Usage) {
      while line.next() {
        if line.name.equals("--help") || line.name.equals("-h") {
          put(usage.span, to: 1)
          return 0
        } else if line.name.equals("--json") {
          options.isJSON = true
        } else if line.name.equals("--quiet") {
          options.isQuiet = true
        } else if line.name.equals("--dir") {
          options.directory = try line.value()
        } else if line.name.equals("--port") {
          options.port = UInt16(try line.number(0...65_535))
        } else if line.name.equals("--feedback-port") {
          feedbackPort = UInt16(try line.number(0...65_535))
        } else if line.name.equals("--payload-limit") {
          options.payloadLimit = try line.number(1...SandboxOptions.payloadLimitMax)
        } else if line.name.equals("--invalid") {
          guard options.invalidTokens.add(try line.token()) else { throw .tooManyTokens }
        } else {
          throw .unknown
        }
        try line.endOfOption()
      }
    } catch {
      complain(error, of: line)
      return usageStatus
    }
    options.feedbackPort =
      feedbackPort ?? (options.port == 0 || options.port == 65_535 ? 0 : options.port + 1)
    return Sandbox.run(options)
  }

  private enum Usage: Error {
    case unknown
    case valueMissing
    case valueNotWanted
    case notNumber(ClosedRange<Int>)
    case notToken
    case tooManyTokens
  }

  private static func complain(_ problem: Usage, of line: borrowing ArgumentLine) {
    var text = Text(capacity: 4096)
    text.append("tinypush sandbox: ")
    switch problem {
    case .unknown:
      text.append("there is no option ")
      text.append(printable: line.name)
      if let nearest = Nearest.match(line.name, among: names) {
        text.append(": did you mean ")
        text.append(nearest)
        text.append("?")
      }
    case .valueMissing:
      text.append(printable: line.name)
      text.append(" needs a value")
    case .valueNotWanted:
      text.append(printable: line.name)
      text.append(" takes no value")
    case .notNumber(let range):
      text.append(printable: line.name)
      text.append(" needs a number from ")
      text.append(range.lowerBound)
      text.append(" to ")
      text.append(range.upperBound)
    case .notToken:
      text.append(printable: line.name)
      text.append(" needs a device token of 64 hex digits")
    case .tooManyTokens:
      text.append(printable: line.name)
      text.append(" may be given ")
      text.append(TokenList.countMax)
      text.append(" times")
    }
    text.append("\nTry `tinypush sandbox --help`.\n")
    put(text.bytes, to: 2)
  }

  private static func put(_ bytes: Span<UInt8>, to descriptor: Int32) {
    bytes.withUnsafeBytes { bytes in _ = write(descriptor, bytes.baseAddress, bytes.count) }
  }

  /// Literals end with a NUL.
  private static func cString(_ text: StaticString) -> UnsafePointer<CChar> {
    UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
  }

  /// Goes over the arguments: `--name VALUE` and `--name=VALUE`.
  private struct ArgumentLine: ~Copyable {
    private let arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
    private let count: Int
    private var index = 1
    private var option: UnsafePointer<CChar>?
    private var nameLength = 0
    /// What stands behind the equals sign.
    private var inlineValue: UnsafePointer<CChar>?
    private var isValueTaken = false

    init(_ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>, count: Int) {
      self.arguments = arguments
      self.count = count
    }

    /// Of the option that is being read.
    var name: Span<UInt8> {
      @_lifetime(borrow self) get {
        _overrideLifetime(Self.span(option, length: nameLength), borrowing: self)
      }
    }

    /// Goes to the next option; `false` at the end.
    mutating func next() -> Bool {
      guard index < count, let argument = arguments[index] else { return false }
      index += 1
      option = UnsafePointer(argument)
      nameLength = 0
      while argument[nameLength] != 0 && argument[nameLength] != 0x3D { nameLength += 1 }
      inlineValue = argument[nameLength] == 0 ? nil : UnsafePointer(argument + nameLength + 1)
      isValueTaken = false
      return true
    }

    mutating func value() throws(Usage) -> UnsafePointer<CChar> {
      isValueTaken = true
      if let inlineValue { return inlineValue }
      guard index < count, let value = arguments[index] else { throw .valueMissing }
      index += 1
      return UnsafePointer(value)
    }

    mutating func number(_ range: ClosedRange<Int>) throws(Usage) -> Int {
      let text = try value()
      let length = strlen(text)
      guard length > 0 && length < 8 else { throw .notNumber(range) }
      var number = 0
      for index in 0..<Int(length) {
        guard text[index] >= 0x30, text[index] <= 0x39 else { throw .notNumber(range) }
        number = number * 10 + Int(text[index] - 0x30)
      }
      guard range.contains(number) else { throw .notNumber(range) }
      return number
    }

    mutating func token() throws(Usage) -> DeviceToken {
      let text = try value()
      guard let token = DeviceToken(hex: Self.span(text, length: Int(strlen(text)))) else {
        throw .notToken
      }
      return token
    }

    func endOfOption() throws(Usage) {
      if inlineValue != nil && !isValueTaken { throw .valueNotWanted }
    }

    @_lifetime(immortal)
    private static func span(_ text: UnsafePointer<CChar>?, length: Int) -> Span<UInt8> {
      let bytes = UnsafeRawPointer(text)?.assumingMemoryBound(to: UInt8.self)
      let span = Span(
        _unsafeElements: UnsafeBufferPointer(start: bytes, count: bytes == nil ? 0 : length))
      return _overrideLifetime(span, copying: ())
    }
  }
}
