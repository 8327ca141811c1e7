import Foundation
import Testing

/// The records in `failed/`: never overwritten, never torn, and limited in size.
@Suite(.sideBySide) struct FailedTests {
  private static let wrong = "{\"token\":\"12\"}\n"

  private func size(of name: String, in box: Box) throws -> Int {
    let path = "\(box.spool)/failed/\(name)"
    return try #require(FileManager.default.attributesOfItem(atPath: path)[.size] as? Int)
  }

  private func bytes(in box: Box) throws -> Int {
    try box.names(in: "failed").reduce(0) { try $0 + size(of: $1, in: box) }
  }

  /// Runs an agent as `nobody` until new/ is empty.
  private func deliverAsNobody(_ box: Box, _ gateway: Gateway) throws {
    let agent = try box.unprivilegedAgent(gateway, ["settle=300ms"])
    try wait(for: "new/ to become empty") { box.queued.isEmpty }
    #expect(try agent.terminate() == 0)
    try FileManager.default.removeItem(atPath: box.path + "/client.key")
  }

  @Test func `unreadable files of the same name are all kept, listed and retried`() throws {
    try box.giveSpoolToNobody()
    let gateway = try Gateway(in: box)
    let name = String(repeating: "n", count: 255)
    for number in 1...3 {
      for name in ["a", name] {
        try box.drop(line(number, "number \(number)"), as: name)
        chmod("\(box.spool)/new/\(name)", 0)
      }
      try deliverAsNobody(box, gateway)
    }
    let ends = [".unread", ".unread.2", ".unread.3"]
    let wholes = ends.map { "a" + $0 }
    // A longer name has no room in taken/.
    let cut = String(name.prefix(213))
    #expect(
      box.names(in: "failed").sorted() == (["a", cut] + wholes + ends.map { cut + $0 }).sorted())
    for (index, name) in wholes.enumerated() {
      chmod("\(box.spool)/failed/\(name)", 0o644)
      #expect(box.text("spool/failed/" + name) == line(index + 1, "number \(index + 1)"))
    }
    let list = try box.tinypush("queue", "list", "--failed", "--json", "-o", "spool=" + box.spool)
    let states = try objects(list.output).filter { try wholes.contains($0.member("name")) }
    #expect(states.map { $0["state"] as? String } == ["whole", "whole", "whole"], "\(list.output)")
    let again = try box.tinypush("queue", "retry", "a", "-o", "spool=" + box.spool)
    #expect(again.status == 0, "\(again.errors)\(again.output)")
    #expect(box.queued.count == 3)
    #expect(!box.names(in: "failed").contains { $0.hasPrefix("a") })
    _ = try box.deliver(gateway)
    try #expect(gateway.alerts(in: box).sorted() == (1...3).map { "number \($0)" })
  }

  @Test func `the originals of large refused files of the same name are all kept`() throws {
    let gateway = try Gateway(in: box)
    for number in 1...3 {
      let text = String(repeating: Self.wrong, count: 1001) + line(number, "number \(number)")
      try box.drop(text, as: "many")
      #expect(try box.deliver(gateway).status == 65)
    }
    #expect(
      box.names(in: "failed") == ["many", "many.original", "many.original.2", "many.original.3"])
    for (number, end) in [(1, ""), (2, ".2"), (3, ".3")] {
      #expect(box.text("spool/failed/many.original" + end).contains("number \(number)"))
    }
  }

  @Test func `directories in failed/ move out of the way under numbered names`() throws {
    let gateway = try Gateway(in: box)
    for number in 1...3 {
      let name = "\(box.spool)/failed/name"
      try? FileManager.default.removeItem(atPath: name)
      mkdir(name, 0o755)
      try writeFile("\(number)", to: name + "/inside")
      try box.drop(Self.wrong, as: "name")
      #expect(try box.deliver(gateway).status == 65)
    }
    for (number, end) in [(1, ""), (2, ".2"), (3, ".3")] {
      #expect(box.text("spool/failed/name.other\(end)/inside") == "\(number)")
    }
  }

  @Test(arguments: [
    "half": #"{"failed":{"reason":"half"#, "whole": #"{"failed":{"reason":"whole","file":"a"}}"#,
    "NULs": String(repeating: "\0", count: 3000),
  ])
  func `a line torn by a power cut does not damage the next one`(kind: String, torn: String) throws
  {
    let kept = #"{"failed":{"reason":"kept","file":"a"}}"#
    try box.write(kept + "\n" + torn, to: "spool/failed/a")
    try box.drop(Self.wrong, as: "a")
    let gateway = try Gateway(in: box)
    #expect(try box.deliver(gateway).status == 65)
    #expect(!box.text("spool/failed/a").contains("\0"))
    let reasons = try box.failures("a").compactMap { $0["reason"] as? String }
    #expect(reasons.first == "kept")
    #expect(reasons.count == (kind == "whole" ? 3 : 2), "\(reasons)")
  }

  /// Delivers a wrong notification while no file may be longer than a number of bytes.
  private func deliverWrong(_ bytes: Int, _ box: Box, _ gateway: Gateway) throws -> Int32? {
    try box.drop(Self.wrong, as: "a")
    let limit = "trap '' XFSZ; exec prlimit --fsize=\(bytes) \"$@\""
    return try box.run(
      ["sh", "-c", limit, "sh"] + Build.command(Build.host) + ["run", "--once"]
        + box.settings(gateway.port)
    ).status
  }

  @Test(arguments: ["", "{\"first\":1}\n"])
  func `what was written of a record that the disk has no room for is taken back`(before: String)
    throws
  {
    let gateway = try Gateway(in: box)
    if before != "" { try box.write(before, to: "spool/failed/a") }
    #expect(try deliverWrong(before.utf8.count + 10, box, gateway) == 74)
    #expect(box.names(in: "failed") == (before == "" ? [] : ["a"]))
    if before != "" { #expect(box.text("spool/failed/a") == before) }
    #expect(try box.deliver(gateway).status == 65)
    #expect(box.names(in: "failed") == ["a"])
  }

  @Test func `a record is not taken back while another program changes failed/`() throws {
    let gateway = try Gateway(in: box)
    let before = "{\"first\":1}\n"
    try box.write(before, to: "spool/failed/a")
    let lock = open(box.spool + "/failed/.lock", O_RDWR | O_CREAT, 0o600)
    defer { close(lock) }
    #expect(flock(lock, LOCK_EX) == 0)
    #expect(try deliverWrong(before.utf8.count + 10, box, gateway) == 74)
    #expect(box.text("spool/failed/a").utf8.count == before.utf8.count + 10)
    #expect(flock(lock, LOCK_UN) == 0)
    #expect(try box.deliver(gateway).status == 65)
    let codes = try box.failures("a").map { $0["code"] as? String }
    #expect(codes == [nil, "token-size"])
  }

  @Test func `failed-size limits the bytes in failed/, and the oldest files go first`() throws {
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway, ["settle=300ms", "failed-size=64K"])
    let text = #"{"token":"12","payload":{"x":"\#(String(repeating: "x", count: 1000))"}}"#
    for number in 1...100 {
      try box.drop(text, as: "\(1000 + number)")
      try wait(for: "\(number) to be refused") { box.queued.isEmpty }
      #expect(try bytes(in: box) <= 65_536)
    }
    #expect(try agent.terminate() == 0)
    let names = box.names(in: "failed")
    #expect(names == (0..<names.count).map { "\(1101 - names.count + $0)" })
    #expect(try bytes(in: box) > 50_000)
  }

  @Test func `failed-size also limits the records of one file that is refused again and again`()
    throws
  {
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway, ["settle=300ms", "failed-size=64K"])
    let text = (1...20).map { _ in
      #"{"token":"12","payload":{"x":"\#(String(repeating: "x", count: 1000))"}}"# + "\n"
    }
    for _ in 1...10 {
      try box.drop(text.joined(), as: "same")
      try wait(for: "the file to be refused") { box.queued.isEmpty }
    }
    #expect(try agent.terminate() == 0)
    #expect(try (40_000...65_536).contains(bytes(in: box)))
    #expect(box.names(in: "failed").count > 1)
    for name in box.names(in: "failed") { #expect(try box.failures(name).count > 0) }
  }

  @Test func `the newest record stays even if it is larger than failed-size`() throws {
    let gateway = try Gateway(in: box)
    let large = String(repeating: "{\"token\":\"12\", \"x\":\"\(token(1))\"}\n", count: 1500)
    try box.drop(Self.wrong, as: "before")
    try box.drop(large, as: "large")
    #expect(try box.deliver(gateway, ["failed-size=64K"]).status == 65)
    #expect(box.text("spool/failed/large.original") == large)
    #expect(box.names(in: "failed").contains("large"))
    #expect(!box.names(in: "failed").contains("before"))
    try box.drop(Self.wrong, as: "next")
    #expect(try box.deliver(gateway, ["failed-size=64K"]).status == 65)
    #expect(box.names(in: "failed").contains("next"))
    #expect(!box.names(in: "failed").contains("large.original"))
  }

  @Test(arguments: ["": "empty", "\0\0\0\0\n": "NULs", #"{"token":"00"#: "half"])
  func `a torn file in later/ is not refused while its source is still in new/`(
    torn: String, kind: String
  ) throws {
    let gateway = try Gateway(in: box)
    let name = "1700000000.0000000000000000.00112233445566aa.alarm"
    try box.write(torn, to: "spool/later/" + name)
    try box.drop(line(1, "alarm"), as: "alarm")
    #expect(try box.deliver(gateway).status == 0)
    try #expect(gateway.alerts(in: box) == ["alarm"])
    for directory in ["new", "later", "failed"] { #expect(box.names(in: directory) == []) }
    // Without the source the notification is lost, so the file goes to failed/.
    try box.write(torn, to: "spool/later/" + name)
    #expect(try box.deliver(gateway, ["settle=100ms"]).status == 65)
    #expect(box.names(in: "failed").count == 1)
  }
}
