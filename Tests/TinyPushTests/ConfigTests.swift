import Testing

@testable import TinyPush

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
  #expect(set("environment", "sandbox") { #expect($0.environment == .sandbox) } == nil)
  #expect(set("environment", "local") { #expect($0.environment == .local) } == nil)
  #expect(set("gateway", "h:1") { #expect(String($0.gateway.span) == "h:1") } == nil)
  #expect(set("feedback", "h:2") { #expect(String($0.feedback.span) == "h:2") } == nil)
  #expect(set("certificate", "/c") { #expect(String($0.certificate.span) == "/c") } == nil)
  #expect(set("key", "/k") { #expect(String($0.key.span) == "/k") } == nil)
  #expect(set("key-password", "p w") { #expect(String($0.keyPassword.span) == "p w") } == nil)
  #expect(set("ca", "/ca") { #expect(String($0.ca.span) == "/ca") } == nil)
  #expect(set("alpn", "apns") { #expect(String($0.alpn.span) == "apns") } == nil)
  #expect(set("spool", "/s") { #expect(String($0.spool.span) == "/s") } == nil)
  #expect(set("state", "/st") { #expect(String($0.state.span) == "/st") } == nil)
  #expect(set("status", "/page") { #expect(String($0.status.span) == "/page") } == nil)
  #expect(set("format", "1") { #expect($0.courier.format == .enhanced) } == nil)
  #expect(set("format", "0") { #expect($0.courier.format == .simple) } == nil)
  #expect(set("payload-limit", "4K") { #expect($0.courier.payloadLimit == 4096) } == nil)
  #expect(set("payload-limit", "256") { #expect($0.courier.payloadLimit == 256) } == nil)
  #expect(set("linger", "0ms") { #expect($0.courier.linger == .milliseconds(0)) } == nil)
  #expect(set("settle", "100ms") { #expect($0.courier.settle == .milliseconds(100)) } == nil)
  #expect(set("ttl", "1d") { #expect($0.courier.ttl == 86_400) } == nil)
  #expect(set("confirm", "settle") { #expect($0.courier.confirm == .settle) } == nil)
  #expect(set("confirm", "barrier") { #expect($0.courier.confirm == .barrier) } == nil)
  #expect(
    set("barrier-interval", "2m") { #expect($0.courier.barrierInterval == .seconds(120)) } == nil)
  #expect(set("uncertain", "drop") { #expect($0.courier.uncertain == .drop) } == nil)
  #expect(set("window", "16") { #expect($0.courier.window == 16) } == nil)
  #expect(set("rescan", "1h") { #expect($0.courier.rescan == .seconds(3600)) } == nil)
  #expect(set("connect-timeout", "3s") { #expect($0.connectTimeout == .seconds(3)) } == nil)
  #expect(set("failed-limit", "5") { #expect($0.failedLimit == 5) } == nil)
}

@Test(arguments: [
  ("environment", "Production"), ("gateway", ""), ("certificate", ""), ("format", "3"),
  ("format", ""), ("payload-limit", "15"), ("payload-limit", "4097"), ("payload-limit", "1M"),
  ("payload-limit", "K"), ("linger", "61s"), ("settle", "99ms"), ("settle", "61m"), ("ttl", "60"),
  ("confirm", "never"), ("uncertain", ""), ("window", "15"), ("window", "65537"), ("window", "4K"),
  ("rescan", "999ms"), ("connect-timeout", "11m"), ("failed-limit", "0"),
])
func `a value that cannot be is refused, and said what it must be`(key: String, value: String) {
  let problem = set(key, value)
  #expect(problem?.hasPrefix("\(key) must be ") == true)
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
