import Testing

@testable import Simulation
@testable import TinyPush

/// The steps of a world, in order.
private final class Steps {
  private(set) var words: [Word] = []

  init(of world: World) {
    world.beforeStep = { [unowned self] in words.append($0) }
  }

  func first(_ word: Word) -> Int { words.firstIndex(of: word) ?? .max }
}

@Test func `the record of a refusal is synced before the suppression list`() {
  let world = World(once: true)
  let steps = Steps(of: world)
  world.response = { $0.number == 2 ? .refuse(.invalidToken) : .accept }
  world.put("a", 1, tells: false)
  world.put("b", 2, tells: false)
  world.runToEnd()
  #expect(steps.first(.record) < steps.first(.sync))
  #expect(steps.first(.sync) < steps.first(.keepLearned))
  #expect(steps.first(.keepLearned) < .max)
  #expect(world.recorded == [2])
}

@Test func `a refusal whose record could not be synced does not suppress the token`() {
  let world = World()
  world.response = { $0.number == 2 ? .refuse(.invalidToken) : .accept }
  world.disk.canSync = false
  world.put("a", 1, tells: false)
  world.put("b", 2, tells: false)
  world.run(.seconds(20))
  #expect(world.waiting == ["b"])
  #expect(world.recorded == [2])
  world.disk.canSync = true
  world.run(.seconds(60))
  #expect(world.waiting == [])
  #expect(world.recorded == [2, 2])
  #expect(world.courier.counters.suppressed == 0)
  world.put("c", 2)
  world.run(.seconds(20))
  #expect(world.courier.counters.suppressed == 1)
}

@Test(arguments: [false, true])
func `a notification in later/ is synced before it moves to taken/`(isRestarted: Bool) {
  let world = World()
  let steps = Steps(of: world)
  let notBefore = #", "not-before": 1700000100"#
  world.put("a", text: World.notification(1, with: notBefore), numbers: [1])
  world.run(.seconds(50))
  #expect(world.later.count == 1)
  if isRestarted { world.restart() }
  let before = steps.words.count { $0 == .sync }
  world.run(.seconds(100))
  #expect(world.accepted == [1])
  #expect(steps.words.count { $0 == .sync } == before + (isRestarted ? 1 : 0))
  #expect(world.takeViolations() == [])
}

@Test func `alerts that wait for a limit, and are due again together, share their syncs`() {
  let world = World { $0.limitAll = RateLimit(count: 1, period: .seconds(60)) }
  for number in 1...100 { world.put("\(number)", number, collapsing: "level") }
  world.run(.seconds(30))
  #expect(world.later.count == 99)
  let steps = Steps(of: world)
  world.run(.seconds(45))
  #expect(world.accepted.count == 2)
  #expect(world.later.count == 98)
  #expect(steps.words.count { $0 == .release } == 99)
  let syncs = steps.words.count { $0 == .sync }
  #expect(syncs < 20, "\(syncs)")
}
