/// The lasting problems of delivery, each reported when it begins and when it ends.
///
/// The type is pure: facts come in, and reports go out.
public struct Troubles: BitwiseCopyable {
  /// A kind of problem.
  public enum Kind: UInt8 {
    /// Notifications wait, and none could be delivered for a long time, to any service or to one of
    /// several.
    case offline
    /// The client certificate expires soon, or has expired.
    case certificate
    /// The service refuses the client certificate, the signing key or the configuration.
    case credentials

    /// The name in reports.
    public var name: StaticString {
      switch self {
      case .offline: "offline"
      case .certificate: "certificate"
      case .credentials: "credentials"
      }
    }

    fileprivate var bit: UInt8 { 1 << rawValue }
  }

  /// The present state of delivery.
  public struct Facts {
    /// The present time.
    public var time: Time
    /// Whether a notification in the spool can be delivered now.
    public var isWaiting = false
    /// Since when a service has taken none of the notifications that wait for it, while another
    /// service may; nil: there is no such service.
    public var missedSince: Instant?
    /// The notifications settled since the agent started.
    public var settled: UInt64 = 0
    /// Whether there is a connection.
    public var isConnected = false
    /// Whether all sent notifications only wait for `settle` to pass.
    public var isSettling = false
    /// Whether the service refuses the credentials.
    public var isRefused = false
    /// The end of the certificate in UNIX seconds; 0: not known.
    public var certificateEnd: Int64 = 0

    /// Creates facts that show no problem.
    public init(time: Time) { self.time = time }
  }

  /// How long before its end a certificate is a problem, in seconds.
  public static let certificateSeconds: Int64 = 14 * 86_400
  /// How long a connection must last until the credentials count as accepted.
  static let calm = Duration.seconds(60)

  private let after: Duration
  /// A bit for each kind of problem that is present.
  private var present: UInt8
  /// A bit for each kind of problem whose beginning was reported.
  public private(set) var reported: UInt8
  /// The notifications settled at the last update; nil: there was no update.
  private var settled: UInt64?
  private var stuckSince: Instant?
  private var missedSince: Instant?
  private var goodSince: Instant?

  /// Creates the problems.
  ///
  /// - Parameters:
  ///   - after: how long nothing must be delivered until ``Kind/offline`` begins.
  ///   - reported: the problems whose beginning an earlier agent reported.
  public init(after: Duration, reported: UInt8 = 0) {
    self.after = after
    self.reported = reported
    present = reported
  }

  /// Takes the present facts; the agent calls it before each wait.
  public mutating func update(_ facts: Facts) {
    let now = facts.time.now
    // An agent that follows another one goes on with the other's count.
    let isProgress = facts.settled != settled ?? facts.settled
    settled = facts.settled

    if !facts.isWaiting || isProgress || facts.isSettling {
      stuckSince = nil
    } else if stuckSince == nil {
      stuckSince = now
    }
    // What other services take does not end the trouble of one that takes nothing.
    let isMissed = facts.missedSince != nil && facts.missedSince == missedSince ?? facts.missedSince
    missedSince = facts.missedSince
    if let since = longestSince, since + after <= now {
      set(.offline, true)
    } else if isProgress && !isMissed || facts.isConnected && !facts.isWaiting {
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

  private var longestSince: Instant? {
    var since = stuckSince
    since.include(missedSince)
    return since
  }

  /// Whether no service has taken anything for so long that this is trouble.
  public func isEverywhere(at now: Instant) -> Bool {
    stuckSince.map { $0 + after <= now } ?? false
  }

  private func has(_ kind: Kind) -> Bool { present & kind.bit != 0 }

  private mutating func set(_ kind: Kind, _ isPresent: Bool) {
    if isPresent { present |= kind.bit } else { present &= ~kind.bit }
  }

  /// When to update again if nothing happens; nil: not at all.
  public var deadline: Instant? {
    let stuckUntil = has(.offline) ? nil : longestSince.map { $0 + after }
    let goodUntil = has(.credentials) ? goodSince.map { $0 + Self.calm } : nil
    guard let stuckUntil, let goodUntil else { return stuckUntil ?? goodUntil }
    return min(stuckUntil, goodUntil)
  }

  /// Returns the next beginning or end to report.
  public mutating func take() -> (kind: Kind, began: Bool)? {
    let kinds: InlineArray<3, Kind> = [.offline, .certificate, .credentials]
    for index in kinds.indices where (present ^ reported) & kinds[index].bit != 0 {
      reported ^= kinds[index].bit
      return (kinds[index], reported & kinds[index].bit != 0)
    }
    return nil
  }
}
