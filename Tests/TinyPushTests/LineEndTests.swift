import Foundation
import Testing

@testable import Simulation
@testable import TinyPush
@testable import TinyPushAgent

/// A file that is removed in the end.
private func withFile(_ text: String, _ body: (Int32) throws -> Void) throws -> String {
  let url = URL(filePath: NSTemporaryDirectory()).appending(path: "line-end.\(UUID())")
  try Data(text.utf8).write(to: url)
  defer { try? FileManager.default.removeItem(at: url) }
  let file = open(url.path, O_RDWR | O_APPEND)
  defer { close(file) }
  try body(file)
  return String(decoding: try Data(contentsOf: url), as: UTF8.self)
}

private let line =
  #"{"failed":{"reason":"a } that is in a \" string","file":"a"},"payload":{"aps":{},"x":[{}]}}"#
private let lineBefore =
  #"{"reason":"a } that is in a \" string","file":"a","notification":{"x":[{}]}}"#
private let long = #"{"reason":""# + String(repeating: "long ", count: 20_000) + #""}"#

private func nuls(_ count: Int) -> String { String(repeating: "\0", count: count) }

@Suite struct LineEndTests {
  private static let rows: [(before: String, after: String)] = [
    ("", ""),
    ("\(line)\n", "\(line)\n"),
    ("\(line)\n\(long)\n", "\(line)\n\(long)\n"),
    // Half a line, however long the one before is.
    ("\(line)\n\(line.dropLast())", "\(line)\n"),
    ("\(line)\n{", "\(line)\n"),
    ("\(line)\n\(line.prefix(70))", "\(line)\n"),
    ("\(long)\n\(long.dropLast())", "\(long)\n"),
    (String(line.dropLast()), ""),
    (String(lineBefore.dropLast()), ""),
    // A line that only lacks its end.
    ("\(line)\n\(line)", "\(line)\n\(line)\n"),
    (long, "\(long)\n"),
    (lineBefore, "\(lineBefore)\n"),
    // What no agent wrote.
    ("\(line)\na note", "\(line)\na note\n"),
    // NULs in the place of a line, in its beginning, in its end, and with one behind it.
    ("\(line)\n\(nuls(100))", "\(line)\n"),
    ("\(line)\n\(nuls(40_000))", "\(line)\n"),
    ("\(line)\n\(nuls(40))\(line)\n", "\(line)\n"),
    ("\(line)\n\(line.prefix(30))\(nuls(10))\n", "\(line)\n"),
    ("\(line)\n\(nuls(4000))\n\(line)\n", "\(line)\n"),
    ("\(nuls(20_000))\n\(line)\n", ""),
    ("\(long)\n\(nuls(70_000))", "\(long)\n"),
    (nuls(5), ""),
  ]

  @Test(arguments: rows)
  func `a torn end goes, and no whole line`(before: String, after: String) throws {
    let found = try withFile(before) { file in
      #expect(LineEnd.mend(file) == Int64(after.utf8.count))
    }
    #expect(found == after, "\(found.suffix(100))")
  }

  @Test func `nothing is cut off while somebody else writes`() throws {
    let found = try withFile("\(line)\n{") { file in
      let other = open("/proc/self/fd/\(file)", O_RDONLY)
      defer { close(other) }
      #expect(flock(other, LOCK_EX) == 0)
      #expect(LineEnd.mend(file) == nil)
    }
    #expect(found == "\(line)\n{")
  }
}
