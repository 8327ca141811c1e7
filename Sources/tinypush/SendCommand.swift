import CLinux
import TinyPush

/// `tinypush send`: put a notification into the spool, whether the agent runs or not.
enum SendCommand {
  static let usage: StaticString = """
    Usage: tinypush send [TEXT] --token HEX... [OPTION]...
    Puts a notification into the spool, on disk before it returns, and prints the name of its
    file. Needs neither the agent nor its keys, only the right to write to the spool.

      --token HEX           a device token of 64 hex digits; may be given several times
      --title TEXT          the alert's title
      --badge N             the number on the app's icon; 0 removes it
      --sound NAME          the sound to play: default, or a file in the app
      --category NAME       the set of actions to offer
      --content-available   wake the app without showing anything
      --payload FILE|-      the whole payload as JSON, instead of the options above
      --priority 10|5       10: at once; 5: when it saves the device's power
      --ttl TIME            how long the service may keep it (30s, 10m, 1d; 0s: not at all)
      --no-sync             do not wait for the disk
      -c, --config FILE     the configuration (/etc/tinypush/tinypush.conf)
      -o KEY=VALUE          a setting over it
      -h, --help            print this

    """

  private static let textBytesMax = 65_536

  static func run(
    _ count: Int32, _ values: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
  ) -> Int32 {
    let options: InlineArray<10, Option> = [
      Option("token", .required), Option("title", .required), Option("badge", .required),
      Option("sound", .required), Option("category", .required), Option("content-available"),
      Option("payload", .required), Option("priority", .required), Option("ttl", .required),
      Option("no-sync"),
    ]
    var arguments = Arguments("send", count, values, options: options.span, usage: usage)
    do throws(ExitStatus) {
      var config = Config()
      var tokens = Text(capacity: textBytesMax)
      var members = Text(capacity: textBytesMax)
      var title: UnsafePointer<CChar>?
      var aps = Text(capacity: textBytesMax)
      var payloadFile: UnsafePointer<CChar>?
      var isSynced = true
      var given: UInt32 = 0
      while let option = try arguments.next() {
        let value = arguments.value()
        if option != 0, given & (1 << UInt32(option)) != 0 {
          var text = Text()
          text.append("--")
          text.append(options[option].name)
          text.append(" may be given once")
          throw arguments.fail(.usage, text)
        }
        given |= 1 << UInt32(option)
        switch option {
        case 0:
          if tokens.count > 0 { tokens.append(",") }
          tokens.append(json: value)
        case 1: title = clinux_option_argument()
        case 2:
          guard Config.number(value) != nil else {
            throw arguments.fail(.usage, "--badge must be a whole number, not ", value)
          }
          member("badge", bare: value, in: &aps)
        case 3: member("sound", string: value, in: &aps)
        case 4: member("category", string: value, in: &aps)
        case 5: member("content-available", bare: ("1" as StaticString).span, in: &aps)
        case 6: payloadFile = clinux_option_argument()
        case 7:
          guard value.equals("10") || value.equals("5") else {
            throw arguments.fail(.usage, "--priority must be 10 or 5, not ", value)
          }
          member("priority", bare: value, in: &members)
        case 8:
          do throws(Config.Problem) {
            var seconds = Text(capacity: 24)
            seconds.append(try Config.lifetime(value).milliseconds / 1000)
            member("ttl", bare: seconds.bytes, in: &members)
          } catch {
            var text = Text()
            ConfigFile.describe(error, name: ("--ttl" as StaticString).span, in: &text)
            throw arguments.fail(.usage, text)
          }
        default: isSynced = false
        }
      }
      try arguments.readConfig(into: &config)
      let alert = arguments.operand(0)
      if arguments.operand(1) != nil {
        throw arguments.fail(
          .usage, "takes one text: put it in quotes. The second was ",
          CString.span(arguments.operand(1)!))
      }
      var notification = Text(capacity: 4 * textBytesMax)
      notification.append("{\"tokens\":[")
      notification.append(bytes: tokens.bytes)
      notification.append("]")
      if members.count > 0 { notification.append(",") }
      notification.append(bytes: members.bytes)
      notification.append(",\"payload\":")
      if let payloadFile {
        guard alert == nil, title == nil, aps.count == 0 else {
          throw arguments.fail(
            .usage, "give either --payload or a text and its options; with --payload ",
            CString.span(payloadFile))
        }
        try readFile(payloadFile, to: &notification, arguments)
      } else {
        notification.append("{\"aps\":{")
        appendAlert(alert, title: title, to: &notification)
        if aps.count > 0 && (alert != nil || title != nil) { notification.append(",") }
        notification.append(bytes: aps.bytes)
        notification.append("}}")
      }
      notification.append("}\n")
      try check(notification, config.courier.rules, arguments)
      return try queue(notification, config, isSynced: isSynced, arguments).rawValue
    } catch {
      return error.rawValue
    }
  }

