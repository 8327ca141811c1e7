import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent
import TinyPushSandbox

/// The command `tinypush sandbox device`, which changes the devices of a running sandbox.
enum DeviceCommand {
  static let usage: StaticString = """
    Usage: tinypush sandbox device VERB [NAME] [OPTION]...
    Lists and changes the devices of the sandbox that runs in DIR.

      add NAME              install an app on a device, which is created if there is
                            none of this name, and print the app's token
      offline NAME          disconnect the device: the service stores the newest
                            notification for each app
      online NAME           connect the device: it gets the stored notifications
      uninstall NAME        delete the app: the service reports the token as gone;
                            or end the browser's subscription
      reregister NAME       start the app, or install it again, and print its token,
                            which does not change; a browser gets a new subscription
      token NAME            print the app's token, or the browser's subscription
      list                  print all devices and their apps

      --dir DIR             the sandbox's directory (tinypush-sandbox)
      --topic TOPIC         the app's topic (com.example.tinypush); needed if the
                            device has several apps
      --json                print the list as JSON Lines
    with add:
      --browser             a browser instead of an app: print the subscription of a
                            page in it, as JSON for `tinypush recipient add`
      --token TOKEN         the app's token, of 2 to 200 digits; otherwise the
                            sandbox makes one of 64
      --encryption-key KEY  the key that is set in the app Bark, me.fin.bark
      --help                print this help

    Exit status: 65 the device or app is already in this state; 66 there is no such
    device; 69 no sandbox runs in DIR.

    """

  private static var verbs: WordList { "add offline online uninstall reregister token list" }

  static func run(
    _ count: Int32, _ values: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
  ) -> Int32 {
    Arguments.handle(
      "sandbox device", count, values,
      options: "dir= topic= json token= encryption-key= browser", usage: usage
    ) { (arguments) throws(ExitStatus) in
      var directory = ("tinypush-sandbox" as StaticString).cString
      var request = ControlRequest()
      var isBrowser = false
      var isApp = false
      var hasTopic = false
      var isJSON = false
      while let option = try arguments.next() {
        switch option {
        case 0: directory = clinux_option_argument()
        case 1:
          hasTopic = true
          request.append(.topic, arguments.value())
        case 2:
          isJSON = true
          request.append(.json, Span())
        case 3: request.append(.token, arguments.value())
        case 5:
          isBrowser = true
          request.append(.browser, Span())
        default:
          let key = arguments.value()
          guard key.count == 16 || key.count == 24 || key.count == 32 else {
            throw arguments.fail(.usage, "--encryption-key takes 16, 24 or 32 characters")
          }
          request.append(.encryptionKey, key)
        }
        if option == 3 || option == 4 { isApp = true }
      }
      guard !isBrowser || !isApp else {
        throw arguments.fail(.usage, "a browser has no --token and no --encryption-key")
      }
      let verb = try appendOperands(arguments, to: &request)
      guard verb.equals("add") || !isBrowser && !isApp else {
        throw arguments.fail(.usage, "--browser, --token and --encryption-key are only for add")
      }
      guard verb.equals("list") || !isJSON else {
        throw arguments.fail(.usage, "--json is only for list")
      }
      guard !hasTopic || !verb.equals("list") && !verb.equals("offline") && !verb.equals("online")
      else { throw arguments.fail(.usage, "--topic does not go with ", verb) }
      try arguments.refuseConfig()
      guard !request.isTooLarge else {
        var text = Text()
        text.append("the arguments have more than ", ControlRequest.bytesMax, " bytes")
        throw arguments.fail(.usage, text)
      }
      var text = Text(capacity: 262_144)
      let status = ControlClient.ask(request, in: directory, &text)
      guard status == .ok else { throw arguments.fail(status, text) }
      text.write(to: STDOUT_FILENO)
      return .ok
    }
  }

  /// Appends the verb and the device's name to the request, and returns the verb.
  @_lifetime(immortal)
  private static func appendOperands(
    _ arguments: borrowing Arguments, to request: inout ControlRequest
  ) throws(ExitStatus) -> Span<UInt8> {
    _ = try arguments.action(
      among: verbs, "add, offline, online, uninstall, reregister, token or list")
    let verb = CString.span(arguments.operand(0)!)
    request.append(.verb, verb)
    var next = 1
    if !verb.equals("list") {
      guard let name = arguments.operand(1) else {
        throw arguments.fail(.usage, "give the device's name after ", verb)
      }
      request.append(.device, CString.span(name))
      next = 2
    }
    try arguments.refuseOperands(from: next)
    return verb
  }
}
