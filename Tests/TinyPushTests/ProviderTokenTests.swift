import Foundation
import Testing

@testable import Simulation
@testable import TinyPush
@testable import TinyPushAgent

private let minute: Int64 = 60
/// About 2026-11-22.
private let now: Int64 = 1_795_000_000

/// The rule that says which provider token is used.
@Suite struct ProviderTokenRuleTests {
  @Test(
    arguments: [
      (Int64?.none, Int64?.none, false, ProviderTokenRule.clockNotSet),
      (nil, now, false, .clockNotSet),
      (nil, now, true, .clockNotSet),
      (now, nil, false, .make),
      (now, now, false, .use),
      (now, now - 1, false, .use),
      (now, now - 20 * minute, false, .use),
      (now, now - 50 * minute, false, .use),
      (now, now - 50 * minute - 1, false, .make),
      (now, now - 60 * minute, false, .make),
      (now, 0, false, .make),
      // Refused: no other token within 20 minutes.
      (now, now, true, .wait(until: now + 20 * minute)),
      (now, now - 1, true, .wait(until: now + 20 * minute - 1)),
      (now, now - 20 * minute + 1, true, .wait(until: now + 1)),
      (now, now - 20 * minute, true, .make),
      (now, now - 50 * minute, true, .make),
      // From the future: the clock was set back.
      (now, now + 1, false, .wait(until: now + 1)),
      (now, now + 19 * minute, false, .wait(until: now + 19 * minute)),
      (now, now + 20 * minute, false, .make),
      (now, now + 1_000_000, false, .make),
      (now, now + 1, true, .wait(until: now + 20 * minute + 1)),
      (now, now + 20 * minute, true, .make),
    ] as [(Int64?, Int64?, Bool, ProviderTokenRule)])
  func `a token is used for 50 minutes, and no other is made within 20 minutes`(
    now: Int64?, issuedAt: Int64?, isRefused: Bool, rule: ProviderTokenRule
  ) {
    #expect(ProviderTokenRule(now: now, issuedAt: issuedAt, isRefused: isRefused) == rule)
  }

  @Test func `tokens are at least 20 minutes apart for any answers of the service`() {
    var issuedAt: Int64?
    for second in stride(from: now, to: now + 5 * 3600, by: 7) {
      let isRefused = second % 3 == 0
      guard
        ProviderTokenRule(now: second, issuedAt: issuedAt, isRefused: isRefused) == .make
      else { continue }
      if let issuedAt { #expect(second - issuedAt >= 20 * minute) }
      issuedAt = second
    }
    #expect(issuedAt.map { $0 > now + 4 * 3600 } == true)
  }
}

/// A directory with a signing key and the state with its provider token.
private final class Desk {
  let directory: String
  var keyID = "ABC123DEFG"
  var teamID = "DEF123GHIJ"
  var state: String
  var key: String

  init() throws {
    directory = NSTemporaryDirectory() + "provider-token.\(UUID())"
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true)
    state = directory + "/state"
    key = directory + "/AuthKey.p8"
    try makeKey()
  }

  deinit { try? FileManager.default.removeItem(atPath: directory) }

  func makeKey() throws {
    try openSSL("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key)
  }

  func openSSL(_ arguments: String...) throws {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["openssl"] + arguments
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "openssl \(arguments)")
  }

  func start() throws -> ProviderToken {
    var config = Config()
    for (name, value) in [
      ("signing-key", key), ("key-id", keyID), ("team-id", teamID), ("state", state),
    ] {
      var problem = Text()
      #expect(config.set(name.bytes.span, to: value.bytes.span, &problem))
    }
    return ProviderToken(config)
  }

  var kept: String? { try? String(contentsOfFile: state + "/provider-token", encoding: .utf8) }
}

private func time(_ seconds: Int64?) -> Time {
  Time(now: Instant(milliseconds: 5000), wallSeconds: seconds)
}

private func decode(_ part: Substring) throws -> Data {
  let standard = part.replacing("-", with: "+").replacing("_", with: "/")
  let padding = String(repeating: "=", count: (4 - standard.count % 4) % 4)
  return try #require(Data(base64Encoded: standard + padding))
}

/// Returns a signature in DER, the form that OpenSSL reads.
private func der(_ signature: Data) -> Data {
  var numbers = Data()
  for half in [signature.prefix(32), signature.suffix(32)] {
    var number = Data(half.drop { $0 == 0 })
    if number.isEmpty || number[number.startIndex] >= 0x80 {
      number.insert(0, at: number.startIndex)
    }
    numbers += Data([2, UInt8(number.count)]) + number
  }
  return Data([0x30, UInt8(numbers.count)]) + numbers
}

