import Testing

@testable import Simulation
@testable import TinyPush

extension TakenFiles {
  fileprivate mutating func append(
    _ name: String, arrivalNs: Int64 = 7, offset: Int64 = 0, isReleased: Bool = false
  ) -> FileNumber {
    var path = PathName()
    path.set { $0.append(bytes: name.bytes.span) }
    let origin = Origin(arrivalNs: arrivalNs, hasWaited: isReleased)
    return append(path, arrivalNs: arrivalNs, origin, cameAt: 1, offset: offset)
  }

  fileprivate func string(_ number: FileNumber) -> String { String(name(number)) }

  /// Removes the file that was settled first, which must be this one.
  fileprivate mutating func remove(_ number: FileNumber) {
    finish(number)
    #expect(nextSettled == number)
    removeSettled()
  }
}

@Test func `a file leaves when it is read and settled, independent of other files`() {
  var files = TakenFiles(capacity: 4)
  let numbers = ["a", "bb", "ccc"].map { files.append($0) }
  #expect(files.count == 3)
  for number in numbers { files[number].open += 1 }
  files[numbers[1]].open += 1
  // One file settles before it is read to its end, one after.
  files.settled(numbers[2])
  #expect(files.nextSettled == nil)
  files.finish(numbers[2])
  #expect(files.nextSettled == numbers[2])
  files.finish(numbers[1])
  files.settled(numbers[1])
  #expect(files.settledCount == 1)
  files.settled(numbers[1])
  #expect(files.settledCount == 2)
  files.removeSettled()
  #expect(files.nextSettled == numbers[1])
  files.removeSettled()
  #expect(files.nextSettled == nil)
  #expect(files.count == 1)
  #expect(files.string(numbers[0]) == "a")
}

@Test func `files that were read in part take turns`() {
  var files = TakenFiles(capacity: 4)
  let numbers = ["a", "b", "c"].map { files.append($0) }
  for number in numbers { files.putUnread(number) }
  #expect(files.unreadCount == 3)
  var turns: [String] = []
  for _ in 0..<6 {
    let number = files.takeUnread()!
    turns.append(files.string(number))
    files.putUnread(number)
  }
  #expect(turns == ["a", "b", "c", "a", "b", "c"])
  _ = files.takeUnread()
  let isSecond = files.takeUnread() == numbers[1]
  #expect(isSecond)
  #expect(files.unreadCount == 1)
}

@Test func `a file that waits has no turn until the waits end`() {
  var files = TakenFiles(capacity: 4)
  let numbers = ["a", "b", "c"].map { files.append($0) }
  files[numbers[2]].isWaiting = true
  files[numbers[0]].isWaiting = true
  var turn = files.takeUnread()
  #expect(turn == nil)
  files.endWaits()
  turn = files.takeUnread()
  #expect(turn == numbers[0])
  turn = files.takeUnread()
  #expect(turn == numbers[2])
  files.endWaits()
  #expect(files.unreadCount == 0)
}

@Test func `a file that cannot be removed is set aside until the next try`() {
  var files = TakenFiles(capacity: 4)
  let numbers = ["a", "b"].map { files.append($0) }
  for number in numbers { files.finish(number) }
  files.setSettledAside()
  #expect(files.nextSettled == numbers[1])
  files.setSettledAside()
  #expect(files.nextSettled == nil && files.count == 2)
  files.retryStuck()
  #expect(files.settledCount == 2 && files.nextSettled == numbers[0])
  files.removeSettled()
  files.removeSettled()
  files.retryStuck()
  #expect(files.settledCount == 0 && files.isEmpty)
}

@Test func `the weightiest decision is the fate of a file`() {
  var files = TakenFiles(capacity: 4)
  let number = files.append("a")
  files.couldNotRecord(number, at: 50)
  files.couldNotRecord(number, at: 20)
  files.couldNotRecord(number, at: 30)
  files.decide(number, .leaves)
  #expect(files[number].fate == .unrecorded)
  #expect(files[number].unrecordedFrom == 20)
  files.decide(number, .isGone)
  #expect(files[number].fate == .isGone)
}

@Test func `a file stays if the sync of its record fails, and is read again from its settled part`()
{
  var files = TakenFiles(capacity: 4)
  let first = files.append("a")
  let second = files.append("b", offset: 40)
  files[first].hasUnsyncedRecord = true
  files.synced(true)
  files[second].hasUnsyncedRecord = true
  files.synced(false)
  files.synced(false)
  #expect(files[first].fate == .leaves)
  #expect(files[second].fate == .unrecorded)
  #expect(files[second].unrecordedFrom == 40)
}

