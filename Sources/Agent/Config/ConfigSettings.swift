import CLinux
import TinyPush
import TinyPushBinary

/// The values of each setting.
extension Config {
  /// Sets a key to a value.
  ///
  /// - Parameter line: the line of the configuration file; nil for `-o`.
  public mutating func set(
    _ name: Span<UInt8>, to value: Span<UInt8>, line: Int32? = nil
  ) throws(Problem) {
    guard let number = Self.names.index(of: name), let key = Key(rawValue: number) else {
      // An error would stop the agent after an update of the program.
      if Self.formerNames.index(of: name) != nil {
        hasFormerSettings = true
        return
      }
      throw .unknownKey(nearest: Self.names.nearest(to: name))
    }
    try set(key, to: value)
    origins[number] = line.map { .line($0) } ?? .option
  }

  private mutating func set(_ setting: Key, to value: Span<UInt8>) throws(Problem) {
    switch setting {
    case .environment:
      // The last word is from Apple's host names.
      let number = try Self.choice(
        value, "production development local sandbox", "production, development or local")
      environment = Environment(rawValue: UInt8(number)) ?? .development
    case .protocol:
      let isHTTP2 = try Self.choice(value, "http2 binary", "http2 or binary") == 0
      courier.rules.service = isHTTP2 ? .http2 : .binary
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
      binary.format = FrameFormat(
        rawValue: UInt8(try Self.count(Self.number(value), 0...2, "2, 1 or 0")))!
      courier.rules.isOfOldFrames = binary.format != .items
    case .payloadLimit:
      courier.rules.payloadLimit = Int(
        try Self.count(
          Self.size(value), 16...4096,
          "a size from 16 to 4096 bytes (256, 2048 or 4096 by the age of the gateway)"))
    case .settle: binary.settle = try Self.duration(value, min: 100, max: 3_600_000)
    case .ttl: courier.ttl = UInt32(try Self.lifetime(value).milliseconds / 1000)
    case .confirm:
      switch try Self.choice(value, "drain barrier settle", "drain, barrier or settle") {
      case 0: binary.confirm = .drain
      case 1: binary.confirm = .barrier
      default: binary.confirm = .settle
      }
    case .uncertain:
      courier.uncertain =
        try Self.choice(value, "resend drop", "resend or drop") == 0 ? .resend : .drop
    case .repeats:
      courier.repeats =
        try Self.choice(value, "replace show", "replace or show") == 0 ? .replace : .show
    case .window:
      courier.window = Int(
        try Self.count(Self.number(value), 16...65_000, "a number from 16 to 65000"))
    case .streams:
      courier.streams = Int(
        try Self.count(Self.number(value), 1...1000, "a number from 1 to 1000"))
    case .ping: courier.ping = try Self.duration(value, min: 1000, max: 86_400_000)
    case .answerTimeout: courier.answerTimeout = try Self.duration(value, min: 100, max: 600_000)
    case .rescan: courier.rescan = try Self.duration(value, min: 1000, max: 86_400_000)
    case .connectTimeout: connectTimeout = try Self.duration(value, min: 1000, max: 600_000)
    case .feedbackTimeout: feedbackTimeout = try Self.duration(value, min: 100, max: 3_600_000)
    case .failedSize:
      failedLimits.bytes = Int64(
        try Self.count(Self.size(value), 65_536...1 << 40, "a size of 64K or more, such as 16M"))
    case .log:
      courier.reportsSettlements =
        try Self.choice(value, "changes deliveries", "changes or deliveries") == 1
    case .onTrouble: onTrouble = CString(value)
    case .troubleAfter: troubleAfter = try Self.duration(value, min: 1000, max: 604_800_000)
    case .limit: courier.limit = try Self.rateLimit(value)
    case .limitAll: courier.limitAll = try Self.rateLimit(value)
    case .limitSummary:
      guard let words = SummaryWords(Self.unquoted(value)) else {
        throw .value(
          "at most 120 bytes of text, in which {count} stands for the number of alerts and {time} for the period"
        )
      }
      courier.summaryWords = words
    }
  }
}
