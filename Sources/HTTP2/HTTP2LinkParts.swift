import TinyPush

extension HTTP2Link {
  /// Where the requests go, and who we are there.
  public struct Service: ~Copyable {
    /// The host, with its port where that is not 443.
    let authority: Text
    /// Of notifications that name none.
    let topic: Text
    /// Whether each request bears a token; a certificate is shown otherwise.
    let usesProviderToken: Bool

    public init(authority: Span<UInt8>, topic: Span<UInt8>, usesProviderToken: Bool) {
      var text = Text(capacity: max(authority.count, 1))
      text.append(bytes: authority)
      self.authority = consume text
      var other = Text(capacity: max(topic.count, 1))
      other.append(bytes: topic)
      self.topic = consume other
      self.usesProviderToken = usesProviderToken
    }
  }

  /// The provider token, as it goes out.
  struct Authorization: ~Copyable {
    private static let scheme: StaticString = "bearer "

    private(set) var text = Text(capacity: 1024)
    private var issuedAt: Int64?
    private var isRefused = false
    /// When the next one may be asked for, while there is none.
    var askAgainAt: Instant?

    init() {}

    /// Returns whether it is another token than before.
    mutating func set(_ token: Span<UInt8>, issuedAt: Int64) -> Bool {
      let isNew = issuedAt != self.issuedAt
      text.clear()
      text.append(Self.scheme)
      text.append(bytes: token)
      self.issuedAt = issuedAt
      isRefused = false
      askAgainAt = nil
      return isNew
    }

    /// Whether requests may go out with it. A clock that is not set any more says nothing against it.
    func isGood(_ wallSeconds: Int64?) -> Bool {
      switch ProviderTokenRule(now: wallSeconds, issuedAt: issuedAt, isRefused: isRefused) {
      case .use: true
      case .clockNotSet: issuedAt != nil && !isRefused
      case .make, .wait: false
      }
    }

    /// The service refuses it. Returns whether another one may be made now.
    mutating func refuse(_ wallSeconds: Int64?) -> Bool {
      isRefused = true
      return ProviderTokenRule(now: wallSeconds, issuedAt: issuedAt, isRefused: true) == .make
    }

    var refusedIssuedAt: Int64? { isRefused ? issuedAt : nil }
  }

  /// The service refuses our configuration: nothing is sent but one request as a try, now and then.
  struct Hold {
    private static let first = Duration.seconds(60)
    private static let longest = Duration.seconds(3600)

    private(set) var rejection: Rejection?
    private var failures: UInt64 = 0

    var isHeld: Bool { rejection != nil }

    /// How long nothing goes now.
    mutating func begin(_ rejection: Rejection) -> Duration {
      self.rejection = rejection
      let wait = Self.first.milliseconds << min(failures, 8)
      failures += 1
      return .milliseconds(min(wait, Self.longest.milliseconds))
    }
  }

  /// Whether the connection lives.
  struct Liveness {
    /// Whether the peer's kernel acknowledges what was written. A router on the way that has forgotten the connection
    /// swallows everything without a word.
    struct Probe {
      /// When more of the connection's bytes than these are acknowledged, the connection lives.
      var mark: UInt64
      /// When the connection is given up.
      var due: Instant
      var isExtended = false
    }

    static let settingsPatience = Duration.seconds(10)
    static let pongPatience = Duration.seconds(10)
    /// After so much silence, while answers are awaited, the connection is tried.
    static let answerlessPatience = Duration.seconds(5)
    /// How long nothing may be acknowledged, besides three round trips.
    static let probePatience = Duration.seconds(5)
    /// A connection that was quiet for so long is likely to be forgotten, and has less time.
    static let forgottenAfter = Duration.seconds(60)
    static let forgottenPatience = Duration.seconds(1)
    /// After so many requests in a row without an answer the connection is left.
    static let timeoutsMax = 3

    /// Since when nothing was written or read.
    var quietSince = Instant(milliseconds: 0)
    var probe: Probe?
    var pongDue: Instant?
    var pongs: UInt32 = 0
    var timeouts = 0
  }
}
