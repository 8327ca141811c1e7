import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent
import TinyPushSandbox

/// `tinypush sandbox device`: the devices of a sandbox that runs.
enum DeviceCommand {
  static let usage: StaticString = """
    Usage: tinypush sandbox device VERB [NAME] [OPTION]...
    Talks to the sandbox that runs in DIR, of its devices.

      add NAME              put an app on a new device, or another one on a known
                            device, and print its token
      offline NAME          the service cannot reach it: it keeps the newest
                            notification for each app
      online NAME           it is there again, and gets what was kept for it
      uninstall NAME        its app is deleted: what comes for it is told by
                            feedback
      reregister NAME       its app is started, or installed again, and registers;
                            prints its token, which is the same
      token NAME            print its token
      list                  all of them, and what is on them

      --dir DIR             the sandbox's directory (tinypush-sandbox)
      --topic TOPIC         the app (com.example.tinypush); of several on a device,
                            which
      --json                list: JSON Lines
    and with add:
      --strings FILE        the app's Localizable.strings; may be given several
                            times
      --category NAME=BUTTON[,BUTTON]...
                            buttons that the app knows; may be given several times
      --help                print this

    Ends with 66 when there is no such device, 65 when it is so already, and 69 when
    no sandbox runs there.

    """

  private static var verbs: WordList { "add offline online uninstall reregister token list" }

  static func run(
    _ count: Int32, _ values: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
  ) -> Int32 {
    Arguments.handle(
      "sandbox device", count, values,
      options: "dir= topic= json strings= category=", usage: usage
    ) { (arguments) throws(ExitStatus) in
      var directory = ("tinypush-sandbox" as StaticString).cString
      var request = ControlRequest()
      while let option = try arguments.next() {
        switch option {
        case 0: directory = clinux_option_argument()
        case 1: request.append(.topic, arguments.value())
        case 2: request.append(.json, Span())
        case 3: try appendFile(arguments, to: &request)
        default: request.append(.category, try category(arguments))
        }
      }
      try appendOperands(arguments, to: &request)
      guard !request.isTooLarge else {
        throw arguments.fail(.usage, "what the app brings along is more than 1 MB")
      }
      var text = Text(capacity: 262_144)
      let status = ControlClient.ask(request, in: directory, &text)
      guard status == .ok else { throw arguments.fail(status, text) }
      text.write(to: STDOUT_FILENO)
      return .ok
    }
  }

  /// The verb, and what follows it.
  private static func appendOperands(
    _ arguments: borrowing Arguments, to request: inout ControlRequest
  ) throws(ExitStatus) {
    guard let operand = arguments.operand(0) else {
      throw arguments.fail(.usage, "what is to be done? See `tinypush sandbox device --help`")
    }
    let verb = CString.span(operand)
    var objection = Text(capacity: 16)
    objection.append("there is no ")
    _ = try arguments.choice(verb, among: verbs, objection)
    request.append(.verb, verb)
    var next = 1
    if !verb.equals("list") {
      guard let name = arguments.operand(1) else {
        throw arguments.fail(.usage, "which device? A name follows ", verb)
      }
      request.append(.device, CString.span(name))
      next = 2
    }
    try arguments.refuseOperands(from: next, "is given too much: ")
  }

  @_lifetime(immortal)
  private static func category(
    _ arguments: borrowing Arguments
  ) throws(ExitStatus) -> Span<UInt8> {
    let words = arguments.value()
    var equals = 0
    while equals < words.count && words[equals] != .equals { equals += 1 }
    guard equals > 0, equals + 1 < words.count else {
      throw arguments.fail(
        .usage, "--category needs NAME=BUTTON,BUTTON, such as MAIL=Reply,Delete, not ", words)
    }
    return words
  }

  private static func appendFile(
    _ arguments: borrowing Arguments, to request: inout ControlRequest
  ) throws(ExitStatus) {
    let path = clinux_option_argument()!
    var text = Text(capacity: ControlRequest.bytesMax)
    do throws(InputFile.Problem) {
      try InputFile.read(path, to: &text, bytesMax: ControlRequest.bytesMax)
    } catch {
      throw arguments.fail(error.status, error.text(path))
    }
    request.append(.strings, text.bytes)
  }
}
