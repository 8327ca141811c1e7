import Testing

@testable import Simulation
@testable import TinyPush

/// Takes all names that are there.
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

/// By bytes, as names sort, where `String` would sort by characters.
private func sorted(_ names: [String]) -> [String] {
  names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
}

@Test(arguments: 1...20)
func `names come out sorted, whatever the order they went in`(seed: UInt64) {
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

@Test func `names that already come sorted, or backwards, stay so`() {
  let names = (0..<Backlog.namesMax).map { String(10_000 + $0) }
  for offered in [names, names.reversed()] {
    var backlog = Backlog()
    backlog.startScan(isFromStart: true)
    offer(offered, to: &backlog)
    #expect(backlog.isComplete == true)
    #expect(drain(&backlog) == names)
  }
}

@Test func `a name that begins another one comes first, and bytes count, not characters`() {
  var backlog = Backlog()
  backlog.startScan(isFromStart: true)
  offer(["b", "ab", "a", "abc", "é", "~", "B", "a b"], to: &backlog)
  #expect(drain(&backlog) == ["B", "a", "a b", "ab", "abc", "b", "~", "é"])
}

@Test func `before the first scan nothing is taken, since the scan will find it`() {
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

@Test func `a scan begins from nothing`() {
  var backlog = Backlog()
  backlog.startScan(isFromStart: true)
  offer(["a", "b"], to: &backlog)
  backlog.startScan(isFromStart: true)
  offer(["b", "c"], to: &backlog)
  #expect(drain(&backlog) == ["b", "c"])
}

@Test func `names of no bytes or too many are passed over, and 255 is not too many`() {
  var backlog = Backlog()
  backlog.startScan(isFromStart: true)
  let longest = String(repeating: "n", count: 255)
  offer(["", longest + "n", longest], to: &backlog)
  #expect(drain(&backlog) == [longest])
}

/// Scans until all is taken, as the courier does; returns what came out and how many scans that took.
private func scanAll(_ names: [String]) -> (names: [String], scans: Int) {
  var backlog = Backlog()
  var left = Set(names)
  var taken: [String] = []
  var scans = 0
  repeat {
    backlog.startScan(isFromStart: scans == 0)
    scans += 1
    // A set's order changes from run to run, and must not matter.
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

@Test func `long names are bounded by their bytes`() {
  let head = String(repeating: "x", count: 250)
  let names = (0..<3000).map { head + String(10_000 + $0) }
  let (taken, scans) = scanAll(names)
  #expect(taken == names)
  #expect(scans > names.count * 256 / Backlog.nameBytesMax && scans <= 7)
}

@Test(arguments: 1...5)
func `offers between, beyond and below what is kept never bring disorder or loss`(seed: UInt64) {
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

@Test func `what is reported behind a scan's back is taken, however small its name`() {
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

@Test func `a file came whole if that was so each time that its name was offered`() {
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
func `a name that send gives is known`(name: String, isOne: Bool) {
  #expect(SpoolName.isFromSend(name.bytes.span) == isOne)
}
