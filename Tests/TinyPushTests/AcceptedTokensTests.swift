import Testing

@testable import Simulation
@testable import TinyPush

private func at(_ seconds: UInt64) -> Instant { Instant(milliseconds: 1_000_000 + seconds * 1000) }

@Test func `a token that was accepted is spared once, and for a week`() {
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
  // What comes at once is one incident.
  let answer5 = tokens.spares(7, at: at(150))
  #expect(answer5)
  let answer6 = tokens.spares(7, at: at(100 + 800))
  #expect(!answer6)
  // An acceptance makes good what was said before.
  tokens.accept(7, at: at(1000))
  let answer7 = tokens.spares(7, at: at(3000))
  #expect(answer7)
}

@Test func `of many refusals at once the tenth is believed`() {
  var tokens = AcceptedTokens()
  tokens.accept(7, at: at(0))
  var spared = 0
  while tokens.spares(7, at: at(1)) {
    tokens.refuse(7, at: at(1))
    spared += 1
  }
  #expect(spared == 9)
}

@Test func `of very many tokens the last ones are remembered`() {
  var tokens = AcceptedTokens()
  for token in 1...100_000 as ClosedRange<UInt64> { tokens.accept(token, at: at(token * 100)) }
  var last = 0
  for token in 99_900...100_000 as ClosedRange<UInt64> {
    if tokens.spares(token, at: at(10_000_000)) { last += 1 }
  }
  #expect(last > 90)
  let answer8 = tokens.spares(1, at: at(10_000_000))
  #expect(!answer8)
}

// MARK: - What follows from it

@Test func `what an answer proved is not muted by one that calls it invalid`() {
  let world = World()
  var isMad = false
  world.verdict = {
    $0.number == 9 || isMad && $0.number == 1 ? .refuse(.invalidToken) : .accept
  }
  // The answer to the second one proves the first.
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
  // Nothing has proved that: it is called invalid again, long after.
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

@Test func `what only time settled is muted by one that calls it invalid`() {
  let world = World()
  var isMad = false
  world.verdict = { _ in isMad ? .refuse(.invalidToken) : .accept }
  world.put("a", text: World.notification(1))
  world.run(.seconds(60))
  #expect(world.courier.counters.settledByTime == 1)
  isMad = true
  world.put("b", text: World.notification(1))
  world.run(.seconds(30))
  #expect(world.courier.counters.tokensSuppressed == 1)
}
