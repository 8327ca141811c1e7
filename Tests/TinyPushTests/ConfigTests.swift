import Testing

@testable import Simulation
@testable import TinyPush
@testable import TinyPushAgent

/// Whether a key can be set, and the configuration is then as `isSet` wants it.
private func takes(
  _ key: String, _ value: String, isSet: (borrowing Config) -> Bool
) -> Bool {
  var isAsWanted = false
  return set(key, value) { isAsWanted = isSet($0) } == nil && isAsWanted
}

/// Sets a key and gives the configuration to `look`; what is wrong, if anything is.
private func set(
  _ key: String, _ value: String, look: (borrowing Config) -> Void = { _ in }
) -> String? {
  var config = Config()
  do throws(Config.Problem) {
    try config.set(key.bytes.span, to: value.bytes.span)
    look(config)
    return nil
  } catch {
    return text { ConfigFile.describe(error, name: key.bytes.span, in: &$0) }
  }
}

@Test(arguments: [
  ("0ms", UInt64(0)), ("20ms", 20), ("10s", 10_000), ("5m", 300_000), ("2h", 7_200_000),
  ("1d", 86_400_000), ("007s", 7000),
])
func `a duration has a unit`(value: String, milliseconds: UInt64) throws {
  let duration = try Config.duration(value.bytes.span, max: 86_400_000)
  #expect(duration == .milliseconds(milliseconds))
}

@Test(arguments: [
  "", "10", "s", "ms", "10 s", "10S", "-1s", "1.5s", "10sec", "1w", "25h", "86400001ms",
  "99999999999999999999s", "999999999999999d", "1s ",
])
func `anything else is no duration, and neither is one that is too long`(value: String) {
  #expect(throws: Config.Problem.self) {
    try Config.duration(value.bytes.span, max: 86_400_000)
  }
}

@Test(arguments: [
  ("", UInt64?.none), ("0", 0), ("42", 42), ("999999999999999", 999_999_999_999_999),
  ("1000000000000000", nil), ("-1", nil), ("1 ", nil), ("0x1", nil),
])
func `a number has at most 15 digits and nothing else`(value: String, number: UInt64?) {
  #expect(Config.number(value.bytes.span) == number)
}

@Test func `every key has its place`() {
  let names = Config.names
  for index in names.indices { #expect(Config.Key(rawValue: index) != nil) }
  #expect(Config.Key(rawValue: names.count) == nil)
  #expect(takes("environment", "sandbox") { $0.environment == .sandbox })
  #expect(takes("environment", "local") { $0.environment == .local })
  #expect(takes("gateway", "h:1") { String($0.gateway.span) == "h:1" })
  #expect(takes("feedback", "h:2") { String($0.feedback.span) == "h:2" })
  #expect(takes("certificate", "/c") { String($0.certificate.span) == "/c" })
  #expect(takes("key", "/k") { String($0.key.span) == "/k" })
  #expect(takes("key-password", "p w") { String($0.keyPassword.span) == "p w" })
  #expect(takes("ca", "/ca") { String($0.ca.span) == "/ca" })
  #expect(takes("alpn", "apns") { String($0.alpn.span) == "apns" })
  #expect(takes("spool", "/s") { String($0.spool.span) == "/s" })
  #expect(takes("state", "/st") { String($0.state.span) == "/st" })
  #expect(takes("status", "/page") { String($0.status.span) == "/page" })
  #expect(takes("format", "1") { $0.courier.format == .enhanced })
  #expect(takes("format", "0") { $0.courier.format == .simple })
  #expect(takes("payload-limit", "4K") { $0.courier.rules.payloadLimit == 4096 })
  #expect(takes("payload-limit", "256") { $0.courier.rules.payloadLimit == 256 })
  #expect(takes("linger", "0ms") { $0.courier.linger == .milliseconds(0) })
  #expect(takes("settle", "100ms") { $0.courier.settle == .milliseconds(100) })
  #expect(takes("ttl", "1d") { $0.courier.ttl == 86_400 })
  #expect(takes("confirm", "settle") { $0.courier.confirm == .settle })
  #expect(takes("confirm", "barrier") { $0.courier.confirm == .barrier })
  #expect(takes("barrier-interval", "2m") { $0.courier.barrierInterval == .seconds(120) })
  #expect(takes("uncertain", "drop") { $0.courier.uncertain == .drop })
  #expect(takes("window", "16") { $0.courier.window == 16 })
  #expect(takes("rescan", "1h") { $0.courier.rescan == .seconds(3600) })
  #expect(takes("connect-timeout", "3s") { $0.connectTimeout == .seconds(3) })
  #expect(takes("failed-limit", "5") { $0.failedLimits.files == 5 })
  #expect(takes("failed-size", "64K") { $0.failedLimits.bytes == 65_536 })
  #expect(takes("failed-size", "40000M") { $0.failedLimits.bytes == 41_943_040_000 })
}

@Test(arguments: [
  ("environment", "Production"), ("gateway", ""), ("certificate", ""), ("format", "3"),
  ("format", ""), ("payload-limit", "15"), ("payload-limit", "4097"), ("payload-limit", "1M"),
  ("payload-limit", "K"), ("payload-limit", "999999999999999M"), ("linger", "61s"),
  ("settle", "99ms"), ("settle", "61m"), ("ttl", "60"),
  ("confirm", "never"), ("uncertain", ""), ("window", "15"), ("window", "65537"), ("window", "4K"),
  ("rescan", "999ms"), ("connect-timeout", "11m"), ("failed-limit", "0"),
  ("failed-size", "65535"), ("failed-size", "63K"), ("failed-size", "1048577M"),
  ("failed-size", "999999999999999M"), ("payload-limit", "999999999999999K"),
])
func `a value that cannot be is refused, and said what it must be`(key: String, value: String) {
  let problem = set(key, value)
  #expect(problem?.hasPrefix("\(key) must be ") == true)
}

@Test(
  arguments: [
    ("0", 0), ("64", 64), ("16K", 16_384), ("4m", 4_194_304),
    ("999999999999999", 999_999_999_999_999),
    ("999999999999999K", 1_023_999_999_999_998_976),
    ("17592186044415M", 18_446_744_073_708_503_040),
    ("17592186044416M", nil), ("999999999999999M", nil), ("9999999999999999", nil), ("M", nil),
    ("-1K", nil),
  ] as [(String, UInt64?)])
func `a size that is too large to count is none`(text: String, size: UInt64?) {
  #expect(Config.size(text.bytes.span) == size)
}

@Test(arguments: [
  ("setle", "no such key: setle; did you mean settle?"),
  ("Environment", "no such key: Environment; did you mean environment?"),
  ("frobnicate", "no such key: frobnicate"), ("", "no such key: "),
])
func `an unknown key is an error that names the nearest known one`(key: String, problem: String) {
  #expect(set(key, "1") == problem)
}

@Test(arguments: [
  ("production", "gateway.push.apple.com:2195"),
  ("sandbox", "gateway.sandbox.push.apple.com:2195"), ("local", "localhost:2195"),
])
func `each environment has its gateway`(environment: String, address: String) throws {
  var config = Config()
  try config.set("environment".bytes.span, to: environment.bytes.span)
  var found = Text()
  config.gatewayAddress(in: &found)
  #expect(String(found.bytes) == address)
}
