import TinyPush

/// The topics whose silence rings, and when each was heard last.
///
/// Time counts only while there is a connection: without one, all topics are silent.
struct SilentTopics: ~Copyable {
  private struct Watch: BitwiseCopyable {
    var rule: Int32
    var topicStart: Int32
    var topicEnd: Int32
    var hash: UInt64
    var wait: Duration
    var heardAt: Instant
    var state: State
  }

  private enum State: BitwiseCopyable {
    case listening
    /// A notification says that the topic is silent, and is not in the spool yet.
    case telling
    case told
  }

  private static let watchesMax = 1024
  private static let topicBytesMax = 64 * 1024
  private let watches = FixedBuffer<Watch>(capacity: SilentTopics.watchesMax)
  private let topics = FixedBuffer<UInt8>(capacity: SilentTopics.topicBytesMax)
  private var count = 0
  private var topicBytes = 0
  /// Before this time no topic is silent for too long; nil: the agent listens to no topic.
  private(set) var dueAt: Instant?
  /// When the connection ended; nil: there is one.
  private var endedAt: Instant?

  init() {}

  @inline(never)
  deinit {}

  /// Notes that a topic was heard, and listens to the topic from now on.
  ///
  /// Returns false if there is no room for another topic.
  mutating func note(
    _ topic: Span<UInt8>, rule: Int, wait: Duration, at now: Instant
  ) -> Bool {
    let hash = Self.hash(topic, rule)
    dueAt.include(now + wait)
    if let index = index(of: hash) {
      watches[index].heardAt = now
      watches[index].state = .listening
      return true
    }
    guard count < Self.watchesMax, topicBytes + topic.count <= Self.topicBytesMax else {
      return false
    }
    topics.store(topic, at: topicBytes)
    watches[count] = Watch(
      rule: Int32(rule), topicStart: Int32(topicBytes), topicEnd: Int32(topicBytes + topic.count),
      hash: hash, wait: wait, heardAt: now, state: .listening)
    count += 1
    topicBytes += topic.count
    return true
  }

  /// Whether a topic was heard before.
  func knows(_ topic: Span<UInt8>, rule: Int) -> Bool { index(of: Self.hash(topic, rule)) != nil }

  private static func hash(_ topic: Span<UInt8>, _ rule: Int) -> UInt64 {
    var hash = Hash()
    hash.add(UInt64(rule))
    hash.add(topic)
    return hash.value
  }

  private func index(of hash: UInt64) -> Int? {
    for index in 0..<count where watches[index].hash == hash { return index }
    return nil
  }

  /// Stops the time, since the connection has ended.
  mutating func disconnected(at now: Instant) { endedAt = now }

  /// Lets the time go on, with a new connection.
  mutating func connected(at now: Instant) {
    if let end = endedAt.take() { slept(end.until(now)) }
    dueAt = count > 0 ? now : nil
  }

  /// Leaves a time that has just passed out of account.
  mutating func slept(_ time: Duration) {
    guard endedAt == nil else { return }
    for index in 0..<count { watches[index].heardAt = watches[index].heardAt + time }
  }

  /// Returns the number of the next topic that is silent for too long; nil: there is no more.
  ///
  /// The topic is told once, until it is heard again.
  mutating func next(at now: Instant) -> Int? {
    guard let due = dueAt, due <= now else { return nil }
    dueAt = nil
    for index in 0..<count where watches[index].state == .listening {
      let end = watches[index].heardAt + watches[index].wait
      if end <= now {
        watches[index].state = .telling
        dueAt = now
        return index
      }
      dueAt.include(end)
    }
    return nil
  }

  func rule(_ index: Int) -> Int { Int(watches[index].rule) }

  @_lifetime(immortal)
  func topic(_ index: Int) -> Span<UInt8> {
    topics.unsafeSpan(Int(watches[index].topicStart)..<Int(watches[index].topicEnd))
  }

  /// Notes that what was told is in the spool, or is lost and must be told again, once there is a
  /// new connection.
  mutating func told(isKept: Bool) {
    for index in 0..<count where watches[index].state == .telling {
      watches[index].state = isKept ? .told : .listening
    }
  }
}
