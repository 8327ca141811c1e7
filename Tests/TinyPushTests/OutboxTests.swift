import Testing

@testable import Simulation
@testable import TinyPush

private var device: DeviceToken { World.deviceToken(7) }

extension Outbox {
  /// Adds a text.
  fileprivate mutating func add(
    _ bytes: [UInt8], of file: UInt32 = 1, offset: Int64 = 0, key: UInt64 = 0
  ) -> UInt16? {
    let input = FixedBuffer<UInt8>(capacity: max(bytes.count, 1) + 3)
    input.store(bytes.span, at: 3)
    return add(
      3..<3 + bytes.count, of: input,
      TextEntry(
        file: FileNumber(file), origin: Origin(arrivalNs: 0, hasWaited: false), offset: offset,
        lineNumber: 1, identity: UInt64(offset), collapseKey: key, tokens: 1))
  }

  fileprivate mutating func add(message text: UInt16, in line: Line = .low) -> MessageNumber {
    add(to: RecipientsFile.Recipient(device), text: text, payloadBytes: 20, in: line)
  }

  fileprivate func bytes(of text: UInt16) -> [UInt8] { [UInt8](self.text(text)) }

  /// Takes all messages of a line from its front.
  fileprivate mutating func drain(_ line: Line) -> [MessageNumber] {
    var taken: [MessageNumber] = []
    while let message = first(in: line) {
      taken.append(message)
      move(message, to: .link)
    }
    return taken
  }
}

private func at(_ milliseconds: UInt64) -> Instant { Instant(milliseconds: milliseconds) }

// MARK: - Texts

@Test func `a text stays until its recipients are read and its messages are settled`() {
  var outbox = Outbox(capacity: 8)
  let text = outbox.add("one".bytes)!
  let first = outbox.add(message: text)
  let second = outbox.add(message: text)
  outbox.remove(first)
  outbox.endReading(text)
  #expect(outbox.bytes(of: text) == "one".bytes && outbox.textCount == 1)
  outbox.remove(second)
  #expect(outbox.isEmpty == true)
  // The other way round.
  let next = outbox.add("two".bytes)!
  outbox.remove(outbox.add(message: next))
  #expect(outbox.bytes(of: next) == "two".bytes && outbox.textCount == 1)
  outbox.endReading(next)
  #expect(outbox.isEmpty == true)
}

@Test func `a text without a message leaves when it was read`() {
  var outbox = Outbox(capacity: 8)
  for _ in 0..<100 { outbox.endReading(outbox.add("nobody".bytes)!) }
  #expect(outbox.isEmpty == true)
}

@Test func `a text is untouched until something of it was sent or settled`() {
  var outbox = Outbox(capacity: 8)
  let text = outbox.add("one".bytes)!
  #expect(outbox[text: text].isUntouched && outbox[text: text].isBeingRead)
  outbox.touch(text)
  #expect(!outbox[text: text].isUntouched)
}

/// One text in use for a long time lies between texts that come and go.
@Test(arguments: 1...40)
func `texts keep their bytes while others come and go`(seed: UInt64) {
  var random = Seeded(seed)
  let capacity = [3, 20, 100, 600][random.upTo(3)]
  let longest = [20, 3000, NotificationReader.objectBytesMax][random.upTo(2)]
  var outbox = Outbox(capacity: capacity)
  var model: [(number: UInt16, bytes: [UInt8], messages: [MessageNumber])] = []
  var rejected = 0
  for step in 0..<1500 {
    switch random.upTo(9) {
    case 0...4:
      let size = random.oneIn(4) ? random.upTo(longest) : random.upTo(min(longest, 300))
      let bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: step), count: size)
      guard model.count < capacity, let number = outbox.add(bytes, offset: Int64(step)) else {
        rejected += 1
        continue
      }
      #expect(!model.contains { $0.number == number }, "SEED=\(seed)")
      var messages: [MessageNumber] = []
      for _ in 0..<random.upTo(2) where outbox.hasRoom {
        messages.append(outbox.add(message: number))
      }
      outbox.endReading(number)
      if !messages.isEmpty { model.append((number, bytes, messages)) }
    case 5...8 where !model.isEmpty:
      // The oldest stays in a part of the steps, and the newest leaves first in others.
      let index =
        random.oneIn(3) ? model.count - 1 : random.upTo(model.count - 1)
      outbox.remove(model[index].messages.removeLast())
      if model[index].messages.isEmpty { model.remove(at: index) }
    default:
      while random.oneIn(20), let text = model.popLast() {
        for message in text.messages { outbox.remove(message) }
      }
    }
    #expect(outbox.textCount == model.count, "SEED=\(seed)")
    #expect(outbox.count == model.reduce(0) { $0 + $1.messages.count })
    guard step % 20 == 0 else { continue }
    for text in model where outbox.bytes(of: text.number) != text.bytes {
      Issue.record("SEED=\(seed): step \(step) changed text \(text.number)")
    }
    var numbers: [UInt16] = []
    outbox.forEachText { number, _ in numbers.append(number) }
    #expect(numbers.sorted() == model.map(\.number).sorted())
  }
  for text in model { for message in text.messages { outbox.remove(message) } }
  #expect(outbox.isEmpty == true)
}

