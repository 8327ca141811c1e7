import Foundation
import Testing

/// Helpers for boxes that share a broker.
extension Box {
  /// The options of this box's directories, for all programs.
  private var directories: [String] {
    ["-o", "spool=" + spool, "-o", "state=" + state, "-o", "status=\(path)/page"]
  }

  /// Starts a bridge that belongs to the fleet `tinypush`, and waits until the broker has taken its
  /// subscriptions.
  @discardableResult
  func member(
    of broker: Mosquitto, _ name: String, _ settings: String = ""
  ) throws -> Child {
    try write(
      """
      broker = 127.0.0.1:\(broker.port)
      client-id = \(name)
      fleet = tinypush
      \(settings)subscribe = alerts/#
      [alerts/#]
      alert = {payload}

      """, to: "mqtt.conf")
    return try broker.subscribes(self) {
      let bridge = try start([Self.bridge, "run", "--rules", path + "/mqtt.conf"] + directories)
      try bridge.line("connected to the broker", in: .errors)
      return bridge
    }
  }

  /// Runs `tinypush-mqtt fleet`.
  func fleet(_ arguments: String...) throws -> Child {
    try run([Self.bridge, "fleet", "--rules", path + "/mqtt.conf"] + arguments)
  }

  /// The states that `tinypush-mqtt fleet` prints, by the names of the boxes.
  func states() throws -> [String: String] {
    let boxes = try objects(fleet("--json").output)
    return Dictionary(uniqueKeysWithValues: boxes.map { ("\($0["box"]!)", "\($0["state"]!)") })
  }

  /// Starts an agent with this box's directories, and waits until it is connected to the sandbox.
  func agent(_ sandbox: Sandbox) throws -> Child {
    let agent = try start(
      Build.command(Build.host) + ["run", "--config", sandbox.http2Config] + directories)
    try wait(for: "the agent's connection") {
      try tinypush("status", "-o", "status=\(path)/page").status == 0
    }
    return agent
  }

  /// The values of sensors that Home Assistant makes of a box's state.
  func rendered(
    _ components: [String: [String: Any]], _ state: [String: Any]
  ) throws -> [String: String] {
    let given = try JSONSerialization.data(
      withJSONObject: ["components": components, "state": state])
    let child = try run(
      ["python3", Build.tools + "/templates.py"], input: String(decoding: given, as: UTF8.self))
    guard child.status == 0, let values = try objects(child.output).first as? [String: String]
    else { throw Failure(child.errors) }
    return values
  }
}

/// A plugin of Mosquitto that refuses subscriptions; its access lists refuse messages only.
enum DynamicSecurity {
  /// Returns lines of mosquitto.conf(5) that allow or refuse the subscription to one filter.
  ///
  /// - Parameter allows: whether only this subscription is allowed, or only this one is refused.
  static func settings(_ filter: String, allows: Bool, in box: Box) throws -> String {
    let kind = allows ? "subscribePattern" : "subscribeLiteral"
    let roles = try box.write(
      """
      {"defaultACLAccess": {"publishClientSend": true, "publishClientReceive": true,
                            "subscribe": \(!allows), "unsubscribe": true},
       "clients": [], "anonymousGroup": "all",
       "groups": [{"groupname": "all", "roles": [{"rolename": "guest"}]}],
       "roles": [{"rolename": "guest", "acls": [
         {"acltype": "\(kind)", "topic": "\(filter)", "allow": \(allows)}]}]}
      """, to: "roles.json")
    let name = "mosquitto_dynamic_security.so"
    let folders = try FileManager.default.contentsOfDirectory(atPath: "/usr/lib")
    let files = folders.map { "/usr/lib/\($0)/\(name)" }
    guard let plugin = files.first(where: FileManager.default.fileExists) else {
      throw Failure("Mosquitto has no \(name)")
    }
    return "allow_anonymous true\nplugin \(plugin)\nplugin_opt_config_file \(roles)"
  }
}
