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

  static func run(
    _ count: Int32, _ values: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
  ) -> Int32 {
    let options: InlineArray<7, Option> = [
      Option("dir", .required), Option("port", .required), Option("feedback-port", .required),
      Option("json"), Option("quiet"), Option("payload-limit", .required),
      Option("invalid", .required),
    ]
    var arguments = Arguments("sandbox", count, values, options: options.span, usage: usage)
    var sandbox = SandboxOptions(directory: ("tinypush-sandbox" as StaticString).cString)
    var feedbackPort: UInt16?
    do throws(ExitStatus) {
      while let option = try arguments.next() {
        switch option {
        case 0: sandbox.directory = clinux_option_argument()
        case 1: sandbox.port = UInt16(try number("--port", 0...65_535, arguments))
        case 2: feedbackPort = UInt16(try number("--feedback-port", 0...65_535, arguments))
        case 3: sandbox.isJSON = true
        case 4: sandbox.isQuiet = true
        case 5:
          sandbox.payloadLimit = try number(
            "--payload-limit", 1...SandboxOptions.payloadLimitMax, arguments)
        default:
          guard let token = DeviceToken(hex: arguments.value()) else {
            throw arguments.fail(
              .usage, "--invalid needs a device token of 64 hex digits, not ", arguments.value())
          }
          guard sandbox.invalidTokens.add(token) else {
            throw arguments.fail(
              .usage, "--invalid is given too often: one too many is ", arguments.value())
          }
        }
      }
      if let operand = arguments.operand(0) {
        throw arguments.fail(.usage, "takes no operands, but was given ", CString.span(operand))
      }
    } catch {
      return error.rawValue
    }
    sandbox.feedbackPort =
      feedbackPort ?? (sandbox.port == 0 || sandbox.port == 65_535 ? 0 : sandbox.port + 1)
    return Sandbox.run(sandbox)
  }

  private static func number(
    _ option: StaticString, _ range: ClosedRange<Int>, _ arguments: borrowing Arguments
  ) throws(ExitStatus) -> Int {
    let number = Config.number(arguments.value())
    guard let number, number <= UInt64(range.upperBound), range.contains(Int(number)) else {
      var text = Text()
      text.append(option)
      text.append(" needs a number from ")
      text.append(range.lowerBound)
      text.append(" to ")
      text.append(range.upperBound)
      throw arguments.fail(.usage, text)
    }
    return Int(number)
  }
}