@Test func `a file has a name in taken/ that shows when it came and how far it is settled`() {
  var files = TakenFiles(capacity: 4)
  let plain = files.append("a@3.4", arrivalNs: 1_700_000_000_123_456_789)
  let released = files.append("b", arrivalNs: 12, offset: 99, isReleased: true)
  let names = [
    text { files.appendTakenName(plain, to: &$0) },
    text { files.appendTakenName(plain, offset: 70_000, to: &$0) },
    text { files.appendTakenName(released, to: &$0) },
  ]
  #expect(
    names == [
      "a@3.4@1700000000123456789.0", "a@3.4@1700000000123456789.70000", "b+12.99",
    ])
  // The file is known by any offset.
  for (name, isKnown) in [
    (names[0], true), (names[1], true), (names[2], true), ("b+12.0", true), ("b+13.0", false),
    ("c+12.0", false), ("a@3.4", false), ("a", false), ("", false),
  ] {
    let found = files.find(name.bytes.span) != nil
    #expect(found == isKnown, "\(name)")
  }
  files.finish(plain)
  files.removeSettled()
  let isKnown = files.find(names[0].bytes.span) != nil
  #expect(!isKnown)
}

@Test func `a name is followed by a NUL`() {
  var files = TakenFiles(capacity: 4)
  files.remove(files.append("second"))
  let number = files.append("one")
  let terminated = files.name(number).withUnsafeBufferPointer { $0.baseAddress![$0.count] == 0 }
  #expect(terminated)
}

@Test func `the number of a file that has left is not used again at once`() {
  var files = TakenFiles(capacity: 4)
  let first = files.append("a")
  let number = files.append("b")
  files.remove(number)
  let next = files.append("c")
  #expect(next != number)
  #expect(files.string(next) == "c")
  #expect(files.string(first) == "a")
}

@Test func `there is room for no more files than the capacity`() {
  var files = TakenFiles(capacity: 3)
  var numbers: [FileNumber] = []
  for _ in 0..<3 {
    #expect(files.hasRoom == true)
    numbers.append(files.append("n"))
  }
  #expect(files.hasRoom == false)
  files.remove(numbers[1])
  #expect(files.hasRoom == true)
}

@Test func `names of usual length fit for all files`() {
  var files = TakenFiles(capacity: 1000)
  let name = String(repeating: "n", count: 47)
  while files.hasRoom { _ = files.append(name) }
  #expect(files.count == 1000)
}

@Test(arguments: 1...30)
func `taken files behave like a table, and leave in the order in which they settle`(seed: UInt64) {
  var random = Seeded(seed)
  let capacity = [1, 2, 7, 64, 300][random.upTo(4)]
  let longest = [3, 40, 254][random.upTo(2)]
  var files = TakenFiles(capacity: capacity)
  var model: [(number: FileNumber, name: String)] = []
  var settled: [FileNumber] = []
  var unread: [FileNumber] = []
  for step in 0..<2000 {
    switch random.upTo(9) {
    case 0...4 where files.hasRoom:
      let name = String(step) + String(repeating: "x", count: random.upTo(longest))
      let number = files.append(name)
      // A longer name is cut.
      model.append((number, String(name.prefix(TakenName.nameBytesMax))))
      if random.oneIn(2) {
        files.putUnread(number)
        unread.append(number)
      }
    case 5 where !unread.isEmpty:
      let number = files.takeUnread()
      #expect(number == unread.removeFirst())
    case 6 where !model.isEmpty:
      let number = model[random.upTo(model.count - 1)].number
      guard !settled.contains(number), !unread.contains(number) else { continue }
      files[number].open += 1
      files.finish(number)
      files.settled(number)
      settled.append(number)
    case 7...9 where !settled.isEmpty:
      #expect(files.nextSettled == settled[0])
      model.remove(at: model.firstIndex { $0.number == settled[0] }!)
      settled.removeFirst()
      files.removeSettled()
    default: break
    }
    #expect(files.count == model.count)
    #expect(files.settledCount == settled.count)
    #expect(files.unreadCount == unread.count)
    guard step % 20 == 0 else { continue }
    var numbers: Set<UInt32> = []
    files.forEach { numbers.insert($0.rawValue) }
    #expect(numbers == Set(model.map(\.number.rawValue)), "SEED=\(seed)")
    for file in model where files.string(file.number) != file.name {
      Issue.record("SEED=\(seed): \(files.string(file.number)) instead of \(file.name)")
    }
  }
}

