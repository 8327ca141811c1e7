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
  ///
  /// - Parameter refused: how many subscriptions the broker refuses.
  @discardableResult
  func member(
    of broker: Mosquitto, _ name: String, _ settings: String = "", refused: Int = 0
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
    return try broker.subscribes(self, refused: refused) {
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

  /// Delivers what is in the spool.
  func deliver(_ sandbox: Sandbox) throws -> Child {
    try run(
      Build.command(Build.host) + ["run", "--once", "--config", sandbox.http2Config] + directories)
  }

  /// Runs a subcommand of `tinypush token`.
  func change(_ verb: String, _ tokens: [String]) throws {
    let child = try run(
      Build.command(Build.host) + ["token", verb, "-", "-o", "state=" + state],
      input: tokens.joined(separator: "\n") + "\n")
    guard child.status == 0 else { throw Failure(child.errors) }
  }

  /// The suppressed tokens.
  func suppressed() throws -> [String] {
    try objects(tokenList("--json").output).compactMap { $0["token"] as? String }
  }

  /// The identity of a file, which changes when the file is replaced.
  func identity(of name: String) throws -> UInt64 {
    let attributes = try FileManager.default.attributesOfItem(atPath: "\(path)/\(name)")
    return (attributes[.systemFileNumber] as? NSNumber)?.uint64Value ?? 0
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

/// The message of a token in the fleet `tinypush`.
struct TokenRecord {
  let topic: String
  let payload: String

  /// The topics of the tokens 1 to 30, as a bridge publishes them.
  private static let topics = Result {
    let box = try Box()
    defer { box.end() }
    let broker = try Mosquitto(in: box)
    let tokens = (1...30).map { token($0) }
    try box.change("suppress", tokens)
    let bridge = try box.member(of: broker, "one")
    var retained: [String: String] = [:]
    try wait(for: "the records") {
      retained = try broker.retained(below: "tinypush/suppressed")
      return retained.count == tokens.count
    }
    try bridge.terminate()
    let pairs = try retained.map { (try objects($1).first?["token"] as? String ?? "", $0) }
    return Dictionary(uniqueKeysWithValues: pairs)
  }

  /// A token that is gone since a time, in seconds from now.
  init(_ number: Int, secondsFromNow: Int = 0) throws {
    guard let topic = try Self.topics.get()[token(number)] else { throw Failure("\(number)") }
    let time = Int(Date().timeIntervalSince1970) + secondsFromNow
    self.topic = topic
    payload = #"{"token":"\#(token(number))","time":\#(time),"reason":"gone"}"#
  }
}

/// A plugin of Mosquitto that refuses subscriptions; its access lists refuse messages only.
enum DynamicSecurity {
  /// Returns lines of mosquitto.conf(5) that allow the subscription to `alerts/#`, and no other.
  static func settings(in box: Box) throws -> String {
    let roles = try box.write(
      """
      {"defaultACLAccess": {"publishClientSend": true, "publishClientReceive": true,
                            "subscribe": false, "unsubscribe": true},
       "clients": [], "anonymousGroup": "all",
       "groups": [{"groupname": "all", "roles": [{"rolename": "alerts"}]}],
       "roles": [{"rolename": "alerts", "acls": [
         {"acltype": "subscribePattern", "topic": "alerts/#", "allow": true}]}]}
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
