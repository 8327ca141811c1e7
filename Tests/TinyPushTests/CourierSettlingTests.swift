import Testing

@testable import Simulation
@testable import TinyPush
@testable import TinyPushBinary

@Test func `a file leaves exactly ten seconds after its acknowledgement`() {
  let world = World()
  world.latency = 40
  world.run(.seconds(1))
  world.put("a", 1)
  world.run(.seconds(30))
  #expect(world.accepted == [1])
  #expect(world.removed.map(\.name) == ["a"])
  // Written at 1000 ms and acknowledged 80 ms later.
  #expect(world.removed[0].at == Instant(milliseconds: 1_000_000 + 1000 + 80 + 10_000))
  #expect(world.courier.counters.settledByTime == 1)
  #expect(world.courier.counters.settledByProof == 0)
}

@Test func `a notification without an acknowledgement does not settle`() {
  let world = World()
  world.acknowledges = false
  world.put("a", 1)
  world.run(.seconds(800))
  #expect(world.accepted == [1])
  #expect(world.waiting == ["a"])
  #expect(world.inFlight == 1)
  world.acknowledges = true
  world.put("b", 2)
  world.run(.seconds(30))
  #expect(world.waiting == [])
}

@Test func `files leave in the order in which the courier took them`() {
  let world = World()
  for number in 1...30 {
    world.after(UInt64(number) * 300) { world.put("f\(100 - number)", number) }
  }
  world.run(.seconds(60))
  #expect(world.removed.map(\.name) == (1...30).map { "f\(100 - $0)" })
}

@Test func `with --once one barrier proves everything and empties the spool`() {
  let world = World(once: true)
  for number in 1...20 { world.put("a\(100 + number)", number) }
  world.runToEnd()
  #expect(world.accepted == Array(1...20))
  #expect(world.barriers == 1)
  #expect(world.waiting == [])
  #expect(world.courier.counters.settledByProof == 20)
  #expect(world.elapsed < 1000)
  #expect(world.dials == 1)
}

@Test func `with --once an empty spool needs no connection`() {
  let world = World(once: true)
  world.runToEnd()
  #expect(world.dials == 0)
  #expect(world.elapsed == 0)
}

@Test func `at a gateway without barrier answers time settles and nothing is resent`() {
  let world = World(once: true) { $0.window = 500 }
  world.barrierResponse = .ignore
  for number in 1...100 { world.put("a\(1000 + number)", number) }
  world.runToEnd(within: .seconds(25))
  #expect(world.accepted == Array(1...100))
  #expect(world.waiting == [])
  #expect(world.courier.counters.settledByTime == 100)
  #expect(world.courier.counters.uncertain == 0)
  #expect(world.barriers == 2)
  guard case .askedAgain(100) = world.reports.first, case .unproved(100) = world.reports.last else {
    Issue.record("reported as \(world.reports)")
    return
  }
}

@Test func `at a gateway without barrier answers a small window moves on by time`() {
  // The window and its slack have room for 70 files.
  let world = World(once: true) { $0.window = 16 }
  world.barrierResponse = .ignore
  for number in 1...200 { world.put("a\(1000 + number)", number, tells: false) }
  world.run(.seconds(1))
  #expect(world.accepted == Array(1...70))
  world.runToEnd(within: .seconds(300))
  #expect(world.accepted == Array(1...200))
  #expect(world.waiting == [])
}

@Test func `a stop at a gateway without barrier answers waits for the settle time`() {
  let world = World()
  world.barrierResponse = .ignore
  world.put("a", 1)
  world.run(.seconds(1))
  world.courier.stop()
  world.runToEnd(within: .seconds(15))
  #expect(world.waiting == [])
  #expect(world.courier.counters.settledByTime == 1)
  guard case .unproved(1) = world.reports.first else {
    Issue.record("reported as \(world.reports)")
    return
  }
}

@Test func `a stop at a gateway that no longer answers barriers settles nothing`() {
  let world = World(binary: {
    $0.confirm = .barrier
    $0.barrierInterval = .milliseconds(10)
  })
  world.put("a", 1)
  world.run(.seconds(5))
  #expect(world.waiting == [])
  world.response = { _ in .stall }
  world.put("b", 2)
  world.run(.seconds(1))
  world.courier.stop()
  world.runToEnd(within: .seconds(15))
  #expect(world.waiting == ["b"])
}

@Test func `notifications that a hanging gateway only buffered are not settled by time`() {
  let world = World(once: true)
  world.response = { [unowned world] _ in world.connections == 1 ? .stall : .accept }
  for number in 1...5 { world.put("a\(number)", number) }
  world.runToEnd(within: .seconds(60))
  #expect(world.accepted == [1, 2, 3, 4, 5])
  #expect(world.courier.counters.settledByProof == 5)
}

@Test func `a barrier that the socket does not take is given up before the link times out`() {
  let world = World(once: true) { $0.window = 500 }
  world.receiveBuffer = 1000
  world.response = { [unowned world] push in
    world.connections < 4 && push.number > 100 ? .stall : .accept
  }
  for number in 1...200 { world.put("\(1000 + number)", number) }
  world.runToEnd(within: .seconds(100))
  #expect(Set(world.accepted) == Set(1...200))
  #expect(world.courier.counters.settledByProof == 200)
}

@Test func `a gateway that closes silently at barriers gets four, and then time settles`() {
  let world = World(once: true)
  world.barrierResponse = .vanish
  world.put("a", 1)
  world.put("b", 2)
  world.runToEnd(within: .seconds(30))
  #expect(world.accepted == [1, 2, 1, 2, 1, 2])
  #expect(world.waiting == [])
  #expect(world.barriers == 4)
  #expect(world.courier.counters.settledByTime == 2)
}

