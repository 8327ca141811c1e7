import Testing

@testable import Simulation
@testable import TinyPush

/// Takes all names, smallest first.
private func drain(_ backlog: inout Backlog) -> [String] {
  var names: [String] = []
  while !backlog.isEmpty {
    backlog.putInOrder()
    names.append(String(backlog.smallest()))
    backlog.removeSmallest()
  }
  return names
}

private func offer(_ names: [String], to backlog: inout Backlog) {
  for name in names { backlog.offer(name.bytes.span) }
}

/// Sorts by bytes, as the backlog does; `String` would sort by characters.
private func sorted(_ names: [String]) -> [String] {
  names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
}

@Test(arguments: 1...20)
func `names come out sorted for any order of insertion`(seed: UInt64) {
  var random = Seeded(seed)
  let names = (0..<random.upTo(1500)).map { _ in
    String(repeating: "ä", count: random.upTo(3)) + String(random.upTo(100_000), radix: 36)
  }
  var backlog = Backlog()
  backlog.startScan(isFromStart: true)
  offer(names, to: &backlog)
  #expect(backlog.isComplete == true)
  #expect(drain(&backlog) == sorted(Array(Set(names))))
}

@Test func `names offered in ascending or descending order come out sorted`() {
  let names = (0..<Backlog.namesMax).map { String(10_000 + $0) }
  for offered in [names, names.reversed()] {
    var backlog = Backlog()
    backlog.startScan(isFromStart: true)
    offer(offered, to: &backlog)
    #expect(backlog.isComplete == true)
    #expect(drain(&backlog) == names)
  }
}

@Test func `names sort by bytes, and a prefix comes first`() {
  var backlog = Backlog()
  backlog.startScan(isFromStart: true)
  offer(["b", "ab", "a", "abc", "é", "~", "B", "a b"], to: &backlog)
  #expect(drain(&backlog) == ["B", "a", "a b", "ab", "abc", "b", "~", "é"])
}

@Test func `a name offered before the first scan is ignored, since the scan will find it`() {
  var backlog = Backlog()
  offer(["a"], to: &backlog)
  #expect(backlog.isEmpty == true)
  #expect(backlog.isComplete == false)
}

@Test func `a name offered again while it waits is taken once`() {
  var backlog = Backlog()
  backlog.startScan(isFromStart: true)
  offer(["b", "a", "b", "a", "b"], to: &backlog)
  #expect(drain(&backlog) == ["a", "b"])
  offer(["a"], to: &backlog)
  #expect(drain(&backlog) == ["a"])
}

@Test func `a scan from the start drops the earlier names`() {
  var backlog = Backlog()
  backlog.startScan(isFromStart: true)
  offer(["a", "b"], to: &backlog)
  backlog.startScan(isFromStart: true)
  offer(["b", "c"], to: &backlog)
  #expect(drain(&backlog) == ["b", "c"])
}

@Test func `empty names and names over 255 bytes are ignored`() {
  var backlog = Backlog()
  backlog.startScan(isFromStart: true)
  let longest = String(repeating: "n", count: 255)
  offer(["", longest + "n", longest], to: &backlog)
  #expect(drain(&backlog) == [longest])
}

/// Scans until all names are taken, as the courier does; returns the names and the number of scans.
private func scanAll(_ names: [String]) -> (names: [String], scans: Int) {
  var backlog = Backlog()
  var left = Set(names)
  var taken: [String] = []
  var scans = 0
  repeat {
    backlog.startScan(isFromStart: scans == 0)
    scans += 1
    // The order of a set differs in each run, and must not matter.
    for name in left { backlog.offer(name.bytes.span) }
    while !backlog.isEmpty {
      backlog.putInOrder()
      taken.append(String(backlog.smallest()))
      left.remove(taken.last!)
      backlog.removeSmallest()
    }
    #expect(backlog.isComplete == left.isEmpty)
  } while !backlog.isComplete && scans < 1000
  return (taken, scans)
}

@Test func `more names than fit come in order over several scans`() {
  let names = (0..<5 * Backlog.namesMax).map { String(100_000 + $0) }
  let (taken, scans) = scanAll(names)
  #expect(taken == names)
  #expect(scans <= 1 + names.count / (Backlog.namesMax / 2))
}

