import Testing

@testable import Simulation
@testable import TinyPush
@testable import TinyPushBinary

private func deadly(_ number: Int, of count: Int, once: Bool = true, format: FrameFormat = .items)
  -> World
{
  let world = World(once: once) {
    $0.window = 500
  } binary: {
    $0.format = format
  }
  for each in 1...count { world.put("\(10_000 + each)", each) }
  world.response = { $0.number == number ? .vanish : .accept }
  return world
}

@Test(arguments: [(1, 1), (1, 300), (150, 300), (299, 300), (300, 300)])
func `a notification at which connections end is recorded, and all others arrive`(
  number: Int, count: Int
) throws {
  let world = deadly(number, of: count)
  world.runToEnd(within: .seconds(600))
  #expect(Set(world.accepted) == Set(1...count).subtracting([number]))
  #expect(world.waiting == [])
  #expect(world.failures.map(\.number) == [number])
  let failure = try #require(world.failures.first)
  #expect(failure.reason.contains("ended each time this notification was sent"))
  #expect(failure.status == nil)
  #expect(world.courier.counters.refused == 1)
  #expect(world.dials < 50)
}

@Test func `format 0 finds a bad token by the connections that end`() throws {
  let world = deadly(77, of: 200, format: .simple)
  world.runToEnd(within: .seconds(600))
  #expect(Set(world.accepted) == Set(1...200).subtracting([77]))
  #expect(world.failures.map(\.number) == [77])
  #expect(world.failures.first?.reason.contains("its token is invalid") == true)
  #expect(world.barriers == 0)
}

@Test func `several notifications at which connections end are found one after the other`() {
  let world = deadly(0, of: 100, once: false)
  world.response = { [10, 11, 60].contains($0.number) ? .vanish : .accept }
  world.run(.seconds(2000))
  #expect(world.failures.compactMap(\.number).sorted() == [10, 11, 60])
  #expect(Set(world.accepted) == Set(1...100).subtracting([10, 11, 60]))
  #expect(world.waiting == [])
}

@Test func `thirty such notifications in a row hold up the others for minutes only`() {
  let world = deadly(0, of: 200, once: false)
  world.response = { (11...40).contains($0.number) ? .vanish : .accept }
  world.run(.seconds(600))
  #expect(Set(world.accepted) == Set(1...200).subtracting(11...40))
  world.run(.seconds(36_000))
  #expect(world.failures.compactMap(\.number).sorted() == Array(11...40))
  #expect(world.waiting == [])
}

@Test func `the search for many such notifications sends few others twice`() {
  let world = deadly(0, of: 300, once: false)
  world.response = { $0.number % 3 == 0 ? .vanish : .accept }
  world.run(.seconds(36_000))
  #expect(Set(world.accepted) == Set((1...300).filter { $0 % 3 != 0 }))
  #expect(world.accepted.count < 400)
  #expect(world.failures.count == 100)
  #expect(world.waiting == [])
}

@Test func `such a notification is also found at a gateway that closes at barriers`() {
  let world = deadly(40, of: 60)
  world.barrierResponse = .vanish
  world.runToEnd(within: .seconds(3000))
  #expect(world.failures.map(\.number) == [40])
  #expect(Set(world.accepted) == Set(1...60).subtracting([40]))
}

@Test func `a gateway that closes at everything makes the agent reject nothing`() {
  let world = World()
  world.response = { _ in .vanish }
  world.barrierResponse = .vanish
  world.put("a", 1)
  world.put("b", 2)
  world.run(.seconds(3000))
  #expect(world.failures.isEmpty)
  #expect(world.waiting == ["a", "b"])
  world.response = { _ in .accept }
  world.run(.seconds(600))
  #expect(world.accepted == [1, 2])
  #expect(world.waiting == [])
}

@Test func `a network that fails at the same notification makes the agent reject nothing`() {
  let world = World()
  world.response = { [unowned world] push in
    world.after(1) { world.cutAtOnce(byPeer: false) }
    return world.connections < 30 ? .stall : .accept
  }
  world.put("a", 1)
  world.run(.seconds(6000))
  #expect(world.failures.isEmpty)
  #expect(world.connections > 3)
}

@Test func `an isolated notification sent on a dead connection is not rejected`() {
  let world = World()
  world.response = { $0.connection < 4 ? .vanish : .accept }
  world.beforeStep = { [unowned world] _ in
    if world.connection?.number == 4 { world.connection?.isDead = true }
  }
  world.put("a", 1)
  world.run(.seconds(600))
  #expect(world.failures.isEmpty)
  #expect(world.accepted.contains(1))
}

@Test
func `a gateway that closes at all but barriers empties the spool only slowly`() {
  let world = World()
  world.response = { _ in .vanish }
  for number in 1...50 { world.put("a\(1000 + number)", number) }
  world.run(.seconds(3600))
  #expect(world.failures.count < 12)
  #expect(world.dials < 100)
}

@Test func `a gateway that later closes at barriers still gets the rest`() {
  let world = World(binary: {
    $0.confirm = .barrier
    $0.barrierInterval = .milliseconds(10)
  })
  world.put("a", 1)
  world.run(.seconds(60))
  world.barrierResponse = .vanish
  world.put("b", 2)
  world.put("c", 3)
  world.run(.seconds(3600))
  #expect(Set(world.accepted) == [1, 2, 3])
  #expect(world.waiting == [])
  #expect(world.failures.isEmpty)
}

@Test func `the search ends when all candidates have expired`() {
  let world = World()
  for number in 1...50 {
    world.put(
      "a\(1000 + number)", text: World.notification(number, with: #", "ttl": 60"#) + "\n",
      numbers: [])
  }
  world.response = { [unowned world] _ in world.connections <= 2 ? .vanish : .accept }
  world.canDial = { $0 < 3 || $0 > 14 }
  world.run(.seconds(4000))
  #expect(world.waiting == [])
  let dials = world.dials
  for number in 101...110 {
    world.put("b\(number)", number)
    world.run(.seconds(60))
  }
  #expect(world.dials <= dials + 1)
}
