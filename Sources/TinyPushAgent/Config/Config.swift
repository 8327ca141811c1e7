import CLinux
import CMbed
import TinyPush
import TinyPushBinary

/// The configuration: the settings of the file, overridden by `-o`, with defaults for the rest.
///
/// ``Config/table`` has the defaults.
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
  /// The key with which alerts for Bark are encrypted.
  var encryptionKey = Secret("encryption-key")
  /// The mode of the encryption.
  var sealMode = CMBED_SEAL_CBC
  /// The path of the key that identifies this machine to browsers; empty: no Web Push.
  public var vapidKey = CString("")
  /// Where the push services of browsers can reach the operator; empty if not set.
  public var contact = CString("")
  /// The page on which browsers register; empty: it is not known.
  public var webPage = CString("")
  /// Whether subscriptions may name hosts with private addresses.
  public var allowsPrivateEndpoints = false
  /// The host and port of the proxy; empty for none.
  var proxy = CString("")
  /// The whole setting `proxy` if it contains a user and a password.
  var proxyLogin = Secret("proxy")
  /// The path of the authorities that the gateway's certificate is verified with.
  public var ca = CString("")
  /// The path of the spool.
  public var spool = CString("")
  /// The path of the directory with the suppression list.
  public var state = CString("")
  /// The path of the status page; empty for none.
  public var status = CString("")
  /// The path of the directory with the recipients files.
  public var recipients = CString("")
  /// The longest wait for a connection to one address, and for its handshake.
  public var connectTimeout = Duration.seconds(0)
  /// The longest silence of the feedback service.
  public var feedbackTimeout = Duration.seconds(0)
  /// The limits of the files in `failed/`.
  public var failedLimits = FailedLimits()
  /// The shell command that is run when there is trouble; empty for none.
  public var onTrouble = CString("")
  /// How long nothing is delivered before that is trouble.
  public var troubleAfter = Duration.seconds(0)

  /// The directory of the file that is being read, which relative paths start from.
  ///
  /// Empty for the working directory.
  package var directory = CString("")
  /// The path of the file that is being read; empty if it cannot be read again.
  var file = CString("")
  /// Where each setting was last given, by its place in the table.
  let origins: FixedBuffer<Origin>
  /// Whether this user may not read the file, so that its settings are unknown.
  public var isUnread = false
  /// Whether a setting of an earlier version was given, which has no effect now.
  var hasFormerSettings = false
  private let pinned = Pinned()

  /// How long a stop waits for the outcomes of sent notifications.
  ///
  /// Service managers allow half a minute.
  var stopPatience: Duration {
    courier.rules.pushProtocol == .binary ? binary.settle : min(courier.answerTimeout, .seconds(20))
  }

  /// The path of the configuration file if none is named.
  public static let defaultFile: StaticString = "/etc/tinypush/tinypush.conf"
  /// The status page of the agent that a package installs.
  public static let packagedStatus: StaticString = "/run/tinypush/status"

  /// Creates a configuration with all defaults.
  @inline(never)
  public init() {
    let count = Self.table.rows.count
    origins = FixedBuffer(capacity: count)
    for index in 0..<count { origins[index] = .none }
    Self.table.setDefaults(of: &self)
  }

  // Inlined, this code would be repeated at each way out of a command.
  @inline(never)
  deinit {}

  /// Who reads the configuration.
  public enum Reader: Sendable {
    /// The agent, or a command that speaks for it: a mistake is an error.
    case agent
    /// Another command, which needs few settings: mistakes in the others are ignored.
    case command
  }

  /// Whether a name is that of a setting that commands besides the agent need, or is like it.
  static func isForCommands(_ name: Span<UInt8>) -> Bool {
    guard let index = table.index(of: name) ?? table.nearest(to: name) else { return false }
    return table.rows[index].reader == Reader.command
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

  /// Whether a setting was given, and does not have its default.
  @inline(never)
  borrowing func isSet(_ name: StaticString) -> Bool {
    guard let index = Self.table.index(of: name.span) else { fatalError("no such setting") }
    return isSet(index)
  }

  borrowing func isSet(_ index: Int) -> Bool {
    if case .none = origins[index] { return false }
    return true
  }

  /// Sets a setting to a value, and returns false if it is wrong.
  ///
  /// - Parameter problem: what is wrong and what to do.
  public mutating func set(
    _ name: Span<UInt8>, to value: Span<UInt8>, _ problem: inout Text
  ) -> Bool {
    guard !isFormer(name) else { return true }
    guard let index = Self.table.set(name, to: value, in: &self, &problem) else { return false }
    origins[index] = .option
    return true
  }

  /// Sets what a line of the file says, and returns false if it is wrong.
  mutating func set(
    name: Range<Int>, value: Range<Int>, of text: Span<UInt8>, line: Int32,
    _ problem: inout Text
  ) -> Bool {
    guard !isFormer(text.extracting(name)) else { return true }
    if let index = Self.table.index(of: text.extracting(name)),
      Self.table.rows[index].mayHaveComment, ConfigLines.mayHaveComment(value, in: text)
    {
      problem.append(printable: text.extracting(name))
      problem.append(" is \"", printable: text.extracting(value))
      problem.append("\": put the comment on a line of its own, beginning with #")
      return false
    }
    guard
      let index = Self.table.set(name: name, value: value, of: text, in: &self, &problem)
    else { return false }
    origins[index] = .line(line)
    return true
  }

  /// Whether a setting is one of an earlier version: an error would stop the agent after an update.
  private mutating func isFormer(_ name: Span<UInt8>) -> Bool {
    guard Self.formerNames.index(of: name) != nil else { return false }
    hasFormerSettings = true
    return true
  }
}
