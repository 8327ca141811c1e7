import Testing

@testable import Simulation
@testable import TinyPush

@Test func `a file whose failure cannot be recorded stays and delays no other file`() {
  let world = World()
  world.canRecord = false
  world.put("a", text: #"{"unknown": 1}"#)
  world.put("b", 1)
  world.put("c", text: World.notification(2))
  world.response = { $0.number == 2 ? .refuse(.missingTopic) : .accept }
  world.run(.seconds(30))
  #expect(world.accepted == [1])
  #expect(world.waiting == ["a", "c"])
  let areKnown = world.courier.areFilesKnown
  #expect(areKnown == false)
  world.canRecord = true
  world.run(.seconds(90))
  #expect(world.waiting == [])
  #expect(world.failures.map(\.file).sorted() == ["a", "c"])
  #expect(world.counts(.notRecorded) == 1)
  #expect(world.counts(.recordable) == 1)
}

/// Only the part of a file from its unrecorded failure on is read again.
@Test func `files whose failures cannot be recorded are not sent again until that works`() {
  let world = World()
  world.canRecord = false
  world.put("a", text: World.notification(1) + "\n{\"bad\"}\n" + World.notification(2))
  world.put("b", text: World.notification(3))
  world.response = { $0.number == 3 ? .refuse(.invalidToken) : .accept }
  world.run(.seconds(2000))
  #expect(world.accepted.filter { $0 != 2 } == [1])
  #expect(world.accepted.count <= 2 && world.refused.count == 1)
  world.canRecord = true
  world.run(.seconds(1000))
  #expect(world.failures.map(\.file).sorted() == ["a", "b"])
  #expect(world.waiting == [])
}

@Test func `a file is delivered again if the sync of its record failed`() {
  let world = World()
  world.canSync = false
  world.put("a", text: World.notification(1) + "\n{\"bad\"}\n")
  world.run(.seconds(20))
  #expect(world.waiting == ["a"])
  world.canSync = true
  world.run(.seconds(100))
  #expect(world.accepted == [1, 1])
  #expect(world.waiting == [])
}

@Test func `the courier takes no new files while too many delivered ones cannot be removed`() {
  let world = World { $0.window = 16 }
  world.canRemove = false
  let capacity = 16 + Courier.slack
  let count = 2 * capacity
  for number in 1...count { world.put("a\(10_000 + number)", number) }
  world.run(.seconds(600))
  let taken = world.accepted.count
  #expect(taken == capacity)
  world.put("0", count + 1)
  world.run(.seconds(600))
  #expect(world.accepted.count == taken)
  #expect(world.scans < 100)
  #expect(world.counts(.notRemoved) == 1)
  world.canRemove = true
  world.run(.seconds(600))
  #expect(world.waiting == [])
  #expect(Set(world.accepted) == Set(1...count + 1))
  #expect(world.counts(.removable) == 1)
  #expect(world.accepted.count == count + 1)
}

@Test func `a file that grows while it cannot be removed is delivered to its end`() {
  let world = World()
  world.canRemove = false
  world.put("a", 1)
  world.run(.seconds(20))
  world.append("a", text: World.notification(2), numbers: [2])
  world.run(.seconds(20))
  #expect(world.waiting == ["a"])
  world.canRemove = true
  world.run(.seconds(120))
  #expect(world.accepted == [1, 2])
  #expect(world.waiting == [])
}

@Test func `a failure that cannot be synced is not recorded again and again`() {
  let world = World()
  world.canSync = false
  world.put("a", text: "{bad}\n")
  world.run(.seconds(5))
  world.put("b", text: "{bad}\n")
  world.run(.seconds(600))
  #expect(world.failures.count < 20)
}

@Test func `a settled file that cannot be removed is reported and not delivered again`() {
  let world = World()
  world.canRemove = false
  world.put("a", 1)
  world.put("b", 2, 3)
  world.run(.seconds(30))
  #expect(world.accepted == [1, 2, 3])
  #expect(world.waiting == ["a", "b"])
  #expect(world.counts(.notRemoved) == 1)
  world.run(.seconds(600))
  #expect(world.accepted == [1, 2, 3])
  #expect(world.scans < 40)
  world.canRemove = true
  world.run(.seconds(120))
  #expect(world.accepted == [1, 2, 3])
  #expect(world.waiting == [])
}

@Test func `with --once a settled file that cannot be removed does not keep the run from ending`() {
  let world = World(once: true)
  world.canRemove = false
  world.put("a", 1)
  world.put("b", 2)
  world.runToEnd()
  #expect(world.accepted == [1, 2])
  #expect(world.scans < 5)
}

@Test func `a spool that cannot be scanned is scanned later`() {
  let world = World()
  world.canScan = false
  world.put("a", 1, tells: false)
  world.run(.seconds(200))
  #expect(world.accepted == [])
  #expect(world.counts(.notScanned) == 1)
  #expect(world.scans < 10)
  world.canScan = true
  world.run(.seconds(60))
  #expect(world.accepted == [1])
  #expect(world.counts(.scannable) == 1)
}

@Test func `the courier reports each time that recording fails, and works again`() {
  let world = World()
  world.canRecord = false
  world.put("a", text: "{bad}\n")
  world.run(.seconds(10))
  #expect(world.counts(.notRecorded) == 1)
  world.run(.seconds(100))
  #expect(world.counts(.recordable) == 0)
  world.canRecord = true
  world.run(.seconds(1000))
  #expect(world.counts(.recordable) == 1)
  world.canRecord = false
  world.put("b", text: "{bad}\n")
  world.run(.seconds(10))
  #expect(world.counts(.notRecorded) == 2)
}
