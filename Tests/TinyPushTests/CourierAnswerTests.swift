import Testing

@testable import Simulation
@testable import TinyPush
@testable import TinyPushBinary

/// The layouts of the same 60 notifications in the spool.
private enum Layout: CaseIterable {
  case files, oneFile, pairs, recipients

  func put(into world: World, _ count: Int) {
    switch self {
    case .files:
      for number in 1...count { world.put("a\(1000 + number)", number, tells: false) }
    case .oneFile:
      world.put(
        "a", text: (1...count).map { World.notification($0) }.joined(separator: "\n"),
        numbers: Array(1...count), tells: false)
    case .pairs:
      for number in stride(from: 1, through: count, by: 2) {
        world.put("a\(1000 + number)", number, number + 1, tells: false)
      }
    case .recipients:
      for number in stride(from: 1, through: count, by: 6) {
        world.put(
          "a\(1000 + number)",
          text: World.notification(number, number + 1, number + 2)
            + World.notification(number + 3, number + 4, number + 5),
          numbers: Array(number..<number + 6), tells: false)
      }
    }
  }
}

private let count = 60

@Test(arguments: Layout.allCases, [1, 2, 3, 4, 30, 59, 60])
private func `a refusal proves what came before, is recorded, and the rest is resent in order`(
  layout: Layout, k: Int
) {
  let world = World(once: true)
  world.response = { $0.number == k ? .refuse(.invalidPayloadSize) : .accept }
  layout.put(into: world, count)
  world.runToEnd()
  let good = (1...count).filter { $0 != k }
  #expect(world.accepted == good)
  #expect(world.recorded == [k])
  #expect(world.failures.map(\.status) == [7])
  #expect(world.waiting == [])
  let counters = world.courier.counters
  #expect(counters.settledByProof == UInt64(count - 1))
  #expect(counters.refused == 1)
  #expect(counters.repeated == UInt64(count - k))
  #expect(counters.sent == UInt64(count + count - k))
  #expect(counters.uncertain == 0)
}

@Test(arguments: Layout.allCases, [1, 2, 7])
private func `every refused k-th notification is recorded, and all others arrive`(
  layout: Layout, k: Int
) {
  let world = World(once: true)
  world.response = { $0.number % k == 0 ? .refuse(.missingTopic) : .accept }
  layout.put(into: world, count)
  world.runToEnd()
  #expect(world.accepted == (1...count).filter { $0 % k != 0 })
  #expect(world.recorded == (1...count).filter { $0 % k == 0 })
  #expect(world.waiting == [])
}

@Test(arguments: Layout.allCases, [1, 2, 29, 59, 60])
private func `status 10 proves the named notification, too`(layout: Layout, k: Int) {
  let world = World(once: true)
  world.response = { $0.number == k && $0.connection == 1 ? .shutdown : .accept }
  layout.put(into: world, count)
  world.runToEnd()
  #expect(world.accepted == Array(1...count))
  #expect(world.failures.isEmpty)
  #expect(world.waiting == [])
  #expect(world.courier.counters.refused == 0)
  #expect(world.courier.counters.settledByProof == UInt64(count))
  #expect(world.elapsed < 1000, "progress was made: there is nothing to wait for")
  guard case .shutdown(resent: count - k) = world.reports.first else {
    Issue.record("reported as \(world.reports)")
    return
  }
}

@Test(arguments: [UInt64(1), 500])
func `an answer may arrive byte by byte`(pace: UInt64) {
  let world = World(once: true)
  world.answerPace = pace
  world.response = { $0.number == 5 ? .refuse(.invalidToken) : .accept }
  Layout.files.put(into: world, 10)
  world.runToEnd()
  #expect(world.accepted == [1, 2, 3, 4, 6, 7, 8, 9, 10])
  #expect(world.recorded == [5])
}

