import Foundation
import Testing

/// Agents that are killed while they deliver over HTTP/2.
@Suite(.sideBySide) struct HTTP2CrashTests {
  private static let kills = 50
  /// The lines of the large file that every 25th agent gets; each agent gets `files` small ones.
  private static let lines = 200
  private static let files = 20

  @Test func `kills over HTTP/2 lose no notification, and a repeat has the same identifiers`()
    throws
  {
    let gateway = try HTTP2Gateway(in: box, .token)
    var number = 0
    func take(_ count: Int) -> String {
      number += count
      return (number - count + 1...number).map { line($0) }.joined()
    }
    // The same notification to the same device, once in each of many files.
    let twin = token(1_000_000)
    // The notifications still in the spool at a kill: these may arrive twice.
    var unsettled = 0
    var random = SeededRandom(for: "the times of the kills over HTTP/2")
    for kill in 0..<Self.kills {
      if kill % 25 == 0 { try box.drop(take(Self.lines), as: "many-\(kill)") }
      for _ in 1...Self.files { try box.drop(take(1), as: "one-\(number)") }
      try box.drop(line(1_000_000), as: "twin-\(kill)")
      let agent = try box.agent(gateway, .token)
      // Three of four agents are killed after they have connected, the others at any time.
      if kill % 4 != 0 { try agent.line("connected to", in: .errors) }
      usleep(.random(in: 0...250_000, using: &random))
      agent.kill()
      #expect(agent.status == 128 + SIGKILL, "\(agent.errors)")
      for name in box.queued { unsettled += name.hasPrefix("many") ? Self.lines : 1 }
    }
    let last = try box.deliver(gateway, .token)
    #expect(last.status == 0, "\(last.errors)")
    #expect(box.queued + box.names(in: "failed") == [])
    try gateway.readsAll()

    let requests = try gateway.requests()
    let accepted = requests.filter { $0["accepted"] as? Bool == true }
    let tokens: Set<String> = try Set(accepted.map { try $0.member("token") })
    #expect(tokens == Set((1...number).map { token($0) } + [twin]), "none is lost")
    #expect(requests.count - number - Self.kills <= unsettled)
    #expect(try gateway.events("open").count > Self.kills / 2, "most were connected")
    for name in ["apns-id", "apns-collapse-id"] {
      var values: [String: Set<String>] = [:]
      for request in requests {
        let headers: [String: String] = try request.member("headers")
        try values[request.member("token"), default: []].insert(#require(headers[name]))
      }
      #expect(
        values.removeValue(forKey: twin)?.count == Self.kills, "\(name): one value for each file")
      #expect(values.values.allSatisfy { $0.count == 1 }, "\(name): the same value in each repeat")
      #expect(
        Set(values.values.joined()).count == number,
        "\(name): a different value for each notification")
    }
  }
}
