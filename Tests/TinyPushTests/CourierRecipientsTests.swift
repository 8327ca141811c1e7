import Testing

@testable import Simulation
@testable import TinyPush

private let toFamily = #"{"to": "family", "payload": {"aps": {"alert": "Tank low"}}}"#

private func put(_ world: World, _ name: String, _ text: String, _ numbers: Int...) {
  world.put(name, text: text, numbers: numbers)
}

@Test(arguments: [Int.max, 100, 7])
func `a notification goes to all recipients of its file in order`(readBytes: Int) {
  let world = World(once: true)
  world.readBytesMax = readBytes
  world.putList(
    "family", "# the family", "", World.token(3), "  \(World.token(1)) lang=fr-CA # Marie\r",
    "\t", World.token(2).uppercased())
  put(world, "a", toFamily, 3, 1, 2)
  world.put("b", 4)
  world.runToEnd()
  #expect(world.accepted == [3, 1, 2, 4])
  #expect(world.failures.isEmpty)
}

@Test
func `tokens come before recipients files, and a bare payload goes to the default file`() {
  let world = World(once: true)
  world.putList("default", World.token(9))
  world.putList("one", World.token(1), World.token(2))
  world.putList("two", World.token(3))
  let aps = #"{"aps": {"alert": "Tank low"}}"#
  put(
    world, "a",
    #"{"to": ["two", "one", "two"], "payload": \#(aps), "token": "\#(World.token(5))"}\#(aps)"#, 5,
    3, 1, 2, 3, 9)
  world.runToEnd()
  #expect(world.accepted == [5, 3, 1, 2, 3, 9])
  #expect(world.pushes.last?.payload == #"{"aps":{"alert":"Tank low"}}"#)
}

@Test func `thousands of recipients get the notification once, in several TLS records`() {
  let world = World(once: true)
  let numbers = Array(1...3000)
  world.listInode += 1
  let list = numbers.map { World.token($0) + " lang=de" }.joined(separator: "\n")
  world.disk.lists["family"] = SpoolFile(list.bytes, inode: 7, items: [])
  world.put("a", toFamily, items: numbers.map { Item(number: $0) }, tells: true)
  world.runToEnd()
  #expect(world.accepted == numbers)
  #expect(world.writes > 15)
}

@Test func `the recipients behind a refused one get the notification again`() {
  let world = World(once: true)
  world.putList("family", World.token(1), World.token(2), World.token(3), World.token(4))
  world.response = { $0.connection == 1 && $0.number == 2 ? .refuse(.invalidToken) : .accept }
  put(world, "a", toFamily + "\n" + toFamily, 1, 2, 3, 4, 1, 3, 4)
  world.ledger.forbidsLoss = false
  world.runToEnd()
  #expect(world.accepted == [1, 3, 4, 1, 3, 4])
  #expect(world.failures.map(\.number) == [2])
  #expect(world.courier.counters.suppressed == 1)
}

@Test func `a changed recipients file has no effect while its old content is still held`() {
  let world = World(once: true)
  world.putList("family", World.token(1), World.token(2), World.token(3))
  world.response = { [unowned world] push in
    guard push.connection == 1, push.number == 2 else { return .accept }
    world.putList("family", World.token(5))
    return .vanish
  }
  put(world, "a", toFamily, 1, 2, 3)
  world.runToEnd()
  #expect(Set(world.accepted) == [1, 2, 3])
}

