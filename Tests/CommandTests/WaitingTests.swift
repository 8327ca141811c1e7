import Foundation
import Testing

/// Notifications with not-before or a collapse ID, and notifications to recipients files.
@Suite(.sideBySide) struct WaitingTests {
  private func notification(_ alert: String, _ members: String) -> String {
    #"{"payload":{"aps":{"alert":"\#(alert)"}},\#(members)}"# + "\n"
  }

  @Test(arguments: Build.all)
  func `the agent reads recipients files for each file and sends each language its text`(
    build: String
  )
    throws
  {
    try box.write(
      "# the family\n\(token(1)) lang=fr-CA\n\(token(2))  # nobody knows\n",
      to: "recipients/family")
    let gateway = try Gateway(in: box)
    let settings = ["recipients=\(box.path)/recipients", "default-language=de"]
    let agent = try box.agent(gateway, build: build, settings)
    let languages = #""localized":{"fr":"Cuve vide","de":"Tank leer"}"#
    try box.drop(notification("Tank low", #""to":"family",\#(languages)"#), as: "1")
    try wait(for: "two alerts") { try gateway.alerts(in: box).count == 2 }
    try #expect(gateway.alerts(in: box) == ["Cuve vide", "Tank leer"])
    try box.write("\(token(3)) lang=es\nnobody\n", to: "recipients/family")
    try box.drop(notification("Tank low", #""to":["family","friends"]"#), as: "2")
    try wait(for: "three alerts") { try gateway.alerts(in: box).count == 3 }
    try wait(for: "the records of both errors") { try box.failures("2").count == 2 }
    let reasons = try box.failures("2").map { $0["reason"] as? String ?? "" }
    #expect(
      reasons.first?.hasPrefix(
        "recipients file family, line 2: a device token is written ")
        == true)
    #expect(
      reasons.last
        == "recipients file friends does not exist: tinypush recipient add creates it")
    agent.kill()
  }

  @Test func `a notification waits in later/ across restarts until its not-before`() throws {
    let gateway = try Gateway(in: box)
    let clocks = try Clocks(in: box, [.wall])
    let now = Int(Date().timeIntervalSince1970)
    let due = now + 4
    try clocks.set(.wall, to: now)
    try box.drop(
      notification("later", #""token":"\#(token(1))","not-before":\#(due)"#)
        + notification("never", #""token":"\#(token(1))","not-before":4000000000"#)
        + notification("now", #""token":"\#(token(1))""#), as: "a")
    let first = try box.run(
      Build.command(Build.host) + ["run", "--once"] + box.settings(gateway.port),
      environment: clocks.environment)
    #expect(first.status == 0, "\(first.errors)")
    #expect(box.queued == [])
    let waiting = box.names(in: "later")
    #expect(waiting.count == 2)
    #expect(waiting.first?.hasPrefix("\(due).") == true)
    #expect(waiting.allSatisfy { $0.hasSuffix(".a") })
    let agent = try box.agent(gateway, environment: clocks.environment)
    try agent.line("connected to", in: .errors)
    try wait(for: "the agent to wait") { agent.isAsleep }
    #expect(box.names(in: "later") == waiting)
    try #expect(gateway.alerts(in: box) == ["now"])
    try clocks.set(.wall, to: due)
    try clocks.announceChange()
    try wait(for: "the alert") { try gateway.alerts(in: box) == ["now", "later"] }
    #expect(try box.names(in: "later") == [waiting.at(1)])
    agent.kill()
  }

  @Test func `the agent delivers only the last waiting notification of a collapse ID`() throws {
    let gateway = try Gateway(in: box)
    for level in 1...200 {
      let members = #""token":"\#(token(level % 2 + 1))","collapse-id":"tank""#
      try box.drop(notification("\(level)", members), as: "reading-\(1000 + level)")
    }
    let later = #""token":"\#(token(9))","collapse-id":"tank","not-before":4000000000"#
    try box.drop(notification("put off", later), as: "z1")
    let first = try box.deliver(gateway)
    #expect(first.status == 0, "\(first.errors)")
    try #expect(gateway.alerts(in: box) == ["199", "200"])
    #expect(box.queued == [])
    #expect(box.names(in: "later").count == 1)
    try box.drop(notification("at once", #""token":"\#(token(9))","collapse-id":"tank""#), as: "z2")
    let second = try box.deliver(gateway)
    #expect(second.status == 0, "\(second.errors)")
    try #expect(gateway.alerts(in: box) == ["199", "200", "at once"])
    #expect(box.names(in: "later") == [])
  }
}