@Test(arguments: [
  "08 08 00000000", "08 07 7fffffff", "08 c8 00000003", "08 00 00000000", "08 00 7fffffff",
  "08 09 00000003",
  "08 0a 00000000", "08 0a 0000ffff", "48 54 54 50", "00", "08 08 0000",
])
func `an answer without a valid identifier makes all uncertain, and all is sent again`(
  hex: String
) {
  let world = World(once: true)
  world.response = { $0.number == 3 && $0.connection == 1 ? .say([UInt8](hex: hex)) : .accept }
  Layout.files.put(into: world, 6)
  world.runToEnd()
  #expect(world.accepted == [1, 2] + Array(1...6))
  #expect(world.failures.isEmpty)
  #expect(world.waiting == [])
  let counters = world.courier.counters
  #expect(counters.uncertain == 6)
  #expect(counters.repeated == 6)
  #expect(counters.settled == 6)
  switch world.reports.first {
  case .strangeAnswer(let rejection, let identifier, uncertain: 6):
    let response = ErrorResponse(
      status: Status(rawValue: UInt8(rejection.code)), identifier: identifier)
    #expect([UInt8](response.bytes.span).hex == [UInt8](hex: hex).hex)
  case .garbage(let byte, uncertain: 6): #expect([byte] == [UInt8](hex: hex).prefix(1))
  case .cut(uncertain: 6): #expect(hex == "08 08 0000")
  default: Issue.record("reported as \(world.reports)")
  }
}

@Test(arguments: Layout.allCases, [UInt64(0), 1])
private func `answers without an error prove each notification and keep the connection`(
  layout: Layout, pace: UInt64
) {
  let world = World(once: true)
  world.saysNoError = true
  world.answerPace = pace
  layout.put(into: world, count)
  world.runToEnd()
  #expect(world.accepted == Array(1...count))
  #expect(world.waiting == [])
  #expect(world.failures.isEmpty)
  #expect(world.dials == 1)
  #expect(world.courier.counters.settledByProof == UInt64(count))
  #expect(world.reports.isEmpty)
}

@Test(arguments: Layout.allCases)
private func `a notification answered without an error is not resent after a lost connection`(
  layout: Layout
) {
  let world = World(once: true)
  world.saysNoError = true
  world.response = { [unowned world] push in
    guard push.number == 40, push.connection == 1 else { return .accept }
    // The earlier answers arrive before the end.
    world.after(1000) { world.cut() }
    return .stall
  }
  layout.put(into: world, count)
  world.runToEnd()
  #expect(world.accepted == Array(1...count))
  #expect(world.waiting == [])
  #expect(world.courier.counters.uncertain == 21)
  #expect(world.courier.counters.settledByProof == UInt64(count))
}

@Test func `an answer counts although the socket has taken only half of the bytes`() {
  let world = World()
  world.run(.seconds(1))
  world.blocks = { $0 == 1 ? 5000 : nil }
  world.put("a", 1, 2, 3)
  world.forbidsLoss = false
  world.run(.milliseconds(10))
  world.say([UInt8](hex: "08 07 00000002"))
  world.run(.seconds(30))
  #expect(world.recorded == [2])
  #expect(world.accepted == [3], "the gateway said of 1 that it has it")
  #expect(world.courier.counters.settledByProof == 1)
}

@Test func `an unknown error refuses the notification that it names`() {
  let world = World(once: true)
  world.response = { $0.number == 3 ? .refuse(.unknown) : .accept }
  Layout.files.put(into: world, 6)
  world.runToEnd()
  #expect(world.accepted == [1, 2, 4, 5, 6])
  #expect(world.recorded == [3])
}

@Test func `an answer for a notification that settled by time is reported as late`() {
  let world = World()
  world.run(.seconds(1))
  world.put("a", 1)
  world.run(.seconds(15))
  #expect(world.waiting == [])
  world.put("b", 2)
  world.latency = 1
  world.run(.milliseconds(20))
  world.say([UInt8](hex: "08 08 00000001"))
  world.run(.seconds(20))
  // The agent sends number 2 again, although this gateway has not discarded it.
  #expect(world.accepted == [1, 2, 2])
  #expect(world.waiting == [])
  guard case .lateAnswer(let rejection, identifier: 1) = world.reports.first else {
    Issue.record("not reported")
    return
  }
  #expect(rejection == Rejection(.invalidToken, code: 8))
}

