import Testing

@testable import Simulation
@testable import TinyPush

private let count = 3000

private func largeFile(_ settle: Duration = .seconds(2)) -> World {
  let world = World(binary: {
    $0.settle = settle
    $0.confirm = .settle
  })
  let numbers = Array(1...count)
  let text = numbers.map { World.notification($0) + "\n" }.joined()
  world.put("many", text: text, numbers: numbers)
  return world
}

/// Blocks the socket after some writes, so that the first part of the file settles.
private func hold(_ world: World) {
  world.blocks = { $0 == 15 ? 3_600_000 : nil }
  world.run(.seconds(20))
}

@Test func `a large file continues near its last settled place after a crash`() {
  let world = largeFile()
  hold(world)
  #expect(world.progressKept == 1)
  world.restart(once: true)
  world.runToEnd()
  #expect(world.waiting == [])
  #expect(Set(world.accepted) == Set(1...count))
  // About one TLS record and the uncertain notifications arrive twice, not a thousand.
  #expect(world.accepted.count < count + 200)
  #expect(world.progress == nil)
}

@Test func `a stop records the progress in a large file`() {
  let world = largeFile()
  world.blocks = { $0 == 15 ? 3000 : nil }
  world.after(1500) { world.courier.stop() }
  world.runToEnd(within: .seconds(30))
  let sent = world.accepted.count
  #expect(sent > 0 && sent < count)
  #expect(world.progressKept == 1)
  world.restart(once: true)
  world.runToEnd()
  #expect(world.accepted == Array(1...count))
  #expect(world.waiting == [])
}

@Test func `a failure in a continued file has its right line number`() {
  let world = largeFile()
  world.append("many", text: "{\"bad\"}\n")
  hold(world)
  #expect(world.progressKept == 1)
  world.restart(once: true)
  world.runToEnd()
  #expect(world.failures.last?.line == count + 1)
}

@Test func `a replaced file is delivered from its start`() {
  let world = largeFile()
  hold(world)
  #expect(world.progressKept == 1)
  let text = (5001...8000).map { World.notification($0) + "\n" }.joined()
  world.put("many", text: text, numbers: Array(5001...8000))
  world.restart(once: true)
  world.runToEnd()
  #expect(Set(world.accepted).isSuperset(of: Set(5001...8000)))
}

/// A restart in a file that is partly settled, with an action while the settled part is skipped.
private func passing(_ act: @escaping (World) -> Void) -> World {
  let world = World(binary: {
    $0.settle = .seconds(2)
    $0.confirm = .settle
  })
  let numbers = Array(1...count)
  let text = numbers.map { World.notification($0) }.joined(separator: " ")
  world.put("many", text: text, numbers: numbers)
  hold(world)
  world.blocks = { _ in nil }
  world.restart(once: false)
  world.readBytesMax = 4096
  var reads = 0
  world.beforeStep = { [unowned world] word in
    if word == .read { reads += 1 }
    if reads == 5 {
      reads += 1
      act(world)
    }
  }
  return world
}

@Test func `a stop while the settled part is skipped keeps the progress`() {
  let world = passing { $0.courier.stop() }
  let offset = world.progress?.offset
  world.runToEnd()
  #expect(world.progress?.offset == offset)
  world.restart(once: true)
  world.runToEnd()
  #expect(Set(world.accepted) == Set(1...count))
  #expect(world.failures.isEmpty)
}

@Test func `a file that is truncated while its settled part is skipped delays no other`() {
  let world = passing { $0.disk.new["many"]!.bytes.removeLast(300_000) }
  world.forbidsLoss = false
  world.put("next", 9000)
  world.run(.seconds(60))
  #expect(world.accepted.contains(9000))
}

@Test func `no progress is recorded for small files`() {
  let world = World()
  for number in 1...50 { world.put("a\(100 + number)", number) }
  world.run(.seconds(60))
  #expect(world.waiting == [])
  #expect(world.progressKept == 0)
}

private func read(_ bytes: [UInt8]) -> Progress? { Progress(bytes.span) }

@Test func `a progress record can be read back, and a damaged one is ignored`() {
  let progress = Progress(
    file: FileIdentity(inode: 7, changeTimeNs: -5, size: 1 << 40), offset: 1 << 33, recipient: 9)
  let kept = progress.bytes
  var bytes = [UInt8](kept.span)
  #expect(read(bytes) == progress)
  #expect(read(Array(bytes.dropLast())) == nil)
  #expect(read([]) == nil)
  for index in bytes.indices {
    bytes[index] ^= 1
    #expect(read(bytes) == nil)
    bytes[index] ^= 1
  }
}
