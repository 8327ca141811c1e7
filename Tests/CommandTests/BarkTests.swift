import Foundation
import Testing

/// Alerts for the app Bark, encrypted and not.
@Suite(.sideBySide) struct BarkTests {
  private static let settings = [
    "app=bark", "key-id=LH4T9V5U4R", "team-id=5U8LBRXG3A", "topic=me.fin.bark",
  ]

  /// A key of the app, and the mode that is set there.
  struct Key: Sendable, CustomTestStringConvertible {
    var count: Int
    var mode: String
    var text: String { String("0123456789abcdefGHIJKLMNOPQRSTUV".prefix(count)) }
    var settings: [String] { ["encryption-key=\(text)", "encryption-mode=\(mode)"] }
    var testDescription: String { "\(mode) \(8 * count)" }

    static let all = ["cbc", "gcm"].flatMap { mode in
      [16, 24, 32].map { Key(count: $0, mode: mode) }
    }
  }

  /// Sends to a phone with Bark in the sandbox, and returns what the phone shows.
  private func shown(
    _ box: Box, _ settings: [String], device: [String], _ send: [String]
  ) throws -> [String: Any] {
    let sandbox = try Sandbox(in: box, hasDevices: true)
    let added = try box.run(
      Build.command(Build.host)
        + [
          "sandbox", "device", "--dir", sandbox.directory, "add", "pocket", "--topic",
          "me.fin.bark",
        ]
        + device)
    #expect(added.status == 0, "\(added.errors)")
    let token = added.output.trimmingCharacters(in: .newlines)
    let options = (Self.settings + settings).flatMap { ["-o", $0] }
    let config = ["--config", sandbox.http2Config]
    let sent = try box.run(
      Build.command(Build.host) + ["send", "--token", token] + config + options + send)
    #expect(sent.status == 0, "\(sent.errors)")
    let agent = try box.run(Build.command(Build.host) + ["run", "--once"] + config + options)
    #expect(agent.status == 0, "\(agent.errors)")
    try wait(for: "the alert") { try !sandbox.events("delivered").isEmpty }
    return try #require(sandbox.events("delivered").first)
  }

  private static let send = [
    "Tank low", "--title", "Cellar", "--sound", "bell", "--badge", "3", "--group", "tanks", "--url",
    "https://example.com/t?a=1&b=\"2\"",
  ]

  private func expect(_ shown: [String: Any]) {
    #expect(shown["text"] as? String == "Tank low")
    #expect(shown["title"] as? String == "Cellar")
    #expect(shown["sound"] as? String == "bell.caf")
    #expect(shown["badge"] as? Int == 3)
    #expect(shown["group"] as? String == "tanks")
    #expect(shown["url"] as? String == "https://example.com/t?a=1&b=\"2\"")
    #expect(shown["category"] as? String == "myNotificationCategory")
    #expect(shown["notes"] as? [String] == [])
  }

  @Test func `Bark shows an alert with what belongs to it`() throws {
    let shown = try shown(box, [], device: [], Self.send)
    expect(shown)
    #expect(shown["encrypted"] == nil)
  }

  @Test(arguments: Key.all) func `Bark decrypts an alert under its key`(key: Key) throws {
    let shown = try shown(box, key.settings, device: ["--encryption-key", key.text], Self.send)
    expect(shown)
    #expect(shown["encrypted"] as? Bool == true)
  }

  @Test(
    arguments: [
      ([], "the alert is encrypted, and the app has no key"),
      (["--encryption-key", "another key.0123"], "under another key, or in another mode"),
    ] as [([String], String)])
  func `a phone without the key shows a word and no text`(device: [String], note: String) throws {
    let shown = try shown(box, Key.all[0].settings, device: device, Self.send)
    #expect(shown["text"] as? String == "Encrypted")
    #expect(shown["title"] is NSNull)
    #expect((shown["notes"] as? [String])?.first?.contains(note) == true, "\(shown)")
  }

  @Test(arguments: Build.all)
  func `openssl decrypts what every build sends, and the service gets no text`(build: String) throws
  {
    let gateway = try HTTP2Gateway(in: box, .token)
    try box.drop(
      #"{"token":"\#(token(1))","payload":{"aps":{"alert":"Tank low"},"url":"http://u"}}"#,
      as: "one")
    try box.drop(line(2, String(repeating: "x", count: 2882)), as: "two")
    try box.drop(line(3, String(repeating: "x", count: 2883)), as: "three")
    let key = Key(count: 32, mode: "cbc")
    let run = try box.deliver(gateway, .token, ["app=bark"] + key.settings, build: build)
    #expect(run.status == 65, "\(run.errors)")
    #expect(box.names(in: "failed") == ["three"])
    let requests = try gateway.requests()
    #expect(requests.count == 2)
    var ivs: Set<String> = []
    var contents: Set<[String: String]> = []
    for request in requests {
      let text = try request.member("payload", as: String.self)
      #expect(text.utf8.count <= 4096 && !text.contains("Tank"))
      // Three in a row come by chance.
      #expect(!text.contains(String(repeating: "x", count: 10)))
      let payload = try #require(
        JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
      let iv = try payload.member("iv", as: String.self)
      ivs.insert(iv)
      let sealed = try box.write(payload.member("ciphertext", as: String.self), to: "sealed")
      let opened = try box.run([
        "openssl", "enc", "-d", "-aes-256-cbc", "-base64", "-A", "-in", sealed, "-K", hex(key.text),
        "-iv", hex(iv),
      ])
      #expect(opened.status == 0, "\(opened.errors)")
      contents.insert(
        try #require(
          JSONSerialization.jsonObject(with: Data(opened.output.utf8)) as? [String: String]))
    }
    let largest = ["body": String(repeating: "x", count: 2882)]
    #expect(contents == [["body": "Tank low", "url": "http://u"], largest])
    #expect(ivs.count == 2)
  }
}
