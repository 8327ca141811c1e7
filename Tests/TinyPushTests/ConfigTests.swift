import Testing

@testable import Simulation
@testable import TinyPush
@testable import TinyPushAgent
@testable import TinyPushBinary

/// Sets a key and passes the configuration to `look`; returns the error message, if any.
private func set(
  _ key: String, _ value: String, look: (borrowing Config) -> Void = { _ in }
) -> String? {
  var config = Config()
  var problem = Text()
  guard config.set(key.bytes.span, to: value.bytes.span, &problem) else {
    return String(problem.bytes)
  }
  look(config)
  return nil
}

/// Whether the configuration has this password of the key.
private func hasPassword(_ config: borrowing Config, _ password: String) -> Bool {
  config.keyPassword.with { $0.map { String(cString: $0) } } == password
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
func `other texts and durations that are too long are refused`(value: String) {
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

@Test func `every key sets its field of the configuration`() {
  var keys: Set<String> = []
  // Whether a value makes `isSet` true, which is false after another value or the default.
  func takes(
    _ key: String, _ value: String, after other: String? = nil, isSet: (borrowing Config) -> Bool
  ) -> Bool {
    keys.insert(key)
    var config = Config()
    var problem = Text()
    if let other, !config.set(key.bytes.span, to: other.bytes.span, &problem) { return false }
    let wasSet = isSet(config)
    return config.set(key.bytes.span, to: value.bytes.span, &problem) && !wasSet && isSet(config)
  }
  #expect(takes("environment", "development") { $0.environment == .development })
  #expect(takes("environment", "sandbox") { $0.environment == .development })
  #expect(takes("environment", "local") { $0.environment == .local })
  #expect(takes("protocol", "http2", after: "binary") { $0.courier.rules.pushProtocol == .http2 })
  #expect(takes("protocol", "binary") { $0.courier.rules.pushProtocol == .binary })
  #expect(takes("signing-key", "/s.p8") { String($0.signingKey.span) == "/s.p8" })
  #expect(takes("key-id", "ABC123DEFG") { String($0.keyID.span) == "ABC123DEFG" })
  #expect(takes("team-id", "0123456789") { String($0.teamID.span) == "0123456789" })
  #expect(takes("topic", "com.example.an-app") { String($0.topic.span) == "com.example.an-app" })
  #expect(takes("streams", "1000") { $0.courier.streams == 1000 })
  #expect(takes("ping", "30m") { $0.courier.ping == .seconds(1800) })
  let limit = RateLimit(count: 20, period: .seconds(600))
  #expect(takes("limit", "20/10m") { $0.courier.limit == limit })
  #expect(takes("limit", "off", after: "1/1s") { $0.courier.limit == nil })
  #expect(takes("limit-all", "20/10m") { $0.courier.limitAll == limit })
  #expect(takes("answer-timeout", "5s") { $0.courier.answerTimeout == .seconds(5) })
  #expect(takes("repeats", "show") { $0.courier.repeats == .show })
  #expect(takes("repeats", "replace", after: "show") { $0.courier.repeats == .replace })
  #expect(takes("gateway", "h:1") { String($0.gateway.span) == "h:1" })
  #expect(takes("feedback", "h:2") { String($0.feedback.span) == "h:2" })
  #expect(takes("certificate", "/c") { String($0.certificate.span) == "/c" })
  #expect(takes("key", "/k") { String($0.key.span) == "/k" })
  #expect(takes("key-password", "p w") { hasPassword($0, "p w") })
  #expect(takes("proxy", "http://p:1/") { String($0.proxy.span) == "p:1" && $0.proxyLogin.isEmpty })
  #expect(
    takes("proxy", "http://u:s@p:1") { String($0.proxy.span) == "p:1" && !$0.proxyLogin.isEmpty })
  #expect(takes("proxy", "", after: "http://p:1") { $0.proxy.isEmpty })
  #expect(takes("ca", "/ca") { String($0.ca.span) == "/ca" })
  #expect(takes("spool", "/s") { String($0.spool.span) == "/s" })
  #expect(takes("state", "/st") { String($0.state.span) == "/st" })
  #expect(takes("status", "/page") { String($0.status.span) == "/page" })
  #expect(takes("format", "1") { $0.binary.format == .enhanced })
  #expect(takes("format", "0") { $0.binary.format == .simple })
  #expect(takes("payload-limit", "4K") { $0.courier.rules.payloadLimit == 4096 })
  #expect(takes("payload-limit", "256") { $0.courier.rules.payloadLimit == 256 })
  #expect(takes("settle", "100ms") { $0.binary.settle == .milliseconds(100) })
  #expect(takes("ttl", "6h") { $0.courier.ttl == 21_600 })
  #expect(takes("confirm", "settle") { $0.binary.confirm == .settle })
  #expect(takes("confirm", "barrier") { $0.binary.confirm == .barrier })
  #expect(takes("uncertain", "drop") { $0.courier.uncertain == .drop })
  #expect(takes("window", "16") { $0.courier.window == 16 })
  #expect(takes("rescan", "1h") { $0.courier.rescan == .seconds(3600) })
  #expect(takes("connect-timeout", "3s") { $0.connectTimeout == .seconds(3) })
  #expect(takes("log", "deliveries") { $0.courier.reportsSettlements })
  #expect(takes("log", "changes", after: "deliveries") { !$0.courier.reportsSettlements })
  #expect(takes("failed-size", "64K") { $0.failedLimits.bytes == 65_536 })
  #expect(takes("failed-size", "40000M") { $0.failedLimits.bytes == 41_943_040_000 })
  #expect(takes("app", "bark") { $0.courier.rules.app == .bark })
  #expect(takes("encryption-key", "0123456789abcdef") { $0.courier.rules.isEncrypted })
  #expect(takes("encryption-mode", "gcm") { $0.sealMode != Config().sealMode })
  #expect(takes("vapid-key", "/v") { String($0.vapidKey.span) == "/v" && $0.courier.hasWebPush })
  #expect(takes("contact", "mailto:a@b.org") { String($0.contact.span) == "mailto:a@b.org" })
  #expect(takes("web-page", "https://a.org/b/") { String($0.webPage.span) == "https://a.org/b/" })
  #expect(takes("private-endpoints", "yes") { $0.allowsPrivateEndpoints })
  #expect(takes("recipients", "/r") { String($0.recipients.span) == "/r" })
  #expect(
    takes("default-language", "fr") { String($0.courier.rules.defaultLanguage.text) == "fr" })
  #expect(
    takes("limit-summary", "{count}!") { config in
      let words = config.courier.summaryWords
      return text { words.append(alerts: 3, in: 1, to: &$0) } == "3!"
    })
  #expect(takes("on-trouble", "true") { String($0.onTrouble.span) == "true" })
  #expect(takes("trouble-after", "5m") { $0.troubleAfter == .seconds(300) })
  #expect(takes("feedback-timeout", "5s") { $0.feedbackTimeout == .seconds(5) })
  #expect(keys == Set(Config.table.rows.map { "\($0.name)" }))
}

