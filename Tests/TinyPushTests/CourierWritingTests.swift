import Testing

@testable import Simulation
@testable import TinyPush
@testable import TinyPushBinary

/// Returns a connected world with an empty spool.
private func connected(_ change: (inout Courier.Settings) -> Void = { _ in }) -> World {
  let world = World { change(&$0) }
  world.run(.seconds(1))
  #expect(world.link.isUp == true)
  return world
}

@Test func `a single alert is written at once`() {
  let world = connected()
  world.put("a", 1)
  world.run(.milliseconds(5))
  #expect(world.accepted == [1])
  #expect(world.pushes[0].at == 1005)
}

@Test(arguments: [(UInt64(5), UInt64(20), UInt64(10)), (50, 20, 20), (5, 0, 1), (0, 20, 1)])
func `a second alert waits for the shorter of round trip and linger`(
  latency: UInt64, linger: UInt64, wait: UInt64
) {
  let world = connected { $0.linger = .milliseconds(linger) }
  world.latency = latency
  world.acknowledges = false
  world.put("a", 1)
  world.run(.milliseconds(3))
  world.put("b", 2)
  world.run(.milliseconds(latency + 200))
  #expect(world.accepted == [1, 2])
  #expect(world.pushes[1].at - world.pushes[0].at <= 3 + wait)
  #expect(world.pushes[1].at - world.pushes[0].at >= 3 + min(wait, linger))
}

@Test func `an alert is written at once if all before it is acknowledged`() {
  let world = connected()
  world.put("a", 1)
  world.run(.milliseconds(30))
  world.put("b", 2)
  world.run(.milliseconds(30))
  #expect(world.pushes.map(\.at) == [1005, 1035])
}

@Test func `alerts that arrive while one waits share its TLS record`() {
  let world = connected()
  world.latency = 100
  world.put("a", 1)
  world.run(.milliseconds(1))
  for number in 2...6 {
    world.put("b\(number)", number)
    world.run(.milliseconds(3))
  }
  world.run(.seconds(1))
  #expect(world.accepted == [1, 2, 3, 4, 5, 6])
  #expect(world.records.map(\.frames) == [1, 5])
}

@Test func `a backlog of a thousand files is sent in name order and in full TLS records`() {
  let world = World(once: true) { $0.window = 2000 }
  let alert = String(repeating: "x", count: 160 - 20)
  for number in 1...1000 {
    world.put(
      "\(10_000 + number)", text: World.notification(number, alert: alert), numbers: [number],
      tells: false)
  }
  world.shuffle = { names in
    var random = Seeded(1)
    return names.shuffled(using: &random)
  }
  world.runToEnd()
  #expect(world.accepted == Array(1...1000))
  #expect(world.pushes.allSatisfy { $0.payload.utf8.count == 160 })
  #expect(world.waiting == [])
  // Without the last record and the barrier.
  let full = world.records.dropLast(2)
  #expect(full.allSatisfy { $0.frames >= 60 && $0.bytes > 16_383 - 230 })
  #expect(world.barriers == 1)
  #expect(world.connections == 1)
}

@Test func `frames carry expiration, priority and payload of the notification`() {
  let world = World(once: true)
  world.put(
    "a",
    text: World.notification(1) + World.notification(2, with: #", "expiration": 1800000000"#)
      + World.notification(3, with: #", "ttl": 0"#)
      + World.notification(4, with: #", "ttl": 60, "priority": 5"#))
  world.runToEnd()
  #expect(world.pushes.map(\.identifier) == [1, 2, 3, 4])
  #expect(world.pushes.map(\.priority) == [10, 10, 10, 5])
  #expect(world.pushes.map(\.expiration) == [1_700_086_400, 1_800_000_000, 0, 1_700_000_060])
  #expect(world.pushes[0].payload == #"{"aps":{"alert":"Tank low"}}"#)
}

@Test func `a notification with a ttl gets the longest expiration while the clock is not set`() {
  let world = World(once: true)
  world.wallAtStart = nil
  world.put(
    "a", text: World.notification(1) + World.notification(2, with: #", "expiration": 1000000005"#))
  world.runToEnd()
  #expect(world.accepted == [1, 2])
  #expect(world.pushes.map(\.expiration) == [.max, 1_000_000_005])
}

@Test(arguments: [FrameFormat.items, .enhanced, .simple])
func `each format is delivered`(format: FrameFormat) {
  let world = World(once: true, binary: { $0.format = format })
  world.put("a", text: World.notification(1, 2, 3) + World.notification(4), numbers: [1, 2, 3, 4])
  world.runToEnd()
  #expect(world.accepted == [1, 2, 3, 4])
  // Without identifiers a barrier proves nothing.
  #expect(world.barriers == (format == .simple ? 0 : 1))
  #expect(world.courier.counters.settledByProof == (format == .simple ? 0 : 4))
  #expect(world.courier.counters.settledByTime == (format == .simple ? 4 : 0))
}

@Test(arguments: [1, 2, 3])
func `bytes that the socket does not take are written later`(write: Int) {
  let world = World(once: true)
  world.blocks = { $0 == write || $0 == write + 1 ? 700 : nil }
  for number in 1...200 { world.put("\(1000 + number)", number) }
  world.runToEnd()
  #expect(world.accepted == Array(1...200))
  #expect(world.waiting == [])
}

@Test func `a blocked socket loses nothing, and new files wait`() {
  let world = connected()
  world.blocks = { $0 == 1 ? 60_000 : nil }
  world.put("a", 1)
  world.run(.seconds(1))
  world.put("b", 2)
  world.run(.seconds(30))
  #expect(world.accepted == [])
  world.run(.seconds(60))
  #expect(world.accepted == [1, 2])
  #expect(world.waiting == [])
}

@Test func `only the rescan wakes an idle courier`() {
  let world = connected()
  world.put("a", 1)
  world.run(.seconds(60))
  #expect(world.waiting == [])
  guard
    case .wait(let until) = world.courier.next(
      Time(now: world.now, wallSeconds: 1), &world.link)
  else {
    Issue.record("the courier does not wait")
    return
  }
  #expect(until == world.courier.waiting.rescanAt)
  let scans = world.scans
  world.run(.seconds(3 * 900))
  #expect(world.scans == scans + 3)
}

@Test func `identifiers begin at 1 on each connection`() {
  let world = connected()
  for number in 1...5 {
    world.put("a\(number)", number)
    world.run(.seconds(15))
  }
  world.cut()
  world.run(.seconds(15))
  for number in 6...8 {
    world.put("a\(number)", number)
    world.run(.seconds(1))
  }
  #expect(world.pushes.map(\.identifier) == [1, 2, 3, 4, 5, 1, 2, 3])
  #expect(world.pushes.map(\.connection) == [1, 1, 1, 1, 1, 2, 2, 2])
}
