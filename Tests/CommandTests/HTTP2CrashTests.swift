import Foundation
import Testing

/// Agents that are killed over HTTP/2.
@Suite(.sideBySide) struct HTTP2CrashTests {
  private static let kills = 50
  /// A large file comes with every 25th agent, and so many small ones with each.
  private static let lines = 200
  private static let files = 20

  @Test(.timeLimit(.minutes(10)))
  func
    `nothing is lost when it is killed again and again, and a repeat bears the same identifiers`()
    throws
  {
    let box = try Box()
    defer { box.end() }
    let gateway = try HTTP2Gateway(in: box, .token)
    var number = 0
    func take(_ count: Int) -> String {
      number += count
      return (number - count + 1...number).map { line($0) }.joined()
    }
    // The same words to the same device, in a file of their own each time.
    let twin = token(1_000_000)
    // What a kill may make come twice: whatever has not left the spool by then.
    var unsettled = 0
    var random = Chance(for: "the times of the kills over HTTP/2")
    for kill in 0..<Self.kills {
      if kill % 25 == 0 { try box.drop(take(Self.lines), as: "many-\(kill)") }
      for _ in 1...Self.files { try box.drop(take(1), as: "one-\(number)") }
      try box.drop(line(1_000_000), as: "twin-\(kill)")
      let agent = try box.agent(gateway, .token)
      // Most have been connected for a while, however long that took; and some are killed at any time before.
      if kill % 4 != 0 { try agent.line("connected to", in: .errors) }
      usleep(.random(in: 0...250_000, using: &random))
      agent.kill()
      #expect(agent.status == 128 + SIGKILL, "\(agent.errors)")
      for name in box.names(in: "new") { unsettled += name.hasPrefix("many") ? Self.lines : 1 }
    }
    let last = try box.deliver(gateway, .token)
    #expect(last.status == 0, "\(last.errors)")
    #expect(box.names(in: "new") + box.names(in: "failed") == [])
    try gateway.hearsAll()

    let requests = try gateway.requests()
    let accepted = requests.filter { $0["accepted"] as? Bool == true }
    let tokens = Set(accepted.map { $0["token"] as! String })
    #expect(tokens == Set((1...number).map { token($0) } + [twin]), "none is lost")
    #expect(requests.count - number - Self.kills <= unsettled)
    #expect(try gateway.events("open").count > Self.kills / 2, "most were connected")
    for name in ["apns-id", "apns-collapse-id"] {
      var values: [String: Set<String>] = [:]
      for request in requests {
        let headers = request["headers"] as! [String: String]
        values[request["token"] as! String, default: []].insert(try #require(headers[name]))
      }
      #expect(values.removeValue(forKey: twin)?.count == Self.kills, "\(name): one for each file")
      #expect(values.values.allSatisfy { $0.count == 1 }, "\(name): the same each time")
      #expect(Set(values.values.joined()).count == number, "\(name): another for each")
    }
    // No agent makes a provider token of its own.
    let bearers = Set(requests.map { ($0["headers"] as! [String: String])["authorization"] })
    #expect(bearers.count == 1)
  }
}