@Test func `the bytes of long names are limited`() {
  let head = String(repeating: "x", count: 250)
  let names = (0..<3000).map { head + String(10_000 + $0) }
  let (taken, scans) = scanAll(names)
  #expect(taken == names)
  #expect(scans > names.count * 256 / Backlog.nameBytesMax && scans <= 7)
}

@Test(arguments: 1...5)
func `offers between, above and below the held names cause no disorder and no loss`(seed: UInt64) {
  var random = Seeded(seed)
  var backlog = Backlog()
  let count = Backlog.namesMax * 3 / 2
  var directory = Set((0..<count).map { String(1_000_000 + 37 * $0) })
  backlog.startScan(isFromStart: true)
  for name in directory { backlog.offer(name.bytes.span) }
  var scans = 1
  var steps = 0
  var previous: String?
  while !directory.isEmpty || !backlog.isEmpty {
    steps += 1
    for _ in 0..<(steps < 3000 && random.oneIn(60) ? 30 : 0) {
      let name = String(1_000_000 + random.upTo(37 * count))
      directory.insert(name)
      backlog.offer(name.bytes.span, isFromScan: false)
      if previous.map({ name < $0 }) ?? false { previous = nil }
    }
    if backlog.isEmpty {
      guard !backlog.isComplete else { break }
      backlog.startScan(isFromStart: false)
      scans += 1
      for name in directory { backlog.offer(name.bytes.span) }
    }
    backlog.putInOrder()
    let name = String(backlog.smallest())
    backlog.removeSmallest()
    if let previous, name <= previous { Issue.record("SEED=\(seed): \(name) after \(previous)") }
    previous = name
    // One that was taken and offered again is not there any more when it is opened.
    directory.remove(name)
  }
  #expect(directory.isEmpty, "SEED=\(seed)")
  #expect(scans < 10)
}

@Test func `files that stay where they are do not keep those behind them from their turn`() {
  let names = (0..<Backlog.namesMax * 5 / 2).map { String(100_000 + $0) }
  var backlog = Backlog()
  var seen: Set<String> = []
  var scans = 0
  repeat {
    backlog.startScan(isFromStart: scans == 0)
    scans += 1
    offer(names, to: &backlog)
    seen.formUnion(drain(&backlog))
  } while !backlog.isComplete && scans < 100
  #expect(seen.count == names.count)
  #expect(scans <= 5)
  backlog.startScan(isFromStart: false)
  offer(["1"], to: &backlog)
  #expect(drain(&backlog) == ["1"], "after the end, a scan begins from the start")
}

@Test func `a name reported during a later scan is taken even if it is small`() {
  var backlog = Backlog()
  backlog.startScan(isFromStart: true)
  offer((0..<Backlog.namesMax * 3 / 2).map { String(100_000 + $0) }, to: &backlog)
  _ = drain(&backlog)
  #expect(backlog.isComplete == false)
  backlog.startScan(isFromStart: false)
  offer(["0"], to: &backlog)
  backlog.offer("00".bytes.span, isFromScan: false)
  #expect(drain(&backlog) == ["00"])
}

@Test func `a file counts as complete only if each offer of its name says so`() {
  var backlog = Backlog()
  backlog.startScan()
  for (name, cameWhole) in [("b", true), ("a", true), ("c", false), ("b", false), ("a", true)] {
    backlog.offer(name.bytes.span, cameWhole: cameWhole)
  }
  var found: [String] = []
  while !backlog.isEmpty {
    backlog.putInOrder()
    found.append(String(backlog.smallest()) + (backlog.smallestCameWhole ? " whole" : ""))
    backlog.removeSmallest()
  }
  #expect(found == ["a whole", "b", "c"])
}

@Test(arguments: [
  ("1767225600.000000001.1", true), ("1767225600.123456789.4194304", true),
  ("1767225600.123456789.", false), ("1767225600.12345678.12345", false),
  ("176722560.123456789.12345", false), ("1767225600.123456789.12x", false),
  ("alarm.json", false), ("", false),
])
func `names made by send are recognized`(name: String, isOne: Bool) {
  #expect(SpoolName.isFromSend(name.bytes.span) == isOne)
}