@Test func `an invalid token is suppressed at the cost of one connection`() {
  let world = World(once: true)
  world.response = { $0.number == 7 ? .refuse(.invalidToken) : .accept }
  for number in 1...20 {
    world.put("a\(100 + number)", text: World.notification(number % 2 == 0 ? 7 : 100 + number))
  }
  world.runToEnd()
  #expect(world.accepted == stride(from: 101, through: 119, by: 2).map { $0 })
  #expect(world.recorded == [7])
  #expect(world.courier.counters.suppressed == 9)
  #expect(world.connections == 2)
  #expect(world.waiting == [])
}

@Test func `a refusal for the payload size does not suppress the token`() {
  let world = World(once: true)
  world.response = { $0.number == 7 ? .refuse(.invalidPayloadSize) : .accept }
  for number in 1...3 { world.put("a\(number)", text: World.notification(7)) }
  world.runToEnd()
  #expect(world.recorded == [7, 7, 7])
  #expect(world.courier.counters.suppressed == 0)
}

@Test func `a refused notification with nothing behind it needs no second connection`() {
  let world = World(once: true)
  world.response = { _ in .refuse(.invalidPayloadSize) }
  world.put("a", 1)
  world.runToEnd()
  #expect(world.recorded == [1])
  #expect(world.waiting == [])
  #expect(world.dials == 1)
}

@Test func `a refused notification leaves the spool even while the agent is offline`() {
  let world = World()
  world.response = { _ in .refuse(.invalidPayloadSize) }
  world.canDial = { $0 == 1 }
  world.put("a", 1)
  world.run(.seconds(100))
  #expect(world.recorded == [1])
  #expect(world.waiting == [])
}

// MARK: - Lost connections

@Test(arguments: Layout.allCases, [0, 1, 100, 150, 4000, 5300])
private func `a connection that ends without an answer makes the agent resend everything`(
  layout: Layout, bytes: Int
) {
  let world = World(once: true)
  world.cutAfterBytes = { $0 == 1 ? bytes : nil }
  layout.put(into: world, count)
  world.runToEnd()
  let before = world.pushes.filter { $0.connection == 1 }.count
  #expect(world.accepted == Array((1...count).prefix(before)) + Array(1...count))
  #expect(world.waiting == [])
  #expect(world.courier.counters.uncertain == UInt64(count))
  #expect(world.courier.counters.repeated == UInt64(count))
  guard case .cut(uncertain: count) = world.reports.first else {
    Issue.record("not reported: \(world.reports)")
    return
  }
}

@Test func `with uncertain = drop uncertain notifications are not sent again`() {
  let world = World(once: true) { $0.uncertain = .drop }
  world.forbidsLoss = false
  world.cutAfterBytes = { $0 == 1 ? 4000 : nil }
  Layout.files.put(into: world, 300)
  world.runToEnd()
  let before = world.pushes.filter { $0.connection == 1 }.count
  let uncertain = Int(world.courier.counters.uncertain)
  #expect(before > 40 && before < uncertain && uncertain < 300)
  #expect(world.accepted == Array(1...before) + Array(uncertain + 1...300))
  #expect(world.waiting == [])
}

@Test
func `attempts get rarer while no gateway answers, and then everything is delivered`() {
  let world = World()
  world.canDial = { _ in world.elapsed > 3_000_000 }
  world.put("a", 1)
  world.run(.seconds(3000))
  #expect(world.dials > 50 && world.dials < 200)
  world.run(.seconds(61))
  #expect(world.accepted == [1])
  #expect(world.waiting == [])
}

@Test func `dialAtOnce ends the pause before the next attempt`() {
  let world = World()
  var isSet = false
  world.canDial = { _ in isSet }
  world.put("a", 1)
  world.run(.seconds(2000))
  #expect(world.accepted.isEmpty)
  isSet = true
  world.link.dialAtOnce()
  world.run(.seconds(1))
  #expect(world.accepted == [1])
}

