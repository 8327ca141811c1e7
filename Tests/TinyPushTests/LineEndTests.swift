import Foundation
import Testing

@testable import Simulation
@testable import TinyPush
@testable import TinyPushAgent

/// Runs `body` on a temporary file, and returns the file's text at the end.
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
private let long =
  #"{"failed":{"reason":""# + String(repeating: "long ", count: 20_000) + #""}}"#

private func nuls(_ count: Int) -> String { String(repeating: "\0", count: count) }

@Suite struct LineEndTests {
  private static let rows: [(before: String, after: String)] = [
    ("", ""),
    ("\(line)\n", "\(line)\n"),
    ("\(line)\n\(long)\n", "\(line)\n\(long)\n"),
    // A partial line behind lines of any length.
    ("\(line)\n\(line.dropLast())", "\(line)\n"),
    ("\(line)\n{", "\(line)\n"),
    ("\(line)\n\(line.prefix(70))", "\(line)\n"),
    ("\(long)\n\(long.dropLast())", "\(long)\n"),
    (String(line.dropLast()), ""),
    // A line that only lacks its line feed.
    ("\(line)\n\(line)", "\(line)\n\(line)\n"),
    (long, "\(long)\n"),
    // Text that no agent wrote.
    ("\(line)\na note", "\(line)\na note\n"),
    // NULs instead of a line, of its start or of its end, and before another line.
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
  func `repair removes a torn end and no complete line`(before: String, after: String) throws {
    let found = try withFile(before) { file in
      #expect(LineEnd.repair(file, in: nil) == Int64(after.utf8.count))
    }
    #expect(found == after, "\(found.suffix(100))")
  }

  @Test func `repair does nothing while another process holds the lock`() throws {
    let path = NSTemporaryDirectory() + "line-end.\(UUID())"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: path) }
    let directory = open(path, O_RDONLY)
    defer { close(directory) }
    let found = try withFile("\(line)\n{") { file in
      var error: Int32 = 0
      let lock = DirectoryLock(directory, error: &error)
      #expect(error == 0)
      #expect(LineEnd.repair(file, in: directory) == nil)
      extendLifetime(lock)
    }
    #expect(found == "\(line)\n{")
    let repaired = try withFile("\(line)\n{") { file in
      #expect(LineEnd.repair(file, in: directory) == Int64(line.utf8.count) + 1)
    }
    #expect(repaired == "\(line)\n")
  }
}
