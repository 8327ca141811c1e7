import Testing

@testable import Simulation
@testable import TinyPush

/// A recipients file on a disk, which somebody may replace between two reads.
private struct Reading: ~Copyable {
  var recipientsReader = RecipientsReader()
  var bytes: [UInt8]
  var inode: UInt64 = 1
  /// The most bytes of a read.
  var readMax = Int.max
  private(set) var reads = 0
  /// Runs before each read, with the number of reads before.
  var beforeRead: (Int, inout Reading) -> Void = { _, _ in }

  init(_ text: String) {
    bytes = text.bytes
    recipientsReader.begin("family".bytes.span, at: RecipientsReader.Place(), isFresh: false)
  }

  mutating func replace(by text: String) {
    bytes = text.bytes
    inode += 1
  }

  mutating func read() {
    let act = beforeRead
    act(reads, &self)
    reads += 1
    let offset = min(Int(recipientsReader.readOffset), bytes.count)
    let room = recipientsReader.room
    let count = min(room.count, bytes.count - offset, readMax)
    _ = room.update(fromContentsOf: bytes[offset..<offset + count])
    recipientsReader.filled(
      FileIdentity(inode: inode, changeTimeNs: 1, size: Int64(bytes.count)), bytes: count,
      isWhole: offset + count == bytes.count)
  }

  /// Returns the next entry in words; nil at the end.
  mutating func next() -> String? {
    while true {
      switch recipientsReader.next(for: .http2) {
      case .more: read()
      case .end: return nil
      case .recipient(let recipient):
        let digits = text { $0.append(hex: recipient.token.bytes) }
        let line = recipientsReader.line
        recipientsReader.pass()
        return "\(line): \(Int(digits, radix: 16)!)"
      case .wrong(let problem):
        let line = recipientsReader.line
        recipientsReader.pass()
        return "\(line): \(problem)"
      }
    }
  }

  mutating func rest() -> [String] {
    var entries: [String] = []
    while let entry = next() {
      entries.append(entry)
      guard entries.count < 10_000 else { break }
    }
    return entries
  }
}

private func lines(_ numbers: ClosedRange<Int>) -> String {
  numbers.map { World.token($0) + "\n" }.joined()
}

@Test(arguments: [Int.max, 1000, 65, 64, 7])
func `each line of a recipients file is an entry`(readMax: Int) {
  var reading = Reading(
    "# family\n\n" + lines(1...3) + "bad\n  " + World.token(4) + " lang=de # x\r\n" + World.token(5)
  )
  reading.readMax = readMax
  let entries = reading.rest()
  #expect(
    entries.map { $0.hasPrefix("6: line(") ? "6: wrong" : $0 }
      == ["3: 1", "4: 2", "5: 3", "6: wrong", "7: 4", "8: 5"])
}

@Test func `a file larger than the buffer is read in parts`() {
  var reading = Reading(lines(1...3000))
  #expect(reading.rest() == (1...3000).map { "\($0): \($0)" })
  #expect(reading.reads >= 6 && reading.reads < 12)
}

@Test(arguments: ["", "\n", "# nobody\n", " \t\r\n\n"])
func `a file without a recipient is a problem, once`(text: String) {
  var reading = Reading(text)
  let entries = reading.rest()
  #expect(entries.count == 1)
  #expect(entries.first?.hasSuffix("empty") == true)
}

@Test(arguments: [2049, 5000, 32_768, 32_769, 200_000])
func `a line that is too long is a problem, once, and the lines behind it are read`(bytes: Int) {
  var reading = Reading(
    lines(1...2) + String(repeating: "1", count: bytes) + "\n" + lines(4...5))
  let entries = reading.rest()
  #expect(entries.count == 5)
  #expect(entries[2] == "3: line(TinyPush.RecipientsFile.Problem.tooLong)")
  #expect(Array(entries[..<2] + entries[3...]) == ["1: 1", "2: 2", "4: 4", "5: 5"])
}

@Test func `a failure is the only entry`() {
  var reading = Reading("")
  reading.recipientsReader.failed(.vanished)
  #expect(reading.rest() == ["1: unreadable(TinyPush.OpenFailure.vanished)"])
}

@Test func `a failure in the middle is the last entry`() {
  var reading = Reading(lines(1...2000))
  for _ in 0..<100 { _ = reading.next() }
  reading.recipientsReader.failed(.unreadable(5))
  let entries = reading.rest()
  #expect(entries.count == 1)
  #expect(entries.first?.hasPrefix("101: unreadable(") == true)
}

