import CLinux
import TinyPush

/// The configuration: what stands in the file, what `-o` says over it, and what holds otherwise.
public struct Config: ~Copyable {
  public enum Environment: UInt8 {
    case production, development, local

    public var name: StaticString {
      switch self {
      case .production: "production"
      case .development: "development"
      case .local: "local"
      }
    }
  }

  /// The protocol where none is set.
  static let defaultProtocol = PushProtocol.http2

  public var courier = Courier.Settings()
  public var environment = Environment.production
  /// Empty strings: not given.
  public var gateway = CString("")
  public var feedback = CString("")
  public var certificate = CString("")
  public var key = CString("")
  var keyPassword = Secret("key-password")
  /// Apple's signing key, which stands in for a certificate; the ID of the key and that of the team that has it.
  public var signingKey = CString("")
  public var keyID = CString("")
  public var teamID = CString("")
  /// What notifications are for that do not say so themselves: the bundle ID of an app. Empty: the certificate says it.
  public var topic = CString("")
  /// The host and port of the proxy by which the services are reached; empty: none.
  var proxy = CString("")
  /// The whole setting, where it names a user and a password.
  var proxyLogin = Secret("proxy")
  public var ca = CString("/etc/ssl/certs/ca-certificates.crt")
  public var spool = CString("/var/spool/tinypush")
  public var state = CString("/var/lib/tinypush")
  public var status = CString("")
  public var recipients = CString("/etc/tinypush/recipients")
  public var connectTimeout = Duration.seconds(10)
  /// How long the feedback service may be silent.
  public var feedbackTimeout = Duration.seconds(60)
  public var failedLimits = FailedLimits()
  /// What the shell runs when there is trouble; empty: nothing. And how long nothing is delivered before that is trouble.
  public var onTrouble = CString("")
  public var troubleAfter = Duration.seconds(600)

  /// Where the file that is being read lies: what its relative paths begin from. Empty: the working directory.
  var directory = CString("")
  /// The file that is being read; empty: none, or one that cannot be read again.
  var file = CString("")
  /// Where each setting was given last, by ``Key``.
  var origins = InlineArray<39, Origin>(repeating: .none)
  /// Whether a setting of an earlier version was given.
  var hasFormerSettings = false
  private let pinned = Pinned()

  public static let defaultFile: StaticString = "/etc/tinypush/tinypush.conf"
  /// The page of the agent that a package has installed.
  public static let packagedStatus: StaticString = "/run/tinypush/status"

  @inline(never)
  public init() { courier.rules.service = Self.defaultProtocol }

  // Commands that fail for many reasons destroy it in many places.
  @inline(never)
  deinit {}

  public enum Key: Int {
    case environment, `protocol`, gateway, feedback, certificate, key, keyPassword, signingKey
    case keyID, teamID, topic, proxy, ca, spool, state, status, recipients, defaultLanguage
    case format, payloadLimit, settle, ttl, confirm, uncertain, repeats
    case window, streams, ping, answerTimeout, rescan
    case connectTimeout, feedbackTimeout, failedSize, log, onTrouble, troubleAfter
    case limit, limitAll, limitSummary
  }

  public static var names: WordList {
    """
    environment protocol gateway feedback certificate key key-password signing-key key-id team-id topic proxy ca spool state \
    status recipients default-language format payload-limit settle ttl confirm uncertain repeats window streams ping \
    answer-timeout rescan connect-timeout feedback-timeout failed-size log on-trouble trouble-after limit limit-all \
    limit-summary
    """
  }

  /// Settings of earlier versions: they change nothing any more.
  static var formerNames: WordList { "alpn linger barrier-interval failed-limit" }

  /// Where a setting was given.
  enum Origin: BitwiseCopyable {
    case none
    /// In this line of the file.
    case line(Int32)
    /// By `-o`.
    case option
  }

  /// What is wrong with a setting.
  public enum Problem: Error {
    /// No such key, and perhaps the number of the one that was meant.
    case unknownKey(nearest: Int?)
    /// What the value must be.
    case value(StaticString)
  }

  /// Whether a setting was given, and has not just its default.
  public borrowing func isSet(_ key: Key) -> Bool {
    if case .none = origins[key.rawValue] { return false }
    return true
  }
}
