import CLinux
import CMbed
import CommandArguments
import TinyPush
import TinyPushAgent
import TinyPushMQTT

/// `tinypush-mqtt fleet`: lists the boxes that share a broker.
enum FleetCommand {
  static let command = Command(
    "fleet", "list the boxes that share the broker", options: "rules= json",
    usage: """
      Usage: tinypush-mqtt fleet [OPTION]...
      Lists the boxes of the fleet, a line each: the state of the agent, the files
      that wait, the notifications sent in the last minute, and the last problem.

        --rules FILE          the broker and the rules (/etc/tinypush/mqtt.conf)
        --json                a line of JSON for each box
      \t\

      Exit status: 0 all boxes are connected; 75 one is not, or there is none; 69 the
      broker does not answer, or refuses.

      """, run)

  private static func run(_ arguments: inout Arguments) throws(ExitStatus) -> ExitStatus {
    var path = BridgeConfig.defaultFile.cString
    var isJSON = false
    while let option = try arguments.next() {
      if option == 0 { path = clinux_option_argument() } else { isJSON = true }
    }
    try arguments.refuseOperands()
    var config = BridgeConfig()
    try arguments.attempt { message throws(ExitStatus) in
      try BridgeConfig.read(path, into: &config, message: &message)
    }
    guard !config.fleet.isEmpty else {
      throw arguments.fail(
        .config, "this box belongs to no fleet: set fleet = tinypush in ", CString.span(path))
    }
    try arguments.attempt { message throws(ExitStatus) in
      try config.readPassword(message: &message)
    }
    var visit = BrokerVisit(config)
    var listing = FleetListing(isJSON: isJSON)
    guard let status = listing.run(config, &visit) else {
      throw arguments.fail(.unavailable, visit.problem)
    }
    return status
  }
}
