import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent
import TinyPushSandbox

/// The command `tinypush sandbox`, which runs a gateway and a feedback service on this machine.
@main
enum SandboxCommand {
  static let usage: StaticString = """
    Usage: tinypush sandbox [OPTION]...
           tinypush sandbox device VERB [NAME] [OPTION]...
    Runs a push gateway, a feedback service and devices on this machine, to try and
    test with. The gateway speaks HTTP/2 with clients that ask for it (ALPN), and
    the binary protocol with all others. Over HTTP/2 it is also the push service of
    browsers (Web Push). `tinypush sandbox device --help` describes the commands for
    the devices.

      --dir DIR             the directory for certificates, configurations and
                            spool, created at the first start (tinypush-sandbox)
      --port N              the gateway's port (2195); 0: any free port
      --feedback-port N     the feedback service's port (one above the gateway's)
      --json                print the events as JSON Lines
      --quiet               print only the sums at the end
      --payload-limit N     refuse larger payloads (2048 bytes; over HTTP/2 4096,
                            and 5120 for the push type voip)
      --invalid TOKEN       refuse this device token, as 64 zeros are refused;
                            repeatable
      --any-token           accept every other token, as if it had a device
      --rsa                 make certificates with RSA keys, for clients without EC
                            keys; replaces certificates with other keys
      --fault WHAT@WHEN     do something wrong on purpose; repeatable, up to 64
                            times
      --seed N              the seed of the faults that occur by chance
      --help                print this help

    The first start creates DIR/tinypush.conf for `tinypush run --config`, over
    HTTP/2 with a signing key; DIR/tinypush-binary.conf for the binary protocol; and
    a device, phone, which gets all notifications that name no recipient. The
    feedback service sends the lines UNIXSECONDS HEXTOKEN of DIR/feedback next.

    WHAT goes wrong is one of these. A delay such as +5s may follow.
      close                 close without an answer
      reset                 end the connection by a TCP reset
      stall                 keep the connection, but neither read nor write
      garbage[=SIZE]        send bytes that are no answer (64; 100K, 4M), and close
    Over the binary protocol:
      status=N              refuse the notification with this status (0 to 255,
                            but not 10), and close
      shutdown              name the notification as the last one accepted, with
                            status 10, and close
    Over HTTP/2:
      reason=NAME           refuse with this reason of Apple's tables and its
                            status, such as ServiceUnavailable (503)
      retry-after=SECONDS   refuse with 429 TooManyRequests and this Retry-After
      odd-body              answer 502 with a page of HTML, as a proxy does
      refused-stream        reset the stream, unprocessed (REFUSED_STREAM)
      reset-stream          reset the stream without an answer (INTERNAL_ERROR)
      slow                  answer late (5 s, or the delay)
      goaway                answer, and end the connection in order (GOAWAY)
    The service accepts the notification, except with status, reason, retry-after,
    odd-body and refused-stream. If the connection ends, it discards what follows.
    WHEN is one of these:
      N                     at the Nth notification since the start, once
      TOKEN                 at each notification to this device token, or to the
                            browser whose endpoint ends with it
      N%                    at any notification, by chance (0.0001% to 100%)
      TIME                  this long after the start (500ms, 30s), once: on all
                            open connections, or else on the next one; a fault that
                            answers a notification waits for the next notification

    """

  static func main() {
    StandardStreams.prepare()
    let count = clinux_argument_count()
    let values = clinux_arguments()!
    if count > 1, let word = values[1] {
      let word = CString.span(word)
      if word.equals("device") { exit(DeviceCommand.run(count - 1, values + 1)) }
      if Version.isAsked(word) {
        Version.print(of: "tinypush-sandbox")
        exit(ExitStatus.ok.rawValue)
      }
    }
    exit(run(count, values))
  }

  private static func run(
    _ count: Int32, _ values: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
  ) -> Int32 {
    Arguments.handle(
      "sandbox", count, values,
      options:
        "dir= port= feedback-port= json quiet payload-limit= invalid= fault= seed= any-token rsa",
      usage: usage
    ) { (arguments) throws(ExitStatus) in
      let options = try read(&arguments)
      guard let status = ExitStatus(rawValue: Sandbox.run(options)) else { return .internalError }
      return status
    }
  }

  private static func read(_ arguments: inout Arguments) throws(ExitStatus) -> SandboxOptions {
    var sandbox = SandboxOptions(directory: ("tinypush-sandbox" as StaticString).cString)
    var feedbackPort: UInt16?
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
      case 6:
        guard let token = DeviceToken(printed: arguments.value()) else {
          throw arguments.fail(
            .usage, "--invalid takes a device token in hex digits, not ", arguments.value())
        }
        sandbox.invalidTokens.append(token)
      case 7:
        guard sandbox.faults.add(try fault(arguments)) else {
          throw arguments.fail(
            .usage, "--fault may be given at most 64 times; the 65th is ", arguments.value())
        }
      case 8: sandbox.seed = UInt64(try number("--seed", 0...999_999_999, arguments))
      case 9: sandbox.isAnyToken = true
      default: sandbox.isRSA = true
      }
    }
    try arguments.refuseOperands()
    try arguments.refuseConfig()
    sandbox.feedbackPort =
      feedbackPort ?? (sandbox.port == 0 || sandbox.port == 65_535 ? 0 : sandbox.port + 1)
    return sandbox
  }

  private static func fault(_ arguments: borrowing Arguments) throws(ExitStatus) -> Fault {
    do throws(Fault.Problem) {
      return try Fault(arguments.value())
    } catch {
      var text = Text()
      text.append("--fault ")
      error.describe(arguments.value(), in: &text)
      throw arguments.fail(.usage, text)
    }
  }

  private static func number(
    _ option: StaticString, _ range: ClosedRange<Int>, _ arguments: borrowing Arguments
  ) throws(ExitStatus) -> Int {
    let number = Config.number(arguments.value())
    guard let number, number <= UInt64(range.upperBound), range.contains(Int(number)) else {
      var text = Text()
      text.append(option)
      text.append(" takes a number from ", range.lowerBound)
      text.append(" to ", range.upperBound)
      throw arguments.fail(.usage, text)
    }
    return Int(number)
  }
}
