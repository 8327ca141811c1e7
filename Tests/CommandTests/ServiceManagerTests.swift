import Foundation
import Testing

/// The agent under a service manager: status, watchdog, reload and credentials.
@Suite(.sideBySide) struct ServiceManagerTests {
  @Test func `the agent reports its status to the service manager`() throws {
    let gateway = try Gateway(in: box)
    let manager = try NotifySocket(in: box)
    let agent = try box.agent(gateway, environment: manager.environment)
    try #expect(manager.next() == "READY=1\nSTATUS=scanning the spool")
    try #expect(manager.next() == "STATUS=connecting to localhost:\(gateway.port)")
    try #expect(manager.next().hasPrefix("STATUS=connected to localhost:\(gateway.port) (TLS"))
    gateway.child.kill()
    try manager.receives("STATUS=connection to localhost:\(gateway.port) ended")
    try manager.receives("STATUS=cannot connect to localhost:\(gateway.port)")
    agent.signal(SIGTERM)
    let stopping = try manager.receives("STOPPING=1\n")
    // The 10 s of `settle` and 10 s more.
    #expect(stopping.hasSuffix("\nEXTEND_TIMEOUT_USEC=20000000"))
    #expect(try agent.wait() == 0)
  }

  @Test func `the agent feeds the watchdog, even without a gateway`() throws {
    let gateway = try Gateway(in: box)
    let manager = try NotifySocket(in: box)
    let watched = manager.environment.merging(["WATCHDOG_USEC": "400000"]) { $1 }
    let agent = try box.agent(gateway, environment: watched)
    try manager.receives("STATUS=connected")
    for _ in 1...3 { try manager.receives("WATCHDOG=1") }
    gateway.child.kill()
    try manager.receives("STATUS=cannot connect")
    for _ in 1...3 { try manager.receives("WATCHDOG=1") }
    // The agent would wait for a manager that leaves ten messages unread.
    manager.close()
    #expect(try agent.terminate() == 0)
  }

  @Test func `the agent does not feed the watchdog of another process`() throws {
    let gateway = try Gateway(in: box)
    let manager = try NotifySocket(in: box)
    let watched = manager.environment.merging(["WATCHDOG_USEC": "20000", "WATCHDOG_PID": "1"]) {
      $1
    }
    let agent = try box.agent(gateway, environment: watched)
    try manager.receives("STATUS=connected")
    try box.drop(line(1, "hello"), as: "hello")
    try gateway.accepts("hello")
    agent.signal(SIGTERM)
    try manager.receives("STOPPING=1\n")
    #expect(try agent.wait() == 0)
    #expect(!manager.received.contains("WATCHDOG=1"))
  }

  /// Writes a configuration for a gateway, with more lines, and returns its path.
  private func configure(_ box: Box, _ gateway: Gateway, _ more: String = "") throws -> String {
    try box.write(
      """
      protocol = binary
      gateway = localhost:\(gateway.port)
      ca = \(Certificates.path("ca.pem"))
      certificate = \(Certificates.path("client.pem"))
      key = \(Certificates.path("client.key"))
      spool = \(box.spool)
      state = \(box.path)/state
      status = \(box.path)/status
      \(more)

      """, to: "tinypush.conf")
  }

  private func run(
    _ box: Box, _ config: String, environment: [String: String] = [:]
  ) throws -> Child {
    try box.start(
      Build.command(Build.host) + ["run", "--config", config], environment: environment)
  }

  @Test func `a reload confirms sent notifications, keeps the counters and uses the new settings`()
    throws
  {
    let before = try Gateway(in: box, name: "before")
    let after = try Gateway(in: box, name: "after")
    let manager = try NotifySocket(in: box)
    let agent = try run(box, configure(box, before), environment: manager.environment)
    try box.drop(line(1, "one"), as: "1")
    try before.accepts("one")
    _ = try configure(box, after)
    agent.signal(SIGHUP)
    try manager.receives("RELOADING=1\n")
    try manager.receives("READY=1\n")
    try box.drop(line(2, "two"), as: "2")
    try after.accepts("two")
    try #expect(before.alerts(in: box) == ["one"])
    try #expect(after.alerts(in: box) == ["two"])
    #expect(try agent.terminate() == 0)
    #expect(agent.errors.contains("2 delivered (2 proved), 0 failed, 0 repeated"))
    #expect(box.queued == [])
  }

  enum Mistake: String, CaseIterable, Sendable {
    case key = "certficate = x"
    case certificate = "certificate = missing.pem"
    /// This mistake shows only after the agent has left the old spool.
    case spool = "spool = missing"
  }