@Test func `the defaults of the table are those of the courier and the links`() {
  let config = Config()
  var courier = config.courier
  #expect(courier.rules.pushProtocol == .http2)
  courier.rules.pushProtocol = Courier.Settings().rules.pushProtocol
  #expect("\(courier)" == "\(Courier.Settings())")
  #expect("\(config.binary)" == "\(BinaryLink.Settings())")
  #expect(config.failedLimits.bytes == FailedLimits().bytes)
}

@Test(arguments: [
  ("environment", "Production"), ("gateway", ""), ("certificate", ""), ("format", "3"),
  ("format", ""), ("payload-limit", "15"), ("payload-limit", "4097"), ("payload-limit", "1M"),
  ("payload-limit", "K"), ("payload-limit", "999999999999999M"),
  ("settle", "99ms"), ("settle", "61m"), ("ttl", "60"),
  ("confirm", "never"), ("uncertain", ""), ("window", "15"), ("window", "65537"), ("window", "4K"),
  ("rescan", "999ms"), ("connect-timeout", "11m"),
  ("failed-size", "65535"), ("failed-size", "63K"), ("failed-size", "1048577M"),
  ("failed-size", "999999999999999M"), ("payload-limit", "999999999999999K"),
  ("protocol", "http"), ("protocol", ""), ("protocol", "HTTP2"), ("signing-key", ""),
  ("key-id", ""), ("key-id", "ABC123DEF"), ("key-id", "ABC123DEFGH"), ("key-id", "ABC-23DEFG"),
  ("team-id", "ABC123DEF\u{E9}"), ("topic", ""), ("topic", "com example"), ("topic", "com.\"x"),
  ("topic", String(repeating: "x", count: 128)), ("streams", "0"), ("streams", "1001"),
  ("ping", "999ms"), ("ping", "25h"), ("answer-timeout", "99ms"), ("answer-timeout", "11m"),
  ("answer-timeout", "30"), ("repeats", "drop"), ("repeats", ""),
])
func `an invalid value is refused with the values that are allowed`(key: String, value: String) {
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
func `a size that overflows 64 bits is refused`(text: String, size: UInt64?) {
  #expect(Config.size(text.bytes.span) == size)
}

@Test(arguments: [
  ("setle", "unknown setting setle; did you mean settle?"),
  ("Environment", "unknown setting Environment; did you mean environment?"),
  ("frobnicate", "unknown setting frobnicate: remove it; tinypush.conf(5) lists all settings"),
])
func `an unknown key is an error that names the nearest known one`(key: String, problem: String) {
  #expect(set(key, "1") == problem)
}

@Test(arguments: [
  ("binary", "production", "gateway.push.apple.com:2195"),
  ("binary", "development", "gateway.sandbox.push.apple.com:2195"),
  ("binary", "sandbox", "gateway.sandbox.push.apple.com:2195"),
  ("binary", "local", "localhost:2195"),
  ("http2", "production", "api.push.apple.com:443"),
  ("http2", "development", "api.sandbox.push.apple.com:443"),
  ("http2", "sandbox", "api.sandbox.push.apple.com:443"), ("http2", "local", "localhost:2195"),
])
func `each environment has a gateway for each protocol`(
  service: String, environment: String, address: String
) throws {
  var config = Config()
  var problem = Text()
  #expect(config.set("protocol".bytes.span, to: service.bytes.span, &problem))
  #expect(config.set("environment".bytes.span, to: environment.bytes.span, &problem))
  var found = Text()
  config.gatewayAddress(in: &found)
  #expect(String(found.bytes) == address)
  #expect(config.gatewayPort.equals(service == "http2" ? "443" : "2195"))
}

extension StaticString {
  fileprivate func equals(_ text: String) -> Bool { String(span) == text }
}

/// Sets the lines of a file and then `-o` settings, and completes the configuration.
///
/// Returns the error, if any.
private func complete(
  _ lines: [String], over settings: [String] = [], look: (borrowing Config) -> Void = { _ in }
) throws -> (status: TinyPushAgent.ExitStatus, words: String)? {
  var config = Config()
  var problem = Text()
  let text = lines.joined(separator: "\n").bytes.span
  var numbered = ConfigLines()
  while let line = numbered.next(in: text) {
    guard case .setting(let name, let value) = line else { continue }
    #expect(config.set(name: name, value: value, of: text, line: numbered.number, &problem))
  }
  for setting in settings {
    let words = setting.split(separator: "=", maxSplits: 1).map(String.init)
    #expect(config.set(words[0].bytes.span, to: words[1].bytes.span, &problem))
  }
  var message = Text()
  let file: StaticString = "x.conf"
  do throws(TinyPushAgent.ExitStatus) {
    try config.complete(file.cString, message: &message)
  } catch {
    return (error, String(message.bytes))
  }
  #expect(message.count == 0)
  look(config)
  return nil
}

private let signing = [
  "signing-key=/AuthKey_ABC123DEFG.p8", "key-id=ABC123DEFG", "team-id=DEF123GHIJ",
  "topic=com.example.app",
]

@Test(arguments: [
  ("settle=5s", "the service answers each notification"),
  ("confirm=drain", "the service answers each notification"),
  ("format=2", "there are no frames of several formats"),
  ("feedback=localhost:1", "the service answers at once when a device is gone"),
  ("feedback-timeout=9s", "the service answers at once when a device is gone"),
])
func `a setting of the binary protocol is an error with HTTP/2`(
  setting: String, reason: String
) throws {
  let key = setting.prefix { $0 != "=" }
  let words =
    "\(key) applies only to protocol = binary; with http2 \(reason): remove it, or set protocol = binary"
  // The protocol may come before or after.
  var wrong = try complete(["# note", setting, "protocol=http2"])
  #expect(wrong?.words == "x.conf:2: " + words)
  #expect(wrong?.status == .config)
  wrong = try complete(["protocol=http2"], over: [setting])
  #expect(wrong?.words == "-o: " + words)
  #expect(wrong?.status == .usage)
  #expect(try complete(["protocol=binary", setting]) == nil)
}

@Test(arguments: [
  ("signing-key=/k.p8", "a certificate is needed"),
  ("key-id=ABC123DEFG", "a certificate is needed"),
  ("team-id=ABC123DEFG", "a certificate is needed"),
  ("topic=com.example.app", "the certificate decides the topic"),
  ("app=bark", "the app must be your own"),
  ("encryption-key=0123456789abcdef", "the app must be your own"),
  ("encryption-mode=gcm", "the app must be your own"),
  ("repeats=show", "no notification replaces another on a device"),
  ("streams=9", "the service does not answer what it accepts"),
  ("ping=1h", "the service does not answer what it accepts"),
  ("answer-timeout=9s", "the service does not answer what it accepts"),
])
func `a setting of HTTP/2 is an error with the binary protocol`(
  setting: String, reason: String
) throws {
  let key = setting.prefix { $0 != "=" }
  let wrong = try complete([setting, "protocol=binary"])
  #expect(
    wrong?.words
      == "x.conf:1: \(key) applies only to protocol = http2; with binary \(reason): remove it, or set protocol = http2"
  )
}