@Suite struct ProviderTokenTests {
  @Test func `a token names key and team, and OpenSSL verifies it`() throws {
    let desk = try Desk()
    var provider = try desk.start()
    #expect(provider.token(time(now)) == .ready(issuedAt: now))
    #expect(provider.problem.count == 0)
    let parts = String(provider.text.bytes).split(separator: ".", omittingEmptySubsequences: false)
    #expect(parts.count == 3)
    #expect(
      String(decoding: try decode(parts[0]), as: UTF8.self)
        == #"{"alg":"ES256","kid":"ABC123DEFG"}"#)
    #expect(
      String(decoding: try decode(parts[1]), as: UTF8.self)
        == #"{"iss":"DEF123GHIJ","iat":\#(now)}"#)
    let signature = try decode(parts[2])
    #expect(signature.count == 64)
    try Data("\(parts[0]).\(parts[1])".utf8).write(to: URL(filePath: desk.directory + "/signed"))
    try der(signature).write(to: URL(filePath: desk.directory + "/signature"))
    try desk.openSSL("pkey", "-in", desk.key, "-pubout", "-out", desk.directory + "/public")
    try desk.openSSL(
      "dgst", "-sha256", "-verify", desk.directory + "/public", "-signature",
      desk.directory + "/signature", desk.directory + "/signed")
  }

  @Test func `another run uses the same token, which only the owner may read`() throws {
    let desk = try Desk()
    var first = try desk.start()
    #expect(first.token(time(now)) == .ready(issuedAt: now))
    let token = String(first.text.bytes)
    var information = stat()
    #expect(stat(desk.state + "/provider-token", &information) == 0)
    #expect(information.st_mode & 0o7777 == 0o600)
    #expect(try FileManager.default.contentsOfDirectory(atPath: desk.state) == ["provider-token"])
    #expect(desk.kept?.hasSuffix(" \(token)\n") == true)
    var second = try desk.start()
    #expect(second.token(time(now + 3000)) == .ready(issuedAt: now))
    #expect(String(second.text.bytes) == token)
    #expect(second.token(time(now + 3001)) == .ready(issuedAt: now + 3001))
    #expect(String(second.text.bytes) != token)
    // The first run finds the token of the second.
    #expect(first.token(time(now + 3002)) == .ready(issuedAt: now + 3001))
    #expect(String(first.text.bytes) == String(second.text.bytes))
  }

