import Foundation
import Testing

/// Notifications that the HTTP/2 service never takes.
@Suite(.sideBySide) struct PoisonTests {
  @Test(arguments: [
    "reason=InternalServerError", "reason=Forbidden", "odd-body", "reset-stream",
    "refused-stream", "close", "reset",
  ])
  func `a notification that the service never takes holds up no other`(fault: String) throws {
    let sandbox = try Sandbox(in: box, ["--fault", "\(fault)@\(token(1))"])
    for number in 1...20 {
      try box.write(
        line(number, "Alert \(number)"), to: "sandbox/spool/new/\(100 + number).json")
    }
    let agent = try box.start(
      Build.command(Build.host) + ["run", "--config", sandbox.http2Config])
    let others = Set((2...20).map { token($0) })
    try wait(for: "the others to be delivered") {
      try others.isSubset(of: sandbox.events("accepted").compactMap { $0["token"] as? String })
    }
    #expect(try agent.terminate() == 0, "\(agent.errors)")
    #expect(!agent.errors.contains("refuses the configuration"), "\(agent.errors)")
  }

  @Test func `a new provider token that counts as expired is told with the clock`() throws {
    let gateway = try HTTP2Gateway(in: box, .token, ["--fault", "expired-token"])
    try box.drop(line(1), as: "one")
    let agent = try box.deliver(gateway, .token)
    #expect(agent.status == 78)
    #expect(agent.errors.contains("check this machine's clock"), "\(agent.errors)")
  }
}
