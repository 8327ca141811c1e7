import Foundation
import Testing

/// A Mosquitto broker on this machine, which can end and start again at the same port.
final class Mosquitto {
  let port: Int
  private let box: Box
  private let config: String
  private var child: Child?
  private var starts = 0

  /// - Parameter settings: lines of mosquitto.conf(5) behind the listener.
  init(in box: Box, _ settings: String = "allow_anonymous true") throws {
    self.box = box
    port = try Self.freePort()
    // Mosquitto gives up root's rights otherwise, and may not read the box then.
    config = try box.write(
      "user root\nmax_queued_messages 0\nlistener \(port) 127.0.0.1\n\(settings)\n",
      to: "mosquitto.conf")
    try start()
  }

  func start() throws {
    let child = try box.start(["/usr/sbin/mosquitto", "-c", config])
    try wait(for: "the broker") {
      guard !child.hasEnded else { throw Failure("mosquitto ended: \(child.errors)") }
      return Self.isOpen(port)
    }
    self.child = child
  }

  /// Ends the broker, which saves what it keeps if it has persistence.
  func end() throws { try child?.terminate() }

  func kill() { child?.kill() }

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

  private static func address(_ port: Int) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }

  private static func isOpen(_ port: Int) -> Bool {
    let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { close(socket) }
    var address = address(port)
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
  }

  private static func freePort() throws -> Int {
    let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { close(socket) }
    var address = address(0)
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    return try withUnsafeMutablePointer(to: &address) { pointer in
      try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        guard bind(socket, $0, size) == 0, getsockname(socket, $0, &size) == 0 else {
          throw Failure("no free port: errno \(errno)")
        }
      }
      return Int(in_port_t(bigEndian: pointer.pointee.sin_port))
    }
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

  /// Starts a bridge, and waits until the broker has a session for it.
  func connectedBridge(_ build: String = Build.host) throws -> Child {
    let bridge = try bridge(build)
    try bridge.line("connected to the broker", in: .errors)
    return bridge
  }

  /// The notifications in `new/`, in the order of their files.
  func notifications() throws -> [[String: Any]] {
    try names(in: "new").flatMap { try objects(text("spool/new/\($0)")) }
  }

  /// The texts of the alerts in `new/`.
  func alerts() throws -> [String] {
    try notifications().compactMap {
      ($0["payload"] as? [String: [String: Any]])?["aps"]?["alert"] as? String
    }
  }
}
