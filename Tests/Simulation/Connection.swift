import TinyPush

/// A connection: bytes on their way in both directions, and bytes that the agent has not read.
final class Connection {
  /// How the connection ended, as the agent's kernel sees it.
  enum End {
    case closed, reset, timedOut
  }

  let number: Int
  private let timeline: Timeline

  // The agent's end.
  private(set) var unread: [(bytes: [UInt8], at: Instant)] = []
  private(set) var end: End?
  /// Whether the agent has closed the connection, or has ended.
  var isHungUp = false
  var isWritable = false
  private(set) var written: UInt64 = 0
  private(set) var acknowledged: UInt64 = 0
  private(set) var acknowledgedAt: Instant
  /// The times of acknowledgements, by the end of the bytes; earlier ones are dropped once asked
  /// for.
  private var acknowledgements: [(end: UInt64, at: Instant)] = []
  /// When the oldest unacknowledged byte was written.
  private(set) var waitsSince: Instant

  // The network.
  /// Whether nothing passes any more, without notice to either end.
  var isDead = false
  /// Until when the agent's machine sleeps; what arrives earlier is sent again afterwards.
  private var sleepsUntil: Instant
  private var lastToAgent: Instant
  private var lastToGateway: Instant

  // The gateway's end.
  var held: [UInt8] = []
  var taken = 0
  /// Whether the gateway has answered or is gone, and ignores everything.
  var isDeaf = false
  /// When the gateway closes; until then it discards what arrives.
  var closesAt = Instant(milliseconds: 0)
  /// Whether the gateway stopped reading; its kernel still takes bytes while there is room.
  var isStalled = false
  /// The numbers of the notifications that the gateway accepted on this connection.
  var accepted: Set<Int> = []

  init(number: Int, _ timeline: Timeline) {
    self.number = number
    self.timeline = timeline
    acknowledgedAt = timeline.now
    waitsSince = timeline.now
    sleepsUntil = timeline.now
    lastToAgent = timeline.now
    lastToGateway = timeline.now
  }

  var hasUnread: Bool { !unread.isEmpty || end != nil }

  // MARK: - From the agent

  /// The bytes that TLS adds to a record.
  private static let overhead = 22

  func write(_ bytes: [UInt8], latency: UInt64, arrive: @escaping (_ wireEnd: UInt64) -> Void) {
    if acknowledged == written { waitsSince = timeline.now }
    written += UInt64(bytes.count + Self.overhead)
    let end = written
    lastToGateway = max(lastToGateway, timeline.now + .milliseconds(latency))
    timeline.plan(at: lastToGateway) { [self] in if !isDead { arrive(end) } }
  }

  /// Acknowledges, by the peer's kernel, everything up to `end`.
  func acknowledge(_ end: UInt64, latency: UInt64) {
    deliver(latency: latency) { [self] in
      guard end > acknowledged else { return }
      acknowledged = end
      acknowledgedAt = timeline.now
      waitsSince = timeline.now
      acknowledgements.append((end, timeline.now))
    }
  }

  /// Returns when the agent's kernel learned that everything up to `end` was acknowledged.
  ///
  /// Must be called with growing values of `end`.
  func acknowledgement(of end: UInt64) -> Instant? {
    while let first = acknowledgements.first, first.end < end { acknowledgements.removeFirst() }
    return acknowledgements.first?.at
  }

  // MARK: - To the agent

  func send(_ bytes: [UInt8], latency: UInt64) {
    deliver(latency: latency) { [self] in unread.append((bytes, timeline.now)) }
  }

  func close(latency: UInt64) {
    deliver(latency: latency) { [self] in end = end ?? .closed }
  }

  /// Resets the connection.
  ///
  /// - Parameter hides: whether bytes that were not read are lost.
  func reset(latency: UInt64, hides: Bool) {
    deliver(latency: latency) { [self] in
      end = .reset
      if hides { unread = [] }
    }
  }

  /// Ends the connection now, without delivering what is on its way.
  func abort(byPeer: Bool) {
    isDeaf = true
    unread = []
    end = byPeer ? .reset : .timedOut
  }

  /// Ends the connection, since the kernel gives up.
  func timeOut() {
    if !isHungUp { end = end ?? .timedOut }
  }

  /// Lets something happen at the agent's end, after everything that was sent before.
  private func deliver(latency: UInt64, _ act: @escaping () -> Void) {
    lastToAgent = max(lastToAgent, sleepsUntil, timeline.now + .milliseconds(latency))
    arrive(at: lastToAgent, act)
  }

  private func arrive(at instant: Instant, _ act: @escaping () -> Void) {
    timeline.plan(at: instant) { [self] in
      if isHungUp || isDead { return }
      if timeline.now < sleepsUntil { arrive(at: sleepsUntil, act) } else { act() }
    }
  }

  /// Lets the agent's machine sleep for `duration`, and delays arrivals by `more`.
  ///
  /// The kernel's clock for the time since the last acknowledgement stands still meanwhile.
  func sleep(for duration: Duration, and more: Duration) {
    sleepsUntil = timeline.now + duration + more
    acknowledgedAt = acknowledgedAt + duration
    waitsSince = waitsSince + duration
    for index in acknowledgements.indices {
      acknowledgements[index].at = acknowledgements[index].at + duration
    }
  }

  /// Returns the bytes that the agent reads next.
  func read() -> [UInt8]? { unread.isEmpty ? nil : unread.removeFirst().bytes }
}
