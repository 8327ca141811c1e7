/// The alert storms: device tokens that get more alerts than a limit allows.
///
/// A summary says how many alerts a token did not get. Memory is bounded: an alert that finds no
/// room here is in `failed/`, and no summary counts it.
struct Storms: ~Copyable {
  struct Storm: BitwiseCopyable {
    var token: DeviceToken
    /// The alerts that went to `failed/`; alerts in `later/` are sent themselves.
    var alerts: UInt32 = 0
    /// The topic of the summary, as a number of ``topics``.
    var topic: UInt8 = 0
    var beganAt: Instant
    var lastAt: Instant
  }

  private static let capacity = 1024
  /// The most different topics of limited alerts; the configured one (empty here) counts.
  private static let topicsMax = 8
  private static let topicSize = Envelope.topicBytesMax + 1

  private let storms: FixedBuffer<Storm>
  private var count = 0
  /// For each topic its length, and then its bytes.
  private let topics: FixedBuffer<UInt8>
  private var topicCount = 0
  /// How long no alert comes before a storm is over.
  private let quiet: Duration
  /// How long after its beginning a storm is summarized, even if it goes on.
  private let longest: Duration
  /// The earliest time at which a storm may have to be summarized.
  private var nextDueAt: Instant?
  /// The index of the storm that is being summarized.
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

  /// Records an alert over a limit, and returns whether it begins a storm.
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

  /// Whether a summary will say how many alerts the token did not get.
  func isUnderWay(for token: DeviceToken) -> Bool { index(of: token) != nil }

  /// Returns the number of a notification's topic; nil: there are too many topics.
  mutating func topicNumber(of notification: Notification, in text: Span<UInt8>) -> UInt8? {
    let topic = text.extracting(notification.topic)
    for index in 0..<topicCount where self.topic(UInt8(index)).equals(topic) { return UInt8(index) }
    guard topicCount < Self.topicsMax, topic.count < Self.topicSize else { return nil }
    topics[topicCount * Self.topicSize] = UInt8(topic.count)
    topics.store(topic, at: topicCount * Self.topicSize + 1)
    topicCount += 1
    return UInt8(topicCount - 1)
  }

  /// Counts an alert to a token that was written to `failed/`.
  mutating func count(_ token: DeviceToken, _ topic: UInt8) {
    guard let index = index(of: token) else { return }
    storms[index].alerts &+= 1
    storms[index].topic = topic
  }

  // MARK: - Summaries

  /// When the next storm may be over.
  var dueAt: Instant? { count > 0 ? nextDueAt : nil }

  /// Returns the next storm to summarize; with `isEnding`, also one that goes on.
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

  /// Removes the storm whose summary was written.
  mutating func removeSummarized() { remove(summarizedIndex) }

  /// Delays all summaries, since one could not be written.
  mutating func retrySummaries(at instant: Instant) { nextDueAt = instant }

  /// Forgets all storms.
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
    nextDueAt.include(dueAt(index))
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