  private static func member(_ key: StaticString, bare value: Span<UInt8>, in text: inout Text) {
    if text.count > 0 { text.append(",") }
    text.append("\"")
    text.append(key)
    text.append("\":")
    text.append(bytes: value)
  }

  private static func member(_ key: StaticString, string value: Span<UInt8>, in text: inout Text) {
    member(key, bare: ("" as StaticString).span, in: &text)
    text.append(json: value)
  }

  private static func appendAlert(
    _ alert: UnsafePointer<CChar>?, title: UnsafePointer<CChar>?, to text: inout Text
  ) {
    guard alert != nil || title != nil else { return }
    text.append("\"alert\":")
    guard let title else {
      text.append(json: CString.span(alert!))
      return
    }
    text.append("{\"title\":")
    text.append(json: CString.span(title))
    if let alert {
      text.append(",\"body\":")
      text.append(json: CString.span(alert))
    }
    text.append("}")
  }

  private static func readFile(
    _ path: UnsafePointer<CChar>, to text: inout Text, _ arguments: borrowing Arguments
  ) throws(ExitStatus) {
    do throws(InputFile.Problem) {
      try InputFile.read(path, to: &text, bytesMax: textBytesMax)
    } catch {
      throw arguments.fail(error.status, error.text(path))
    }
  }

  /// A notification that the agent would refuse is refused here.
  private static func check(
    _ notification: borrowing Text, _ rules: Rules, _ arguments: borrowing Arguments
  ) throws(ExitStatus) {
    var reader = NotificationReader()
    var findings = Findings()
    if case .refused(let refusal, _) = reader.next(
      in: notification.bytes, isWhole: true, rules, &findings)
    {
      var text = Text()
      if refusal.reason == .tokensEmpty {
        text.append("to whom? Give --token HEX")
      } else if refusal.reason == .apsIsEmpty {
        text.append(
          "nothing to say: give a text, --badge, --sound, --content-available or --payload")
      } else {
        refusal.describe(in: &text)
      }
      throw arguments.fail(.dataRefused, text)
    }
    // What --payload holds must not end the object that it is put into, and begin another.
    guard
      case .end = reader.next(
        in: notification.bytes, isWhole: true, rules, &findings)
    else {
      throw arguments.fail(
        .dataRefused, "--payload must hold one JSON object, and holds more than that",
        ("" as StaticString).span)
    }
  }

  /// Writes the file in `tmp/` and renames it into `new/`.
  private static func queue(
    _ notification: borrowing Text, _ config: borrowing Config, isSynced: Bool,
    _ arguments: borrowing Arguments
  ) throws(ExitStatus) -> ExitStatus {
    do throws(DropBox.Problem) {
      let box = try DropBox(config.spool.pointer)
      let name = try box.drop(notification.bytes, isSynced: isSynced)
      var text = Text(capacity: 300)
      text.append(bytes: name.span)
      text.append("\n")
      text.write(to: STDOUT_FILENO)
      return .ok
    } catch {
      throw arguments.fail(error.status, error.text(config.spool.pointer))
    }
  }
}
