import Testing

@testable import Simulation
@testable import TinyPush
@testable import TinyPushBinary

/// One holds up nobody: whatever is wrong with a file, a notification or a recipients file, all
/// others go on.

private let toFamily = #"{"to": "family", "payload": {"aps": {"alert": "Tank low"}}}"#

/// Returns a world without a connection.
private func offline() -> World {
  let world = World()
  world.canDial = { _ in false }
  return world
}

// MARK: - Leases

@Test func `a file in new/ under a lease holds up no other, for ever, and is taken at its end`() {
  let world = World()
  world.put("a", 1)
  world.makeUnreadable("a", .busy)
  for number in 2...200 { world.after(UInt64(number) * 5000) { world.put("b\(number)", number) } }
  world.run(.seconds(2000))
  #expect(world.accepted == Array(2...200))
  #expect(world.waiting == ["a"])
  #expect(world.failures.isEmpty)
  world.makeUnreadable("a", nil)
  world.run(.seconds(1000))
  #expect(world.accepted.last == 1)
  #expect(world.waiting == [])
}

@Test func `many files in new/ under a lease hold up no other`() {
  let world = World()
  for number in 1...300 {
    world.put("a\(1000 + number)", number)
    world.makeUnreadable("a\(1000 + number)", .busy)
  }
  world.put("z", 900)
  world.run(.seconds(10))
  #expect(world.accepted == [900])
  let steps = world.steps
  world.run(.seconds(3600))
  #expect(world.steps - steps < 10_000, "they are tried rarely")
}

@Test func `a recipients file under a lease holds up only its notification, for a minute`() {
  let world = World()
  world.ledger.forbidsLoss = false
  world.putList("family", [World.token(1)], .busy)
  world.put("a", text: World.notification(2) + "\n" + toFamily + "\n" + World.notification(3))
  world.put("b", 4)
  world.run(.seconds(55))
  #expect(world.accepted == [2, 4])
  #expect(world.failures.isEmpty)
  world.put("c", 5)
  world.run(.seconds(10))
  #expect(world.accepted == [2, 4, 5, 3])
  #expect(world.failures.map(\.code) == ["list-unreadable"])
  #expect(world.failures.first?.reason.contains("holds a lease") == true)
  world.run(.seconds(20))
  #expect(world.waiting == [])
}

@Test func `a recipients file whose lease ends is read`() {
  let world = World()
  world.putList("family", [World.token(1)], .busy)
  world.put("a", text: toFamily, numbers: [1])
  world.run(.seconds(30))
  world.putList("family", World.token(1))
  world.run(.seconds(3))
  #expect(world.accepted == [1])
  #expect(world.failures.isEmpty)
}

@Test func `many notifications to recipients under a lease wait a minute in all, not each`() {
  let world = World()
  world.ledger.forbidsLoss = false
  world.putList("family", [World.token(1)], .busy)
  world.put(
    "a", text: (1...20).map { _ in toFamily + "\n" }.joined() + World.notification(3))
  world.run(.seconds(80))
  #expect(world.accepted == [3])
  #expect(world.failures.count == 20)
}

@Test func `a lease that begins while a recipients file is read repeats no recipient`() {
  let world = World(once: true)
  let numbers = Array(1...2000)
  world.putList("family", numbers.map { World.token($0) }, nil)
  world.put("a", toFamily, items: numbers.map { Item(number: $0) }, tells: true)
  var reads = 0
  world.beforeStep = { [unowned world] word in
    guard word == .readRecipients else { return }
    reads += 1
    if reads == 2 { world.disk.lists["family"]!.failure = .busy }
  }
  world.after(5000) { world.disk.lists["family"]!.failure = nil }
  world.runToEnd()
  #expect(world.accepted == numbers)
}

// MARK: - The disk

@Test func `400 files whose failures cannot be recorded hold up nobody`() {
  let world = World()
  world.disk.canRecordOf = { !$0.hasPrefix("a") }
  for number in 1...400 { world.put("a\(1000 + number)", text: "{bad\n") }
  for number in 1...50 {
    world.after(UInt64(number) * 20_000) { world.put("b\(100 + number)", number) }
    world.after(UInt64(number) * 20_000) { world.put("c\(100 + number)", text: "{bad\n") }
  }
  world.run(.seconds(1100))
  #expect(world.accepted == Array(1...50))
  #expect(world.failures.count == 50)
  #expect(world.waiting.count == 400)
  world.disk.canRecordOf = { _ in true }
  world.run(.seconds(1000))
  #expect(world.waiting == [])
  #expect(Set(world.failures.map(\.file)).count == 450)
  #expect(world.failures.count == 450)
}

