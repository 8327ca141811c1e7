import Testing

@testable import Simulation
@testable import TinyPush

private func at(_ seconds: UInt64) -> Instant { Instant(milliseconds: 1000 * seconds) }

/// Scans all directories that must be scanned, and finds these names in `new/`.
private func scan(
  _ files: inout WaitingFiles, _ names: String..., at now: Instant = at(0)
) -> [Courier.Directory] {
  var scanned: [Courier.Directory] = []
  while let directory = files.nextScan(at: now) {
    scanned.append(directory)
    if directory == .new { for name in names { files.new.offer(name.bytes.span) } }
  }
  return scanned
}

@Test func `both directories are scanned at the start, taken/ first`() {
  var files = WaitingFiles()
  #expect(files.areKnown == false)
  #expect(files.isExhausted == false)
  #expect(scan(&files) == [.taken, .new])
  #expect(files.areKnown == true)
  #expect(files.isExhausted == true)
  let another = files.nextScan(at: at(0))
  #expect(another == nil)
}

@Test func `a file that waits keeps the spool from being exhausted`() {
  var files = WaitingFiles()
  _ = scan(&files, "a")
  #expect(files.areKnown == true)
  #expect(files.isExhausted == false)
  files.new.putInOrder()
  files.new.removeSmallest()
  #expect(files.isExhausted == true)
  var name = PathName()
  name.set { $0.append("b@1.0") }
  files.offerTaken(name)
  #expect(files.isExhausted == false)
  #expect(text { files.appendTakenSource(to: &$0) } == "b")
}

@Test func `everything is scanned again at each rescan`() {
  var files = WaitingFiles()
  files.start(at: at(0), rescan: .seconds(60))
  files.start(at: at(50), rescan: .seconds(60))
  _ = scan(&files)
  #expect(files.rescanAt == at(60))
  var isDue = files.update(at: at(59), rescan: .seconds(60))
  #expect(!isDue)
  let another = files.nextScan(at: at(0))
  #expect(another == nil)
  isDue = files.update(at: at(60), rescan: .seconds(60))
  #expect(isDue)
  #expect(files.areKnown == false)
  #expect(scan(&files) == [.taken, .new])
  #expect(files.rescanAt == at(120))
}

@Test func `a file that cannot be taken is tried again after a pause that doubles`() {
  var files = WaitingFiles()
  files.start(at: at(0), rescan: .seconds(1_000_000))
  _ = scan(&files)
  var tries: [UInt64] = []
  files.putOff(at: at(0))
  files.putOff(at: at(1))
  for second in UInt64(1)...3000 {
    _ = files.update(at: at(second), rescan: .seconds(1_000_000))
    guard !scan(&files).isEmpty else { continue }
    tries.append(second)
    files.putOff(at: at(second))
  }
  #expect(tries == [2, 6, 14, 30, 62, 126, 254, 510, 1022, 1922, 2822])
  files.succeeded()
  _ = files.update(at: at(4000), rescan: .seconds(1_000_000))
  files.putOff(at: at(4000))
  #expect(files.retryAt == at(4002))
}

@Test func `after five tries in vain nothing more is expected of a file that cannot be taken`() {
  var files = WaitingFiles()
  files.start(at: at(0), rescan: .seconds(1_000_000))
  _ = scan(&files)
  for trial in 1...5 {
    files.putOff(at: at(1000 * UInt64(trial)))
    #expect(files.isExhausted == (trial == 5))
    _ = files.update(at: at(1000 * UInt64(trial) + 900), rescan: .seconds(1_000_000))
    _ = scan(&files)
  }
  files.succeeded()
  files.putOff(at: at(9000))
  #expect(files.isExhausted == false)
}

@Test func `a settled file that may still grow is looked at after ten minutes`() {
  var files = WaitingFiles()
  files.start(at: at(0), rescan: .seconds(1_000_000))
  _ = scan(&files)
  files.lingers(at: at(10))
  files.lingers(at: at(100))
  _ = files.update(at: at(609), rescan: .seconds(1_000_000))
  #expect(scan(&files) == [])
  _ = files.update(at: at(610), rescan: .seconds(1_000_000))
  #expect(scan(&files) == [.taken])
}

@Test func `a directory that cannot be read is reported once, and scanned again`() {
  var files = WaitingFiles()
  _ = scan(&files)
  files.couldNotScan(at: at(10))
  let results = [true, false, false, true, true].map { files.scanned(isComplete: $0) }
  #expect(results == [false, true, false, true, false])
  #expect(scan(&files, at: at(39)) == [])
  #expect(scan(&files, at: at(40)) == [.new])
}

@Test func `a file whose writer is done waits to be taken`() {
  var files = WaitingFiles()
  files.start(at: at(0), rescan: .seconds(1_000_000))
  _ = scan(&files)
  _ = files.beingWritten.begin("a".bytes.span, at: at(1), for: BeingWritten.closing)
  _ = files.update(at: at(1), rescan: .seconds(1_000_000))
  #expect(files.new.isEmpty == true)
  _ = files.update(at: at(2), rescan: .seconds(1_000_000))
  files.new.putInOrder()
  let smallest = String(files.new.smallest())
  #expect(smallest == "a")
  var deadlines: [Instant] = []
  files.forEachDeadline { if let instant = $0 { deadlines.append(instant) } }
  #expect(deadlines.isEmpty)
}

@Test func `more names than fit are found by more scans`() {
  let names = (0..<20_000).map { String(100_000 + $0) }
  var files = WaitingFiles()
  var taken: [String] = []
  var scans = 0
  while let directory = files.nextScan(at: at(0)) {
    guard directory == .new else { continue }
    scans += 1
    for name in names.dropFirst(taken.count) { files.new.offer(name.bytes.span) }
    while !files.new.isEmpty {
      files.new.putInOrder()
      taken.append(String(files.new.smallest()))
      files.new.removeSmallest()
    }
    if scans > 20 { break }
  }
  #expect(taken == names)
  #expect(files.isExhausted == true)
}
