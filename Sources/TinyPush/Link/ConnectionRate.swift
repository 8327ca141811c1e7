/// How often a link may connect: a few times at once, and then once every few seconds.
///
/// The service takes rapid connecting for an attack, even if each connection delivers something. So
/// this limit holds beside ``Backoff``, which only follows failures. Each connection costs an
/// interval with a random part, so that machines do not connect in step.
public struct ConnectionRate {
  /// After a quiet time at least this number of connections may be made at once.
  public static let burst = 4
  /// The shortest interval between two connections after that; the longest is twice this.
  public static let interval = Duration.seconds(5)

  /// When all connections are paid for, and a whole burst may be made again.
  private var restedAt = Instant(milliseconds: 0)
  private var random: UInt64

  /// Creates a limit without connections.
  ///
  /// - Parameter seed: any number that differs between agents.
  public init(seed: UInt64) { random = seed | 1 }

  /// The earliest instant of the next connection.
  public var nextAt: Instant {
    let credit = UInt64(Self.burst - 1) * 2 * Self.interval.milliseconds
    return Instant(milliseconds: restedAt.milliseconds - min(credit, restedAt.milliseconds))
  }

  /// Notes a connection, or an attempt.
  public mutating func connect(at now: Instant) {
    random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    let extra = (random >> 33) % (Self.interval.milliseconds + 1)
    restedAt = max(restedAt, now) + Self.interval + .milliseconds(extra)
  }
}
