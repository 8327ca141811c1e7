import Testing

@testable import Simulation
@testable import TinyPush

private func at(_ seconds: UInt64) -> Instant { Instant(milliseconds: 1000 * seconds) }
private func takeOver(_ files: inout BeingWritten, at now: Instant) -> [String] {
  var names: [String] = []
  files.takeOver(at: now) { names.append(String($0)) }
  return names
}
private func knows(_ files: borrowing BeingWritten, _ name: String, at now: Instant) -> Bool {
  files.contains(name.bytes.span, at: now)
}

@Test func `a file is being written until it is closed`() {
  var files = BeingWritten()
  for name in ["a", "b", "a", "c"] { _ = files.begin(name.bytes.span, at: at(1)) }
  files.end("a".bytes.span)
  files.end("unknown".bytes.span)
  let known = ["a", "b", "c", ""].map { knows(files, $0, at: at(60)) }
  #expect(known == [false, true, true, false])
  files.end("c".bytes.span)
  files.end("b".bytes.span)
  #expect(files.retryAt == nil)
}

@Test func `a file that is never closed counts as being written for a minute`() {
  var files = BeingWritten()
  _ = files.begin("a".bytes.span, at: at(1))
  _ = files.begin("b".bytes.span, at: at(20))
  _ = files.begin("a".bytes.span, at: at(30))
  #expect(files.retryAt == at(80))
  #expect(knows(files, "b", at: at(79)) && !knows(files, "b", at: at(80)))
  #expect(takeOver(&files, at: at(80)) == ["b"])
  #expect(files.retryAt == at(90))
  #expect(knows(files, "a", at: at(89)) && !knows(files, "a", at: at(90)))
}

@Test func `a file that was closed is taken 100 ms later`() {
  var files = BeingWritten()
  _ = files.begin("a".bytes.span, at: at(1))
  _ = files.begin("b".bytes.span, at: at(2), for: BeingWritten.closing)
  #expect(files.retryAt == at(2) + .milliseconds(100))
  #expect(knows(files, "b", at: at(2)) && !knows(files, "b", at: at(3)))
  #expect(takeOver(&files, at: at(3)) == ["b"])
  #expect(files.retryAt == at(61))
}

@Test func `the newest of many files are known`() {
  var files = BeingWritten()
  let longest = String(repeating: "n", count: 251)
  for number in 0..<100 { _ = files.begin((longest + String(1000 + number)).bytes.span, at: at(1)) }
  for number in 0..<100 {
    let isKnown = knows(files, longest + String(1000 + number), at: at(1))
    #expect(isKnown == (number >= 100 - BeingWritten.capacity))
  }
  files.clear()
  #expect(files.retryAt == nil)
}
