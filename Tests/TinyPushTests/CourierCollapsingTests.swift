import Testing

@testable import Simulation
@testable import TinyPush

private let notYet = #", "not-before": 1700000100"#

@Test func `only the last waiting notification of a collapse ID is sent`() {
  let world = World(once: true)
  for number in 1...5 {
    world.put("a\(number)", 1, collapsing: "tank", with: #", "ttl": \#(number)00"#)
  }
  world.put("b", 2, collapsing: "tank")
  world.put("c", 1, collapsing: "door")
  world.put("d", 3)
  world.runToEnd()
  #expect(world.accepted == [1, 2, 1, 3])
  #expect(world.pushes.first?.expiration == 1_700_000_500)
  #expect(world.courier.counters.superseded == 4)
}

@Test func `only the last notification of a collapse ID in one file is sent`() {
  let world = World(once: true)
  let lines = (1...50).map { World.notification($0 % 5 + 1, with: #", "collapse-id": "x""#) }
  world.put(
    "a", lines.joined(separator: "\n"),
    items: (1...50).map { Item(number: $0 % 5 + 1, collapseKey: "x \($0 % 5 + 1)") }, tells: true)
  world.ledger.forbidsLoss = false
  world.runToEnd()
  #expect(world.accepted == [2, 3, 4, 5, 1])
  #expect(world.courier.counters.superseded == 45)
}

@Test func `a notification that was sent is not replaced, and a later one is sent, too`() {
  let world = World()
  for number in 0..<5 {
    world.after(UInt64(number) * 1000) { world.put("z\(9 - number)", 1, collapsing: "tank") }
  }
  world.run(.seconds(60))
  #expect(world.accepted == [1, 1, 1, 1, 1])
  #expect(world.waiting == [])
}

@Test func `a replaced notification leaves only when the newer one survives a power cut`() {
  let world = World()
  world.canDial = { _ in false }
  world.put("a", 1, collapsing: "door")
  world.run(.seconds(1))
  world.put("b", 1, collapsing: "door")
  var steps: [Word] = []
  world.beforeStep = { word in if word == .sync || word == .remove { steps.append(word) } }
  world.run(.seconds(10))
  #expect(steps == [.sync, .remove])
  #expect(world.waiting == ["b"])
}

@Test(arguments: [("a", "b"), ("b", "a")])
func `the file that came last replaces the others, whatever its name`(first: String, last: String) {
  let world = World()
  world.canDial = { _ in false }
  world.put(first, 1, collapsing: "door", with: #", "expiration": 1700001111"#)
  world.run(.seconds(1))
  world.put(last, 1, collapsing: "door", with: #", "expiration": 1700002222"#)
  world.run(.seconds(1))
  world.canDial = { _ in true }
  world.run(.seconds(100))
  #expect(world.pushes.map(\.expiration) == [1_700_002_222])
}

@Test(arguments: [("a", "b"), ("b", "a")])
func `a scan finds out which file came last`(first: String, last: String) {
  let world = World(once: true)
  world.after(10) {
    world.put(first, 1, collapsing: "door", with: #", "expiration": 1700001111"#)
  }
  world.after(1000) {
    world.put(last, 1, collapsing: "door", with: #", "expiration": 1700002222"#)
  }
  while let at = world.timeline.nextAt {
    world.timeline.advance(to: at)
    world.timeline.happen()
  }
  world.runToEnd()
  #expect(world.pushes.map(\.expiration) == [1_700_002_222])
}

@Test(arguments: [("a", "b"), ("b", "a")])
func `the file that came last replaces a notification in later/`(first: String, last: String) {
  let world = World()
  world.put(first, 1, collapsing: "door", with: notYet)
  world.run(.seconds(5))
  world.put(last, 1, collapsing: "door", with: #", "expiration": 1700002222"#)
  world.run(.seconds(200))
  #expect(world.pushes.map(\.expiration) == [1_700_002_222])
}

@Test(arguments: ["a", "z"])
func `a retried notification and a waiting one do not replace each other`(retried: String) {
  let world = World()
  world.canDial = { _ in false }
  world.put("m", 1, collapsing: "door", with: #", "expiration": 1700001111"#)
  world.run(.seconds(1))
  world.put(
    retried,
    text: World.notification(1, with: #", "collapse-id": "door", "failed": {"reason": "x"}"#),
    numbers: [1])
  world.run(.seconds(1))
  world.canDial = { _ in true }
  world.run(.seconds(100))
  #expect(world.pushes.count == 2)
}

@Test func `a refused or removed notification replaces nothing`() {
  let world = World(once: true)
  world.put("a", 1, collapsing: "tank")
  world.put("b", text: World.notification(1, with: #", "collapse-id": "tank", "prority": 5"#))
  world.put("c", 1, collapsing: "tank")
  world.beforeStep = { [unowned world] word in
    if word == .scan, world.scans == 1 { world.delete("c") }
  }
  world.runToEnd()
  #expect(world.accepted == [1])
  #expect(world.failures.count == 1)
}

@Test func `a notification in later/ is replaced by a newer one of the collapse ID`() {
  let world = World()
  world.put("a", 1, collapsing: "tank", with: notYet)
  world.run(.seconds(10))
  #expect(world.later.count == 1)
  world.put("b", 1, collapsing: "tank")
  world.put("c", 2, collapsing: "tank")
  world.run(.seconds(200))
  #expect(world.accepted == [1, 2])
  #expect(world.later.isEmpty)
  #expect(world.courier.counters.superseded == 1)
}

@Test func `a newer notification of the collapse ID may change the not-before`() {
  let world = World()
  world.put("a", 1, collapsing: "tank", with: notYet)
  world.run(.seconds(5))
  world.put("b", 1, collapsing: "tank", with: #", "not-before": 1700000300"#)
  world.run(.seconds(200))
  #expect(world.accepted == [])
  #expect(world.later.count == 1)
  world.put("c", 1, collapsing: "tank", with: #", "not-before": 1700000250"#)
  world.run(.seconds(60))
  #expect(world.accepted == [1])
  world.run(.seconds(100))
  #expect(world.accepted == [1])
}

@Test(arguments: ["a", "b"])
func `a lost connection does not change what is replaced`(cutAt: String) {
  let world = World()
  world.response = { $0.connection == 1 ? .vanish : .accept }
  for number in 1...3 { world.put("\(cutAt)\(number)", 1, collapsing: "tank") }
  world.put("c", 2)
  world.run(.seconds(600))
  #expect(Set(world.accepted) == [1, 2])
  #expect(world.courier.counters.superseded == 2)
}

@Test func `a refused notification with wrong recipients replaces nothing`() {
  let world = World(once: true)
  for token in [
    #""token":"1""#, #""tokens":["\#(World.token(1))","x"]"#, #""token":7"#, #""to":"/""#,
  ] {
    world.put(
      "a\(token.utf8.count)",
      text: #"{"collapse-id":"x",\#(token),"payload":{"aps":{"alert":"Tank low"}}}"#)
  }
  world.put("b", 1, collapsing: "x")
  world.runToEnd()
  #expect(world.accepted == [1])
  #expect(world.failures.count == 4)
}

@Test func `three notifications of one file replace three files in later/`() {
  let world = World()
  for number in 1...3 { world.put("a\(number)", number, collapsing: "x", with: notYet) }
  world.run(.seconds(5))
  #expect(world.later.count == 3)
  let lines = (1...3).map { World.notification($0, with: #", "collapse-id": "x""#) }
  world.put(
    "b", lines.joined(separator: "\n"),
    items: (1...3).map { Item(number: $0 as Int, collapseKey: "x \($0)") }, tells: true)
  world.run(.seconds(200))
  #expect(world.later.isEmpty)
  #expect(world.accepted == [1, 2, 3])
}

@Test func `each notification of one file replaces the one in later/ for its token`() {
  let world = World()
  world.put("a", 1, collapsing: "tank", with: notYet)
  world.put("b", 2, collapsing: "tank", with: notYet)
  world.run(.seconds(5))
  world.put(
    "c",
    text: [1, 2].map { World.notification($0, with: #", "collapse-id": "tank""#) }
      .joined(separator: "\n"),
    numbers: [1, 2])
  world.run(.seconds(200))
  #expect(world.accepted == [1, 2])
  #expect(world.later.isEmpty)
  #expect(world.courier.counters.superseded == 2)
}

@Test func `more collapsing notifications than a TLS record holds are sent beside one in later/`() {
  let world = World { $0.window = 500 }
  world.put("a", 900, collapsing: "tank", with: notYet)
  world.run(.seconds(5))
  let numbers = Array(1...200)
  world.put(
    "b",
    text: numbers.map { World.notification($0, with: #", "collapse-id": "tank""#) }
      .joined(separator: "\n"),
    numbers: numbers)
  world.run(.seconds(5))
  #expect(world.accepted == numbers)
  #expect(world.steps < 2000)
}

@Test func `a delivered notification that could not be removed replaces nothing`() {
  let world = World()
  world.canRemove = false
  world.put("z", 1, collapsing: "tank")
  world.run(.seconds(20))
  world.put("a", 1, collapsing: "tank")
  world.courier.rescan()
  world.run(.seconds(20))
  #expect(world.accepted == [1, 1])
}

@Test func `a notification delivered before a restart replaces nothing`() {
  let world = World()
  world.blocks = { $0 == 5 ? 10_000_000 : nil }
  let long = String(repeating: "x", count: 1700)
  world.put(
    "z",
    text: (1...60).map {
      World.notification($0, alert: long, with: $0 == 1 ? #", "collapse-id": "tank""# : "")
    }.joined(separator: "\n"), numbers: Array(1...60))
  world.run(.seconds(30))
  #expect(world.settledPart(of: "z") > 0)
  world.put("a", 1, collapsing: "tank")
  world.restart()
  world.run(.seconds(60))
  #expect(world.accepted.count { $0 == 1 } == 2)
}

@Test func `a notification released from later/ does not replace a newer file of its name`() {
  let world = World()
  world.put("tank", 1, collapsing: "tank", with: notYet)
  world.polls = { true }
  world.beforeStep = { [unowned world] word in
    guard word == .release, world.connections == 1 else { return }
    world.cutAtOnce()
    world.put("tank", 1, collapsing: "tank", with: #", "expiration": 1700009999"#)
  }
  world.run(.seconds(300))
  #expect(world.pushes.contains { $0.expiration == 1_700_009_999 })
}

@Test func `what is appended to an old file replaces what a newer file has put into later/`() {
  let world = World()
  world.put("tank", 2)
  let file = world.waitingFiles[0]
  file.mayGrow = true
  world.run(.seconds(10))
  world.put("tank", 1, collapsing: "tank", with: notYet)
  world.run(.seconds(10))
  let text = World.notification(1, with: #", "collapse-id": "tank", "expiration": 1700009999"#)
  world.append(to: file, text, items: [Item(number: 1, collapseKey: "tank 1")], tells: true)
  world.run(.seconds(10))
  #expect(world.accepted == [2, 1])
  #expect(world.later.isEmpty)
  world.run(.seconds(300))
  #expect(world.accepted == [2, 1])
}

@Test func `what is appended to a file replaces what the same file has put into later/`() {
  let world = World()
  world.put("tank", 1, collapsing: "tank", with: notYet)
  let file = world.waitingFiles[0]
  file.mayGrow = true
  world.run(.seconds(10))
  #expect(world.later.count == 1)
  let text = World.notification(1, with: #", "collapse-id": "tank", "expiration": 1700009999"#)
  world.append(to: file, text, items: [Item(number: 1, collapseKey: "tank 1")], tells: true)
  world.run(.seconds(300))
  #expect(world.pushes.map(\.expiration) == [1_700_009_999])
}

@Test func `a newer file replaces a waiting one while the clock is slewed`() {
  let world = World()
  world.put("tank", 1, collapsing: "tank", with: notYet)
  world.run(.milliseconds(500))
  #expect(world.later.count == 1)
  world.put("tank", 1, collapsing: "tank", with: #", "expiration": 1700009999"#)
  world.canTake = false
  world.run(.seconds(1))
  world.canTake = true
  // The file is read at one time, and its notification compared at another one.
  world.beforeStep = { [unowned world] word in
    if word == .read { world.wallAtStart! -= 1 }
  }
  world.run(.seconds(300))
  #expect(world.pushes.map(\.expiration) == [1_700_009_999])
}

@Test func `after a crash, a file that came before the clock was set back replaces nothing`() {
  let world = World()
  world.canDial = { _ in false }
  world.canRemove = false
  world.wallAtStart = 1_900_000_000
  world.put("tank", 1, collapsing: "tank")
  world.run(.seconds(5))
  world.wallAtStart = 1_700_000_000
  world.put("tank", 1, collapsing: "tank", with: #", "expiration": 1700009999"#)
  world.run(.seconds(5))
  world.canDial = { _ in true }
  world.canRemove = true
  world.restart()
  world.run(.seconds(60))
  #expect(world.pushes.contains { $0.expiration == 1_700_009_999 })
}

@Test func `the rest of a file does not replace a notification of a newer file of its name`() {
  let world = World()
  world.readBytesMax = 4096
  world.scattered = ScatteredLink(world.ledger, world.gateway, limit: 1) { token in
    token <= 12 ? (.giveBack(1000), after: 500) : (.accept, after: 1)
  }
  let alert = String(repeating: "x", count: 1000)
  let numbers = Array(1...50)
  let (old, new) = (World.number(60, serial: 1), World.number(60, serial: 2))
  func item(_ number: Int) -> Item { Item(number: number, collapseKey: "tank") }
  func text(_ serial: Int) -> String {
    let payload = #"{"aps":{"badge":1},"n":\#(serial)}"#
    return #"{"token": "\#(World.token(60))", "collapse-id": "x", "payload": \#(payload)}"#
  }
  let lines = numbers.map { World.notification($0, alert: alert) } + [text(1)]
  world.put(
    "a", lines.joined(separator: "\n"), items: numbers.map { Item(number: $0) } + [item(old)],
    tells: true)
  let file = world.waitingFiles[0]
  world.after(10) { file.failure = .busy }
  world.after(20_000) {
    file.failure = nil
    world.put("a", text(2), items: [item(new)], tells: true)
  }
  world.run(.seconds(60))
  #expect(world.gateway.acceptances[old] == nil)
  #expect(world.gateway.acceptances[new] != nil)
}
