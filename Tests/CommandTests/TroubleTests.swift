import Foundation
import Testing

/// The command of the setting `on-trouble`, and the troubles that it reports.
@Suite(.sideBySide) struct TroubleTests {
  /// Writes a line for each call, and the files and variables inherited from the agent.
  private static let command =
    #"echo "$TINYPUSH_TROUBLE $TINYPUSH_KIND: $TINYPUSH_REASON" >>told; ls -l /proc/self/fd >open; env >variables; echo said"#

  private func reports(_ box: Box) -> [String] {
    box.text("told").split(separator: "\n").map(String.init)
  }

  @Test func `on-trouble reports an outage once with its reason and once when it is over`() throws {
    let first = try Gateway(in: box)
    first.child.kill()
    let settings = try box.settings(
      first.port, ["on-trouble=" + Self.command, "trouble-after=1s"])
    let clocks = try Clocks(in: box, [.awake])
    let agent = try box.start(
      Build.command(Build.host) + ["run"] + settings,
      environment: clocks.environment.merging(["CREDENTIALS_DIRECTORY": "/nowhere"]) { $1 })
    try agent.line("cannot connect", in: .errors)
    // While nothing waits, there is no trouble, however long nobody can connect.
    var passes = 0
    try clocks.pass(60, for: agent) {
      passes += 1
      return passes > 10
    }
    #expect(reports(box) == [])
    try box.drop(line(1, "late"), as: "late")
    try wait(for: "the report of the outage") { !reports(box).isEmpty }
    try agent.line("said", in: .errors)
    #expect(
      reports(box).first?.hasPrefix(
        "began offline: alerts wait, and none could be delivered for 1 s: ")
        == true, "\(reports(box))")
    let open = box.text("open").split(separator: "\n").filter { $0.contains(" -> ") }
    #expect(open.count == 4, "\(open)")
    #expect(!open.contains { $0.contains("socket") || $0.contains("spool") })
    #expect(!box.text("variables").contains("CREDENTIALS_DIRECTORY"))
    let second = try Gateway(in: box, ["--port", "\(first.port)"], name: "second")
    try second.accepts("late")
    try wait(for: "the report of its end") { reports(box).count == 2 }
    #expect(reports(box).last == "over offline: alerts can be delivered again")
    try box.drop(line(2, "soon"), as: "soon")
    try second.accepts("soon")
    #expect(try agent.terminate() == 0)
    #expect(reports(box).count == 2)
  }

  @Test func `on-trouble does not repeat a report after a restart and reports the end`() throws {
    let soon = "on-trouble=" + Self.command
    let gateway = try Gateway(in: box)
    for certificate in ["client-soon", "client-soon", "client"] {
      let agent = try box.start(
        Build.command(Build.host) + ["run"]
          + box.settings(gateway.port, certificate: certificate, [soon]))
      try agent.line("connected", in: .errors)
      let alert = "alert \(box.queued.count) \(reports(box).count) \(certificate)"
      try box.drop(line(1, alert), as: "note")
      try gateway.accepts(alert)
      let count = certificate == "client" ? 2 : 1
      try wait(for: "the report") { reports(box).count >= count }
      #expect(try agent.terminate() == 0)
      #expect(reports(box).count == count, "\(reports(box))")
    }
    #expect(try reports(box).at(0).hasPrefix("began certificate: the push certificate ends in "))
    #expect(try reports(box).at(0).hasSuffix(": renew it"))
    #expect(try reports(box).at(1).hasPrefix("over certificate: "))
  }

  @Test func `an on-trouble command that does not end is killed after a minute`() throws {
    let gateway = try Gateway(in: box)
    gateway.child.kill()
    let clocks = try Clocks(in: box, [.awake])
    let agent = try box.agent(
      gateway, ["on-trouble=echo begun >told; sleep 1000", "trouble-after=1s"],
      environment: clocks.environment)
    try box.drop(line(1, "late"), as: "late")
    try clocks.pass(2, for: agent) { !reports(box).isEmpty }
    try clocks.pass(61, for: agent) {
      agent.errors.contains("the on-trouble command exited with status 137")
    }
    #expect(try agent.terminate() == 0)
  }

  @Test func `run --once runs no on-trouble command`() throws {
    let gateway = try HTTP2Gateway(in: box, .certificate, ["--fault", "bad-topic"])
    try box.drop(line(1, "hello"), as: "hello")
    let run = try box.deliver(gateway, .certificate, ["on-trouble=" + Self.command])
    #expect(run.status == 78)
    #expect(reports(box) == [])
  }

  @Test func `on-trouble reports at once that the service refuses the credentials`() throws {
    let gateway = try HTTP2Gateway(in: box, .certificate, ["--fault", "bad-topic@..2"])
    let agent = try box.agent(gateway, .certificate, ["on-trouble=" + Self.command])
    try box.drop(line(1, "hello"), as: "hello")
    try wait(for: "the report of the refusal") { !reports(box).isEmpty }
    #expect(
      reports(box).first?.hasPrefix(
        "began credentials: the service refuses our credentials: topic disallowed (status 403); ")
        == true, "\(reports(box))")
    #expect(try agent.terminate() == 0)
  }
}
