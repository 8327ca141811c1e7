import TinyPush

/// A connection: what is under way in both directions, and what has come to the agent's kernel and is not read.
final class Connection {
  /// How it ended, as the agent's kernel knows it.
  enum End {
    case closed, reset, timedOut
  }

  let number: Int
  private let timeline: Timeline

  // The agent's end.
  private(set) var unread: [(bytes: [UInt8], at: Instant)] = []
  private(set) var end: End?
  /// The agent has closed it, or is gone.
  var isHungUp = false
  var isWritable = false
  private(set) var written: UInt64 = 0
  private(set) var acknowledged: UInt64 = 0
  private(set) var acknowledgedAt: Instant
  /// When what was written up to a place was acknowledged; what is not asked for any more is forgotten.
  private var acknowledgements: [(end: UInt64, at: Instant)] = []
  /// When the oldest byte that is not acknowledged was written.
  private(set) var waitsSince: Instant

  // Between the two.
  /// Nothing passes any more, and nobody is told.
  var isDead = false
  /// The agent's machine sleeps, and what comes meanwhile is sent once more afterwards.
  private var sleepsUntil: Instant
  private var lastToAgent: Instant
  private var lastToGateway: Instant

  // The gateway's end.
  var held: [UInt8] = []
  var taken = 0
  /// The gateway has answered, or is gone: nothing more counts.
  var isDeaf = false
  /// When it closes its end: what comes before is only thrown away.
  var closesAt = Instant(milliseconds: 0)
  /// It reads nothing any more, and its kernel goes on taking what there is room for.
  var isStalled = false
  /// Numbers of the notifications that it accepted here.
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

  /// Bytes that TLS adds to a record.
  private static let overhead = 22

  func write(_ bytes: [UInt8], latency: UInt64, arrive: @escaping (_ wireEnd: UInt64) -> Void) {
    if acknowledged == written { waitsSince = timeline.now }
    written += UInt64(bytes.count + Self.overhead)
    let end = written
    lastToGateway = max(lastToGateway, timeline.now + .milliseconds(latency))
    timeline.plan(at: lastToGateway) { [self] in if !isDead { arrive(end) } }
  }

  /// The peer's kernel has everything up to `end`.
  func acknowledge(_ end: UInt64, latency: UInt64) {
    deliver(latency: latency) { [self] in
      guard end > acknowledged else { return }
      acknowledged = end
      acknowledgedAt = timeline.now
      waitsSince = timeline.now
      acknowledgements.append((end, timeline.now))
    }
  }

  /// When the peer's kernel had everything up to `end`, as far as the agent's knows; to be asked for in order.
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

  /// - Parameter hides: what came before and is not read is gone.
  func reset(latency: UInt64, hides: Bool) {
    deliver(latency: latency) { [self] in
      end = .reset
      if hides { unread = [] }
    }
  }

  /// It is gone now, in the middle of everything.
  func abort(byPeer: Bool) {
    isDeaf = true
    unread = []
    end = byPeer ? .reset : .timedOut
  }

  /// The kernel gives up.
  func timeOut() {
    if !isHungUp { end = end ?? .timedOut }
  }

  /// In order: nothing overtakes what was sent before it.
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

  /// The agent's machine sleeps for so long, and is not reached for some time more. Its kernel counts how long ago
  /// something came by a clock that stands still meanwhile.
  func sleep(for duration: Duration, and more: Duration) {
    sleepsUntil = timeline.now + duration + more
    acknowledgedAt = acknowledgedAt + duration
    waitsSince = waitsSince + duration
    for index in acknowledgements.indices {
      acknowledgements[index].at = acknowledgements[index].at + duration
    }
  }

  /// What the agent reads next.
  func read() -> [UInt8]? { unread.isEmpty ? nil : unread.removeFirst().bytes }
}
