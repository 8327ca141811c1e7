import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent
import TinyPushSandbox

/// `tinypush sandbox`, which starts this program: a gateway and a feedback service on this machine.
@main
enum SandboxCommand {
  static let usage: StaticString = """
    Usage: tinypush sandbox [OPTION]...
           tinypush sandbox device VERB [NAME] [OPTION]...
    Runs a push gateway and a feedback service on this machine, for trying and
    testing, and devices that they know. The gateway speaks HTTP/2 with clients that
    ask for it (ALPN), and the binary protocol with others; `tinypush sandbox device
    --help` tells of those.

      --dir DIR             where its certificates, config and spool are kept, and
                            made at the first start (tinypush-sandbox)
      --port N              the gateway's port (2195); 0: any that is free
      --feedback-port N     the feedback service's port (one above the gateway's)
      --json                say what happens as JSON Lines
      --quiet               say only the sums at the end
      --payload-limit N     refuse larger payloads (2048 bytes; over HTTP/2 4096,
                            and 5120 of the push type voip)
      --invalid TOKEN       refuse this device token, as is done with 64 zeros; may
                            be given up to 64 times
      --any-token           take every other token for that of a device that is
                            there
      --rsa                 make certificates with RSA keys, for clients that take
                            no EC keys; replaces those that have others
      --fault WHAT@WHEN     do something wrong on purpose; may be given up to 64
                            times
      --seed N              what the faults by chance depend on
      --help                print this

    The first start makes DIR/tinypush.conf for `tinypush run --config`, over HTTP/2
    with a signing key, DIR/tinypush-binary.conf for the binary protocol, and a
    device, phone, to which goes what names nobody. Lines of UNIXSECONDS HEXTOKEN in
    DIR/feedback are what the feedback service tells next.

    WHAT goes wrong is one of these. +TIME behind it, such as +5s, puts it off.
      close                 close without a word
      reset                 break off by a TCP reset
      stall                 neither read nor say anything more, and do not close
      garbage[=SIZE]        send bytes that are no answer (64; 100K, 4M), and close
    Over the binary protocol:
      status=N              refuse the notification with this status (0 to 255),
                            close
      shutdown              name it as the last one accepted, with status 10, and
                            close
    Over HTTP/2:
      reason=NAME           refuse with this reason of Apple's table and its status,
                            such as ServiceUnavailable (503)
      retry-after=SECONDS   refuse with 429 TooManyRequests, to come again so much
                            later
      odd-body              answer 502 with a page of HTML, as a proxy does
      refused-stream        reset the stream, unprocessed (REFUSED_STREAM)
      reset-stream          reset the stream without an answer (INTERNAL_ERROR)
      slow                  answer late (5 s, or +TIME)
      goaway                answer, and end the connection in order (GOAWAY)
    The notification is accepted, but with status, reason, retry-after, odd-body and
    refused-stream. What comes behind it is discarded where the connection ends.
    WHEN is one of these:
      N                     at the Nth notification since the start, once
      TOKEN                 at each notification to this device token
      N%                    at any notification, by chance (0.0001% to 100%)
      TIME                  so long after the start (500ms, 30s), once, on all
                            connections there are, or on the next one; what answers
                            a notification, at the next one

    """

  static func main() {
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
        guard let token = DeviceToken(hex: arguments.value()) else {
          throw arguments.fail(
            .usage, "--invalid needs a device token of 64 hex digits, not ", arguments.value())
        }
        guard sandbox.invalidTokens.add(token) else {
          throw arguments.fail(
            .usage, "--invalid is given too often: one too many is ", arguments.value())
        }
      case 7:
        guard sandbox.faults.add(try fault(arguments)) else {
          throw arguments.fail(
            .usage, "--fault is given too often: one too many is ", arguments.value())
        }
      case 8: sandbox.seed = UInt64(try number("--seed", 0...999_999_999, arguments))
      case 9: sandbox.isAnyToken = true
      default: sandbox.isRSA = true
      }
    }
    try arguments.refuseOperands()
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
      text.append(" needs a number from ", range.lowerBound)
      text.append(" to ", range.upperBound)
      throw arguments.fail(.usage, text)
    }
    return Int(number)
  }
}
