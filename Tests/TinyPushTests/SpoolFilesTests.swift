import CLinux
import Foundation
import Testing

@testable import TinyPush
@testable import TinyPushAgent

/// Files in the directories of a spool, and other programs that use them at the same time.
struct SpoolFilesTests {
  private let path: String
  private let root: Int32

  init() throws {
    path = NSTemporaryDirectory() + "spool-\(UUID().uuidString)"
    for name in ["tmp", "new", "failed"] {
      try FileManager.default.createDirectory(
        atPath: "\(path)/\(name)", withIntermediateDirectories: true)
    }
    root = open(path, O_RDONLY | O_DIRECTORY)
  }

  private func end() {
    close(root)
    try? FileManager.default.removeItem(atPath: path)
  }

  private func names(_ directory: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "\(path)/\(directory)").sorted()
  }

  private func text(_ name: String) throws -> String {
    try String(contentsOfFile: "\(path)/\(name)", encoding: .utf8)
  }

  private func write(_ text: String, to name: String) throws {
    try text.write(toFile: "\(path)/\(name)", atomically: false, encoding: .utf8)
  }

  // MARK: - new/

  private func drop(_ line: String, as name: String) throws {
    var box = try DropBox(in: root)
    try box.write(Array(line.utf8).span)
    try box.drop(as: Array(name.utf8).span)
  }

  @Test func `a file that is in new/ already is not put there again`() throws {
    defer { end() }
    for _ in 1...2 { try drop("{}\n", as: "a") }
    try #expect(names("new") == ["a"])
    try #expect(names("tmp") == [])
  }

  @Test func `something else with the name of a file is not taken for the file`() throws {
    defer { end() }
    try write("{ }\n", to: "new/other")
    #expect(mkdir(path + "/new/directory", 0o700) == 0)
    #expect(mkfifo(path + "/new/pipe", 0o600) == 0)
    for name in ["other", "directory", "pipe"] {
      #expect(throws: DropBox.Problem.self) { try drop("{}\n", as: name) }
    }
    try #expect(text("new/other") == "{ }\n")
    try #expect(names("tmp") == [])
  }

  // MARK: - Receipts

  @Test func `a receipt that cannot be opened is removed, since a line would be missing`() throws {
    defer { end() }
    symlink("elsewhere", path + "/tmp/a.receipt")
    var line = Text()
    line.append("accepted 1 * delivered\n")
    Receipt.append(line, for: Array("a".utf8).span, in: root)
    try #expect(names("tmp") == [])
    try write("", to: "tmp/a.receipt")
    Receipt.append(line, for: Array("a".utf8).span, in: root)
    try #expect(text("tmp/a.receipt") == "accepted 1 * delivered\n")
    Receipt.append(line, for: Array("b".utf8).span, in: root)
    try #expect(names("tmp") == ["a.receipt"])
  }

  // MARK: - Replaced files

  @Test func `a file that must be new replaces none`() throws {
    defer { end() }
    let file = path + "/key"
    let (first, second) = (Array("first".utf8), Array("second".utf8))
    #expect(Replacement.write(first.span, to: file, mode: 0o600, replaces: false) == 0)
    #expect(Replacement.write(second.span, to: file, mode: 0o600, replaces: false) == EEXIST)
    try #expect(text("key") == "first")
    #expect(Replacement.write(second.span, to: file, mode: 0o600) == 0)
    try #expect(text("key") == "second")
    try #expect(names("") == ["failed", "key", "new", "tmp"])
  }
}