@Test func `notifications of files that cannot be recorded are not sent at each try`() {
  let world = World()
  world.disk.canRecordOf = { !$0.hasPrefix("a") }
  for number in 1...100 {
    world.put("a\(100 + number)", text: World.notification(number) + "\n{bad\n")
  }
  world.run(.seconds(3000))
  #expect(world.accepted == Array(1...100))
}

@Test func `files that cannot be taken hold up nobody that can be`() {
  let world = World()
  for number in 1...3 { world.put("a\(number)", number) }
  world.disk.canTakeOf = { !$0.hasPrefix("a") }
  world.put("b", 4)
  world.run(.seconds(100))
  #expect(world.accepted == [4])
  guard case .notTaken(30) = world.reports.first else {
    Issue.record("reported as \(world.reports)")
    return
  }
  world.disk.canTakeOf = { _ in true }
  world.run(.seconds(200))
  #expect(world.accepted == [4, 1, 2, 3])
  // One of them is for the other file.
  #expect(world.counts(.taken) == 2)
}

// MARK: - Turns

/// A file with this many notifications, which are numbered from 10,001 on.
private func putBulk(_ world: World, _ count: Int, with members: String = "") {
  let numbers = (1...count).map { 10_000 + $0 }
  world.put(
    "bulk", text: numbers.map { World.notification($0, with: members) + "\n" }.joined(),
    numbers: numbers)
}

