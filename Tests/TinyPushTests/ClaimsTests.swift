import Testing

@testable import Simulation
@testable import TinyPush

@Test func `claims leave in the order in which they came`() {
  var claims = Claims(capacity: 4)
  for (index, name) in ["a", "bb", "ccc"].enumerated() {
    let number = claims.append(name.bytes.span, seenAt: UInt64(index))
    #expect(number == UInt32(index))
    claims.identify(number, as: FileIdentity(inode: UInt64(index) + 1, changeTimeNs: 5))
  }
  #expect(claims.count == 3)
  #expect(String(claims.name(claims.first)) == "a")
  #expect(claims[1].seenAt == 1)
  #expect(claims[1].identity == FileIdentity(inode: 2, changeTimeNs: 5))
  claims.removeFirst()
  #expect(String(claims.name(claims.first)) == "bb")
  claims.keep(2)
  #expect(claims[2].isKept && !claims[1].isKept)
}

@Test func `a name is followed by a NUL`() {
  var claims = Claims(capacity: 4)
  _ = claims.append("second".bytes.span, seenAt: 0)
  claims.removeFirst()
  let number = claims.append("one".bytes.span, seenAt: 0)
  let terminated = claims.name(number).withUnsafeBufferPointer { $0.baseAddress![$0.count] == 0 }
  #expect(terminated)
}

@Test func `the newest claim can be taken back, and its number is given again`() {
  var claims = Claims(capacity: 4)
  _ = claims.append("a".bytes.span, seenAt: 0)
  let number = claims.append("b".bytes.span, seenAt: 0)
  claims.identify(number, as: FileIdentity(inode: 9, changeTimeNs: 0))
  claims.removeLast()
  let isKnown = claims.contains(inode: 9)
  #expect(!isKnown)
  #expect(claims.append("c".bytes.span, seenAt: 0) == number)
  #expect(String(claims.name(number)) == "c")
  #expect(String(claims.name(claims.first)) == "a")
}

@Test func `no more are taken than the capacity`() {
  var claims = Claims(capacity: 3)
  for _ in 0..<3 {
    #expect(claims.hasRoom == true)
    _ = claims.append("n".bytes.span, seenAt: 0)
  }
  #expect(claims.hasRoom == false)
  claims.removeFirst()
  #expect(claims.hasRoom == true)
}

/// 1280 bytes of names: five of the longest with their NULs.
@Test func `names that fill the ring to the byte do not run into each other`() {
  var claims = Claims(capacity: 16)
  func name(_ number: Int) -> String { String(repeating: "n", count: 253) + String(10 + number) }
  var expected: [String] = []
  var number = 0
  for _ in 0..<40 {
    while claims.hasRoom {
      expected.append(name(number % 90))
      _ = claims.append(expected.last!.bytes.span, seenAt: 0)
      number += 1
      guard expected.count <= 5 else {
        Issue.record("a sixth name has no room, and yet there is said to be some")
        return
      }
    }
    for (index, name) in expected.enumerated() {
      #expect(String(claims.name(claims.first &+ UInt32(index))) == name)
    }
    for _ in 0..<2 where !expected.isEmpty {
      claims.removeFirst()
      expected.removeFirst()
    }
  }
}

@Test(arguments: 1...30)
func `claims behave as a queue with a set of inodes`(seed: UInt64) {
  var random = Seeded(seed)
  let capacity = [1, 2, 7, 64, 300][random.upTo(4)]
  let longest = [3, 40, 254][random.upTo(2)]
  var claims = Claims(capacity: capacity)
  var model: [(name: String, inode: UInt64)] = []
  var inodes: Set<UInt64> = []
  for step in 0..<2000 {
    switch random.upTo(9) {
    case 0...5 where claims.hasRoom:
      let name = String(step) + String(repeating: "x", count: random.upTo(longest))
      let number = claims.append(String(name.prefix(254)).bytes.span, seenAt: 0)
      var inode = random.oneIn(3) ? random.next() | 1 : UInt64(1000 + random.upTo(400))
      if inodes.contains(inode) { inode = 0 }
      if inode != 0 {
        claims.identify(number, as: FileIdentity(inode: inode, changeTimeNs: 0))
        inodes.insert(inode)
      }
      model.append((String(name.prefix(254)), inode))
    case 6 where !model.isEmpty:
      claims.removeLast()
      inodes.remove(model.removeLast().inode)
    case 6...9 where !model.isEmpty:
      claims.removeFirst()
      inodes.remove(model.removeFirst().inode)
    default: break
    }
    #expect(claims.count == model.count)
    if step % 20 == 0 {
      for (index, claim) in model.enumerated() {
        let name = String(claims.name(claims.first &+ UInt32(index)))
        if name != claim.name { Issue.record("SEED=\(seed): \(name) instead of \(claim.name)") }
      }
      for inode in UInt64(1000)...1400 {
        let isKnown = claims.contains(inode: inode)
        if isKnown != inodes.contains(inode) { Issue.record("SEED=\(seed): inode \(inode)") }
      }
      for inode in inodes {
        let isKnown = claims.contains(inode: inode)
        if !isKnown { Issue.record("SEED=\(seed): inode \(inode) forgotten") }
      }
    }
  }
}

@Test func `as many names of usual length fit as there may be claims`() {
  var claims = Claims(capacity: 1000)
  let name = String(repeating: "n", count: 47)
  while claims.hasRoom { _ = claims.append(name.bytes.span, seenAt: 0) }
  #expect(claims.count == 1000)
}