@Test(arguments: [
  (
    ["signing-key=/k.p8", "team-id=ABC123DEFG", "topic=a.b"],
    "x.conf:1: signing-key needs key-id: set it to the 10 characters in the name AuthKey_XXXXXXXXXX.p8"
  ),
  (
    ["key-id=ABC123DEFG", "signing-key=/k.p8", "topic=a.b"],
    "x.conf:2: signing-key needs team-id: set it to the 10 characters under Membership in Apple's developer account"
  ),
  (
    ["key-id=ABC123DEFG", "team-id=ABC123DEFG", "signing-key=/k.p8"],
    "x.conf:3: signing-key needs topic: set it to the bundle ID of your app, such as com.example.app"
  ),
  (
    signing + ["certificate=/c.pem"],
    "x.conf:5: certificate is set, and signing-key as well: remove one of them"
  ),
  (
    ["key=/c.key"] + signing,
    "x.conf:1: key belongs to a certificate, and signing-key is set: remove it"
  ),
  (
    signing + ["key-password=x"],
    "x.conf:5: key-password belongs to a certificate, and signing-key is set: remove it"
  ),
  (
    ["certificate=/c.pem", "key-id=ABC123DEFG"],
    "x.conf:2: key-id belongs to a signing key, and none is set: set signing-key, or remove it"
  ),
  (
    signing + ["encryption-key=0123456789abcdef"],
    "x.conf:5: encryption-key needs app = bark: an app of your own gets each payload as it is"
  ),
  (
    ["app=bark", "signing-key=/k.p8", "encryption-key=0123456789abcdef", "payload-limit=256"],
    "x.conf:4: payload-limit must be at least 512 with encryption-key"
  ),
  (
    ["app=bark", "topic=a.b"],
    "x.conf:1: app = bark needs signing-key: the file that the authors of Bark publish"
  ),
  (
    ["team-id=ABC123DEFG"],
    "x.conf:1: team-id belongs to a signing key, and none is set: set signing-key, or remove it"
  ),
  (
    ["gateway=gateway.push.apple.com:2195"],
    "x.conf:1: gateway is Apple's binary service, which was switched off in 2021: remove it, and set environment"
  ),
  (
    ["gateway=gateway.sandbox.push.apple.com"],
    "x.conf:1: gateway is Apple's binary service, which was switched off in 2021: remove it, and set environment"
  ),
])
func `contradictory or missing settings for HTTP/2 are reported with their line`(
  lines: [String], words: String
) throws {
  #expect(try complete(lines + ["protocol=http2"])?.words == words)
}

