import CLinux
import TinyPush

/// What each setting takes.
extension Config {
  /// Gives a key its value.
  ///
  /// - Parameter line: the line of the file where it stands; nil: it was given by `-o`.
  public mutating func set(
    _ name: Span<UInt8>, to value: Span<UInt8>, line: Int32? = nil
  ) throws(Problem) {
    let names = Self.names
    var found: Key?
    for index in names.indices where name.equals(names[index]) { found = Key(rawValue: index) }
    guard let found else {
      throw .unknownKey(Nearest.match(name, among: names.span))
    }
    try set(found, to: value)
    origins[found.rawValue] = line.map { .line($0) } ?? .option
  }

  private mutating func set(_ setting: Key, to value: Span<UInt8>) throws(Problem) {
    switch setting {
    case .environment:
      if value.equals("production") {
        environment = .production
      } else if value.equals("development") || value.equals("sandbox") {
        environment = .development
      } else if value.equals("local") {
        environment = .local
      } else {
        throw .value("production, development or local")
      }
    case .protocol:
      if value.equals("http2") {
        courier.rules.service = .http2
      } else if value.equals("binary") {
        courier.rules.service = .binary
      } else {
        throw .value("http2 or binary")
      }
    case .gateway: gateway = try Self.address(value)
    case .feedback: feedback = try Self.address(value)
    case .certificate: certificate = try credential(value)
    case .key: key = try credential(value)
    case .keyPassword: keyPassword.set(value, file: file)
    case .signingKey: signingKey = try credential(value)
    case .keyID: keyID = try Self.appleID(value)
    case .teamID: teamID = try Self.appleID(value)
    case .topic: topic = try Self.topic(value)
    case .proxy: try setProxy(value)
    case .ca: ca = try credential(value)
    case .alpn: alpn = CString(value)
    case .spool: spool = try Self.path(value)
    case .state: state = try Self.path(value)
    case .status: status = try Self.path(value)
    case .recipients: recipients = try Self.path(value)
    case .defaultLanguage:
      guard let language = LanguageTag(value) else {
        throw .value("a language, such as en or fr-CA")
      }
      courier.rules.defaultLanguage = language
    case .format:
      guard let number = Self.number(value), number <= 2,
        let format = FrameFormat(rawValue: UInt8(number))
      else { throw .value("2, 1 or 0") }
      courier.format = format
    case .payloadLimit:
      guard let size = Self.size(value), size >= 16, size <= 4096 else {
        throw .value("a size from 16 to 4096 bytes (256, 2048 or 4096 by the age of the gateway)")
      }
      courier.rules.payloadLimit = Int(size)
    case .linger: courier.linger = try Self.duration(value, max: 60_000)
    case .settle:
      let settle = try Self.duration(value, max: 3_600_000)
      guard settle.milliseconds >= 100 else { throw .value("at least 100ms") }
      courier.settle = settle
    case .ttl:
      courier.ttl = UInt32(try Self.lifetime(value).milliseconds / 1000)
    case .confirm:
      if value.equals("drain") {
        courier.confirm = .drain
      } else if value.equals("barrier") {
        courier.confirm = .barrier
      } else if value.equals("settle") {
        courier.confirm = .settle
      } else {
        throw .value("drain, barrier or settle")
      }
    case .barrierInterval: courier.barrierInterval = try Self.duration(value, max: 86_400_000)
    case .uncertain:
      if value.equals("resend") {
        courier.uncertain = .resend
      } else if value.equals("drop") {
        courier.uncertain = .drop
      } else {
        throw .value("resend or drop")
      }
    case .repeats:
      if value.equals("replace") {
        courier.repeats = .replace
      } else if value.equals("show") {
        courier.repeats = .show
      } else {
        throw .value("replace or show")
      }
    case .window:
      guard let number = Self.number(value), number >= 16, number <= 65_536 else {
        throw .value("a number from 16 to 65536")
      }
      courier.window = Int(number)
    case .streams:
      guard let number = Self.number(value), number >= 1, number <= 1000 else {
        throw .value("a number from 1 to 1000")
      }
      courier.streams = Int(number)
    case .ping:
      let ping = try Self.duration(value, max: 86_400_000)
      guard ping >= .seconds(1) else { throw .value("at least 1s") }
      courier.ping = ping
    case .answerTimeout:
      let timeout = try Self.duration(value, max: 600_000)
      guard timeout.milliseconds >= 100 else { throw .value("at least 100ms") }
      courier.answerTimeout = timeout
    case .rescan:
      courier.rescan = try Self.duration(value, max: 86_400_000)
      guard courier.rescan >= .seconds(1) else { throw .value("at least 1s") }
    case .connectTimeout:
      connectTimeout = try Self.duration(value, max: 600_000)
      guard connectTimeout >= .seconds(1) else { throw .value("at least 1s") }
    case .feedbackTimeout:
      feedbackTimeout = try Self.duration(value, max: 3_600_000)
      guard feedbackTimeout.milliseconds >= 100 else { throw .value("at least 100ms") }
    case .failedLimit:
      guard let number = Self.number(value), number >= 1, number <= 1_000_000 else {
        throw .value("a number of files from 1 to 1000000")
      }
      failedLimits.files = Int(number)
    case .failedSize:
      guard let size = Self.size(value), size >= 65_536, size <= 1 << 40 else {
        throw .value("a size of 64K or more, such as 16M")
      }
      failedLimits.bytes = Int64(size)
    case .log:
      if value.equals("changes") {
        courier.tellsAll = false
      } else if value.equals("deliveries") {
        courier.tellsAll = true
      } else {
        throw .value("changes or deliveries")
      }
    case .onTrouble: onTrouble = CString(value)
    case .troubleAfter:
      troubleAfter = try Self.duration(value, max: 604_800_000)
      guard troubleAfter >= .seconds(1) else { throw .value("at least 1s") }
    case .limit: courier.limit = try Self.rateLimit(value)
    case .limitAll: courier.limitAll = try Self.rateLimit(value)
    case .limitSummary:
      guard let words = SummaryWords(Self.unquoted(value)) else {
        throw .value(
          "at most 120 bytes of text, in which {count} and {time} stand for how many alerts there were in how long"
        )
      }
      courier.summaryWords = words
    }
  }
}
