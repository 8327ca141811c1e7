import Testing

@testable import Simulation
@testable import TinyPush
@testable import TinyPushBinary

// MARK: - Content

@Test(arguments: refusedNotifications + refusedTexts, [Int.max, 50])
func `a refused notification is recorded with its place and delays no other`(
  _ case: Marked, readBytes: Int
) {
  let world = World(once: true)
  world.readBytesMax = readBytes
  let head = World.notification(1) + "\n\n  " + World.notification(4, alert: "ü😀")
  world.put(
    "a", text: head + `case`.text + "\n" + World.notification(2) + "\n", numbers: [1, 4, 2])
  world.put("b", 3)
  world.runToEnd(within: .seconds(30))
  #expect(world.accepted == [1, 4, 2, 3])
  #expect(world.waiting == [])
  #expect(world.failures.count == 1)
  guard let failure = world.failures.first else { return }
  #expect(failure.file == "a")
  #expect(failure.offset == head.utf8.count + `case`.offset)
  let before = String((head + `case`.text).utf8.prefix(head.utf8.count + `case`.offset))!
  #expect(failure.line == before.split(separator: "\n", omittingEmptySubsequences: false).count)
  let words = text {
    Finding(`case`.reason, at: 0, found: `case`.found, limit: `case`.limit)
      .describe(in: &$0)
  }
  // The key comes first.
  var key = Substring()
  if case .unknownKey = `case`.reason {
    let rest = Substring(`case`.text.utf8.dropFirst(`case`.offset + 1))
    key = rest.prefix { $0 != "\"" }
  }
  #expect(failure.reason == (key.isEmpty ? words : "\(key): \(words)"))
}

@Test(arguments: [1, 7, 64, 1000, 70_000])
func `a file is delivered the same for any size of reads`(readBytes: Int) {
  let world = World(once: true)
  world.readBytesMax = readBytes
  world.put(
    "a",
    text: World.notification(1, 2) + "\n\n" + World.notification(3, alert: "ü😀{}\\\"")
      + World.notification(4) + "\n", numbers: [1, 2, 3, 4])
  world.runToEnd()
  #expect(world.accepted == [1, 2, 3, 4])
  #expect(world.pushes[2].payload == #"{"aps":{"alert":"ü😀{}\""}}"#)
  #expect(world.failures.isEmpty)
}

@Test(arguments: ["{bad\n", "{bad\r\n\n", "bad\n\n\n", "{\"token\" [\n", "}\n"], 1...16)
func `bad text at the end of a read does not affect the notification behind it`(
  bad: String, cut: Int
) {
  let world = World(once: true)
  world.readBytesMax = 300
  world.response = { $0.connection == 1 ? .vanish : .accept }
  let head = String(repeating: " ", count: 300 - cut)
  world.put(
    "a", text: head + bad + World.notification(1) + "\n" + bad + World.notification(2),
    numbers: [1, 2])
  world.runToEnd()
  #expect(world.accepted == [1, 2])
  #expect(world.failures.count == 2)
  #expect(world.waiting == [])
}

@Test(arguments: ["{bad\n", "{bad\n\n", "bad\n", "{\"a\" 1\n"], [5, 6, 7, 141, 142, 143])
func `a connection that ends while bad text is recorded loses nothing`(bad: String, readBytes: Int)
{
  let world = World(once: true)
  world.readBytesMax = readBytes
  var isFirst = true
  world.onRecord = {
    if isFirst { world.cutAtOnce() }
    isFirst = false
  }
  world.put(
    "a", text: bad + World.notification(1) + "\n" + bad + World.notification(2), numbers: [1, 2])
  world.runToEnd()
  #expect(world.accepted == [1, 2])
  #expect(world.failures.count == 2)
  #expect(world.waiting == [])
}

@Test(arguments: [false, true])
func `an empty or blank file is refused, after ten seconds if it may still grow`(mayGrow: Bool) {
  let world = World(once: true)
  world.put("a", text: "")
  world.put("b", text: " \n")
  for file in world.waitingFiles { file.mayGrow = mayGrow }
  world.put("c", 1)
  world.runToEnd(within: .seconds(30))
  #expect(world.accepted == [1])
  #expect(world.failures.map(\.file) == ["a", "b"])
  #expect(world.waiting == (mayGrow ? ["a", "b"] : []))
  #expect(mayGrow ? world.elapsed >= 10_000 && world.elapsed < 15_000 : world.elapsed < 1000)
}