@Test(arguments: [
  (nil, "does not exist"), ([], "has no recipient"),
  (["# nobody"], "has no recipient"),
  (
    [World.token(1), "0123"], ", line 2: over the binary protocol a device token has 64 hex digits"
  ),
  ([World.token(1), World.token(2) + " lang=französisch"], ", line 2: not a language"),
  ([World.token(1), "", World.token(2) + " en"], ", line 3: only lang=LANGUAGE"),
  ([World.token(1), String(repeating: "z", count: 62)], ", line 2: a device token is written"),
  ([World.token(1), String(repeating: "1", count: 2100)], ", line 2: longer than 2048"),
  ([World.token(1), String(repeating: "1", count: 100_000)], ", line 2: longer than 2048"),
])
func `a wrong line of a recipients file is recorded, and the other recipients are served`(
  lines: [String]?, words: String
) {
  let world = World(once: true)
  if let lines {
    world.disk.lists["family"] = SpoolFile(
      (lines + (lines.isEmpty ? [] : [World.token(7)]).filter { _ in lines.count > 1 })
        .joined(separator: "\n").bytes, inode: 5, items: [])
  }
  put(world, "a", toFamily, 7)
  world.ledger.forbidsLoss = false
  world.put("b", 9)
  world.runToEnd()
  #expect(world.accepted == (lines?.count ?? 0 > 1 ? [1, 7, 9] : [9]))
  #expect(world.failures.count == 1)
  #expect(world.failures.first?.reason.contains("recipients file family") == true)
  #expect(world.failures.first?.reason.contains(words) == true, "\(world.failures)")
  #expect(world.waiting == [])
}

@Test func `each recipient gets the alert in its language`() {
  let world = World(once: true)
  world.putList(
    "family", World.token(1) + " lang=fr-CA", World.token(2), World.token(3) + " lang=de_AT",
    World.token(4) + " lang=pt")
  put(
    world, "a",
    #"{"to":"family","localized":{"fr":{"title":"Cave","body":"Cuve vide"},"EN":"Tank low","de":"Tank leer"},"payload":{"aps":{"sound":"x"}}}"#,
    1, 2, 3, 4)
  world.runToEnd()
  #expect(
    world.pushes.map(\.payload) == [
      #"{"aps":{"alert":{"title":"Cave","body":"Cuve vide"},"sound":"x"}}"#,
      #"{"aps":{"alert":"Tank low","sound":"x"}}"#, #"{"aps":{"alert":"Tank leer","sound":"x"}}"#,
      #"{"aps":{"alert":"Tank low","sound":"x"}}"#,
    ])
}