@Test func `attempts get rarer at a gateway that closes each connection`() {
  let world = World()
  world.cutAfterBytes = { _ in 0 }
  world.put("a", 1)
  world.run(.seconds(3000))
  #expect(world.dials > 10 && world.dials < 60)
  #expect(world.waiting == ["a"])
}

@Test func `the agent reconnects at once after a connection that settled something`() {
  let world = World()
  world.put("a", 1)
  world.run(.seconds(20))
  #expect(world.waiting == [])
  world.cut()
  world.run(.milliseconds(50))
  #expect(world.link.isUp == true)
}

@Test func `a notification that expires before it is resent is dropped`() {
  let world = World(once: true)
  world.forbidsLoss = false
  world.put(
    "a",
    text: World.notification(1, with: #", "ttl": 30"#) + World.notification(2)
      + World.notification(3, with: #", "expiration": 1700000020"#))
  world.put("b", text: World.notification(4, with: #", "ttl": 0"#))
  world.response = { $0.connection == 1 ? .vanish : .accept }
  world.canDial = { $0 == 1 || world.elapsed > 60_000 }
  world.runToEnd()
  #expect(world.accepted == [2, 4])
  #expect(world.courier.counters.expired == 2)
  #expect(world.waiting == [])
}

@Test func `an expired notification is dropped`() {
  let world = World(once: true)
  world.put("a", text: World.notification(1, with: #", "expiration": 1699999999"#))
  world.put("b", text: World.notification(2, with: #", "expiration": 1700000001"#))
  world.runToEnd()
  #expect(world.accepted == [2])
  #expect(world.courier.counters.expired == 1)
  #expect(world.waiting == [])
}

/// A part of a file between two notifications that is not sent, and is skipped at each resend.
@Test(arguments: [
  World.notification(99, with: #", "expiration": 1600000000"#), #"{"unknown": 1}"#, "{bad",
  World.notification(98),
])
func `notifications around a part that is not sent are resent correctly`(gap: String) {
  let world = World(once: true)
  world.response = { push in
    push.number == 98
      ? .refuse(.invalidToken) : push.number < 90 && push.connection <= 4 ? .vanish : .accept
  }
  world.put("0", text: World.notification(98))
  let ones = (1...5).map { World.notification($0) }
  world.put("a", text: ones.joined(separator: "\n" + gap + "\n"), numbers: [1, 2, 3, 4, 5])
  world.runToEnd()
  #expect(world.accepted == [1, 2, 3, 4, 5])
  #expect(world.waiting == [])
}

@Test(arguments: 1...8)
func `many lost connections at random places lose nothing with a small window`(seed: UInt64) {
  var random = Seeded(seed)
  let world = World(once: true) {
    $0.window = 16
  } binary: {
    $0.settle = .milliseconds(200)
  }
  let connectionsMax = 40
  let cuts = (0...connectionsMax).map { _ in random.upTo(30_000) }
  world.cutAfterBytes = { $0 < connectionsMax ? cuts[$0] : nil }
  var number = 0
  for file in 0..<12 {
    let numbers = (0..<random.upTo(150) + 1).map { _ in
      number += 1
      return number
    }
    let text = numbers.map { World.notification($0) }.joined(separator: "\n")
    world.put("a\(100 + file)", text: text, numbers: numbers, tells: false)
  }
  world.runToEnd(within: .seconds(100_000))
  #expect(Set(world.accepted) == Set(1...number), "SEED=\(seed)")
  #expect(world.waiting == [])
}

@Test(arguments: [Response.refuse(.invalidToken), .shutdown])
func `a gateway that ends each connection is not connected to rapidly`(response: Response) {
  let world = World()
  world.response = { $0.number % 2 == 0 ? response : .accept }
  world.put(
    "a", text: (1...600).map { World.notification($0) }.joined(separator: "\n") + "\n",
    numbers: Array(1...600))
  world.run(.seconds(60))
  #expect((20...45).contains(world.connections))
  // About three seconds for each of 300 connections.
  world.run(.seconds(20 * 60))
  #expect(world.waiting == [])
  #expect(Set(world.accepted).isSuperset(of: (1...300).map { 2 * $0 - 1 }))
  #expect(world.connections <= 302)
}
