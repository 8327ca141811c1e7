import Testing

@testable import Simulation
@testable import TinyPush

private let start: Int64 = 1_700_000_000

private func notBefore(_ seconds: Int64) -> String { #", "not-before": \#(start + seconds)"# }

@Test func `a notification waits for its not-before and delays no other`() {
  let world = World()
  world.put("a", text: World.notification(1, with: notBefore(100)), numbers: [1])
  world.put("b", 2)
  world.run(.seconds(99))
  #expect(world.accepted == [2])
  #expect(world.waiting == [])
  #expect(world.later.count == 1)
  world.run(.seconds(3))
  #expect(world.accepted == [2, 1])
  #expect(world.later.isEmpty)
  world.run(.seconds(60))
  #expect(world.waiting == [])
}

@Test func `each notification of a file waits for its own not-before`() {
  let world = World()
  world.put(
    "a",
    text: [
      World.notification(1, with: notBefore(300)), World.notification(2),
      World.notification(3, with: notBefore(100)), World.notification(4, with: notBefore(-5)),
      World.notification(5, with: notBefore(200)),
    ].joined(separator: "\n"), numbers: [1, 2, 3, 4, 5])
  world.run(.seconds(90))
  #expect(world.accepted == [2, 4])
  world.run(.seconds(300))
  #expect(world.accepted == [2, 4, 3, 5, 1])
  #expect(world.courier.counters.postponed == 3)
}

@Test func `run --once leaves a notification in later/ until a run when it is due`() {
  let world = World(once: true)
  world.put("a", text: World.notification(1, with: notBefore(1000)), numbers: [1])
  world.put("b", 2)
  world.runToEnd()
  #expect(world.accepted == [2])
  world.timeline.advance(to: world.timeline.now + .seconds(1000))
  world.restart()
  world.runToEnd()
  #expect(world.accepted == [2, 1])
}

@Test func `the ttl of what waits is not over because the clock was set`() {
  let world = World()
  world.put("a", text: World.notification(1, with: notBefore(20) + #", "ttl": 3600"#), numbers: [1])
  world.put("b", text: World.notification(2, with: notBefore(20) + #", "ttl": 30"#), numbers: [2])
  world.run(.seconds(10))
  #expect(world.accepted == [])
  world.after(100) { world.wallAtStart = start + 28_800 }
  world.run(.seconds(30))
  #expect(world.accepted.sorted() == [1, 2])
  #expect(world.courier.counters.expired == 0)
}

@Test(arguments: [false, true])
func `the courier notices that the clock was set`(isUnset: Bool) {
  let world = World()
  if isUnset { world.wallAtStart = nil }
  world.put("a", text: World.notification(1, with: notBefore(86_400)), numbers: [1])
  world.put("b", text: World.notification(2, with: notBefore(90_000)), numbers: [2])
  world.run(.seconds(60))
  #expect(world.accepted == [])
  world.after(100) { world.wallAtStart = start + 86_400 }
  world.run(.seconds(2))
  #expect(world.accepted == [1])
  world.after(100) { world.wallAtStart = start }
  world.run(.seconds(7200))
  #expect(world.accepted == [1])
  world.run(.seconds(86_400))
  #expect(world.accepted == [1, 2])
}

@Test func `a notification that is read in part when the clock is set back is sent once`() {
  let (world, service) = http2World(streams: 2)
  var unlucky: Set = [201, 202]
  service.respond = { number in
    guard unlucky.remove(number) != nil else { return (.accept, 1) }
    return (number == 201 ? .cut : .silence, 10_000)
  }
  world.put("0", 200)
  world.run(.seconds(1000))
  world.put("a", 201, 202)
  world.run(.seconds(1))
  let numbers = Array(1...100)
  world.putList("family", numbers.map { World.token($0) }, nil)
  world.put(
    "b", #"{"to": "family", "payload": {"aps": {"badge": 1}}\#(notBefore(990))}"#,
    items: numbers.map { Item(number: $0) }, tells: true)
  world.run(.seconds(1))
  #expect((10..<100).contains(world.courier.inFlight), "\(world.courier.inFlight)")
  // Now the not-before is in the future. After the cut, the new connection takes one request first,
  // and the rest of the recipients is read meanwhile.
  world.wallAtStart = start - 800
  world.run(.seconds(600))
  #expect(Set(world.gateway.acceptances.keys) == Set(numbers + [200, 201, 202]))
  #expect(world.courier.counters.postponed == 0)
}

@Test func `9000 notifications wait in later/ without work while none is due`() {
  let world = World()
  for number in 1...9000 {
    world.put(
      "\(number)", text: World.notification(number, with: notBefore(Int64(10_000 - number))),
      numbers: [number])
  }
  world.run(.seconds(900))
  #expect(world.accepted == [])
  #expect(world.later.count == 9000)
  #expect(world.courier.laterFiles == 9000)
  world.run(.milliseconds(199_500))
  #expect(world.accepted == Array((8901...9000).reversed()))
  let idle = world.steps
  world.run(.seconds(1))
  #expect(world.steps - idle < 40)
  world.run(.seconds(9000))
  #expect(world.accepted == Array((1...9000).reversed()))
}

@Test func `many notifications in later/ cost one with a collapse ID no scan`() {
  let world = World()
  for number in 1...9000 {
    world.put(
      "\(number)", text: World.notification(number, with: notBefore(10_000)), numbers: [number])
  }
  world.run(.seconds(900))
  var scans = 0
  world.beforeStep = { if $0 == .scan { scans += 1 } }
  for number in 9001...9100 {
    world.put(
      "b\(number)", text: World.notification(number, with: #", "collapse-id": "\#(number)""#),
      numbers: [number])
  }
  world.run(.seconds(10))
  #expect(world.accepted == Array(9001...9100))
  #expect(scans < 10, "\(scans)")
}

@Test func `a notification that cannot move to later/ stays in taken/ and delays no other`() {
  let world = World()
  world.canRecord = false
  world.put("a", text: World.notification(1, with: notBefore(100)), numbers: [1])
  world.put("b", 2)
  world.run(.seconds(90))
  #expect(world.accepted == [2])
  #expect(world.waiting == ["a"])
  world.canRecord = true
  world.run(.seconds(900))
  #expect(world.accepted == [2, 1])
  #expect(world.waiting == [])
}

@Test func `a notification moves to later/ only once after a crash`() {
  let world = World()
  world.canRemove = false
  world.put("a", text: World.notification(1, with: notBefore(100)), numbers: [1])
  world.run(.seconds(10))
  #expect(world.waiting == ["a"] && world.later.count == 1)
  world.restart()
  world.run(.seconds(10))
  #expect(world.later.count == 1)
  world.canRemove = true
  world.run(.seconds(600))
  #expect(Set(world.accepted) == [1])
}

@Test func `a file that cannot be released from later/ delays no other and is tried again`() {
  let world = World()
  world.put("a", text: World.notification(1, with: notBefore(100)), numbers: [1])
  world.put("b", text: World.notification(2, with: notBefore(101)), numbers: [2])
  world.run(.seconds(50))
  world.beforeStep = { [unowned world] _ in
    world.canRemove = world.timeline.elapsed < 100_000 || world.timeline.elapsed > 100_900
  }
  world.run(.seconds(60))
  #expect(world.accepted == [2])
  #expect(world.counts(.notReleased) == 1)
  world.run(.seconds(60))
  #expect(world.accepted == [2, 1])
}

@Test func `what is due at a start goes to taken/ file by file, in turns with what is new`() {
  let world = World()
  for number in 1...100 {
    world.put(
      "\(number)", text: World.notification(number, with: notBefore(100)), numbers: [number])
  }
  world.run(.seconds(20))
  world.timeline.advance(to: world.timeline.now + .seconds(100))
  world.restart()
  world.put("new", 101)
  var words: [Word] = []
  world.beforeStep = { words.append($0) }
  world.run(.seconds(20))
  #expect(world.accepted.count == 101)
  #expect(world.accepted.prefix(10).contains(101), "\(world.accepted)")
  #expect(words.prefix { $0 != .read }.count { $0 == .release } < 2)
}

@Test func `files in later/ are found even if the first scan of later/ fails`() {
  let world = World()
  world.put("a", text: World.notification(1, with: notBefore(10)), numbers: [1])
  world.run(.seconds(5))
  world.canScanLater = false
  world.restart()
  world.run(.seconds(20))
  world.canScanLater = true
  world.run(.seconds(60))
  #expect(world.accepted == [1])
}

@Test func `a notification that is due is sent as soon as later/ can be read again`() {
  let world = World()
  world.canScanLater = false
  world.put("a", text: World.notification(1, with: notBefore(5)), numbers: [1])
  world.run(.seconds(20))
  #expect(world.accepted == [] && world.later.count == 1)
  world.canScanLater = true
  world.run(.seconds(20))
  #expect(world.accepted == [1])
}

private func laterName(_ source: String, arrivalNs: Int64, identity: UInt64) -> String {
  var text = Text(capacity: 300)
  LaterName.append(
    due: 1_700_000_000, key: 7, source: source.utf8.span, arrivalNs: arrivalNs, identity: identity,
    to: &text)
  return String(text.bytes)
}

@Test(arguments: ["tank", "tank.wait", String(repeating: "x", count: 159)])
func `a notification keeps the arrival of its file however often it waits`(source: String) throws {
  var released = source
  for identity in UInt64(1)...3 {
    let name = laterName(released, arrivalNs: 12_345, identity: identity)
    let read = LaterName(name.utf8.span)
    let known = try #require(read)
    #expect(known.due == 1_700_000_000)
    #expect(known.arrivalNs == 12_345)
    var text = Text(capacity: 300)
    known.appendReleased(name.utf8.span, to: &text)
    released = String(text.bytes)
    let found = (
      source: String(LaterName.source(of: text.bytes)),
      identity: LaterName.identity(in: text.bytes), arrival: LaterName.arrivalNs(in: text.bytes)
    )
    #expect(found.source == source)
    #expect(found.identity == identity)
    #expect(found.arrival == 12_345)
    var taken = Text(capacity: 300)
    TakenName.append(text.bytes, arrivalNs: .max, offset: .max, isReleased: true, to: &taken)
    let kept = String(TakenName.source(of: taken.bytes))
    #expect(kept == released)
  }
}

@Test func `a name that version 0.2.0 put into later/ is read, and its file is older`() throws {
  let name = "1700000000.0000000000000007.00112233445566aa.tank"
  let read = LaterName(name.utf8.span)
  let known = try #require(read)
  #expect(known.due == 1_700_000_000)
  #expect(known.arrivalNs == 0)
  let rest = String(LaterName.rest(of: name.utf8.span))
  #expect(rest == "tank")
  #expect(comes(at: known.arrivalNs, "tank", before: 1_700_000_000) == true)
}

/// Returns whether a waiting notification came before one of the file "tank", by the courier's rule.
private func comes(
  at seconds: Int64, _ name: String, before other: Int64, otherHasWaited: Bool = false
) -> Bool? {
  var clock = ArrivalClock(plausibleSince: 1_000_000_000)
  let time = Time(
    now: Instant(milliseconds: 1_000_000), wallSeconds: 1_700_001_000,
    clockMilliseconds: 1_700_001_000_000)
  clock.observe(time)
  let one = Origin(arrivalNs: seconds * 1_000_000_000, hasWaited: true)
  let two = Origin(arrivalNs: other * 1_000_000_000, hasWaited: otherHasWaited)
  return one.comes(name.utf8.span, before: two, "tank".utf8.span, clock, time)
}

@Test(
  arguments: [
    // The clock tells, whatever the names.
    (1_700_000_001, "tank", true), (1_700_000_003, "tank", false),
    (1_700_000_001, "z", true), (1_700_000_003, "a", false),
    // At the same moment, the names tell; of one file, what has waited is older.
    (1_700_000_002, "tank", true), (1_700_000_002, "a", true), (1_700_000_002, "z", false),
    // The clock was not set, or was set back.
    (60, "tank", nil), (60, "a", nil), (1_900_000_000, "tank", nil), (1_900_000_000, "z", nil),
  ] as [(Int64, String, Bool?)])
func `the file that came first is the older one`(seconds: Int64, name: String, isOlder: Bool?) {
  #expect(comes(at: seconds, name, before: 1_700_000_002) == isOlder)
}

@Test func `two notifications of one file that have both waited have no order`() {
  #expect(comes(at: 1_700_000_002, "tank", before: 1_700_000_002, otherHasWaited: true) == nil)
}
