import Foundation
import Testing

@testable import TinyPush
@testable import TinyPushAgent

/// The codes of invitations, in a directory of recipients files.
struct InvitationsTests {
  private static let now: Int64 = 1_795_700_000
  private let path: String

  init() throws {
    path = NSTemporaryDirectory() + "invitations-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
  }

  private func remove() { try? FileManager.default.removeItem(atPath: path) }

  private var files: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
  }

  private func invitations() throws -> Invitations {
    var error: Int32 = 0
    guard let found = Invitations(Array(path.utf8).span, error: &error) else {
      throw CocoaError(.fileNoSuchFile)
    }
    return found
  }

  private func make(_ list: String, at now: Int64 = now) throws -> String {
    var code = Text()
    let result = try invitations().make(
      for: Array(list.utf8).span, until: now + Invitations.lifetime, code: &code)
    #expect(result == 0)
    return text { $0.append(code) }
  }

  /// Returns the recipients file for a code.
  private func list(_ code: String, at now: Int64 = now) throws -> String? {
    guard let found = try invitations().find(code: Array(code.utf8).span, at: now) else {
      return nil
    }
    return text { $0.append(found.list) }
  }

  private func use(_ code: String, in path: String) throws -> RecipientChange.Outcome? {
    let invitations = try self.invitations()
    guard let found = invitations.find(code: Array(code.utf8).span, at: Self.now)
    else { return nil }
    let token = DeviceToken(hex: Array("0a0b".utf8).span)!
    var change = RecipientChange(add: token, registered: 0, language: .kept, comment: .kept)
    var message = Text()
    try invitations.use(found, for: &change, in: Array(path.utf8).span, message: &message)
    return change.outcome
  }

  @Test func `a code is for one file, for an hour, and is not in the directory`() throws {
    defer { remove() }
    let (one, two) = (try make("family"), try make("a+b@c"))
    #expect(one != two && one.count == Invitations.codeCharacters)
    try #expect(list(one) == "family")
    try #expect(list(two, at: Self.now + Invitations.lifetime - 1) == "a+b@c")
    try #expect(list(two, at: Self.now + Invitations.lifetime) == nil)
    // The clock was set back.
    try #expect(list(two, at: Self.now - 1) == nil)
    for wrong in ["", String(one.dropLast()), one + "A", "../../../../../../family"] {
      try #expect(list(wrong) == nil)
    }
    for name in try files {
      let isList = RecipientsFile.isName(Array(name.utf8).span)
      #expect(!isList)
      let content = try String(contentsOfFile: path + "/" + name, encoding: .utf8)
      #expect(!(name + content).contains(one) && !(name + content).contains(two))
      let mode = try FileManager.default.attributesOfItem(atPath: path + "/" + name)
      #expect(mode[.posixPermissions] as? Int == 0o644)
    }
  }

  @Test func `a code works once, and again only if nothing came of it`() throws {
    defer { remove() }
    let code = try make("family")
    #expect(throws: ExitStatus.noInput) {
      try use(code, in: path + "/none")
    }
    #expect(try use(code, in: path) == .added)
    #expect(try use(code, in: path) == nil)
    try #expect(files == [".lock", "family"])
    try #expect(String(contentsOfFile: path + "/family", encoding: .utf8) == "0a0b\n")
  }

  @Test func `what an ended or damaged invitation left is removed with the next`() throws {
    defer { remove() }
    let names = [".invitation-damaged", ".invitation-abc.used", "family", ".lock"]
    for (name, content) in zip(names, ["x", "1 family\n", "0a\n", ""]) {
      try content.write(toFile: path + "/" + name, atomically: false, encoding: .utf8)
    }
    // Another program has just created the file.
    FileManager.default.createFile(atPath: path + "/.invitation-new", contents: nil)
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: Double(Self.now - 1))],
      ofItemAtPath: path + "/.invitation-new")
    let old = try make("family", at: Self.now - Invitations.lifetime)
    let present = try make("family", at: Self.now - Invitations.lifetime + 1)
    let new = try make("family")
    try #expect([list(old), list(present), list(new)] == [nil, "family", "family"])
    try #expect(files.count == 5 && files.suffix(3) == [".invitation-new", ".lock", "family"])
  }

  @Test(arguments: [
    ("https://box.example/web/", true), ("https://box.example:8443/a/", true),
    ("http://localhost:8077/web/", true), ("https://box.example/web", false),
    ("http://box.example/web/", false), ("https://", false), ("https://box.example/#/", false),
    ("https://box .example/", false), ("", false), ("https:///", false),
    (#"https://box.example/\/"#, false),
    ("https://u:p@box.example/", false), ("http://localhost.example/", false),
    ("https://box.example/" + String(repeating: "x", count: 491) + "/", true),
    ("https://box.example/" + String(repeating: "x", count: 492) + "/", false),
  ])
  func `a page has an address with which browsers allow alerts`(address: String, isRight: Bool) {
    defer { remove() }
    let found = InvitationPage.isAddress(Array(address.utf8).span)
    #expect(found == isRight)
  }
}