@Test(arguments: ["", #", "priority": 5"#])
func `a lone alert during a bulk file waits for what is in flight, no more`(members: String) {
  let world = World()
  world.saysNoError = true
  putBulk(world, 5000, with: members)
  world.run(.milliseconds(60))
  let inFlight = world.inFlight
  let before = world.accepted.count
  #expect(before > 0 && before < 4000)
  world.put("alert", 1)
  world.run(.seconds(60))
  let place = world.accepted.firstIndex(of: 1)!
  #expect(place - before <= inFlight + FileReader.turnMax)
  #expect(world.accepted.count == 5001)
}

@Test func `bulk files take turns`() {
  let world = World()
  world.saysNoError = true
  for file in 1...3 {
    let numbers = (1...2000).map { 10_000 * file + $0 }
    world.put(
      "bulk\(file)", text: numbers.map { World.notification($0) + "\n" }.joined(),
      numbers: numbers)
  }
  world.run(.seconds(60))
  #expect(world.accepted.count == 6000)
  let half = world.accepted.prefix(3000)
  for file in 1...3 { #expect(half.count { $0 / 10_000 == file } > 500) }
  for file in 1...3 {
    #expect(world.accepted.filter { $0 / 10_000 == file } == (1...2000).map { 10_000 * file + $0 })
  }
}

@Test func `urgent notifications and those of priority 10 go before 5 and 1`() {
  let world = World { $0.rules.pushProtocol = .http2 }
  let members = [
    #", "priority": 1"#, #", "priority": 5"#, #", "priority": 5, "urgent": true"#,
    #", "priority": 10"#, "",
  ]
  for number in 1...50 {
    world.put(
      "a\(100 + number)", text: World.notification(number, with: members[number % 5]),
      numbers: [number], tells: false)
  }
  world.run(.seconds(60))
  let urgent = (1...50).filter { $0 % 5 > 1 }
  #expect(world.accepted == urgent + (1...50).filter { $0 % 5 < 2 })
}

@Test func `a notification that the service gives back again and again holds up no other`() {
  let world = World()
  var givenBack = 0
  world.scattered = ScatteredLink(world.ledger, world.gateway, limit: 4) { token in
    if token <= 10 { givenBack += 1 }
    return token <= 10 ? (.giveBack(5000), after: 10) : (.accept, after: 10)
  }
  for number in 1...200 { world.put("a\(1000 + number)", number) }
  world.run(.seconds(50))
  #expect(givenBack >= 50)
  #expect(world.gateway.acceptances.count == 190)
  #expect(world.waiting.count == 10)
}

/// A world in which the third device takes nothing, and the numbers of a file.
private func throttled(_ lines: Int, once: Bool = false) -> (World, [Int], () -> Void) {
  final class State { var isThrottled = true }
  let state = State()
  let world = World(once: once)
  world.scattered = ScatteredLink(world.ledger, world.gateway, limit: 8) { token in
    state.isThrottled && token == 3 ? (.giveBack(3_600_000), after: 1) : (.accept, after: 1)
  }
  let numbers = Array(1...lines)
  world.put(
    "a", text: numbers.map { World.notification($0) }.joined(separator: "\n"), numbers: numbers)
  return (world, numbers, { state.isThrottled = false })
}

@Test func `what a service gives back does not let a stop repeat what is settled behind it`() {
  let (world, numbers, recover) = throttled(50)
  world.run(.seconds(60))
  #expect(world.gateway.acceptances.count == 49)
  #expect(world.waiting == ["a"])
  world.courier.stop()
  world.ledger.isStopping = true
  world.run(.seconds(10))
  #expect(world.waiting == [])
  #expect(world.later.count == 1)
  world.restart(once: false)
  recover()
  world.run(.seconds(7200))
  #expect(world.gateway.acceptances.keys.sorted() == numbers)
  #expect(world.gateway.acceptances.values.allSatisfy { $0 == 1 })
}

@Test func `what a service gives back for long leaves its large file`() {
  let (world, numbers, recover) = throttled(900)
  world.run(.seconds(60))
  #expect(world.gateway.acceptances.count == 899)
  #expect(world.waiting == [])
  #expect(world.later.count == 1)
  recover()
  world.run(.seconds(7200))
  #expect(world.gateway.acceptances.keys.sorted() == numbers)
  #expect(world.gateway.acceptances.values.allSatisfy { $0 == 1 })
}

// MARK: - Unfinished files

@Test func `files that end within a notification wait, and hold up nobody`() {
  let world = World()
  let text = World.notification(1)
  for number in 1...100 { world.put("a\(100 + number)", text: String(text.prefix(50))) }
  world.put(
    "b", text: World.notification(1) + "\n" + World.notification(2).prefix(60), numbers: [1])
  for file in world.waitingFiles { file.mayGrow = true }
  world.put("c", 3)
  world.run(.seconds(5))
  #expect(world.accepted == [1, 3])
  #expect(world.failures.isEmpty)
  world.append("b", text: String(World.notification(2).dropFirst(60)), numbers: [2])
  world.run(.seconds(1))
  #expect(world.accepted == [1, 3, 2])
  world.run(.seconds(20))
  #expect(world.failures.count == 100)
}

@Test func `a file that may still grow stays until it was silent for ten minutes`() {
  let world = World()
  world.put("a", 1)
  let file = world.waitingFiles[0]
  file.mayGrow = true
  world.run(.seconds(60))
  #expect(world.accepted == [1])
  #expect(world.waiting == ["a"])
  world.append(to: file, World.notification(2), items: [Item(number: 2)], tells: true)
  world.run(.seconds(500))
  #expect(world.accepted == [1, 2])
  #expect(world.waiting == ["a"])
  world.run(.seconds(800))
  #expect(world.accepted == [1, 2])
  #expect(world.waiting == [])
}

@Test(arguments: [50, 500, 3000])
func `a notification that is appended while the first of its file is under way is sent at once`(
  delay: UInt64
) {
  let world = World()
  world.put("a", 1)
  let file = world.waitingFiles[0]
  file.mayGrow = true
  world.run(.milliseconds(delay))
  #expect(world.accepted == [1])
  world.append(to: file, World.notification(2), items: [Item(number: 2)], tells: true)
  world.run(.seconds(60))
  #expect(world.accepted == [1, 2])
}

@Test func `a file that its writers closed leaves at once`() {
  let world = World()
  world.put("a", 1)
  let file = world.waitingFiles[0]
  file.mayGrow = true
  world.run(.seconds(60))
  file.mayGrow = false
  world.notices.append(.changed(file))
  world.run(.seconds(1))
  #expect(world.waiting == [])
  #expect(world.accepted == [1])
}

// MARK: - Without a connection

@Test func `a mistake in a file is recorded at once without a connection`() {
  let world = offline()
  world.put("a", 1)
  world.put("b", text: World.notification(2) + "\n{bad\n", numbers: [2])
  world.put("c", text: #"{"to": "nobody", "payload": {"aps": {"alert": "x"}}}"#)
  world.run(.milliseconds(10))
  #expect(world.failures.map(\.file) == ["b", "c"])
  world.run(.seconds(600))
  #expect(world.waiting == ["a", "b"])
}

@Test func `a mistake behind many notifications is recorded at once without a connection`() {
  let world = offline()
  let numbers = Array(1...70)
  world.put(
    "a", text: numbers.map { World.notification($0) + "\n" }.joined() + "{bad\n",
    numbers: numbers)
  world.run(.milliseconds(10))
  #expect(world.failures.map(\.file) == ["a"])
}

@Test func `a notification with a not-before goes to later/ without a connection`() {
  let world = offline()
  for number in 1...300 {
    world.put(
      "a\(number)", text: World.notification(number, with: #", "not-before": 1700009999"#),
      numbers: [number])
  }
  world.run(.seconds(10))
  #expect(world.later.count == 300)
  #expect(world.waiting == [])
}

@Test(arguments: [1, 3])
func `of 500 files with the same collapse ID only the newest is left without a connection`(
  recipients: Int
) {
  let world = offline()
  for number in 1...500 {
    world.after(UInt64(number) * 100) {
      world.put("a\(1000 + number)", number % recipients + 1, collapsing: "tank")
    }
  }
  world.run(.seconds(100))
  #expect(world.waiting == (501 - recipients...500).map { "a\(1000 + $0)" })
  world.canDial = { _ in true }
  world.run(.seconds(2000))
  #expect(Set(world.accepted) == Set(1...recipients))
  #expect(world.accepted.count == recipients)
  #expect(world.courier.counters.superseded == UInt64(500 - recipients))
}

@Test func `large notifications whose recipients take turns do not keep the room from each other`()
{
  // The texts fill the memory before the recipients of the first are read.
  let world = World { $0.window = 16 }
  let numbers = Array(1...200)
  world.putList("many", numbers.map { World.token($0) }, nil)
  let space = String(repeating: " ", count: 30_000)
  for file in 1...12 {
    world.put(
      "a\(file)", text: #"{"to": "many",\#(space)"payload": {"aps": {"alert": "\#(file)"}}}"#,
      numbers: numbers)
  }
  world.run(.seconds(600))
  #expect(world.accepted.count == 12 * numbers.count)
  #expect(world.waiting == [])
}

@Test func `notifications that the service gives back again and again hold up no rest of a file`() {
  let world = World()
  world.scattered = ScatteredLink(world.ledger, world.gateway, limit: 1) { token in
    token <= 12 ? (.giveBack(1000), after: 500) : (.accept, after: 1)
  }
  let numbers = Array(1...100)
  let alert = String(repeating: "x", count: 1000)
  world.put(
    "a", text: numbers.map { World.notification($0, alert: alert) }.joined(separator: "\n"),
    numbers: numbers)
  world.run(.seconds(600))
  #expect(world.gateway.acceptances.keys.sorted() == Array(13...100))
}

// MARK: - Turns

@Test func `new notifications and those that are due in later/ take turns`() {
  let world = World()
  let due = world.timeline.time.wallSeconds! + 100
  let text = (1...2000).map { World.notification($0, with: #", "not-before": \#(due)"#) + "\n" }
  world.put("bulk", text: text.joined(), numbers: Array(1...2000))
  var released = 0
  world.beforeStep = { [unowned world] word in
    guard word == .release else { return }
    released += 1
    if released == 10 { world.put("z", 9000) }
  }
  world.run(.seconds(200))
  #expect(world.accepted.count == 2001)
  #expect(world.accepted.prefix(300).contains(9000))
}

@Test func `a file full of mistakes takes turns with others`() {
  let world = World()
  world.run(.seconds(1))
  world.put("a", text: String(repeating: "{}\n" + String(repeating: " ", count: 200), count: 900))
  world.put("z", 1)
  var seen: Int?
  world.onRecord = { [unowned world] in
    if seen == nil, world.new["z"] == nil { seen = world.failures.count }
  }
  world.run(.seconds(60))
  #expect(world.failures.count == 900)
  #expect(world.accepted == [1])
  #expect((seen ?? 900) < 300, "\(seen ?? 900)")
}

@Test func `many files that end within a notification and grow hold up no other`() {
  let world = World()
  let count = 4000
  for number in 1...count {
    world.put("a\(10_000 + number)", text: "{\"a\":{}")
    world.waitingFiles.last!.mayGrow = true
  }
  for round in 1...10 {
    for file in world.waitingFiles where file.name.hasPrefix("a") {
      world.append(to: file, " ", items: [], tells: true)
    }
    world.put("z\(round)", round)
    world.run(.seconds(4))
    #expect(world.accepted.last == round)
  }
}

@Test func `a file in taken/ under a lease is kept in failed/ after a minute`() {
  let world = World()
  world.readBytesMax = 200
  world.put("a", 1, 2, 3)
  var reads = 0
  world.beforeStep = { [unowned world] word in
    guard word == .read else { return }
    reads += 1
    if reads == 1 { world.waitingFiles[0].failure = .busy }
  }
  world.run(.seconds(50))
  #expect(world.failures.isEmpty)
  world.run(.seconds(30))
  #expect(world.failures.map(\.file) == ["a"])
  #expect(world.failures.first?.reason.contains("holds a lease") == true)
  #expect(world.waiting == [])
}
