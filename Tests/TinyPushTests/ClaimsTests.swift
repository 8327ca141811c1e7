import Testing

@testable import Simulation
@testable import TinyPush

private func name(_ claims: borrowing Claims, _ number: ClaimNumber) -> String {
  String(claims.name(number))
}

@Test func `a file leaves when it is read and settled, independent of other files`() {
  var claims = Claims(capacity: 4)
  var numbers: [ClaimNumber] = []
  for (index, name) in ["a", "bb", "ccc"].enumerated() {
    let number = claims.append(name.bytes.span, seenAt: UInt64(index))
    claims.identify(number, as: FileIdentity(inode: UInt64(index) + 1, changeTimeNs: 5))
    numbers.append(number)
  }
  #expect(claims.count == 3)
  #expect(claims[numbers[1]].cameAt == 1)
  #expect(claims[numbers[1]].identity == FileIdentity(inode: 2, changeTimeNs: 5))
  for number in numbers { claims.opened(number) }
  claims.opened(numbers[1])
  // One file settles before it is read to its end, one after.
  claims.settled(numbers[2], 1)
  #expect(claims.nextSettled == nil)
  claims.finish(numbers[2])
  #expect(claims.nextSettled == numbers[2])
  claims.finish(numbers[1])
  claims.settled(numbers[1], 1)
  #expect(claims.settledCount == 1)
  claims.settled(numbers[1], 1)
  #expect(claims.settledCount == 2)
  claims.removeSettled()
  #expect(claims.nextSettled == numbers[1])
  claims.removeSettled()
  #expect(claims.nextSettled == nil)
  #expect(claims.count == 1)
  #expect(name(claims, numbers[0]) == "a")
  #expect(claims.oldest { _ in true } == numbers[0])
}

@Test func `the weightiest decision is the fate of a file`() {
  var claims = Claims(capacity: 4)
  let number = claims.append("a".bytes.span, seenAt: 0)
  #expect(!claims[number].isKept)
  claims.decide(number, .movesToFailed)
  #expect(claims[number].fate == .movesToFailed && !claims[number].isKept)
  claims.decide(number, .changed)
  claims.decide(number, .stays)
  #expect(claims[number].fate == .changed && claims[number].isKept)
  claims.decide(number, .unrecorded)
  #expect(claims[number].fate == .unrecorded)
}

@Test func `a file stays if the sync of its record fails`() {
  var claims = Claims(capacity: 4)
  let first = claims.append("a".bytes.span, seenAt: 0)
  let second = claims.append("b".bytes.span, seenAt: 0)
  claims.recordUnsyncedRecord(first)
  claims.synced(true)
  claims.recordUnsyncedRecord(second)
  claims.synced(false)
  #expect(claims[first].fate == .leaves)
  #expect(claims[second].fate == .unrecorded)
}

@Test func `a name is followed by a NUL`() {
  var claims = Claims(capacity: 4)
  let longer = claims.append("second".bytes.span, seenAt: 0)
  claims.remove(longer)
  let number = claims.append("one".bytes.span, seenAt: 0)
  let terminated = claims.name(number).withUnsafeBufferPointer { $0.baseAddress![$0.count] == 0 }
  #expect(terminated)
}

@Test func `a removed claim is forgotten, and its number is not reused at once`() {
  var claims = Claims(capacity: 4)
  let first = claims.append("a".bytes.span, seenAt: 0)
  let number = claims.append("b".bytes.span, seenAt: 0)
  claims.identify(number, as: FileIdentity(inode: 9, changeTimeNs: 0))
  claims.remove(number)
  let isKnown = claims.contains(inode: 9)
  #expect(!isKnown)
  let next = claims.append("c".bytes.span, seenAt: 0)
  #expect(next != number)
  #expect(name(claims, next) == "c")
  #expect(name(claims, first) == "a")
}

@Test func `claims have room for no more files than their capacity`() {
  var claims = Claims(capacity: 3)
  var numbers: [ClaimNumber] = []
  for _ in 0..<3 {
    #expect(claims.hasRoom == true)
    numbers.append(claims.append("n".bytes.span, seenAt: 0))
  }
  #expect(claims.hasRoom == false)
  claims.remove(numbers[1])
  #expect(claims.hasRoom == true)
}

