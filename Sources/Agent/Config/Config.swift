import CLinux
import TinyPush

/// The configuration: what stands in the file, what `-o` says over it, and what holds otherwise.
public struct Config: ~Copyable {
  public enum Environment: UInt8 {
    case production
    case sandbox
    case local
  }

  public var courier = Courier.Settings()
  public var environment = Environment.production
  /// Empty strings: not given.
  public var gateway = CString("")
  public var feedback = CString("")
  public var certificate = CString("")
  public var key = CString("")
  /// The password of the key, where it is not in a file that can be read again.
  var keyPassword = CString("")
  /// The file that has it: there it is looked up whenever the key is read, and not kept.
  var keyPasswordFile = CString("")
  public var ca = CString("/etc/ssl/certs/ca-certificates.crt")
  public var alpn = CString("")
  public var spool = CString("/var/spool/tinypush")
  public var state = CString("/var/lib/tinypush")
  public var status = CString("")
  public var recipients = CString("/etc/tinypush/recipients")
  public var connectTimeout = Duration.seconds(10)
  /// How long the feedback service may be silent.
  public var feedbackTimeout = Duration.seconds(60)
  public var failedLimits = FailedLimits()

  /// Where the file that is being read lies: what its relative paths begin from. Empty: the working directory.
  var directory = CString("")
  /// The file that is being read; empty: none, or one that cannot be read again.
  var file = CString("")
  private let pinned = Pinned()

  public static let defaultFile: StaticString = "/etc/tinypush/tinypush.conf"

  @inline(never)
  public init() {}

  // Commands that fail for many reasons destroy it in many places.
  @inline(never)
  deinit { keyPassword.wipe() }

  public enum Key: Int {
    case environment, gateway, feedback, certificate, key, keyPassword, ca, alpn, spool, state,
      status, recipients, defaultLanguage
    case format, payloadLimit, linger, settle, ttl, confirm, barrierInterval, uncertain, window,
      rescan
    case connectTimeout, feedbackTimeout, failedLimit, failedSize
  }

  public static var names: InlineArray<27, StaticString> {
    [
      "environment", "gateway", "feedback", "certificate", "key", "key-password", "ca", "alpn",
      "spool",
      "state", "status", "recipients", "default-language", "format", "payload-limit", "linger",
      "settle", "ttl", "confirm",
      "barrier-interval", "uncertain", "window", "rescan", "connect-timeout", "feedback-timeout",
      "failed-limit", "failed-size",
    ]
  }

  /// What is wrong with a setting.
  public enum Problem: Error {
    /// No such key, and perhaps the one that was meant.
    case unknownKey(StaticString?)
    /// What the value must be.
    case value(StaticString)
  }

  /// Where the services listen, if nothing else is said.
  static let gatewayPort: StaticString = "2195"
  static let feedbackPort: StaticString = "2196"

  /// The host and port of the gateway.
  public borrowing func gatewayAddress(in text: inout Text) {
    write(gateway, "gateway", Self.gatewayPort, in: &text)
  }

  /// The host and port of the feedback service.
  public borrowing func feedbackAddress(in text: inout Text) {
    write(feedback, "feedback", Self.feedbackPort, in: &text)
  }

  private borrowing func write(
    _ given: borrowing CString, _ service: StaticString, _ port: StaticString, in text: inout Text
  ) {
    if !given.isEmpty {
      text.append(bytes: given.span)
      return
    }
    if environment == .local {
      text.append("localhost")
    } else {
      text.append(service)
      text.append(environment == .sandbox ? ".sandbox.push.apple.com" : ".push.apple.com")
    }
    text.append(":")
    text.append(port)
  }

  /// Gives a key its value.
  public mutating func set(_ name: Span<UInt8>, to value: Span<UInt8>) throws(Problem) {
    let names = Self.names
    var found: Key?
    for index in names.indices where name.equals(names[index]) { found = Key(rawValue: index) }
    guard let found else {
      throw .unknownKey(Nearest.match(name, among: names.span))
    }
    switch found {
    case .environment:
      if value.equals("production") {
        environment = .production
      } else if value.equals("sandbox") {
        environment = .sandbox
      } else if value.equals("local") {
        environment = .local
      } else {
        throw .value("production, sandbox or local")
      }
    case .gateway: gateway = try Self.address(value)
    case .feedback: feedback = try Self.address(value)
    case .certificate: certificate = try credential(value)
    case .key: key = try credential(value)
    case .keyPassword:
      keyPassword.wipe()
      keyPassword = file.isEmpty ? CString(value) : CString("")
      keyPasswordFile = value.isEmpty ? CString("") : CString(file.span)
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
    case .window:
      guard let number = Self.number(value), number >= 16, number <= 65_536 else {
        throw .value("a number from 16 to 65536")
      }
      courier.window = Int(number)
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
    }
  }
}