  @Test(arguments: Mistake.allCases)
  func `a reload with a wrong configuration keeps the old one`(mistake: Mistake) throws {
    let gateway = try Gateway(in: box)
    let manager = try NotifySocket(in: box)
    let config = try configure(box, gateway)
    let agent = try run(box, config, environment: manager.environment)
    try box.drop(line(1, "one"), as: "1")
    try gateway.accepts("one")
    let check = try Build.command(Build.host) + ["check", "--settings", "--config", config]
    let before = try box.run(check)
    #expect(before.status == 0 && before.errors == "" && before.output == "")
    _ = try configure(box, gateway, mistake.rawValue)
    // The unit checks the configuration before it sends the signal.
    #expect(try box.run(check).status == (mistake == .key ? 78 : 0))
    agent.signal(SIGHUP)
    let words = try agent.line("the old configuration stays in use: ", in: .errors)
    let expected =
      switch mistake {
      case .key: "tinypush.conf:9: unknown setting certficate; did you mean certificate?"
      case .certificate: "\(box.path)/missing.pem"
      case .spool: "spool missing: "
      }
    #expect(words.contains(expected), "\(words)")
    try manager.receives("STATUS=the old configuration stays in use: ")
    try box.drop(line(2, "two"), as: "2")
    try gateway.accepts("two")
    #expect(try agent.terminate() == 0)
    try #expect(gateway.alerts(in: box) == ["one", "two"])
    #expect(box.queued == [])
  }

  @Test func `SIGTERM during a reload stops the agent`() throws {
    let gateway = try Gateway(in: box, ["--delay-answer", "1"])
    let manager = try NotifySocket(in: box)
    let agent = try run(box, configure(box, gateway), environment: manager.environment)
    try box.drop(line(1, "one"), as: "1")
    try gateway.accepts("one")
    agent.signal(SIGHUP)
    try manager.receives("RELOADING=1\n")
    agent.signal(SIGTERM)
    try manager.receives("STOPPING=1\n")
    #expect(try agent.wait() == 0)
    #expect(agent.errors.contains("1 delivered (1 proved)"))
  }

  @Test(arguments: [false, true])
  func `SIGHUP during a stop starts no other agent`(areTogether: Bool) throws {
    let gateway = try Gateway(in: box, ["--delay-answer", "1"])
    let manager = try NotifySocket(in: box)
    let agent = try run(box, configure(box, gateway), environment: manager.environment)
    try box.drop(line(1, "one"), as: "1")
    try gateway.accepts("one")
    if areTogether { agent.signal(SIGSTOP) }
    agent.signal(SIGTERM)
    if !areTogether { try manager.receives("STOPPING=1\n") }
    agent.signal(SIGHUP)
    if areTogether { agent.signal(SIGCONT) }
    #expect(try agent.wait() == 0)
    #expect(agent.errors.contains("1 delivered (1 proved)"))
    #expect(agent.errors.count(of: "delivering ") == 1, "\(agent.errors)")
  }

  @Test func `the agent finds certificate and key in the credentials or beside the configuration`()
    throws
  {
    let gateway = try Gateway(in: box)
    let config = try configure(
      box, gateway, "certificate = credentials/push.pem\nkey = credentials/push.key")
    try box.drop(line(1, "one"), as: "1")
    for directory in ["given/credentials_", "credentials/"] {
      let environment = ["CREDENTIALS_DIRECTORY": box.path + "/given"]
      let once = try Build.command(Build.host) + ["run", "--once", "--config", config]
      let missing = try box.run(once, environment: environment)
      #expect(missing.status == 66)
      #expect(missing.errors.contains("\(box.path)/credentials/push.pem"), "\(missing.errors)")
      for suffix in ["pem", "key"] {
        let path = try Certificates.path("client.\(suffix)")
        let text = try String(contentsOfFile: path, encoding: .utf8)
        try box.write(text, to: "\(directory)push.\(suffix)")
      }
      let agent = try box.run(once, environment: environment)
      #expect(agent.status == 0, "\(agent.errors)")
      try FileManager.default.removeItem(
        atPath: "\(box.path)/\(directory.split(separator: "/")[0])")
    }
    try #expect(gateway.alerts(in: box) == ["one"])
  }
}

/// The notification socket of a service manager, with the messages it received.
final class NotifySocket {
  let environment: [String: String]
  private(set) var received: [String] = []
  private var descriptor: Int32

  init(in box: Box) throws {
    let path = box.path + "/notify"
    environment = ["NOTIFY_SOCKET": path]
    descriptor = makeSocket(AF_UNIX, SOCK_DGRAM)
    try #require(call(bind, descriptor, socketAddress(path)))
  }

  deinit { close() }

  /// Ends the socket: nobody waits for it to take more messages.
  func close() {
    Foundation.close(descriptor)
    descriptor = -1
  }

  /// Waits for the next message and returns it.
  func next() throws -> String {
    var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    try wait(for: "a message to the service manager") { poll(&ready, 1, 0) == 1 }
    var bytes = [UInt8](repeating: 0, count: 2048)
    let count = recv(descriptor, &bytes, bytes.count, 0)
    let message = String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
    received.append(message)
    return message
  }

  /// Waits for a message with this prefix.
  @discardableResult
  func receives(_ beginning: String) throws -> String {
    while true {
      let message = try next()
      if message.hasPrefix(beginning) { return message }
    }
  }
}
