/// Device tokens for which more alerts come than a limit allows, and how many of these each of them did not get: what the
/// summaries say. Bounded: what does not find room here is in `failed/`, and in no summary.
struct Storms: ~Copyable {
  struct Storm: BitwiseCopyable {
    var token: DeviceToken
    /// Alerts that went to `failed/`. Those that wait come by themselves.
    var alerts: UInt32 = 0
    /// Whose topic the summary has: a number of ``topics``.
    var topic: UInt8 = 0
    var beganAt: Instant
    var lastAt: Instant
  }

  private static let capacity = 1024
  /// Topics that differ from the configuration's are the same few.
  private static let topicsMax = 8
  private static let topicSize = Envelope.topicBytesMax + 1

  private let storms: FixedBuffer<Storm>
  private var count = 0
  /// Of each its length, and then its bytes.
  private let topics: FixedBuffer<UInt8>
  private var topicCount = 0
  /// A storm is over when nothing of it has come for so long, and is told of after so long at the latest.
  private let quiet: Duration
  private let longest: Duration
  /// Not later than when the first storm is to be told of.
  private var nextDueAt: Instant?
  /// The one that is being told of.
  private var summarizedIndex = 0

  init(_ limit: RateLimit?, _ other: RateLimit?) {
    let none = Duration.milliseconds(0)
    quiet = max(limit?.interval ?? none, other?.interval ?? none)
    longest = max(limit?.period ?? none, other?.period ?? none)
    let isUsed = limit != nil || other != nil
    storms = FixedBuffer(capacity: isUsed ? Self.capacity : 0)
    topics = FixedBuffer(capacity: isUsed ? Self.topicsMax * Self.topicSize : 0)
  }

  // MARK: - Inputs

  /// An alert to a token is over a limit. Returns whether that begins a storm.
  @inline(never)
  mutating func recordLimited(_ token: DeviceToken, at now: Instant) -> Bool {
    if let index = index(of: token) {
      storms[index].lastAt = now
      return false
    }
    guard count < storms.capacity else { return false }
    storms[count] = Storm(token: token, beganAt: now, lastAt: now)
    count += 1
    consider(count - 1)
    return true
  }

  /// The number of a notification's topic; nil: there are too many.
  mutating func topicNumber(
    of notification: Notification, in input: borrowing FixedBuffer<UInt8>
  ) -> UInt8? {
    let topic = input.span(notification.topic)
    for index in 0..<topicCount where self.topic(UInt8(index)).equals(topic) { return UInt8(index) }
    guard topicCount < Self.topicsMax, topic.count < Self.topicSize else { return nil }
    topics[topicCount * Self.topicSize] = UInt8(topic.count)
    topics.store(topic, at: topicCount * Self.topicSize + 1)
    topicCount += 1
    return UInt8(topicCount - 1)
  }

  /// An alert to a token is in `failed/`.
  mutating func count(_ token: DeviceToken, _ topic: UInt8) {
    guard let index = index(of: token) else { return }
    storms[index].alerts &+= 1
    storms[index].topic = topic
  }

  // MARK: - Telling

  /// When the next storm may be over.
  var dueAt: Instant? { count > 0 ? nextDueAt : nil }

  /// The next storm that is to be told of; with `isEnding`, whether it is over or not.
  @inline(never)
  mutating func next(at now: Instant, isEnding: Bool) -> Storm? {
    guard count > 0, isEnding || nextDueAt! <= now else { return nil }
    nextDueAt = nil
    var index = 0
    while index < count {
      if isEnding || dueAt(index) <= now {
        if storms[index].alerts > 0 {
          summarizedIndex = index
          nextDueAt = now
          return storms[index]
        }
        remove(index)
      } else {
        consider(index)
        index += 1
      }
    }
    return nil
  }

  /// That storm is told of.
  mutating func removeSummarized() { remove(summarizedIndex) }

  /// It could not be: all are tried again later.
  mutating func retrySummaries(at instant: Instant) { nextDueAt = instant }

  /// Nothing more is to be told.
  mutating func forget() { count = 0 }

  @_lifetime(borrow self)
  func topic(_ number: UInt8) -> Span<UInt8> {
    let start = Int(number) * Self.topicSize + 1
    return topics.span(start..<start + Int(topics[start - 1]))
  }

  // MARK: - Parts

  private func dueAt(_ index: Int) -> Instant {
    min(storms[index].lastAt + quiet, storms[index].beganAt + longest)
  }

  private mutating func consider(_ index: Int) {
    nextDueAt = min(nextDueAt ?? dueAt(index), dueAt(index))
  }

  private func index(of token: DeviceToken) -> Int? {
    for index in 0..<count where storms[index].token == token { return index }
    return nil
  }

  private mutating func remove(_ index: Int) {
    count -= 1
    storms[index] = storms[count]
  }
}
