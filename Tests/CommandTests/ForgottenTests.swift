import Foundation
import Testing

/// A router that has forgotten a connection, as address translation (NAT) does after some time.
///
/// The router drops the packets of that connection silently and lets new connections through.
@Suite(.sideBySide) struct ForgottenTests {
  /// What happened before the router forgot the connection.
  enum Silence: CaseIterable {
    /// The agent had nothing to send for ten minutes.
    case idle
    /// The machine slept for two hours.
    case asleep
    /// Nothing: the connection was in use.
    case busy
  }

  @Test(arguments: Silence.allCases)
  func `notifications lost on a forgotten connection arrive over a new one`(silence: Silence) throws
  {
    let clocks = try Clocks(in: box, [.awake, .asleep])
    let network = try Network(in: box)
    // answer-timeout is long, so that the agent must notice the missing TCP acknowledgements.
    let agent = try box.agent(
      network.gateway, .certificate, ["answer-timeout=10m"], environment: clocks.environment,
      prefix: network.prefix)
    try box.drop(line(1, "before"), as: "before")
    try network.gateway.accepts("before")
    try wait(for: "the answer") { box.queued == [] }
    let port = try network.port(of: agent)
    try network.swallow(port)
    switch silence {
    case .idle: try clocks.set(.awake, to: 600)
    case .asleep: try clocks.set(.asleep, to: 7200)
    case .busy: break
    }
    try box.drop((2...100).map { line($0, "Alert \($0)") }.joined(), as: "many")
    try wait(for: "the alerts: \(agent.errors)") { try network.gateway.requests().count == 100 }
    #expect(agent.errors.contains("a router may have dropped the connection"), "\(agent.errors)")
    // If the router lets the old connection through again, no notification arrives twice.
    #expect(try !network.ports(of: agent).contains(port))
    try network.pass(port)
    #expect(try agent.terminate() == 0)
    #expect(box.queued == [])
    let connections: [Int] = try network.gateway.requests().map { try $0.member("connection") }
    #expect(connections == [1] + Array(repeating: 2, count: 99))
  }
}

/// A network namespace with a gateway in it (Tests/Tools/network).
private struct Network {
  let gateway: HTTP2Gateway
  private let box: Box
  private static let tool = Build.tools + "/network"

  init(in box: Box) throws {
    self.box = box
    gateway = try HTTP2Gateway(in: box, prefix: [Self.tool, "run"])
  }

  /// The start of a command that runs the rest in this network.
  var prefix: [String] { [Self.tool, "join", "\(gateway.child.id)"] }

  /// Returns the local ports of a process's connections to the gateway, except those in TIME_WAIT.
  func ports(of process: Child) throws -> [Int] {
    let table = try String(contentsOfFile: "/proc/\(process.id)/net/tcp", encoding: .utf8)
    return try table.split(separator: "\n").compactMap { line in
      let words = line.split(separator: " ")
      let isToGateway = try words.at(2).hasSuffix(":" + hexadecimal(gateway.port))
      guard isToGateway, try words.at(3) != "06" else { return nil }
      return try Int(words.at(1).suffix(4), radix: 16)
    }
  }

  private func hexadecimal(_ port: Int) -> String {
    let digits = String(port, radix: 16, uppercase: true)
    return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }

  func port(of process: Child) throws -> Int {
    let ports = try ports(of: process)
    return try #require(ports.count == 1 ? ports.first : nil, "\(ports)")
  }

  func swallow(_ port: Int) throws { try change("swallow", port) }
  func pass(_ port: Int) throws { try change("pass", port) }

  private func change(_ verb: String, _ port: Int) throws {
    let done = try box.run([Self.tool, verb, "\(gateway.child.id)", "\(port)"])
    guard done.status == 0 else { throw Failure(done.errors) }
  }
}