@Test func `a file that is replaced while it is read is read again from its start`() {
  var reading = Reading(lines(1...1000))
  for _ in 0..<100 { _ = reading.next() }
  reading.beforeRead = { reads, reading in if reads == 1 { reading.replace(by: lines(2001...2900)) }
  }
  let entries = reading.rest()
  // What was in the buffer is read to its end.
  let first = entries.firstIndex { $0.hasSuffix(": 2001") }!
  #expect(
    entries[..<first].allSatisfy { $0 == "\($0.prefix { $0 != ":" }): \($0.prefix { $0 != ":" })" })
  #expect(entries[first...] == (1...900).map { "\($0): \(2000 + $0)" }[...])
}

@Test func `a file that is replaced all the time is read on after three starts`() {
  var reading = Reading(lines(1...1000))
  // Each read finds another file of the same length.
  reading.beforeRead = { reads, reading in
    if reads > 0 { reading.replace(by: lines(1...1000)) }
  }
  let entries = reading.rest()
  #expect(entries.last == "1000: 1000")
  #expect(entries.count { $0 == "1: 1" } == 4)
  #expect(entries.count < 4000)
}

@Test func `a file that is replaced all the time is read on after three starts, in several turns`()
{
  var reading = Reading(lines(1...1000))
  reading.beforeRead = { reads, reading in
    if reads > 0 { reading.replace(by: lines(1...1000)) }
  }
  var entries: [String] = []
  while let entry = reading.next(), entries.count < 10_000 {
    entries.append(entry)
    guard entries.count % 32 == 0 else { continue }
    // Another notification goes to another file meanwhile.
    let place = reading.recipientsReader.present
    reading.recipientsReader.begin("other".bytes.span, at: RecipientsReader.Place(), isFresh: false)
    reading.recipientsReader.begin("family".bytes.span, at: place, isFresh: false)
  }
  #expect(entries.last == "1000: 1000")
  #expect(entries.count { $0 == "1: 1" } == 4)
}

@Test func `a file that became shorter ends`() {
  var reading = Reading(lines(1...1000))
  for _ in 0..<100 { _ = reading.next() }
  reading.beforeRead = { _, reading in reading.replace(by: lines(1...3)) }
  #expect(Array(reading.rest().suffix(3)) == ["1: 1", "2: 2", "3: 3"])
}

@Test(arguments: [Int.max, 1000])
func `reading goes on at a place`(readMax: Int) {
  var reading = Reading("#\n" + lines(1...1000))
  reading.readMax = readMax
  for number in 1...700 {
    #expect(reading.next() == "\(number + 1): \(number)")
    guard number % 100 == 0 else { continue }
    let place = reading.recipientsReader.present
    // Another recipients file is read meanwhile.
    reading.recipientsReader.begin("other".bytes.span, at: RecipientsReader.Place(), isFresh: true)
    _ = reading.recipientsReader.next(for: .http2)
    reading.recipientsReader.begin("family".bytes.span, at: place, isFresh: true)
  }
  #expect(reading.next() == "702: 701")
}

@Test func `a file that was replaced before reading goes on is read from its start`() {
  var reading = Reading(lines(1...1000))
  for _ in 1...700 { _ = reading.next() }
  let place = reading.recipientsReader.present
  reading.replace(by: lines(5001...5003))
  reading.recipientsReader.begin("family".bytes.span, at: place, isFresh: false)
  #expect(reading.rest() == ["1: 5001", "2: 5002", "3: 5003"])
}

@Test func `the text of a recipients file is used again for the same spool file only`() {
  var reading = Reading(lines(1...3))
  #expect(reading.rest().count == 3)
  reading.recipientsReader.begin("family".bytes.span, at: RecipientsReader.Place(), isFresh: true)
  #expect(reading.rest().count == 3)
  #expect(reading.reads == 1)
  reading.replace(by: lines(1...4))
  reading.recipientsReader.begin("family".bytes.span, at: RecipientsReader.Place(), isFresh: false)
  #expect(reading.rest().count == 4)
  #expect(reading.reads == 2)
  reading.recipientsReader.forget()
  reading.recipientsReader.begin("family".bytes.span, at: RecipientsReader.Place(), isFresh: true)
  #expect(reading.rest().count == 4)
  #expect(reading.reads == 3)
}
