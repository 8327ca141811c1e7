import Foundation
import Testing

@testable import Simulation
@testable import TinyPush
@testable import TinyPushAgent

private func changed(_ text: String, _ wanted: String) -> String {
  var result = Text(capacity: 4096)
  ConfigEditor.change(
    Array(text.utf8).span, Array(wanted.utf8).span, without: ["certificate", "key"], to: &result)
  return String(result.bytes)
}

@Test(arguments: [
  ("", "", ""),
  ("", "app = bark\n", "app = bark\n"),
  ("# a comment\n\nttl=1h\n", "app = bark\n", "# a comment\n\nttl=1h\napp = bark\n"),
  // A line that says the same already stays as it is.
  ("  app:bark ; yes\nttl = 1h", "app = bark\n", "  app:bark ; yes\nttl = 1h\n"),
  ("app=bark\n", "app = bark\n", "app=bark\n"),
  ("#app = own\napp = own\napp = own\n", "app = bark\n", "#app = own\napp = bark\napp = bark\n"),
  (
    "certificate = a.pem\n key = b\nkey-password = x\n", "",
    "#certificate = a.pem\n# key = b\nkey-password = x\n"
  ),
  (
    "no setting\n\u{1}\n", "topic = a.b\napp = own\n", "no setting\n\u{1}\ntopic = a.b\napp = own\n"
  ),
])
func `only the lines of the wanted settings change`(
  text: String, wanted: String, expected: String
) {
  #expect(changed(text, wanted) == expected)
}

@Test func `a changed file keeps its mode, and a link stays a link`() throws {
  let directory = URL(filePath: NSTemporaryDirectory()).appending(path: UUID().uuidString)
  try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: directory) }
  let (file, link) = (directory.path + "/real.conf", directory.path + "/tinypush.conf")
  try "ttl = 1h\n".write(toFile: file, atomically: false, encoding: .utf8)
  chmod(file, 0o640)
  #expect(symlink("real.conf", link) == 0)
  var wanted = Text()
  wanted.append("app = bark\n")
  guard case .written = ConfigEditor.change(link, wanted, without: ["key"]) else {
    Issue.record("the file was not written")
    return
  }
  #expect(try String(contentsOfFile: file, encoding: .utf8) == "ttl = 1h\napp = bark\n")
  #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "real.conf")
  var information = stat()
  #expect(stat(file, &information) == 0 && information.st_mode & 0o7777 == 0o640)
  guard case .unchanged = ConfigEditor.change(link, wanted, without: ["key"]) else {
    Issue.record("the file was written again")
    return
  }
  let missing = directory.path + "/missing/x.conf"
  guard case .failed(ENOENT) = ConfigEditor.change(missing, wanted, without: ["key"]) else {
    Issue.record("a file in a missing directory was written")
    return
  }
}
