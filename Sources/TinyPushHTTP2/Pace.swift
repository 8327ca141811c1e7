import TinyPush

/// How many requests may wait for answers, and whether the service is in trouble.
///
/// A notification that the service does not take may be the cause itself, so it waits alone at
/// first. The cause is the service if another notification, which was never refused before, is
/// sent after that and meets the same.
struct Pace {
  /// The longest pause, whatever the service asks for.
  static let longestWait = Duration.seconds(900)

  /// Whether only one request may be unanswered at a time, until the service accepts one.
  private(set) var sendsOneAtATime = true
  /// The instant before which nothing is sent, because the service is in trouble.
  private(set) var pausedUntil: Instant?
  private var trouble: Backoff
  /// When the service last did not take a notification, if it has answered none since.
  private var suspectedSince: Instant?
  /// The first notification that the service did not take since then, and whether there are more.
  private var suspect: UInt64 = 0
  private var areSeveral = false
  /// The notifications in a row that the service did not take.
  private(set) var failures = 0
  private var narrowing = Narrowing()
  /// The devices that had too many requests since the service last accepted one.
  ///
  /// So many devices do not have too many requests: the service refuses all.
  private var throttled: InlineArray<16, UInt64> = .init(repeating: 0)
  private var throttledCount = 0
  /// The answers on this connection, and the most on any.
  private var answers = 0
  private var answersMax = 0

  init(seed: UInt64) { trouble = Backoff(seed: seed) }

  /// Begins a connection.
  mutating func connected(sendsOneAtATime: Bool) {
    self.sendsOneAtATime = sendsOneAtATime || self.sendsOneAtATime
    answers = 0
  }

  /// Whether another connection has had more answers than this one.
  var isShort: Bool { answers < answersMax }

  /// Ends a connection on which this number of notifications may or may not have arrived.
  mutating func ended(uncertain: Int) { narrowing.ended(uncertain: uncertain) }

  mutating func accepted() {
    answered()
    sendsOneAtATime = false
    pausedUntil = nil
    throttledCount = 0
    trouble.reset()
  }

  /// Notes an answer about the notification: the service works.
  mutating func answered() {
    suspectedSince = nil
    failures = 0
    answers += 1
    answersMax = max(answersMax, answers)
    narrowing.answered()
  }

  /// Sends one request at a time, until the service accepts one.
  mutating func sendOneAtATime() { sendsOneAtATime = true }

  /// Whether a request was sent before the service last failed to take one.
  ///
  /// Its own failure is no news.
  func isOld(sentAt: Instant) -> Bool { suspectedSince.map { sentAt < $0 } ?? false }

  /// Notes a notification that the service did not take.
  ///
  /// - Parameters:
  ///   - key: the hash of the notification.
  ///   - isFirst: whether that is new for this notification.
  ///   - isRefusal: whether the service works, and refused the notification.
  /// - Returns: whether the cause is the service.
  mutating func suspect(
    _ key: UInt64, isFirst: Bool, isRefusal: Bool = false, at now: Instant
  ) -> Bool {
    sendsOneAtATime = true
    if !isRefusal { failures += 1 }
    let isConfirmed = suspectedSince != nil && isFirst
    if suspectedSince == nil {
      suspect = key
      areSeveral = false
    } else if key != suspect {
      areSeveral = true
    }
    suspectedSince = now
    return isConfirmed
  }

  /// Notes that a device had too many requests; returns whether the service refuses all.
  mutating func hasTooMany(_ device: UInt64, at now: Instant) -> Bool {
    guard !isPaused(at: now) else { return false }
    for index in 0..<throttledCount where throttled[index] == device { return false }
    throttled[throttledCount] = device
    throttledCount += 1
    guard throttledCount == throttled.count else { return false }
    throttledCount = 0
    return true
  }

  /// Whether the service has taken all but this notification since it last took one.
  func isOnlySuspect(_ key: UInt64) -> Bool {
    suspectedSince == nil || !areSeveral && key == suspect
  }

  /// Pauses because the service is in trouble.
  ///
  /// - Parameter wait: the wait that the service asks for (`retry-after`).
  mutating func pause(_ wait: Duration?, at now: Instant) {
    var pause = trouble.fail()
    if let wait, pause < wait { pause = wait }
    pausedUntil = now + pause
  }

  /// Whether another connection must be tried, since the present one may be the cause.
  ///
  /// That is so after two failures in a row, and then after each fourth: the pauses between them grow.
  var mustLeave: Bool { failures == 2 || failures > 0 && failures % 4 == 0 }

  func isPaused(at now: Instant) -> Bool { pausedUntil.map { now < $0 } ?? false }

  /// The most requests that may wait for answers at a time.
  var limit: Int { sendsOneAtATime ? 1 : narrowing.limit }
}

/// The small start after a connection that ended with unanswered requests.
///
/// One of these may have ended it, or the service answers only so many. At first only a sixteenth
/// of them may wait for answers; the number doubles with the answers. So a notification that ends
/// each connection is soon the only one that is unanswered.
struct Narrowing {
  private static let part = 16
  /// From this number on there is no limit: no service takes more.
  private static let widest = 4096

  private(set) var limit = Int.max
  /// The number of notifications that may have ended the connection, and have no answer yet.
  private var candidates = 0
  private var answersSinceChange = 0

  mutating func ended(uncertain: Int) {
    guard uncertain > 0 else { return }
    candidates = uncertain
    answersSinceChange = 0
    limit = max(uncertain / Self.part, 1)
  }

  mutating func answered() {
    guard limit < Int.max else { return }
    answersSinceChange += 1
    if candidates > 0 { candidates -= 1 }
    if answersSinceChange >= limit {
      answersSinceChange = 0
      limit *= 2
    }
    if candidates > 0 { limit = min(limit, candidates) }
    if limit > Self.widest { limit = Int.max }
  }
}
