/// What keeps alerts from their devices, or soon will, and of which somebody is to be told: once when it begins, and once when
/// it is over. Pure: what is known comes in, and what is to be told goes out.
public struct Troubles: BitwiseCopyable {
  public enum Kind: UInt8 {
    /// Notifications wait, and none could be delivered for a long time.
    case offline
    /// Our certificate ends soon, or has ended.
    case certificate
    /// The service refuses our certificate, key or configuration.
    case credentials

    public var name: StaticString {
      switch self {
      case .offline: "offline"
      case .certificate: "certificate"
      case .credentials: "credentials"
      }
    }

    fileprivate var bit: UInt8 { 1 << rawValue }
  }

  /// How things are.
  public struct Facts {
    public var time: Time
    /// Something in the spool is to be delivered now.
    public var isWaiting = false
    /// Notifications that were settled, since the agent started.
    public var settled: UInt64 = 0
    public var isConnected = false
    /// What was sent only waits for the end of `settle`.
    public var isSettling = false
    public var isRefused = false
    /// UNIX seconds; 0: nobody knows.
    public var certificateEnd: Int64 = 0

    public init(time: Time) { self.time = time }
  }

  public static let certificateSeconds: Int64 = 14 * 86_400
  /// A connection that lasts so long is not refused.
  static let calm = Duration.seconds(60)

  private let after: Duration
  /// A bit for each kind: what there is, and what was told.
  private var present: UInt8
  public private(set) var reported: UInt8
  private var settled: UInt64 = 0
  private var stuckSince: Instant?
  private var goodSince: Instant?

  /// - Parameters:
  ///   - after: how long nothing is delivered before that is trouble.
  ///   - reported: what an agent before this one has told that began.
  public init(after: Duration, reported: UInt8 = 0) {
    self.after = after
    self.reported = reported
    present = reported
  }

  /// Takes in how things are. To be called before each rest.
  public mutating func update(_ facts: Facts) {
    let now = facts.time.now
    let isProgress = facts.settled != settled
    settled = facts.settled

    if !facts.isWaiting || isProgress || facts.isSettling {
      stuckSince = nil
    } else if stuckSince == nil {
      stuckSince = now
    }
    if let since = stuckSince, since + after <= now {
      set(.offline, true)
    } else if isProgress || facts.isConnected && !facts.isWaiting {
      set(.offline, false)
    }

    if facts.isRefused || !facts.isConnected {
      goodSince = nil
    } else if goodSince == nil {
      goodSince = now
    }
    if facts.isRefused {
      set(.credentials, true)
    } else if isProgress || goodSince.map({ $0 + Self.calm <= now }) ?? false {
      set(.credentials, false)
    }

    if let wall = facts.time.wallSeconds, facts.certificateEnd > 0 {
      set(.certificate, facts.certificateEnd < wall + Self.certificateSeconds)
    }
  }

  private func has(_ kind: Kind) -> Bool { present & kind.bit != 0 }

  private mutating func set(_ kind: Kind, _ isPresent: Bool) {
    if isPresent { present |= kind.bit } else { present &= ~kind.bit }
  }

  /// When to look again, where nothing else happens; nil: not at all.
  public var deadline: Instant? {
    let stuckUntil = has(.offline) ? nil : stuckSince.map { $0 + after }
    let goodUntil = has(.credentials) ? goodSince.map { $0 + Self.calm } : nil
    guard let stuckUntil, let goodUntil else { return stuckUntil ?? goodUntil }
    return min(stuckUntil, goodUntil)
  }

  /// What is to be told next: what began, or is over.
  public mutating func take() -> (kind: Kind, began: Bool)? {
    let kinds: InlineArray<3, Kind> = [.offline, .certificate, .credentials]
    for index in kinds.indices where (present ^ reported) & kinds[index].bit != 0 {
      reported ^= kinds[index].bit
      return (kinds[index], reported & kinds[index].bit != 0)
    }
    return nil
  }
}
