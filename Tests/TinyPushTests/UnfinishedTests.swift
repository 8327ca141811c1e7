import Testing

@testable import Simulation
@testable import TinyPush

private func at(_ seconds: UInt64) -> Instant { Instant(milliseconds: 1000 * seconds) }
private func identity(_ inode: UInt64, changed: Int64 = 0) -> FileIdentity {
  FileIdentity(inode: inode, changeTimeNs: changed)
}

@Test func `an unfinished file is waited for until it has not changed for ten seconds`() {
  var unfinished = Unfinished()
  for second in UInt64(0)..<10 {
    let waits = unfinished.waits(for: identity(1), at: at(second))
    #expect(waits)
    #expect(unfinished.retryAt == at(second + 2))
  }
  let waits = unfinished.waits(for: identity(1), at: at(10))
  #expect(!waits)
}

@Test func `a change of an unfinished file restarts the wait`() {
  var unfinished = Unfinished()
  for second in stride(from: UInt64(0), to: 60, by: 6) {
    let waits = unfinished.waits(for: identity(1, changed: Int64(second)), at: at(second))
    #expect(waits)
  }
  let waits = unfinished.waits(for: identity(1, changed: 54), at: at(64))
  #expect(!waits)
}

@Test func `a file that was given up counts as new when it is offered again`() {
  var unfinished = Unfinished()
  _ = unfinished.waits(for: identity(1), at: at(0))
  let given = unfinished.waits(for: identity(1), at: at(20))
  let again = unfinished.waits(for: identity(1), at: at(21))
  #expect(!given)
  #expect(again)
}

@Test(arguments: [1, 2, 16, 17, 40])
func `each of many unfinished files is given up in time`(files: UInt64) {
  var unfinished = Unfinished()
  var left = Set(1...files)
  for second in stride(from: UInt64(0), through: 120, by: 2) {
    for inode in left.sorted() {
      let waits = unfinished.waits(for: identity(inode), at: at(second))
      if !waits { left.remove(inode) }
    }
  }
  #expect(left.isEmpty, "still waited for after two minutes")
}

@Test func `an unfinished file is tried again once`() {
  var unfinished = Unfinished()
  #expect(unfinished.retryAt == nil)
  _ = unfinished.waits(for: identity(1), at: at(1))
  #expect(unfinished.retryAt == at(3))
  unfinished.retried()
  #expect(unfinished.retryAt == nil)
}

@Test func `files that were finished or removed make room for others`() {
  var unfinished = Unfinished()
  for inode in UInt64(1)...40 { _ = unfinished.waits(for: identity(inode), at: at(inode)) }
  var waits = true
  for second in stride(from: UInt64(100), through: 220, by: 2) where waits {
    waits = unfinished.waits(for: identity(99), at: at(second))
  }
  #expect(!waits, "still waited for after two minutes")
}

@Test func `more unfinished files than the capacity are all given up within few retries`() throws {
  var unfinished = Unfinished()
  var left = Set(1...UInt64(3 * Unfinished.capacity))
  var now = at(0)
  var rounds = 0
  while !left.isEmpty, rounds < 100 {
    rounds += 1
    for inode in left.sorted() {
      let waits = unfinished.waits(for: identity(inode), at: now)
      if !waits { left.remove(inode) }
    }
    guard !left.isEmpty else { break }
    let retryAt = unfinished.retryAt
    now = try #require(retryAt)
    unfinished.retried()
  }
  #expect(left.isEmpty)
  #expect(rounds <= 9)
}