  @Test func `a refused token is replaced once, after 20 minutes`() throws {
    let desk = try Desk()
    var provider = try desk.start()
    #expect(provider.token(time(now)) == .ready(issuedAt: now))
    let until = Instant(milliseconds: 5000) + .seconds(1140)
    #expect(provider.token(time(now + 60), refused: now) == .wait(until: until))
    #expect(provider.token(time(now + 60)) == .wait(until: until))
    #expect(provider.token(time(now + 1200)) == .ready(issuedAt: now + 1200))
    // Late refusals of the first token do not affect the second.
    #expect(provider.token(time(now + 1201), refused: now) == .ready(issuedAt: now + 1200))
    #expect(
      provider.token(time(now + 1202), refused: now + 1200)
        == .wait(until: Instant(milliseconds: 5000) + .seconds(1198)))
  }

  @Test func `a stored token that is invalid is replaced at once, and a made one is not`() throws {
    let desk = try Desk()
    var first = try desk.start()
    #expect(first.token(time(now)) == .ready(issuedAt: now))
    #expect(
      first.token(time(now + 60), refused: now, isInvalid: true)
        == .wait(until: Instant(milliseconds: 5000) + .seconds(1140)))
    var second = try desk.start()
    #expect(second.token(time(now + 60)) == .ready(issuedAt: now))
    let wasStored = second.isStored
    #expect(wasStored)
    #expect(
      second.token(time(now + 61), refused: now, isInvalid: true) == .ready(issuedAt: now + 61))
    let isStored = second.isStored
    #expect(!isStored)
    #expect(
      second.token(time(now + 62), refused: now + 61, isInvalid: true)
        == .wait(until: Instant(milliseconds: 5000) + .seconds(1199)))
  }

  @Test func `no token is made while the clock is not set`() throws {
    let desk = try Desk()
    var provider = try desk.start()
    #expect(provider.token(time(nil)) == .clockNotSet)
    #expect(desk.kept == nil)
    #expect(provider.token(time(now)) == .ready(issuedAt: now))
    #expect(provider.token(time(nil)) == .clockNotSet)
  }

  @Test func `the token of another key or team is not used`() throws {
    let desk = try Desk()
    var provider = try desk.start()
    #expect(provider.token(time(now)) == .ready(issuedAt: now))
    desk.keyID = "ABC123DEFH"
    var otherID = try desk.start()
    #expect(otherID.token(time(now + 1)) == .ready(issuedAt: now + 1))
    desk.teamID = "DEF123GHIK"
    var otherTeam = try desk.start()
    #expect(otherTeam.token(time(now + 2)) == .ready(issuedAt: now + 2))
    // A corrected key file of the same name.
    try desk.makeKey()
    var otherKey = try desk.start()
    #expect(otherKey.token(time(now + 3)) == .ready(issuedAt: now + 3))
    var same = try desk.start()
    #expect(same.token(time(now + 4)) == .ready(issuedAt: now + 3))
  }

  @Test(arguments: ["", "x", "1795000000", "cut", "long", "\n\n", "12345678901234567890 "])
  func `a damaged token file is ignored and replaced`(content: String) throws {
    let desk = try Desk()
    var provider = try desk.start()
    #expect(provider.token(time(now)) == .ready(issuedAt: now))
    let whole = try #require(desk.kept)
    let damaged =
      content == "cut"
      ? String(whole.dropLast(2))
      : content == "long" ? whole + String(repeating: "x", count: 600) : content
    try damaged.write(toFile: desk.state + "/provider-token", atomically: false, encoding: .utf8)
    var next = try desk.start()
    #expect(next.token(time(now + 9)) == .ready(issuedAt: now + 9))
    #expect(desk.kept?.hasPrefix("\(now + 9) ABC123DEFG DEF123GHIJ ") == true)
  }

  @Test func `a link in the place of the token file is not followed`() throws {
    let desk = try Desk()
    var provider = try desk.start()
    #expect(provider.token(time(now)) == .ready(issuedAt: now))
    try FileManager.default.moveItem(
      atPath: desk.state + "/provider-token", toPath: desk.directory + "/elsewhere")
    try FileManager.default.createSymbolicLink(
      atPath: desk.state + "/provider-token", withDestinationPath: desk.directory + "/elsewhere")
    var next = try desk.start()
    #expect(next.token(time(now + 9)) == .ready(issuedAt: now + 9))
    #expect(
      try String(contentsOfFile: desk.directory + "/elsewhere", encoding: .utf8)
        .hasPrefix("\(now) "))
  }

  @Test func `a token that cannot be saved is used, and the problem is reported`() throws {
    let desk = try Desk()
    desk.state = desk.key
    var provider = try desk.start()
    #expect(provider.token(time(now)) == .ready(issuedAt: now))
    #expect(
      String(provider.problem.bytes)
        == "state \(desk.key): Not a directory: make it a directory, or set state (the provider token cannot be stored, so a restart makes another one)"
    )
    #expect(provider.token(time(now + 1)) == .ready(issuedAt: now))
    #expect(provider.problem.count == 0)
  }

  @Test func `a signing key that cannot be used is reported and tried again`() throws {
    let desk = try Desk()
    let key = try Data(contentsOf: URL(filePath: desk.key))
    try FileManager.default.removeItem(atPath: desk.key)
    var provider = try desk.start()
    #expect(provider.token(time(now)) == .failed)
    #expect(
      String(provider.problem.bytes)
        == "The signing key \(desk.key) does not exist. Put it there, or correct the path.")
    try key.write(to: URL(filePath: desk.key))
    #expect(provider.token(time(now)) == .ready(issuedAt: now))
    #expect(provider.problem.count == 0)
    try "no".write(toFile: desk.key, atomically: true, encoding: .utf8)
    #expect(provider.token(time(now + 3001)) == .failed)
    #expect(String(provider.problem.bytes).hasPrefix("The signing key \(desk.key) is not PEM"))
  }

  @Test func `base64 for URLs has no padding`() {
    for count in 0..<20 {
      for byte in [UInt8(0), 0x5A, 0xFB, 0xFF] {
        let bytes = [UInt8](repeating: byte, count: count)
        let expected = Data(bytes).base64EncodedString()
          .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        #expect(text { $0.append(base64URL: bytes.span) } == expected)
      }
    }
  }
}
