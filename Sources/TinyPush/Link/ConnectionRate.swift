/// How often a link may connect: a few times at once, and then once every few seconds.
///
/// The service takes rapid connecting for an attack, even if each connection delivers something. So
/// this limit holds beside ``Backoff``, which only follows failures. Each connection costs an
/// interval with a random part, so that machines do not connect in step.
public struct ConnectionRate {
  private let burst: UInt64
  private let interval: Duration
  /// When all connections are paid for, and a whole burst may be made again.
  private var restedAt = Instant(milliseconds: 0)
  /// What the last connection cost.
  private var lastCost = Duration.milliseconds(0)
  private var random: UInt64

  /// Creates a limit without connections.
  ///
  /// - Parameters:
  ///   - burst: how many connections may at least be made at once after a quiet time.
  ///   - interval: the shortest interval between two connections after that; the longest is twice
  ///     this.
  ///   - seed: any number that differs between agents.
  public init(burst: UInt64 = 4, interval: Duration = .seconds(5), seed: UInt64) {
    self.burst = burst
    self.interval = interval
    random = seed | 1
  }

  /// The earliest instant of the next connection.
  public var nextAt: Instant {
    let credit = (burst - 1) * 2 * interval.milliseconds
    return Instant(milliseconds: restedAt.milliseconds - min(credit, restedAt.milliseconds))
  }

  /// Forgets all connections, so that the next one may be made at once.
  public mutating func forget() { restedAt = Instant(milliseconds: 0) }

  /// Notes a connection, or an attempt.
  public mutating func connect(at now: Instant) {
    random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    let extra = (random >> 33) % (interval.milliseconds + 1)
    lastCost = interval + .milliseconds(extra)
    restedAt = max(restedAt, now) + lastCost
  }

  /// Takes back what the last connection cost, since it delivered much.
  public mutating func forgive() {
    restedAt = Instant(milliseconds: restedAt.milliseconds - lastCost.milliseconds)
    lastCost = .milliseconds(0)
  }
}