@Test func `the binary protocol refuses Apple's HTTP/2 service as its gateway`() throws {
  #expect(
    try complete(["protocol=binary"], over: ["gateway=api.push.apple.com:2197"])?.words
      == "-o: gateway is Apple's service for HTTP/2: set protocol = http2, or another gateway")
}

@Test(arguments: [
  ("/etc/AuthKey_ABC123DEFG.p8", "ABC123DEFG"), ("AuthKey_ABC123DEFG_TEAM123456.p8", "ABC123DEFG"),
  ("/run/credentials_AuthKey_ABC123DEFG.p8", "ABC123DEFG"), ("/AuthKey_ABC123DEFG.p8/key", nil),
  ("AuthKey_ABC123DEF.p8", nil), ("AuthKey_ABC123DEFG", nil), ("authkey_ABC123DEFG.p8", nil),
  ("AuthKey_production.p8", nil),
])
func `the ID of a signing key comes from the name of its file`(path: String, id: String?) {
  let bytes = path.bytes
  var found: String?
  if let span = Config.keyID(inName: bytes.span) { found = String(span) }
  #expect(found == id)
}

@Test func `the settings of Bark need not be given`() throws {
  func ids(_ lines: [String]) throws -> [String]? {
    var ids: [String]?
    let wrong = try complete(lines) {
      ids = [String($0.keyID.span), String($0.teamID.span), String($0.topic.span)]
    }
    return wrong == nil ? ids : nil
  }
  let bark = ["LH4T9V5U4R", "5U8LBRXG3A", "me.fin.bark"]
  #expect(try ids(["app=bark", "signing-key=/k.p8"]) == bark)
  #expect(
    try ids(["signing-key=/AuthKey_ABC123DEFG_X.p8", "app=bark"]) == ["ABC123DEFG"]
      + bark.dropFirst())
  #expect(
    try ids([
      "app=bark", "key-id=K23456789A", "team-id=T23456789A", "topic=a.b", "signing-key=/k.p8",
    ])
      == ["K23456789A", "T23456789A", "a.b"])
}

