import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent

/// `tinypush-mqtt takeover`: takes the messages that wait for a box that is gone.
enum TakeoverCommand {
  static let command = Command(
    "takeover", "take the messages that wait for a box that is gone", options: "rules=",
    usage: """
      Usage: tinypush-mqtt takeover [OPTION]... CLIENT-ID
      Takes the messages that the broker keeps for another box, which does not come
      back, and ends the subscriptions that are in the file of both boxes. The broker
      gives its share of later messages to the other boxes. Ends when no message has
      come for 3 s.

        --rules FILE          the broker and the rules (/etc/tinypush/mqtt.conf)
      \t\

      Exit status: 0 all is taken; 66 the broker keeps nothing for this client ID;
      69 the broker cannot be reached; 75 a signal or the end of the connection came
      first: run it again, unless the other box is back.

      """, run)

  private static func run(_ arguments: inout Arguments) throws(ExitStatus) -> ExitStatus {
    var path = BridgeConfig.defaultFile.cString
    while try arguments.next() != nil { path = clinux_option_argument() }
    guard let box = arguments.operand(0), box[0] != 0, arguments.operand(1) == nil else {
      throw arguments.fail(.usage, "takes the client ID of one box, such as tinypush-cellar")
    }
    return try RunCommand.work(&arguments, rules: path, lostBox: box)
  }
}