@Test func `two hundred recipients files are read, and each recipient gets the notification once`()
{
  let world = World(once: true)
  var numbers: [Int] = []
  for number in 1...200 {
    world.putList("list\(number)", World.token(2 * number), World.token(2 * number + 1))
    numbers += [2 * number, 2 * number + 1]
  }
  for first in stride(from: 1, through: 200, by: 10) {
    let names = (first..<first + 10).map { #""list\#($0)""# }.joined(separator: ",")
    world.put(
      "\(1000 + first)", text: #"{"to":[\#(names)],"payload":{"aps":{"alert":"Tank low"}}}"#,
      numbers: (2 * first..<2 * first + 20).map { $0 })
  }
  world.runToEnd(within: .seconds(60))
  #expect(world.accepted == numbers)
}

@Test func `a large notification that several recipients miss is kept once`() {
  let world = World(once: true)
  let many = (100..<900).map { #""\#(World.token($0))""# }.joined(separator: ",")
  world.putList("family", "x", "y", "z")
  world.put(
    "a",
    text: #"{"to":["family","none"],"tokens":[\#(many)],"payload":{"aps":{"alert":"Tank low"}}}"#,
    numbers: Array(100..<900))
  var original: SpoolFile?
  world.beforeStep = { [unowned world] _ in
    if let file = world.disk.waiting.first { original = file }
  }
  world.runToEnd()
  #expect(world.accepted.count == 800)
  #expect(world.failures.count == 4)
  #expect(original?.isOriginalKept == true)
}

@Test(arguments: ["tokn", "Token", "tokens_", "paylod", "token", "to"])
func `a payload with a misspelt recipient key does not go to the default recipients`(key: String) {
  let world = World(once: true)
  world.putList("default", World.token(1))
  world.put("a", text: #"{"\#(key)": "\#(World.token(5))", "aps": {"alert": "Tank low"}}"#)
  world.put("b", text: #"{"tank": 5, "aps": {"alert": "Tank low"}}"#, numbers: [1])
  world.runToEnd()
  #expect(world.accepted == [1])
  #expect(world.failures.count == 1)
}

@Test func `the recipients file is read again for another spool file`() {
  let world = World()
  world.putList("family", World.token(1))
  put(world, "a", toFamily, 1)
  var isFirst = true
  world.beforeStep = { [unowned world] word in
    guard word == .readRecipients, isFirst else { return }
    isFirst = false
    world.putList("family", World.token(2))
    put(world, "b", toFamily, 2)
  }
  world.run(.seconds(60))
  #expect(world.accepted == [1, 2])
}

@Test func `an error in a recipients file is recorded once even if the connection ends`() {
  let world = World()
  world.putList("family", World.token(1), "12", World.token(2))
  put(world, "a", toFamily, 1, 2)
  world.polls = { true }
  world.onRecord = { [unowned world] in world.cutAtOnce() }
  world.run(.seconds(60))
  #expect(Set(world.accepted) == [1, 2])
  #expect(world.failures.count == 1)
}

@Test
func `notifications behind one with a skipped recipients file are not lost at a resend`() {
  let world = World()
  world.putList("family", World.token(2))
  world.response = { push in
    switch push.number {
    case 2: .refuse(.invalidToken)
    case 1: push.connection < 4 ? .vanish : .accept
    default: .accept
    }
  }
  world.put("a", 2)
  world.run(.seconds(5))
  put(
    world, "b",
    #"{"token": "\#(World.token(1))", "to": "family", "payload": {"aps": {"badge": 1}}}"#
      + World.notification(3) + World.notification(4), 1, 3, 4)
  world.run(.seconds(300))
  #expect(Set(world.accepted) == [1, 3, 4])
}

@Test func `a change of a recipients file causes no resend of other files`() {
  let world = World()
  world.putList("family", World.token(1))
  world.putList("other", World.token(2))
  put(world, "a", toFamily.replacing("family", with: "other"), 2)
  world.run(.seconds(1))
  #expect(world.accepted == [2])
  // The file waits to be settled.
  world.putList("family", World.token(1), World.token(3))
  put(world, "b", toFamily, 1, 3)
  world.run(.seconds(60))
  #expect(world.accepted == [2, 1, 3])
}

@Test(
  arguments: [
    // The app was gone at 1000 seconds after the start.
    (0, [2]), (900, [2]), (1000, [1, 2]), (1500, [1, 2]), (5000, [1, 2]), (2000 + 86_400, [1, 2]),
    (2100 + 86_400, [2]),
  ], [false, true])
func `a time at which the app was registered again ends an older suppression`(
  time: (after: Int, accepted: [Int]), isListed: Bool
) {
  let (after, accepted) = time
  let world = World(once: true)
  let start = Int(Workload.start)
  world.wallAtStart = Workload.start + 2000
  _ = world.disk.suppression.merge([World.record(1, UInt32(start) + 1000, .gone)], isWhole: true)
  // A line of a recipients file can state the time, and a notification can.
  if isListed {
    world.putList(
      "family", World.token(1) + (after > 0 ? " registered=\(start + after)" : ""),
      World.token(2))
    put(world, "a", toFamily, 1, 2)
  } else {
    let text = World.notification(
      1, 2, with: after > 0 ? #", "registered": \#(start + after)"# : "")
    let items = [1, 2].map { number in
      var item = Item(number: number)
      item.registered = after > 0 ? UInt32(start + after) : 0
      return item
    }
    world.put("a", text, items: items, tells: true)
  }
  world.runToEnd()
  #expect(world.accepted == accepted)
  #expect(world.courier.counters.suppressed == (accepted.count == 1 ? 1 : 0))
}