@Test func `complete sets the payload limits of HTTP/2`() throws {
  for lines in [signing, ["certificate=/c.pem", "key=/c.key", "topic=com.example.app"], []] {
    let wrong = try complete(["protocol=http2"] + lines) { config in
      #expect(config.courier.rules.payloadLimit(for: .alert) == 4096)
      #expect(config.courier.rules.payloadLimit(for: .voip) == 5120)
    }
    #expect(wrong == nil)
  }
  let wrong = try complete(["payload-limit=256", "protocol=http2"]) { config in
    #expect(config.courier.rules.payloadLimit(for: .alert) == 256)
    #expect(config.courier.rules.payloadLimit(for: .voip) == 256)
  }
  #expect(wrong == nil)
}

@Test func `complete keeps the payload limit of the binary protocol`() throws {
  let lines = ["certificate=/c.pem", "settle=5s", "feedback=h:1", "protocol=binary"]
  let wrong = try complete(lines) { config in
    #expect(config.courier.rules.payloadLimit(for: .alert) == 2048)
  }
  #expect(wrong == nil)
}

@Test func `an old configuration with a certificate works with HTTP/2`() throws {
  let lines = [
    "certificate=credentials/push.pem", "key=credentials/push.key", "environment=sandbox",
    "status=/run/tinypush/status", "payload-limit=2048", "ttl=1d",
    "uncertain=resend", "window=8192", "rescan=15m", "connect-timeout=10s", "protocol=http2",
  ]
  #expect(try complete(lines) == nil)
}