@Test func `the outbox takes texts until its memory is full, and then again when some have left`() {
  var outbox = Outbox(capacity: 64)
  let bytes = [UInt8](repeating: 7, count: NotificationReader.objectBytesMax)
  var texts: [UInt16] = []
  while let text = outbox.add(bytes) { texts.append(text) }
  #expect(texts.count == 3, "four of the largest, without their heads")
  #expect(outbox.hasRoom(for: .small) == false)
  outbox.endReading(texts[0])
  #expect(outbox.add(bytes) != nil)
  #expect(outbox.add(bytes) == nil)
  for text in texts.dropFirst() { #expect(outbox.bytes(of: text) == bytes) }
}

@Test func `the outbox holds as many texts as messages, and no more`() {
  var outbox = Outbox(capacity: 5)
  for _ in 0..<5 { #expect(outbox.add("x".bytes) != nil) }
  #expect(outbox.add("x".bytes) == nil)
}

@Test func `large files leave room for small ones, and all for recipients`() {
  var outbox = Outbox(capacity: 80)
  var counts: [Int] = []
  let text = outbox.add("x".bytes)!
  while outbox.hasRoom {
    if outbox.hasRoom(for: .large) { counts = [outbox.count + 1] + counts.dropFirst() }
    if outbox.hasRoom(for: .small) { counts = [counts[0], outbox.count + 1] }
    _ = outbox.add(message: text)
  }
  #expect(counts == [50, 70])
  #expect(outbox.count == 80)
}

@Test func `few texts touch little memory`() {
  var outbox = Outbox(capacity: 8192)
  outbox.forEachBuffer { $0.initializeMemory(as: UInt8.self, repeating: 0) }
  let bytes = [UInt8](repeating: 7, count: 500)
  var waiting: [MessageNumber] = []
  for _ in 0..<10_000 {
    let text = outbox.add(bytes)!
    waiting.append(outbox.add(message: text))
    outbox.endReading(text)
    // The order of settling keeps the text at the end of the memory in use.
    if waiting.count == 4 { for _ in 0..<3 { outbox.remove(waiting.removeFirst()) } }
  }
  var touched = 0
  outbox.forEachBuffer { buffer in touched += buffer.count { $0 != 0 } }
  #expect(touched < 150_000)
}

@Test func `the buffers may be cleared while the outbox is empty`() {
  var outbox = Outbox(capacity: 8)
  let texts = (0..<3).map { outbox.add("\($0)".bytes)! }
  let messages = texts.map { outbox.add(message: $0) }
  for text in texts { outbox.endReading(text) }
  for message in messages { outbox.remove(message) }
  outbox.forEachBuffer { $0.initializeMemory(as: UInt8.self, repeating: 0) }
  let again = (3..<6).map { outbox.add("\($0)".bytes)! }
  let later = again.map { outbox.add(message: $0, in: .high) }
  #expect(again.map { outbox.bytes(of: $0) } == (3..<6).map { "\($0)".bytes })
  #expect(!later.contains(messages[0]))
  #expect(outbox.drain(.high) == later)
}

// MARK: - Lines

@Test func `what goes again comes first, then what is urgent, then the rest`() {
  var outbox = Outbox(capacity: 8)
  let text = outbox.add("x".bytes)!
  let low = outbox.add(message: text, in: .low)
  let high = outbox.add(message: text, in: .high)
  let next = outbox.add(message: text, in: .high)
  let again = outbox.add(message: text, in: .again)
  var order: [MessageNumber] = []
  while let message = outbox.nextToSend(in: .devices) {
    order.append(message)
    outbox.move(message, to: .link)
  }
  #expect(order == [again, high, next, low])
  #expect(outbox.waiting(in: .devices) == 0 && outbox.count == 4)
}

@Test func `messages that come back from the last on keep their order`() {
  var outbox = Outbox(capacity: 8)
  let text = outbox.add("x".bytes)!
  let messages = (0..<5).map { _ in outbox.add(message: text, in: .high) }
  #expect(outbox.drain(.high) == messages)
  for message in messages.reversed() { outbox.moveToFront(message, of: .again) }
  #expect(outbox.drain(.again) == messages)
}

@Test func `delayed messages go when they are due, behind others`() {
  var outbox = Outbox(capacity: 8)
  let text = outbox.add("x".bytes)!
  let messages = (0..<4).map { _ in outbox.add(message: text, in: .high) }
  #expect(outbox.drain(.high) == messages)
  for (message, until) in zip(messages, [300, 100, 200, 100]) {
    outbox.delay(message, until: at(UInt64(until)))
  }
  #expect(outbox.nextDueAt == at(100))
  outbox.releaseDelayed(at: at(99))
  #expect(outbox.nextToSend(in: .devices) == nil)
  let other = outbox.add(message: text, in: .high)
  outbox.releaseDelayed(at: at(100))
  #expect(outbox.drain(.high) == [other, messages[1], messages[3]])
  #expect(outbox.nextDueAt == at(200))
  outbox.releaseDelayed(at: at(300))
  #expect(outbox.drain(.high) == [messages[0], messages[2]])
  #expect(outbox.nextDueAt == nil)
}

@Test func `a decided message keeps its outcome`() {
  var outbox = Outbox(capacity: 8)
  let text = outbox.add("x".bytes)!
  let messages = (0..<2).map { _ in outbox.add(message: text, in: .link) }
  outbox[messages[0]].outcome = .rejected(Rejection(.invalidToken, code: 8))
  outbox[messages[1]].outcome = .superseded
  for message in messages { outbox.move(message, to: .decided) }
  #expect(outbox.nextToSend(in: .devices) == nil)
  #expect(outbox.count(in: .decided) == 2)
  #expect(
    outbox[outbox.first(in: .decided)!].outcome == .rejected(Rejection(.invalidToken, code: 8)))
  outbox.remove(messages[0])
  #expect(outbox[outbox.first(in: .decided)!].outcome == .superseded)
}

@Test func `only the messages of a text that wait are found`() {
  var outbox = Outbox(capacity: 8)
  let text = outbox.add("x".bytes)!
  let other = outbox.add("y".bytes)!
  _ = outbox.add(message: text, in: .link)
  _ = outbox.add(message: other, in: .high)
  let decided = outbox.add(message: text, in: .decided)
  #expect(outbox.firstWaiting(of: text) == nil)
  var expected: [MessageNumber] = []
  for line in [Outbox.Line.again, .high, .low] {
    expected.append(outbox.add(message: text, in: line))
  }
  var found: [MessageNumber] = []
  while let message = outbox.firstWaiting(of: text) {
    found.append(message)
    outbox.remove(message)
  }
  #expect(found == expected)
  outbox.remove(decided)
  #expect(outbox.firstWaiting(of: other) != nil)
}

@Test(arguments: 1...30)
func `each line behaves like an array`(seed: UInt64) {
  var random = Seeded(seed)
  let capacity = 1 + random.upTo(20)
  let kinds: [Outbox.Line] = [.again, .high, .low, .delayed, .decided, .link]
  var outbox = Outbox(capacity: capacity)
  let text = outbox.add("x".bytes)!
  var model: [[MessageNumber]] = Array(repeating: [], count: kinds.count)
  var seen: Set<UInt32> = []
  var all: [(line: Int, message: MessageNumber)] {
    model.indices.flatMap { line in model[line].map { (line, $0) } }
  }
  for _ in 0..<1000 {
    let line = random.upTo(kinds.count - 1)
    switch random.upTo(5) {
    case 0...1 where outbox.hasRoom:
      let message = outbox.add(message: text, in: kinds[line])
      model[line].append(message)
      #expect(seen.insert(message.rawValue).inserted, "SEED=\(seed): a number is used twice")
    case 2 where !all.isEmpty:
      let one = all[random.upTo(all.count - 1)]
      model[one.line].removeAll { $0 == one.message }
      outbox.remove(one.message)
    case 3...4 where !all.isEmpty:
      let one = all[random.upTo(all.count - 1)]
      model[one.line].removeAll { $0 == one.message }
      model[line].append(one.message)
      outbox.move(one.message, to: kinds[line])
    case 5 where !all.isEmpty && kinds[line] != .link:
      let one = all[random.upTo(all.count - 1)]
      model[one.line].removeAll { $0 == one.message }
      model[line].insert(one.message, at: 0)
      outbox.moveToFront(one.message, of: kinds[line])
    default: break
    }
    #expect(outbox.count == all.count)
    #expect(outbox.hasRoom == (all.count < capacity))
    for index in 0..<5 {
      #expect(outbox.count(in: kinds[index]) == model[index].count)
      #expect(outbox.first(in: kinds[index]) == model[index].first)
    }
    #expect(outbox.nextToSend(in: .devices) == (model[0] + model[1] + model[2]).first)
  }
  for index in 0..<5 { #expect(outbox.drain(kinds[index]) == model[index], "SEED=\(seed)") }
}