@Test func `with confirm = settle no barrier is sent`() {
  let world = World(once: true, binary: { $0.confirm = .settle })
  world.put("a", 1)
  world.runToEnd()
  #expect(world.barriers == 0)
  #expect(world.courier.counters.settledByTime == 1)
}

@Test func `with confirm = barrier nothing is lost at a gateway that is stopped for long`() {
  let world = World(binary: { $0.confirm = .barrier })
  world.put("a", 1)
  world.run(.seconds(5))
  #expect(world.waiting == [])
  // The kernel of the gateway's machine takes bytes, and nobody reads them.
  world.response = { _ in .stall }
  world.canDial = { _ in false }
  for number in 2...4 { world.after(UInt64(number) * 15_000) { world.put("a\(number)", number) } }
  world.run(.seconds(600))
  #expect(world.accepted == [1])
  #expect(world.waiting == ["a2", "a3", "a4"])
  world.response = { _ in .accept }
  world.canDial = { _ in true }
  world.run(.seconds(600))
  #expect(world.accepted == [1, 2, 3, 4])
  #expect(world.waiting == [])
}

@Test func `with confirm = barrier a barrier follows a burst, but not too often`() {
  let world = World(binary: { $0.confirm = .barrier })
  for number in 1...10 {
    world.after(UInt64(number) * 20_000) { world.put("a\(100 + number)", number) }
  }
  world.run(.seconds(400))
  #expect(world.accepted == Array(1...10))
  #expect(world.waiting == [])
  #expect((3...5).contains(world.barriers))
}

/// The messages that the smallest window holds: an eighth is left for recipients.
private let window = (16 + Courier.slack) / 8 * 7

@Test(arguments: [FrameFormat.items, .enhanced])
func `a full window stops the intake until notifications settle`(format: FrameFormat) {
  let world = World {
    $0.window = 16
  } binary: {
    $0.format = format
    $0.confirm = .settle
  }
  for number in 1...200 { world.put("a\(1000 + number)", number, tells: false) }
  world.run(.seconds(5))
  #expect(world.accepted == Array(1...window))
  #expect(world.waiting.count == 200)
  world.run(.seconds(10))
  #expect(world.accepted == Array(1...2 * window))
  world.run(.seconds(40))
  #expect(world.accepted == Array(1...200))
  #expect(world.waiting == [])
}

@Test func `a barrier empties a full window at once`() {
  let world = World { $0.window = 16 }
  for number in 1...200 { world.put("a\(1000 + number)", number, tells: false) }
  world.run(.seconds(3))
  #expect(world.accepted == Array(1...200))
  #expect(world.barriers == 2)
  #expect(world.waiting.count == 200 - 2 * window)
  world.run(.seconds(10))
  #expect(world.waiting == [])
}

@Test func `with --once a barrier empties a full window`() {
  let world = World(once: true) { $0.window = 16 }
  for number in 1...250 { world.put("a\(1000 + number)", number, tells: false) }
  world.runToEnd()
  #expect(world.accepted == Array(1...250))
  #expect(world.barriers == 4)
  #expect(world.elapsed < 3000)
}

@Test func `a large file goes through a small window`() {
  let world = World { $0.window = 16 }
  world.saysNoError = true
  world.put(
    "a", text: (1...20_000).map { World.notification($0) }.joined(separator: "\n"),
    numbers: Array(1...20_000))
  world.run(.seconds(60))
  #expect(world.accepted == Array(1...20_000))
  #expect(world.waiting == [])
}

// MARK: - Stop

@Test func `a stop settles what was sent and leaves the rest in the spool`() {
  let world = World { $0.window = 16 }
  for number in 1...50 { world.put("a\(1000 + number)", number, tells: false) }
  world.run(.seconds(1))
  for number in 51...200 { world.put("a\(1000 + number)", number) }
  world.courier.stop()
  world.runToEnd(within: .seconds(5))
  #expect(world.accepted == Array(1...50))
  #expect(world.removed.count == 50)
  #expect(world.waiting.count == 150)
  #expect(world.barriers == 1)
}

@Test func `a stop ends at once without a connection or with nothing in flight`() {
  let offline = World()
  offline.canDial = { _ in false }
  offline.put("a", 1)
  offline.run(.seconds(10))
  offline.courier.stop()
  offline.runToEnd(within: .milliseconds(1))
  #expect(offline.waiting == ["a"])
  let idle = World()
  idle.run(.seconds(10))
  idle.courier.stop()
  idle.runToEnd(within: .milliseconds(1))
}

@Test func `a stop before an answer arrives resends nothing`() {
  let world = World()
  world.response = { $0.number == 2 ? .refuse(.invalidPayloadSize) : .accept }
  world.put("a", 1, 2, 3)
  world.put("b", 4)
  world.latency = 100
  world.run(.milliseconds(550))
  world.courier.stop()
  world.runToEnd(within: .seconds(5))
  #expect(world.accepted == [1])
  #expect(world.recorded == [2])
  #expect(world.waiting == ["a", "b"])
}

@Test func `a stop in the middle of a large file ends soon`() {
  let world = World()
  let count = 50_000
  world.put("a", text: (1...count).map { World.notification($0) }.joined(separator: "\n"))
  world.blocks = { $0 == 4 ? 100 : nil }
  world.run(.milliseconds(110))
  #expect(world.accepted.count < 1000)
  world.courier.stop()
  world.runToEnd(within: .seconds(15))
  #expect(world.accepted.count < 2000, "the courier went on reading the file")
  #expect(world.waiting == ["a"])
}
