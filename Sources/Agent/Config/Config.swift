import CLinux
import TinyPush
import TinyPushBinary

/// The configuration: the settings of the file, overridden by `-o`, with defaults for the rest.
public struct Config: ~Copyable {
  /// The environment of the push service: Apple's two, or a sandbox on this machine.
  public enum Environment: UInt8 {
    case production, development, local

    /// The value of the setting `environment`.
    public var name: StaticString {
      switch self {
      case .production: "production"
      case .development: "development"
      case .local: "local"
      }
    }
  }

  /// The default protocol.
  static let defaultProtocol = PushProtocol.http2

  /// The settings of the courier and the links.
  public var courier = Courier.Settings()
  /// The settings of the binary link.
  public var binary = BinaryLink.Settings()
  /// The environment of the push service.
  public var environment = Environment.production
  /// The gateway's host and port; empty for the default of the environment.
  public var gateway = CString("")
  /// The feedback service's host and port; empty for the default of the environment.
  public var feedback = CString("")
  /// The path of the push certificate; empty if not set.
  public var certificate = CString("")
  /// The path of the certificate's key; empty if it is in the certificate's file.
  public var key = CString("")
  var keyPassword = Secret("key-password")
  /// The path of Apple's signing key, which replaces a certificate; empty if not set.
  public var signingKey = CString("")
  /// The ID of the signing key.
  public var keyID = CString("")
  /// The ID of the team that owns the signing key.
  public var teamID = CString("")
  /// The topic of notifications that name none: the bundle ID of an app.
  ///
  /// Empty if the certificate decides it.
  public var topic = CString("")
  /// The host and port of the proxy; empty for none.
  var proxy = CString("")
  /// The whole setting `proxy` if it contains a user and a password.
  var proxyLogin = Secret("proxy")
  /// The path of the authorities that the gateway's certificate is verified with.
  public var ca = CString("/etc/ssl/certs/ca-certificates.crt")
  /// The path of the spool.
  public var spool = CString("/var/spool/tinypush")
  /// The path of the directory with the suppression list.
  public var state = CString("/var/lib/tinypush")
  /// The path of the status page; empty for none.
  public var status = CString("")
  /// The path of the directory with the recipients files.
  public var recipients = CString("/etc/tinypush/recipients")
  /// The longest wait for a connection to one address, and for its handshake.
  public var connectTimeout = Duration.seconds(10)
  /// The longest silence of the feedback service.
  public var feedbackTimeout = Duration.seconds(60)
  /// The limits of the files in `failed/`.
  public var failedLimits = FailedLimits()
  /// The shell command that is run when there is trouble; empty for none.
  public var onTrouble = CString("")
  /// How long nothing is delivered before that is trouble.
  public var troubleAfter = Duration.seconds(600)

  /// The directory of the file that is being read, which relative paths start from.
  ///
  /// Empty for the working directory.
  package var directory = CString("")
  /// The path of the file that is being read; empty if it cannot be read again.
  var file = CString("")
  /// Where each setting was last given, by ``Key``.
  var origins = InlineArray<39, Origin>(repeating: .none)
  /// Whether a setting of an earlier version was given, which has no effect now.
  var hasFormerSettings = false
  private let pinned = Pinned()

  /// How long a stop waits for the outcomes of sent notifications.
  ///
  /// Service managers allow half a minute.
  var stopPatience: Duration {
    courier.rules.service == .binary ? binary.settle : min(courier.answerTimeout, .seconds(20))
  }

  /// The path of the configuration file if none is named.
  public static let defaultFile: StaticString = "/etc/tinypush/tinypush.conf"
  /// The status page of the agent that a package installs.
  public static let packagedStatus: StaticString = "/run/tinypush/status"

  /// Creates a configuration with all defaults.
  @inline(never)
  public init() { courier.rules.service = Self.defaultProtocol }

  // Inlined, this code would be repeated at each way out of a command.
  @inline(never)
  deinit {}

  /// The settings, numbered in the order of ``Config/names``.
  public enum Key: Int {
    case environment, `protocol`, gateway, feedback, certificate, key, keyPassword, signingKey
    case keyID, teamID, topic, proxy, ca, spool, state, status, recipients, defaultLanguage
    case format, payloadLimit, settle, ttl, confirm, uncertain, repeats
    case window, streams, ping, answerTimeout, rescan
    case connectTimeout, feedbackTimeout, failedSize, log, onTrouble, troubleAfter
    case limit, limitAll, limitSummary
  }

  /// The names of the settings in the configuration file.
  public static var names: WordList {
    """
    environment protocol gateway feedback certificate key key-password signing-key key-id team-id topic proxy ca spool state \
    status recipients default-language format payload-limit settle ttl confirm uncertain repeats window streams ping \
    answer-timeout rescan connect-timeout feedback-timeout failed-size log on-trouble trouble-after limit limit-all \
    limit-summary
    """
  }

  /// Who reads the configuration.
  public enum Reader {
    /// The agent, or a command that speaks for it: a mistake is an error.
    case agent
    /// Another command, which needs few settings: mistakes in the others are ignored.
    case command
  }

  /// Whether a name is that of a setting that commands besides the agent need, or is like it.
  static func isForCommands(_ name: Span<UInt8>) -> Bool {
    let needed: WordList =
      "protocol spool state status recipients default-language format payload-limit"
    guard names.index(of: name) == nil, let nearest = names.nearest(to: name) else {
      return needed.index(of: name) != nil
    }
    return needed.index(of: names[nearest]) != nil
  }

  /// The names of settings of earlier versions, which are ignored.
  static var formerNames: WordList { "alpn linger barrier-interval failed-limit" }

  /// Where a setting was given.
  enum Origin: BitwiseCopyable {
    case none
    /// In this line of the configuration file.
    case line(Int32)
    /// With the option `-o`.
    case option
  }

  /// A mistake in a setting.
  public enum Problem: Error {
    /// The key is unknown; `nearest` is the number of a similar key.
    case unknownKey(nearest: Int?)
    /// The value is wrong; the text says what it must be.
    case value(StaticString)
  }

  /// Whether a setting was given, and does not have its default.
  public borrowing func isSet(_ key: Key) -> Bool {
    if case .none = origins[key.rawValue] { return false }
    return true
  }
}
