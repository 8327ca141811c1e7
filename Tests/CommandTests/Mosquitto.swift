import Foundation
import Testing

/// A Mosquitto broker on this machine, which can end and start again at the same port.
final class Mosquitto {
  private let address: Port
  private let box: Box
  private let config: String
  private var starts: [Child] = []

  var port: Int { address.number }

  /// - Parameter settings: lines of mosquitto.conf(5) behind the listener.
  init(in box: Box, _ settings: String = "allow_anonymous true") throws {
    self.box = box
    address = try box.port()
    // Mosquitto gives up root's rights otherwise, and may not read the box then.
    config = try box.write(
      """
      user root
      log_type error
      log_type warning
      log_type notice
      log_type information
      log_type subscribe
      max_queued_messages 0
      listener \(address.number) 127.0.0.1
      \(settings)

      """, to: "mosquitto.conf")
    try start()
  }

  func start() throws {
    let child = try box.start(["/usr/sbin/mosquitto", "-c", config])
    try wait(for: "the broker") {
      guard !child.hasEnded else { throw Failure("mosquitto ended: \(child.errors)") }
      return address.isOpen
    }
    starts.append(child)
  }

  /// Ends the broker, which saves what it keeps if it has persistence.
  func end() throws { try starts.last?.terminate() }

  func kill() { starts.last?.kill() }

  /// Waits until the broker has taken the subscriptions of a bridge that connects in `connecting`.
  ///
  /// The bridge logs its connection before it subscribes. A new session gets no message from before
  /// its subscription.
  ///
  /// - Parameter refused: how many subscriptions the broker refuses.
  func subscribes<Result>(
    _ box: Box, refused: Int = 0, _ connecting: () throws -> Result
  ) throws -> Result {
    let rules = box.text("mqtt.conf")
    guard let name = rules.firstMatch(of: #/(?m)^client-id = (.+)$/#)?.1 else {
      throw Failure("no client-id in \(rules)")
    }
    let wanted = rules.matches(of: #/(?m)^subscribe = /#).count - refused
    // The broker logs the client, the quality of service and the topic filter.
    func taken() -> Int {
      let log = starts.map(\.errors).joined()
      return log.count(of: ": \(name) 0 ") + log.count(of: ": \(name) 1 ")
    }
    let before = taken()
    let result = try connecting()
    try wait(for: "\(wanted) subscriptions of \(name)") { taken() - before >= wanted }
    return result
  }

  /// Publishes a message with QoS 1, and waits for the broker's answer.
  func publish(_ topic: String, _ payload: String, _ options: [String] = []) throws {
    try publish(topic, options + ["-m", payload])
  }

  /// Publishes each line as a message with QoS 1.
  func publish(_ topic: String, lines: [String], _ options: [String] = []) throws {
    try publish(topic, options + ["-l"], input: lines.joined(separator: "\n") + "\n")
  }

  /// Returns the retained messages below a topic, by their topics.
  func retained(below prefix: String, _ options: [String] = []) throws -> [String: String] {
    // The last message marks the end: the broker sends retained ones before.
    let end = "end/\(UInt64.random(in: 0...(.max)))"
    let child = try box.start(
      ["mosquitto_sub", "-h", "127.0.0.1", "-p", "\(port)", "-v", "-t", prefix + "/#", "-t", end]
        + options)
    defer { child.kill() }
    try wait(for: "the end of the retained messages") {
      try publish(end, "x", options)
      return child.output.contains(end)
    }
    let lines = child.output.split(separator: "\n").map {
      $0.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    }
    let messages = lines.filter { $0.count == 2 && $0[0] != end }
    return Dictionary(messages.map { ($0[0], $0[1]) }) { _, last in last }
  }

  private func publish(_ topic: String, _ arguments: [String], input: String? = nil) throws {
    let child = try box.run(
      ["mosquitto_pub", "-h", "127.0.0.1", "-p", "\(port)", "-q", "1", "-t", topic] + arguments,
      input: input)
    guard child.status == 0 else { throw Failure("mosquitto_pub: \(child.errors)") }
  }

}

extension Box {
  /// The program for this machine.
  static let bridge = "\(Build.directory)/\(Build.host)/tinypush-mqtt"

  /// Writes the rules of a bridge, and returns the file.
  @discardableResult
  func rules(_ broker: Mosquitto, _ text: String) throws -> String {
    try write("broker = 127.0.0.1:\(broker.port)\nclient-id = box\n\(text)", to: "mqtt.conf")
  }

  /// Starts a bridge with the rules that ``rules(_:_:)`` wrote.
  func bridge(_ build: String = Build.host, environment: [String: String] = [:]) throws -> Child {
    try start(
      Build.command(build, "tinypush-mqtt")
        + ["run", "--rules", path + "/mqtt.conf", "-o", "spool=" + spool],
      environment: environment)
  }

  /// Starts a bridge, and waits until the broker has taken its subscriptions.
  func bridge(
    to broker: Mosquitto, _ build: String = Build.host, environment: [String: String] = [:],
    refused: Int = 0
  ) throws -> Child {
    try broker.subscribes(self, refused: refused) {
      let bridge = try bridge(build, environment: environment)
      try bridge.line("connected to the broker", in: .errors)
      return bridge
    }
  }

  /// The notifications in `new/`, in the order of their files.
  func notifications() throws -> [[String: Any]] {
    try queued.flatMap { try objects(text("spool/new/\($0)")) }
  }

  /// The texts of the alerts in `new/`.
  func alerts() throws -> [String] {
    try notifications().compactMap {
      ($0["payload"] as? [String: [String: Any]])?["aps"]?["alert"] as? String
    }
  }
}
