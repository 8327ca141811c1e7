import Foundation
import Testing

/// What a service manager hears of an agent, and what it tells one.
@Suite(.sideBySide) struct ServiceManagerTests {
  @Test func `it is told how it goes, in words`() throws {
    let box = try Box()
    defer { box.end() }
    let gateway = try Gateway(in: box)
    let manager = try NotifySocket(in: box)
    let agent = try box.agent(gateway, environment: manager.environment)
    try #expect(manager.next() == "READY=1\nSTATUS=scanning the spool")
    try #expect(manager.next() == "STATUS=connecting to localhost:\(gateway.port)")
    try #expect(manager.next().hasPrefix("STATUS=connected to localhost:\(gateway.port) (TLS"))
    gateway.child.kill()
    try manager.hears("STATUS=connection to localhost:\(gateway.port) ended")
    try manager.hears("STATUS=cannot connect to localhost:\(gateway.port)")
    agent.signal(SIGTERM)
    let stopping = try manager.hears("STOPPING=1\n")
    // 10 s of `settle`, and ten more.
    #expect(stopping.hasSuffix("\nEXTEND_TIMEOUT_USEC=20000000"))
    #expect(try agent.wait() == 0)
  }

  @Test func `the watchdog is fed while all is well, without a gateway too`() throws {
    let box = try Box()
    defer { box.end() }
    let gateway = try Gateway(in: box)
    let manager = try NotifySocket(in: box)
    let watched = manager.environment.merging(["WATCHDOG_USEC": "400000"]) { $1 }
    let agent = try box.agent(gateway, environment: watched)
    try manager.hears("STATUS=connected")
    for _ in 1...3 { try manager.hears("WATCHDOG=1") }
    gateway.child.kill()
    try manager.hears("STATUS=cannot connect")
    for _ in 1...3 { try manager.hears("WATCHDOG=1") }
    #expect(try agent.terminate() == 0)
  }

  @Test func `the watchdog of another process is left alone`() throws {
    let box = try Box()
    defer { box.end() }
    let gateway = try Gateway(in: box)
    let manager = try NotifySocket(in: box)
    let watched = manager.environment.merging(["WATCHDOG_USEC": "20000", "WATCHDOG_PID": "1"]) {
      $1
    }
    let agent = try box.agent(gateway, environment: watched)
    try manager.hears("STATUS=connected")
    try box.drop(line(1, "hello"), as: "hello")
    try gateway.accepts("hello")
    #expect(try agent.terminate() == 0)
    try manager.hears("STOPPING=1\n")
    #expect(!manager.heard.contains("WATCHDOG=1"))
  }

  /// A configuration file for a gateway, with what else it says.
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

  @Test func `a reload takes up the configuration, confirms what was sent, and counts on`() throws {
    let box = try Box()
    defer { box.end() }
    let before = try Gateway(in: box, name: "before")
    let after = try Gateway(in: box, name: "after")
    let manager = try NotifySocket(in: box)
    let agent = try run(box, configure(box, before), environment: manager.environment)
    try box.drop(line(1, "one"), as: "1")
    try before.accepts("one")
    _ = try configure(box, after)
    agent.signal(SIGHUP)
    try manager.hears("RELOADING=1\n")
    try manager.hears("READY=1\n")
    try box.drop(line(2, "two"), as: "2")
    try after.accepts("two")
    try #expect(before.alerts(in: box) == ["one"])
    try #expect(after.alerts(in: box) == ["two"])
    #expect(try agent.terminate() == 0)
    #expect(agent.errors.contains("2 delivered (2 proved), 0 failed, 0 repeated"))
    #expect(box.names(in: "new") == [])
  }

  enum Mistake: String, CaseIterable, Sendable {
    case key = "certficate = x"
    case certificate = "certificate = missing.pem"
    /// Found out only when the one before has left its own.
    case spool = "spool = missing"
  }

  @Test(arguments: Mistake.allCases)
  func `a configuration with a mistake changes nothing`(mistake: Mistake) throws {
    let box = try Box()
    defer { box.end() }
    let gateway = try Gateway(in: box)
    let agent = try run(box, configure(box, gateway))
    try box.drop(line(1, "one"), as: "1")
    try gateway.accepts("one")
    _ = try configure(box, gateway, mistake.rawValue)
    agent.signal(SIGHUP)
    let words = try agent.line("the old configuration stays in use: ", in: .errors)
    let expected =
      switch mistake {
      case .key: "tinypush.conf:9: no such key: certficate; did you mean certificate?"
      case .certificate: "\(box.path)/missing.pem"
      case .spool: "spool missing: "
      }
    #expect(words.contains(expected), "\(words)")
    try box.drop(line(2, "two"), as: "2")
    try gateway.accepts("two")
    #expect(try agent.terminate() == 0)
    try #expect(gateway.alerts(in: box) == ["one", "two"])
    #expect(box.names(in: "new") == [])
  }

  @Test func `a stop while a reload waits for its confirmation is a stop`() throws {
    let box = try Box()
    defer { box.end() }
    let gateway = try Gateway(in: box, ["--delay-answer", "1"])
    let manager = try NotifySocket(in: box)
    let agent = try run(box, configure(box, gateway), environment: manager.environment)
    try box.drop(line(1, "one"), as: "1")
    try gateway.accepts("one")
    agent.signal(SIGHUP)
    try manager.hears("RELOADING=1\n")
    agent.signal(SIGTERM)
    try manager.hears("STOPPING=1\n")
    #expect(try agent.wait() == 0)
    #expect(agent.errors.contains("1 delivered (1 proved)"))
  }

  @Test func `certificate and key are the service's credentials, or lie beside the file`() throws {
    let box = try Box()
    defer { box.end() }
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

/// The socket of a service manager.
final class NotifySocket {
  let environment: [String: String]
  private(set) var heard: [String] = []
  private let descriptor: Int32

  init(in box: Box) throws {
    let path = box.path + "/notify"
    environment = ["NOTIFY_SOCKET": path]
    descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let isBound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
    try #require(isBound)
  }

  deinit { close(descriptor) }

  /// The next message.
  func next() throws -> String {
    var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&ready, 1, 60_000) == 1 else { throw Failure("nothing was told") }
    var bytes = [UInt8](repeating: 0, count: 2048)
    let count = recv(descriptor, &bytes, bytes.count, 0)
    let message = String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
    heard.append(message)
    return message
  }

  /// Waits for a message that begins so.
  @discardableResult
  func hears(_ beginning: String) throws -> String {
    while true {
      let message = try next()
      if message.hasPrefix(beginning) { return message }
    }
  }
}
