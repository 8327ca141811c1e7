import Foundation
import Testing

@testable import Simulation
@testable import TinyPush
@testable import TinyPushAgent

/// About 2026-11-22, when a token is issued.
private let issue: Int64 = 1_794_999_000
/// When that token is used first, and when the next one is.
private let begin = issue + 300
private let end = begin + 1500

/// The times at which tokens are issued.
@Suite struct TokenScheduleTests {
  @Test func `a token for Apple's service is five to thirty minutes old`() {
    var issues: [Int64] = []
    for second in begin - 4000...begin + 4000 {
      let issue = TokenSchedule.apple.issue(at: second)
      #expect((300..<1800).contains(second - issue))
      if issues.last != issue { issues.append(issue) }
    }
    #expect(zip(issues, issues.dropFirst()).allSatisfy { $1 - $0 == 1500 })
    #expect(TokenSchedule.apple.issue(at: begin) == issue)
    #expect(TokenSchedule.apple.issue(at: end - 1) == issue)
  }

  @Test func `a token for browsers' services is used for ten hours`() {
    for second in stride(from: begin, to: begin + 200_000, by: 977) {
      #expect((0..<36_000).contains(second - TokenSchedule.vapid.issue(at: second)))
    }
  }
}

/// A directory with a signing key.
private final class Desk {
  let directory: String
  var keyID = "ABC123DEFG"
  var teamID = "DEF123GHIJ"
  var key: String

  init() throws {
    directory = NSTemporaryDirectory() + "provider-token.\(UUID())"
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true)
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
    for (name, value) in [("signing-key", key), ("key-id", keyID), ("team-id", teamID)] {
      var problem = Text()
      #expect(config.set(name.bytes.span, to: value.bytes.span, &problem))
    }
    return ProviderToken(config)
  }
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
    #expect(provider.token(time(begin)) == .ready(issuedAt: issue))
    #expect(provider.problem.count == 0)
    let parts = String(provider.text.bytes).split(separator: ".", omittingEmptySubsequences: false)
    #expect(parts.count == 3)
    #expect(
      String(decoding: try decode(parts[0]), as: UTF8.self)
        == #"{"alg":"ES256","kid":"ABC123DEFG"}"#)
    #expect(
      String(decoding: try decode(parts[1]), as: UTF8.self)
        == #"{"iss":"DEF123GHIJ","iat":\#(issue)}"#)
    let signature = try decode(parts[2])
    #expect(signature.count == 64)
    try Data("\(parts[0]).\(parts[1])".utf8).write(to: URL(filePath: desk.directory + "/signed"))
    try der(signature).write(to: URL(filePath: desk.directory + "/signature"))
    try desk.openSSL("pkey", "-in", desk.key, "-pubout", "-out", desk.directory + "/public")
    try desk.openSSL(
      "dgst", "-sha256", "-verify", desk.directory + "/public", "-signature",
      desk.directory + "/signature", desk.directory + "/signed")
  }

  @Test func `each run makes the same token until the next one is due`() throws {
    let desk = try Desk()
    var first = try desk.start()
    var second = try desk.start()
    #expect(first.token(time(begin)) == .ready(issuedAt: issue))
    let token = String(first.text.bytes)
    #expect(second.token(time(end - 1)) == .ready(issuedAt: issue))
    #expect(String(second.text.bytes) == token)
    #expect(second.token(time(end)) == .ready(issuedAt: issue + 1500))
    #expect(String(second.text.bytes) != token)
    #expect(first.token(time(end + 9)) == .ready(issuedAt: issue + 1500))
    #expect(String(first.text.bytes) == String(second.text.bytes))
    // The clock is set back.
    #expect(first.token(time(begin)) == .ready(issuedAt: issue))
    #expect(String(first.text.bytes) == token)
  }

  @Test func `no token is made while the clock is not set`() throws {
    let desk = try Desk()
    var provider = try desk.start()
    #expect(provider.token(time(nil)) == .clockNotSet)
    #expect(provider.token(time(begin)) == .ready(issuedAt: issue))
    #expect(provider.token(time(nil)) == .clockNotSet)
  }

  @Test func `a signing key that cannot be used is reported and tried again`() throws {
    let desk = try Desk()
    let key = try Data(contentsOf: URL(filePath: desk.key))
    try FileManager.default.removeItem(atPath: desk.key)
    var provider = try desk.start()
    #expect(provider.token(time(begin)) == .failed)
    #expect(
      String(provider.problem.bytes)
        == "The signing key \(desk.key) does not exist. Put it there, or correct the path.")
    try key.write(to: URL(filePath: desk.key))
    #expect(provider.token(time(begin)) == .ready(issuedAt: issue))
    #expect(provider.problem.count == 0)
    try "no".write(toFile: desk.key, atomically: true, encoding: .utf8)
    #expect(provider.token(time(end)) == .failed)
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
