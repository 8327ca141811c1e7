import Testing

@testable import Simulation
@testable import TinyPush

private func at(_ seconds: UInt64) -> Instant { Instant(milliseconds: 1_000_000 + seconds * 1000) }

@Test func `a token that was accepted within a week is spared for one refusal`() {
  var tokens = AcceptedTokens()
  let answer1 = tokens.spares(7, at: at(0))
  #expect(!answer1)
  tokens.accept(7, at: at(0))
  let answer2 = tokens.spares(7, at: at(6 * 86_400))
  #expect(answer2)
  let answer3 = tokens.spares(7, at: at(8 * 86_400))
  #expect(!answer3)
  let answer4 = tokens.spares(8, at: at(1))
  #expect(!answer4)
  tokens.refuse(7, at: at(100))
  // Refusals in quick succession count as one incident.
  let answer5 = tokens.spares(7, at: at(150))
  #expect(answer5)
  let answer6 = tokens.spares(7, at: at(100 + 800))
  #expect(!answer6)
  // An acceptance clears the earlier refusal.
  tokens.accept(7, at: at(1000))
  let answer7 = tokens.spares(7, at: at(3000))
  #expect(answer7)
}

@Test func `the tenth of many refusals in quick succession suppresses a token`() {
  var tokens = AcceptedTokens()
  tokens.accept(7, at: at(0))
  var spared = 0
  while tokens.spares(7, at: at(1)) {
    tokens.refuse(7, at: at(1))
    spared += 1
  }
  #expect(spared == 9)
}

@Test(arguments: [false, true])
func `the newest of very many accepted tokens are remembered`(isHashed: Bool) throws {
  // Numbered tokens differ in a few bits of their hashes.
  func hash(_ number: UInt64) throws -> UInt64 {
    guard isHashed else { return number }
    let digits = World.token(Int(number)).bytes
    let token = DeviceToken(hex: digits.span)
    return try #require(token).identity.hash
  }
  var tokens = AcceptedTokens()
  for token in 1...100_000 as ClosedRange<UInt64> {
    try tokens.accept(hash(token), at: at(token * 100))
  }
  var last = 0
  for token in 99_900...100_000 as ClosedRange<UInt64> {
    if try tokens.spares(hash(token), at: at(10_000_000)) { last += 1 }
  }
  #expect(last > 90)
  let answer8 = try tokens.spares(hash(1), at: at(10_000_000))
  #expect(!answer8)
}

@Test func `a token whose hash is 0 was not accepted before it was`() {
  let digits = String(repeating: "0", count: 64).bytes
  let zeros = DeviceToken(hex: digits.span)
  #expect(zeros?.identity.hash == 0)
  var tokens = AcceptedTokens()
  for token in 1...1000 as ClosedRange<UInt64> { tokens.accept(token, at: at(0)) }
  let isSpared = tokens.spares(0, at: at(1))
  #expect(!isSpared)
}

// MARK: - In the courier

@Test func `one invalid token answer does not suppress a token whose delivery was confirmed`() {
  let world = World()
  var isMad = false
  world.response = {
    $0.number == 9 || isMad && $0.number == 1 ? .refuse(.invalidToken) : .accept
  }
  // The answer to the second notification proves the first.
  world.put("a", text: World.notification(1) + "\n" + World.notification(9))
  world.run(.seconds(30))
  isMad = true
  world.put("b", text: World.notification(1))
  world.run(.seconds(30))
  #expect(world.recorded == [9, 1])
  #expect(world.courier.counters.tokensSuppressed == 1)
  isMad = false
  world.put("c", text: World.notification(1))
  world.run(.seconds(30))
  #expect(world.accepted == [1, 1])
  // No answer has proved that delivery. Much later the token is called invalid again.
  world.run(.seconds(900))
  isMad = true
  world.put("d", text: World.notification(1))
  world.run(.seconds(30))
  #expect(world.courier.counters.tokensSuppressed == 2)
  world.put("e", text: World.notification(1))
  world.run(.seconds(30))
  #expect(world.recorded == [9, 1, 1])
  #expect(world.courier.counters.suppressed == 1)
  let told = world.reports.filter {
    switch $0 {
    case .tokenSpared, .tokenInvalid: true
    default: false
    }
  }
  #expect(told.count == 3)
}

@Test func `one invalid token answer suppresses a token whose delivery only time settled`() {
  let world = World()
  var isMad = false
  world.response = { _ in isMad ? .refuse(.invalidToken) : .accept }
  world.put("a", text: World.notification(1))
  world.run(.seconds(60))
  #expect(world.courier.counters.settledByTime == 1)
  isMad = true
  world.put("b", text: World.notification(1))
  world.run(.seconds(30))
  #expect(world.courier.counters.tokensSuppressed == 1)
}