@Test func `names of usual length fit for all claims`() {
  var claims = Claims(capacity: 1000)
  let name = String(repeating: "n", count: 47)
  while claims.hasRoom { _ = claims.append(name.bytes.span, seenAt: 0) }
  #expect(claims.count == 1000)
}

@Test func `isUnderWay says whether a file of this age or an older one is under way`() {
  var claims = Claims(capacity: 4)
  let first = claims.append("a".bytes.span, seenAt: 0)
  let second = claims.append("b".bytes.span, seenAt: 0)
  let ages = (claims[first].age, claims[second].age)
  #expect(claims.isUnderWay(since: ages.0) == true)
  claims.remove(first)
  #expect(claims.isUnderWay(since: ages.0) == false)
  #expect(claims.isUnderWay(since: ages.1) == true)
  claims.remove(second)
  #expect(claims.isUnderWay(since: ages.1) == false)
}

@Test(arguments: 1...30)
func `claims behave like a table with a set of inodes and leave in any order`(seed: UInt64) {
  var random = Seeded(seed)
  let capacity = [1, 2, 7, 64, 300][random.upTo(4)]
  let longest = [3, 40, 254][random.upTo(2)]
  var claims = Claims(capacity: capacity)
  var model: [(number: ClaimNumber, name: String, inode: UInt64)] = []
  var settled: [ClaimNumber] = []
  var inodes: Set<UInt64> = []
  for step in 0..<2000 {
    switch random.upTo(9) {
    case 0...4 where claims.hasRoom:
      let name = String(
        (String(step) + String(repeating: "x", count: random.upTo(longest))).prefix(254))
      let number = claims.append(name.bytes.span, seenAt: 0)
      var inode = random.oneIn(3) ? random.next() | 1 : UInt64(1000 + random.upTo(400))
      if inodes.contains(inode) { inode = 0 }
      if inode != 0 {
        claims.identify(number, as: FileIdentity(inode: inode, changeTimeNs: 0))
        inodes.insert(inode)
      }
      model.append((number, name, inode))
    case 5...6 where !model.isEmpty:
      let index = random.upTo(model.count - 1)
      let number = model[index].number
      guard !settled.contains(number) else { continue }
      if random.oneIn(4) {
        claims.remove(number)
        inodes.remove(model.remove(at: index).inode)
      } else {
        claims.opened(number)
        claims.finish(number)
        claims.settled(number, 1)
        settled.append(number)
      }
    case 7...9 where !settled.isEmpty:
      #expect(claims.nextSettled == settled[0])
      let index = model.firstIndex { $0.number == settled[0] }!
      inodes.remove(model.remove(at: index).inode)
      settled.removeFirst()
      claims.removeSettled()
    default: break
    }
    #expect(claims.count == model.count)
    #expect(claims.settledCount == settled.count)
    #expect(claims.oldest { _ in true } == model.first?.number)
    guard step % 20 == 0 else { continue }
    for claim in model where name(claims, claim.number) != claim.name {
      Issue.record("SEED=\(seed): \(name(claims, claim.number)) instead of \(claim.name)")
    }
    for inode in UInt64(1000)...1400 {
      let isKnown = claims.contains(inode: inode)
      if isKnown != inodes.contains(inode) { Issue.record("SEED=\(seed): inode \(inode)") }
    }
  }
}

@Test func `the buffers may be cleared while no file is under way`() {
  var claims = Claims(capacity: 4)
  let before = (0..<3).map { claims.append("\($0)".bytes.span, seenAt: 0) }
  for number in before.reversed() { claims.remove(number) }
  claims.forEachBuffer { $0.initializeMemory(as: UInt8.self, repeating: 0) }
  let after = (3..<7).map { claims.append("\($0)".bytes.span, seenAt: 0) }
  #expect(after.map { name(claims, $0) } == ["3", "4", "5", "6"])
  #expect(!after.contains(before[0]))
}
