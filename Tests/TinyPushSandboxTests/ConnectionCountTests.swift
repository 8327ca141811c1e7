import Testing
import TinyPush

@testable import TinyPushSandbox

/// Counts connections at these milliseconds, and returns the warnings.
private func warnings(at instants: [Int64]) -> [String] {
  var connections = ConnectionCount()
  var warnings: [String] = []
  for now in instants {
    guard let text = connections.count(atMs: now) else { continue }
    warnings.append(String(decoding: (0..<text.count).map { text.bytes[$0] }, as: UTF8.self))
  }
  return warnings
}

@Test func `rapid connecting is reported once a minute`() {
  let found = warnings(at: (0..<1000).map { 5000 + $0 * 100 })
  #expect(found.count == 2)
  #expect(
    found.first
      == "warning: 51 connections to the binary gateway within 5 s: a real gateway takes rapid connecting for an attack"
  )
}

@Test func `a connection each two seconds after a burst is not reported`() {
  #expect(warnings(at: Array(repeating: 0, count: 15) + (0..<200).map { 2000 + $0 * 2000 }) == [])
}
