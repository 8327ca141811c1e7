import TinyPush
import TinyPushWebPush

extension HTTP2Link {
  /// The service's address, and how the client identifies itself.
  public struct Service: ~Copyable {
    /// The host, with its port if that is not 443.
    let authority: Text
    /// The topic of notifications that name none.
    let topic: Text
    /// Whether each request carries a provider token; a client certificate is used otherwise.
    let usesProviderToken: Bool
    /// Encrypts the payloads that must be encrypted; nil: none must.
    let seal: Bark.Seal?
    /// Encrypts the messages to browsers; nil: the service is that of devices.
    let messageSeal: MessageSeal?
    /// The page that a click on an alert opens in a browser; empty: it is not known.
    let page: Text

    /// Copies the authority and the topic.
    public init(
      authority: Span<UInt8>, topic: Span<UInt8>, usesProviderToken: Bool, seal: Bark.Seal? = nil
    ) {
      self.seal = seal
      messageSeal = nil
      page = Text(capacity: 1)
      self.authority = Self.copy(authority)
      self.topic = Self.copy(topic)
      self.usesProviderToken = usesProviderToken
    }

    /// Makes a push service of browsers.
    public init(ofBrowsers authority: Span<UInt8>, _ messageSeal: MessageSeal, page: Span<UInt8>) {
      seal = nil
      self.messageSeal = messageSeal
      self.page = Self.copy(page)
      self.authority = Self.copy(authority)
      topic = Text(capacity: 1)
      usesProviderToken = true
    }

    @inline(never)
    private static func copy(_ bytes: Span<UInt8>) -> Text {
      var text = Text(capacity: max(bytes.count, 1))
      text.append(bytes: bytes)
      return text
    }

    /// Whether the service is that of browsers.
    var isOfBrowsers: Bool { messageSeal != nil }
    /// Whether the service ends connections after refusals, as that of devices does.
    var endsAfterRefusals: Bool { usesProviderToken && !isOfBrowsers }
    /// When provider tokens are issued.
    var tokenSchedule: TokenSchedule { isOfBrowsers ? .vapid : .apple }
  }

  /// The provider token and its header's text.
  struct Authorization: ~Copyable {
    private static let scheme: StaticString = "bearer "
    private static let schemeOfBrowsers: StaticString = "vapid "

    private let schedule: TokenSchedule
    private(set) var text = Text(capacity: 1024)
    private var issuedAt: Int64?
    /// When the link may ask for the next token, if there was none.
    var askAgainAt: Instant?

    init(_ schedule: TokenSchedule) { self.schedule = schedule }

    /// Sets the token.
    ///
    /// Returns whether it differs from the former token.
    mutating func set(_ token: Span<UInt8>, issuedAt: Int64) -> Bool {
      let isNew = issuedAt != self.issuedAt
      text.clear()
      text.append(schedule == .vapid ? Self.schemeOfBrowsers : Self.scheme)
      text.append(bytes: token)
      self.issuedAt = issuedAt
      askAgainAt = nil
      return isNew
    }

    /// Whether requests may carry the token; a clock that is no longer set does not matter.
    func isGood(_ wallSeconds: Int64?) -> Bool {
      guard let wallSeconds else { return issuedAt != nil }
      return issuedAt == schedule.issue(at: wallSeconds)
    }
  }

  /// The service's refusal of the configuration, which stops sending except for occasional tests.
  struct Hold {
    private static let first = Duration.seconds(1)
    private static let second = Duration.seconds(60)
    private static let longest = Duration.seconds(3600)

    private(set) var rejection: Rejection?
    private var failures = 0

    var isHeld: Bool { rejection != nil }

    /// Notes a refusal that stops nothing, since only one notification was refused.
    mutating func note(_ rejection: Rejection) { self.rejection = rejection }

    /// Notes a refusal.
    ///
    /// Returns how long nothing is sent now.
    mutating func begin(_ rejection: Rejection) -> Duration {
      self.rejection = rejection
      failures += 1
      return Self.wait(failures)
    }

    /// How long to wait after a number of refusals.
    ///
    /// The first wait is short, since notifications may have been refused for themselves.
    static func wait(_ failures: Int) -> Duration {
      guard failures > 1 else { return first }
      return min(.milliseconds(second.milliseconds << UInt64(min(failures - 2, 8))), longest)
    }
  }

  /// Whether the connection lives.
  struct Liveness {
    /// A check whether the peer's kernel acknowledges written bytes.
    ///
    /// A router on the way that has forgotten the connection drops all packets silently.
    struct Probe {
      /// The bytes that were acknowledged at the start; one more proves that the connection lives.
      var mark: UInt64
      /// When the connection is given up.
      var due: Instant
      var isExtended = false
    }

    /// After this silence a connection to the service of browsers is closed.
    static let idleMax = Duration.seconds(600)
    static let settingsPatience = Duration.seconds(10)
    static let pongPatience = Duration.seconds(10)
    /// After this silence, while answers are awaited, a ping is sent.
    static let answerlessPatience = Duration.seconds(5)
    /// How long acknowledgements may be missing, besides three round trips.
    static let probePatience = Duration.seconds(5)
    /// After this silence a router may have forgotten the connection, so the check is shorter.
    static let forgottenAfter = Duration.seconds(60)
    static let forgottenPatience = Duration.seconds(1)
    /// After this number of requests without an answer, and none to a later one, the connection is
    /// closed.
    static let timeoutsMax = 3

    /// Since when nothing was written or read.
    var quietSince = Instant(milliseconds: 0)
    var probe: Probe?
    var pongDue: Instant?
    var pongs: UInt32 = 0
    var timeouts = 0
    /// When the last answer came.
    var answeredAt = Instant(milliseconds: 0)

    mutating func answered(at now: Instant) {
      timeouts = 0
      answeredAt = now
    }
  }
}