@Test func `the buffers may be cleared while no file is taken`() {
  var files = TakenFiles(capacity: 4)
  let before = (0..<3).map { files.append("\($0)") }
  for number in before.reversed() { files.remove(number) }
  files.forEachBuffer { $0.initializeMemory(as: UInt8.self, repeating: 0) }
  let after = (3..<7).map { files.append("\($0)") }
  #expect(after.map { files.string($0) } == ["3", "4", "5", "6"])
  #expect(!after.contains(before[0]))
}

// MARK: - Names

private func parts(_ name: String) -> [String]? {
  guard let known = TakenName(name.bytes.span) else { return nil }
  return [
    String(name.bytes.span.extracting(0..<known.nameBytes)), "\(known.arrivalNs)",
    "\(known.offset)", known.isReleased ? "released" : "taken",
  ]
}

@Test(arguments: [
  "a", "a@", "@", "@1.2", "a@1.2", "a@1.2@3.4", "1", "12.34", "a+5.6", "+", "a.0123456789abcdef",
  "ä@b", "a@1.2.wait", "1767225600.000000001.1.wait", " ", "a b\n",
])
func `a name in taken/ can be read back`(name: String) {
  for arrival in [0, 1, 1_700_000_000_000_000_000, Int64.max] {
    for offset in [0, 9, 1 << 40, Int64.max] {
      for isReleased in [false, true] {
        let taken = text {
          TakenName.append(
            name.bytes.span, arrivalNs: arrival, offset: offset, isReleased: isReleased, to: &$0)
        }
        #expect(
          parts(taken) == [name, "\(arrival)", "\(offset)", isReleased ? "released" : "taken"])
        #expect(String(TakenName.source(of: taken.bytes.span)) == name)
      }
    }
  }
}

@Test func `the longest name in taken/ is a file name, and can be read back`() {
  let name = String(repeating: "n", count: 255)
  let taken = text {
    TakenName.append(name.bytes.span, arrivalNs: .max, offset: .max, isReleased: true, to: &$0)
  }
  #expect(taken.utf8.count <= 255)
  #expect(
    parts(taken) == [
      String(name.prefix(TakenName.nameBytesMax)), "\(Int64.max)", "\(Int64.max)", "released",
    ])
}

@Test func `a time before 1970 is written as 1970`() {
  let taken = text { TakenName.append("a".bytes.span, arrivalNs: -5, to: &$0) }
  #expect(taken == "a@0.0")
}

@Test(arguments: [
  "", "a", "@", "@1.2", "+1.2", "a@", "a@.", "a@1", "a@1.", "a@.1", "a1.2", "a@-1.2", "a@1.-2",
  "a@ 1.2", "a@1.2 ", "a@1.2.tmp", "a@0x1.2", "a@1,2", "a@1.99999999999999999999",
  "a@9223372036854775808.0", "a@1.9223372036854775808", "a@1.18446744073709551617",
  "a@00000000000000000001.0", ".", "..", "a@١.٢",
])
func `a name that the agent did not give is not read`(name: String) {
  #expect(parts(name) == nil)
  #expect(String(TakenName.source(of: name.bytes.span)) == name)
}

@Test(arguments: 1...20)
func `no bytes in a name stop the reading of names`(seed: UInt64) {
  var random = Seeded(seed)
  let alphabet = [UInt8]("@+.0123456789a\u{0}\u{FF}".utf8)
  for _ in 0..<500 {
    let bytes = (0..<random.upTo(60)).map { _ in alphabet[random.upTo(alphabet.count - 1)] }
    guard let known = TakenName(bytes.span) else { continue }
    // What is read is what is written, but for zeros in front.
    var again = Text(capacity: 300)
    TakenName.append(
      bytes.span.extracting(0..<known.nameBytes), arrivalNs: known.arrivalNs, offset: known.offset,
      isReleased: known.isReleased, to: &again)
    let read = TakenName(again.bytes)
    #expect(read?.nameBytes == known.nameBytes && read?.arrivalNs == known.arrivalNs)
    #expect(read?.offset == known.offset && read?.isReleased == known.isReleased)
  }
}