@Test func `many empty files are all refused`() {
  let world = World()
  for number in 1...40 { world.put("a\(100 + number)", text: "") }
  for file in world.waitingFiles { file.mayGrow = true }
  world.put("b", 1)
  world.run(.seconds(30))
  #expect(world.failures.count == 40)
  #expect(world.accepted == [1])
  world.run(.seconds(1300))
  #expect(world.waiting == [])
}

@Test func `the failure of an object of the largest size is recorded`() {
  let world = World(once: true)
  world.response = { $0.number == 1 ? .refuse(.invalidPayloadSize) : .accept }
  let tokens = (1...970).map { "\"\(World.token($0))\"" }.joined(separator: ",")
  world.put("a", text: #"{"tokens":[\#(tokens)],"payload":{"aps":{"alert":"x"}}}"#)
  world.runToEnd()
  #expect(world.recorded == [1])
  #expect(world.accepted == Array(2...970))
}

@Test func `an object over the size limit is refused once and as a whole`() {
  let world = World(once: true)
  world.response = { $0.number == 1 ? .refuse(.invalidPayloadSize) : .accept }
  for (name, count) in [("a", 1200), ("b", 5000)] {
    let tokens = (1...count).map { "\"\(World.token($0))\"" }.joined(separator: ",")
    world.put(
      name,
      text: #"{"tokens":[\#(tokens)],"payload":{"aps":{"alert":"x"}}}"# + "\n"
        + World.notification(7777))
  }
  world.runToEnd()
  #expect(world.accepted == [7777, 7777])
  #expect(world.failures.map(\.file) == ["a", "b"])
}

@Test func `files with names of unfinished files are left alone`() {
  let world = World(once: true)
  for name in [".a", "a~", "a.tmp", "a.part", ".tmp"] { world.put(name, 1) }
  for (number, name) in ["a.json", "tmp", ".tmp ", "part", "a b", "ä"].enumerated()
  where name.first != "." {
    world.put(name, number + 10)
  }
  world.runToEnd()
  #expect(world.waiting == [".a", ".tmp", "a.part", "a.tmp", "a~"])
  #expect(world.accepted.sorted() == [10, 11, 13, 14, 15])
}

@Test func `files with names of unfinished files are left alone when their writers end`() {
  let world = World()
  for name in [".a", "a~", "a.tmp", "a.part", "b"] {
    world.put(name, text: World.notification(1), numbers: [1], tells: false)
    world.notices.append(.began(name))
  }
  world.run(.seconds(90))
  #expect(world.waiting == [".a", "a.part", "a.tmp", "a~"])
  #expect(world.accepted == [1])
}

// MARK: - Files that change

@Test func `an unfinished file is delivered when it is complete`() {
  let world = World()
  world.run(.seconds(1))
  let text = World.notification(1)
  world.put("a", text: String(text.prefix(50)), numbers: [1])
  world.waitingFiles[0].mayGrow = true
  world.run(.seconds(8))
  #expect(world.accepted == [])
  world.append("a", text: String(text.dropFirst(50).prefix(20)))
  world.run(.seconds(8))
  world.append("a", text: String(text.dropFirst(70)))
  world.run(.milliseconds(10))
  #expect(world.accepted == [1])
  world.run(.seconds(1300))
  #expect(world.failures.isEmpty)
  #expect(world.waiting == [])
}

@Test func `an unfinished file that does not change is refused`() {
  let world = World()
  world.put("a", text: String(World.notification(1).prefix(50)))
  world.waitingFiles[0].mayGrow = true
  world.put("b", 2)
  world.run(.seconds(30))
  #expect(world.accepted == [2])
  #expect(world.failures.map(\.file) == ["a"])
  #expect(world.failures.first?.offset == 50)
  world.run(.seconds(1300))
  #expect(world.failures.count == 1)
  #expect(world.waiting == [])
}

/// The first notification and its line end have 121 bytes.
@Test(arguments: [0, 100, 120, 121, 400])
func `a file of several notifications that is being copied is delivered once`(cut: Int) {
  let world = World()
  world.run(.seconds(1))
  let text = (1...4).map { World.notification($0) }.joined(separator: "\n")
  world.courier.writingBegan("a".bytes.span)
  world.put("a", text: String(text.prefix(cut)), tells: false)
  world.run(.milliseconds(500))
  world.courier.rescan()
  world.run(.milliseconds(500))
  world.append("a", text: String(text.dropFirst(cut)))
  world.run(.seconds(60))
  #expect(world.accepted == [1, 2, 3, 4])
  #expect(world.failures.isEmpty)
  #expect(world.waiting == [])
}

@Test func `a file that vanished before it was taken is forgotten`() {
  let world = World()
  world.put("a", 1)
  world.put("b", 2)
  world.beforeStep = { [unowned world] word in
    if word == .scan, world.scans == 1 { world.delete("a") }
  }
  world.run(.seconds(20))
  #expect(world.accepted == [2])
  #expect(world.waiting == [])
}

@Test func `what waits of a file that somebody drops is not sent`() throws {
  let world = World()
  world.forbidsLoss = false
  world.canDial = { _ in false }
  for number in 1...3 { world.put("a\(number)", number) }
  world.run(.seconds(1))
  let dropped = try #require(world.taken.keys.first { $0.hasPrefix("a2@") })
  _ = world.disk.remove(dropped, bytes: .max)
  let kept = Set(world.taken.keys)
  world.courier.dropRemoved { !kept.contains(String($0)) }
  world.canDial = { _ in true }
  world.run(.seconds(60))
  #expect(world.accepted == [1, 3])
  #expect(world.waiting == [])
}

@Test(arguments: [false, true])
func `what was not read yet of a file that somebody drops is not sent either`(isList: Bool) throws {
  let world = World()
  world.forbidsLoss = false
  world.canDial = { _ in false }
  world.putList("family", (1...500).map { World.token($0) }, nil)
  if isList {
    let text = #"{"to": "family", "payload": {"aps": {"alert": "Tank low"}}}"#
    world.put("a", text: text, numbers: Array(1...500))
  } else {
    world.put("a", text: (1...500).map { World.notification($0) }.joined(separator: "\n"))
  }
  world.put("b", 1000)
  world.run(.seconds(1))
  let dropped = try #require(world.taken.keys.first { $0.hasPrefix("a@") })
  _ = world.disk.remove(dropped, bytes: .max)
  let kept = Set(world.taken.keys)
  world.courier.dropRemoved { !kept.contains(String($0)) }
  world.canDial = { _ in true }
  world.run(.seconds(60))
  #expect(world.accepted == [1000])
  #expect(world.waiting == [])
}

@Test func `what the gateway does not take of a file that somebody drops is not sent again`() throws
{
  let world = World()
  world.forbidsLoss = false
  world.response = { $0.connection == 1 ? .vanish : .accept }
  world.put("a", 1)
  world.run(.milliseconds(100))
  let dropped = try #require(world.taken.keys.first)
  _ = world.disk.remove(dropped, bytes: .max)
  world.courier.dropRemoved { _ in true }
  world.run(.seconds(60))
  #expect(world.accepted == [])
  #expect(world.waiting == [])
}

@Test func `a dropped notification holds back no other one with the same content`() throws {
  let world = World()
  world.forbidsLoss = false
  world.response = { $0.connection == 1 ? .vanish : .accept }
  world.put("a", text: World.notification(1, with: #", "again-after": 3600"#), numbers: [1])
  world.run(.milliseconds(100))
  let dropped = try #require(world.taken.keys.first)
  _ = world.disk.remove(dropped, bytes: .max)
  world.courier.dropRemoved { _ in true }
  world.run(.seconds(60))
  world.put("b", text: World.notification(1, with: #", "again-after": 3600"#), numbers: [1])
  world.run(.seconds(60))
  #expect(world.accepted == [1])
  #expect(world.courier.counters.duplicates == 0)
}

@Test func `nothing of a large file that was dropped while it was read is sent again`() {
  let world = World(once: true)
  world.forbidsLoss = false
  world.readBytesMax = 4096
  world.put("a", text: (1...1000).map { World.notification($0) }.joined(separator: "\n"))
  var isDropped = false
  world.beforeStep = { [unowned world] word in
    if word == .write, let name = world.taken.keys.first {
      _ = world.disk.remove(name, bytes: .max)
    }
    // The agent finds no file before it hears of the drop.
    guard world.counts(.fileChanged) == 1, !isDropped else { return }
    isDropped = true
    world.courier.dropRemoved { _ in true }
    world.cutAtOnce()
  }
  world.runToEnd()
  #expect(isDropped)
  #expect(world.courier.counters.uncertain > 0)
  #expect(world.courier.counters.repeated == 0)
}

@Test func `a large file that somebody removes from taken/ is given up, and delays no other`() {
  let world = World(once: true)
  world.forbidsLoss = false
  world.readBytesMax = 4096
  world.put("a", text: (1...1000).map { World.notification($0) }.joined(separator: "\n"))
  world.put("b", 2000)
  world.beforeStep = { [unowned world] word in
    guard word == .write, let name = world.taken.keys.first(where: { $0.hasPrefix("a@") })
    else { return }
    _ = world.disk.remove(name, bytes: .max)
  }
  world.runToEnd()
  #expect(world.accepted.contains(2000))
  #expect(world.accepted.count < 1000)
  #expect(world.counts(.fileChanged) == 1)
  #expect(world.waiting == [])
}

@Test(arguments: [22, 5000, 9000])
func `a file that replaces one in flight is delivered, too`(at: UInt64) {
  let world = World(binary: { $0.confirm = .settle })
  world.put("a", 1)
  world.after(at) { world.put("a", 2) }
  world.run(.seconds(60))
  #expect(world.accepted == [1, 2])
  #expect(world.waiting == [])
  #expect(world.removed.map(\.name) == ["a", "a"])
}

@Test func `a new file with the name of one in flight is another file, and both are delivered`() {
  let world = World(once: true)
  world.response = { $0.connection == 1 ? .vanish : .accept }
  world.put("a", 1)
  world.put("b", 2)
  world.after(22) { world.put("a", 3) }
  world.runToEnd()
  #expect(world.accepted.sorted() == [1, 2, 3])
  #expect(world.waiting == [])
}

@Test(arguments: [false, true])
func `what was appended to a taken file is delivered, too`(once: Bool) {
  let world = World(once: once)
  world.response = { $0.connection == 1 ? .vanish : .accept }
  world.put("0", 9)
  world.put("a", 1)
  world.after(22) { world.append("a", text: World.notification(2)) }
  if once { world.runToEnd() } else { world.run(.seconds(60)) }
  #expect(world.accepted == [9, 1, 2])
  #expect(world.waiting == [])
}

@Test(arguments: [true, false])
func `a file that cannot be read on for a while goes on later`(isShort: Bool) {
  let world = World(once: true)
  world.readBytesMax = 1000
  let numbers = Array(1...100)
  world.put("a", text: numbers.map { World.notification($0) }.joined(), numbers: numbers)
  var reads = 0
  world.beforeStep = { [unowned world] word in
    if word == .read { reads += 1 }
    if reads == 3, word == .read { world.makeUnreadable("a", isShort ? .shortage : .busy) }
  }
  world.after(5000) { world.makeUnreadable("a", nil) }
  world.runToEnd()
  #expect(world.accepted == numbers)
  #expect(world.waiting == [])
  #expect(world.elapsed >= 5000 && world.elapsed < 10_000)
}

@Test func `a scan follows missed events`() {
  let world = World()
  world.run(.seconds(1))
  world.courier.writingBegan("a".bytes.span)
  world.put("a", 1, tells: false)
  world.put("b", 2, tells: false)
  world.run(.seconds(1))
  #expect(world.accepted == [])
  world.courier.missedEvents()
  world.run(.seconds(1))
  #expect(world.accepted == [1, 2])
}

@Test func `a file that is never closed is taken after a minute`() {
  let world = World()
  world.run(.seconds(1))
  world.courier.writingBegan("a".bytes.span)
  world.put("a", 1, tells: false)
  world.run(.seconds(55))
  #expect(world.accepted == [])
  world.run(.seconds(10))
  #expect(world.accepted == [1])
}

@Test func `a file that is offered again while in flight is sent once`() {
  let world = World()
  world.put("a", 1)
  for time in stride(from: UInt64(1), to: 9000, by: 700) {
    world.after(time) {
      world.courier.offer("a".bytes.span, in: .new)
      for name in world.taken.keys { world.courier.offer(name.bytes.span, in: .taken) }
    }
    world.after(time + 300) { world.courier.rescan() }
  }
  world.run(.seconds(30))
  #expect(world.accepted == [1])
  #expect(world.waiting == [])
}

// MARK: - Files that fail

@Test func `a file that cannot be read is moved to failed/ with the reason`() {
  let world = World(once: true)
  world.put("a", 1)
  world.makeUnreadable("a", .unreadable(13))
  world.put("b", 2)
  world.runToEnd()
  #expect(world.accepted == [2])
  #expect(world.failures.map(\.file) == ["a"])
  #expect(world.failures.first?.reason.contains("errno 13") == true)
  #expect(world.waiting == [])
}

@Test func `a file whose second read fails is moved to failed/ with the reason`() {
  let world = World(once: true)
  world.readBytesMax = 200
  world.put("a", 1, 2, 3)
  world.new["a"]?.readableBytes = 200
  world.put("b", 4)
  world.runToEnd()
  #expect(world.accepted == [1, 4])
  #expect(world.failures.map(\.file) == ["a"])
  #expect(world.failures.first?.reason.contains("errno 5") == true)
  #expect(world.waiting == [])
}

@Test func `a link that took the place of a file as the agent took that moves to failed/`() {
  let world = World(once: true)
  world.readBytesMax = 200
  world.put("a", 1, 2, 3)
  world.beforeStep = { [unowned world] _ in
    for file in world.disk.taken.values where file.name == "a" { file.failure = .notRegular }
  }
  world.runToEnd()
  #expect(world.failures.map(\.file) == ["a"])
  #expect(world.failures.first?.reason.contains("not a regular file") == true)
  #expect(world.waiting == [])
}

@Test func `a file that is not regular is left alone`() {
  let world = World(once: true)
  world.put("a", 1)
  world.makeUnreadable("a", .notRegular)
  world.put("b", 2)
  world.runToEnd()
  #expect(world.accepted == [2])
  #expect(world.waiting == ["a"])
  #expect(world.failures.isEmpty)
}

@Test(arguments: [true, false])
func `a file that cannot be opened for a while is tried again`(isShort: Bool) {
  let world = World(once: true)
  world.put("a", 1)
  world.makeUnreadable("a", isShort ? .shortage : .busy)
  world.after(5000) { world.makeUnreadable("a", nil) }
  world.runToEnd()
  #expect(world.accepted == [1])
  #expect(world.waiting == [])
  #expect(world.elapsed < 10_000)
}

// MARK: - Backlogs

@Test func `twelve thousand files are delivered in order in a few scans`() {
  let world = World(once: true) { $0.window = 512 }
  for number in 1...12_000 { world.put("\(100_000 + number)", number, tells: false) }
  world.runToEnd()
  #expect(world.accepted == Array(1...12_000))
  #expect(world.waiting == [])
  #expect(world.scans <= 8)
}

@Test func `files that arrive while others are in flight are delivered in order`() {
  let world = World { $0.window = 32 }
  for number in 1...500 {
    world.after(UInt64(number) * 97) { world.put("f\(1000 + number)", number) }
  }
  world.run(.seconds(500))
  #expect(world.accepted == Array(1...500))
  #expect(world.waiting == [])
}

@Test func `the courier survives an outage longer than the rescan interval`() {
  let world = World { $0.rescan = .seconds(60) }
  world.canDial = { _ in world.elapsed > 600_000 }
  world.put("a", 1)
  world.run(.seconds(1000))
  #expect(world.accepted == [1])
}

@Test func `the courier survives a full window for longer than the rescan interval`() {
  // The window and its slack have room for 70 files.
  let world = World {
    $0.window = 16
    $0.rescan = .seconds(5)
  } binary: {
    $0.confirm = .settle
  }
  for number in 1...200 { world.put("a\(1000 + number)", number, tells: false) }
  world.run(.seconds(8))
  #expect(world.accepted == Array(1...70))
  world.run(.seconds(60))
  #expect(world.accepted == Array(1...200))
}

@Test func `the courier survives a blocked socket for longer than the rescan interval`() {
  let world = World {
    $0.rescan = .seconds(5)
    $0.window = 1000
  }
  world.blocks = { $0 == 1 ? 20_000 : nil }
  world.put("a", text: (1...500).map { World.notification($0) }.joined())
  world.run(.seconds(60))
  #expect(world.accepted == Array(1...500))
}

/// All tables of notifications in flight are empty at the end.
@Test func `no table grows over 3000 files`() {
  let world = World(binary: { $0.settle = .milliseconds(300) })
  world.response = { $0.number % 50 == 0 ? .refuse(.processingError) : .accept }
  for number in 1...3000 {
    world.after(UInt64(number) * 20) {
      world.put(
        "a\(100_000 + number)", text: (number % 9 == 0 ? "{bad\n" : "") + World.notification(number)
      )
    }
  }
  world.run(.seconds(1200))
  #expect(world.waiting == [])
  #expect(world.courier.isIdle == true)
  #expect(world.inFlight == 0)
  #expect(world.link.window.isEmpty == true)
  #expect(world.link.acknowledgements.isEmpty == true)
  #expect(world.courier.outbox.isEmpty == true)
  #expect(world.courier.files.count == 0)
  #expect(world.courier.files.settledCount == 0)
  let counters = world.courier.counters
  #expect(counters.settled + counters.refused == 3000)
}

@Test func `the first 1000 wrong notifications of a file are recorded, and the file is kept`() {
  let world = World(once: true)
  world.put(
    "a", text: String(repeating: "{}\n", count: 3000) + World.notification(1) + "\n{}\n",
    numbers: [1])
  world.put("b", text: "{}")
  var original: SpoolFile?
  world.beforeStep = { [unowned world] word in
    if let file = world.waitingFiles.first(where: { $0.name == "a" }) { original = file }
  }
  world.runToEnd()
  #expect(world.accepted == [1])
  #expect(world.failures.count == 1002)
  #expect(world.failures[1000].reason.hasPrefix("more than 1000 problems in this file"))
  #expect(original?.isOriginalKept == true)
  #expect(world.courier.counters.failedCheck == 3002)
}

@Test(arguments: [100, 2048, 2100, 70_000, 200_000])
func `a file is kept if its bad text is too long for the record`(bytes: Int) {
  let world = World(once: true)
  let bad = "{\"a\": [" + String(repeating: "x", count: bytes - 7)
  world.put("a", text: bad + "\n" + World.notification(1), numbers: [1])
  var original: SpoolFile?
  world.beforeStep = { [unowned world] word in
    if let file = world.waitingFiles.first(where: { $0.name == "a" }) { original = file }
  }
  world.runToEnd()
  #expect(world.accepted == [1])
  #expect(world.failures.count == 1)
  #expect(original?.isOriginalKept == (bytes > 2047))
}

@Test(arguments: [3000, 3_000_000])
func `what is appended to a file with long bad text is delivered before the file is moved`(
  bytes: Int
) {
  let world = World(once: true)
  world.put(
    "a", text: World.notification(1) + "\n{\"a\": [" + String(repeating: "x", count: bytes) + "\n",
    numbers: [1])
  var file: SpoolFile?
  world.beforeStep = { [unowned world] word in
    guard word == .sync, file == nil else { return }
    file = world.waitingFiles[0]
    world.append("a", text: World.notification(2), numbers: [2])
  }
  world.runToEnd()
  #expect(world.accepted == [1, 2])
  #expect(world.failures.count == (bytes > 1 << 20 ? 2 : 1))
  #expect(file?.isOriginalKept == true)
  #expect(world.waiting == [])
}

@Test func `a file with long bad text that may still grow is moved when it was silent`() throws {
  let world = World()
  world.put(
    "a", text: World.notification(1) + "\n{\"a\": [" + String(repeating: "x", count: 3000) + "\n",
    numbers: [1])
  let file = world.waitingFiles[0]
  file.mayGrow = true
  world.run(.seconds(60))
  let name = try #require(world.disk.taken.keys.first)
  #expect(TakenName(name.bytes.span)?.movesToFailed == true)
  #expect(world.failures.count == 1)
  // The next agent knows from the name that the file is kept.
  world.restart(once: false)
  world.run(.seconds(60))
  world.append(to: file, World.notification(2), items: [Item(number: 2)], tells: true)
  world.run(.seconds(60))
  #expect(world.accepted == [1, 2])
  world.run(.seconds(1300))
  #expect(world.waiting == [])
  #expect(file.isOriginalKept)
  #expect(world.failures.count == 1)
}

@Test func `a file of tinypush send leaves at once, also after a restart`() {
  let world = World()
  let name = "1767225600.000000001.1.wait"
  world.put(name, 1)
  world.waitingFiles[0].mayGrow = true
  world.canDial = { _ in false }
  world.run(.seconds(60))
  #expect(world.disk.taken.count == 1)
  world.canDial = { _ in true }
  world.restart(once: false)
  world.run(.seconds(60))
  #expect(world.accepted == [1])
  #expect(world.waiting == [])
}

@Test func `the trouble with records ends although nothing is left to be recorded`() {
  let world = World()
  world.canRecord = false
  world.put("a", text: "{}")
  world.run(.seconds(20))
  #expect(world.counts(.notRecorded) == 1)
  world.forbidsLoss = false
  for name in world.taken.keys { _ = world.disk.remove(name, bytes: .max) }
  world.canRecord = true
  world.run(.seconds(60))
  world.put("b", 1)
  world.run(.seconds(60))
  #expect(world.accepted == [1])
  #expect(world.counts(.recordable) == 1)
}
