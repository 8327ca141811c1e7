import Testing

@testable import Simulation
@testable import TinyPush

private let count = 3000

private func largeFile(_ settle: Duration = .seconds(2), after first: String = "") -> World {
  let world = World {
    $0.window = 1000
  } binary: {
    $0.settle = settle
    $0.confirm = .settle
  }
  let numbers = Array(1...count)
  let text = numbers.map { World.notification($0) + "\n" }.joined()
  world.put("many", text: first + text, numbers: numbers)
  return world
}

/// Blocks the socket after some writes, so that the first part of the file settles.
private func hold(_ world: World) {
  world.blocks = { $0 == 15 ? 3_600_000 : nil }
  world.run(.seconds(20))
  world.blocks = { _ in nil }
}

@Test func `a large file continues near its last settled place after a crash`() {
  let world = largeFile()
  hold(world)
  #expect(world.settledPart(of: "many") > 0)
  world.blocks = { _ in nil }
  world.restart(once: true)
  world.runToEnd()
  #expect(world.waiting == [])
  #expect(Set(world.accepted) == Set(1...count))
  // About one TLS record and the uncertain notifications arrive twice, not a thousand.
  #expect(world.accepted.count < count + 200)
}

@Test func `a stop writes into the name how far a large file is settled`() {
  let world = largeFile()
  world.blocks = { $0 == 15 ? 3000 : nil }
  world.after(1500) { world.courier.stop() }
  world.runToEnd(within: .seconds(30))
  let sent = world.accepted.count
  #expect(sent > 0 && sent < count)
  #expect(world.settledPart(of: "many") > 0)
  world.restart(once: true)
  world.runToEnd()
  #expect(world.accepted == Array(1...count))
  #expect(world.waiting == [])
}

@Test func `a stop ends although the file system has become read-only`() {
  let world = largeFile()
  world.blocks = { $0 == 15 ? 3000 : nil }
  world.after(1500) { world.courier.stop() }
  world.beforeStep = { [unowned world] _ in world.canTake = world.taken.isEmpty }
  world.runToEnd(within: .seconds(30))
  #expect(world.settledPart(of: "many") == 0)
  #expect(world.waiting == ["many"])
}

@Test func `a failure in a continued file has its right place`() {
  let world = largeFile()
  hold(world)
  let bytes = world.waitingFiles[0].bytes.count
  world.append("many", text: "{\"bad\"}\n")
  #expect(world.settledPart(of: "many") > 0)
  world.restart(once: true)
  world.runToEnd()
  #expect(world.failures.last?.offset == bytes + 6)
}

@Test func `a crash does not lose text that is in no record of a large file`() {
  let world = largeFile(after: "{\"bad\"" + String(repeating: "x", count: 3000) + "\n")
  let file = world.waitingFiles[0]
  hold(world)
  world.restart(once: true)
  world.runToEnd()
  #expect(Set(world.accepted) == Set(1...count))
  #expect(file.isOriginalKept)
}

@Test func `a new file with the name of a large one is delivered from its start`() {
  let world = largeFile()
  hold(world)
  #expect(world.settledPart(of: "many") > 0)
  let text = (5001...8000).map { World.notification($0) + "\n" }.joined()
  world.put("many", text: text, numbers: Array(5001...8000))
  world.restart(once: true)
  world.runToEnd()
  #expect(Set(world.accepted) == Set(1...count).union(5001...8000))
  #expect(world.waiting == [])
}

@Test func `a large file that cannot be renamed is delivered all the same`() {
  let world = largeFile()
  world.beforeStep = { [unowned world] _ in world.canTake = world.taken.isEmpty }
  hold(world)
  #expect(world.settledPart(of: "many") == 0)
  world.blocks = { _ in nil }
  world.restart(once: true)
  world.runToEnd()
  #expect(Set(world.accepted) == Set(1...count))
  #expect(world.waiting == [])
}

@Test func `a restart soon after another one keeps the settled place`() {
  let world = largeFile()
  hold(world)
  let settled = world.settledPart(of: "many")
  world.blocks = { _ in nil }
  for _ in 1...3 {
    world.restart(once: false)
    world.readBytesMax = 4096
    world.run(.milliseconds(21))
    #expect(world.settledPart(of: "many") >= settled)
  }
  world.restart(once: true)
  world.runToEnd()
  #expect(Set(world.accepted) == Set(1...count))
  #expect(world.failures.isEmpty)
}

@Test func `small files keep their names until they leave`() {
  let world = World()
  var renames = 0
  world.beforeStep = { word in if word == .rename { renames += 1 } }
  for number in 1...50 { world.put("a\(100 + number)", number) }
  world.run(.seconds(60))
  #expect(world.waiting == [])
  #expect(renames == 0)
}
