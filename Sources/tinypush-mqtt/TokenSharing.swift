import CLinux
import TinyPush
import TinyPushAgent
import TinyPushMQTT

/// Shares the agent's suppression list with the other boxes of a fleet, through the broker.
///
/// The agent and this program change the same list on disk, as `tinypush token` does; the agent loads each change.
struct TokenSharing: ~Copyable {
  /// The time after the subscription in which the broker sends what it has.
  private static let quiet = Duration.seconds(2)
  private static let receivedMax = 1024

  private let state: CString
  /// The topics of all tokens begin so: `PREFIX/suppressed/`.
  private let topics: CString
  private let prefix: CString
  private var onBroker: SharedTokens
  private var onDisk: SharedTokens
  /// Whether the box belongs to a fleet.
  let isOn: Bool
  /// Records of other boxes that wait to be written.
  private let received = FixedBuffer<SuppressionRecord>(capacity: TokenSharing.receivedMax)
  private var receivedCount = 0
  /// The record that was published last.
  private var published: SuppressionRecord?
  /// When to look for records that the broker lacks; nil: the broker has all.
  private(set) var lookAt: Instant?
  /// The watch of the list's directory.
  let watch: Int32
  /// The last problem of the list.
  private(set) var problem = Text(capacity: 1024)

  /// - Parameters:
  ///   - state: the directory of the suppression list.
  ///   - prefix: the first levels of the fleet's topics; empty: nothing is shared.
  init(state: Span<UInt8>, prefix: Span<UInt8>) {
    self.state = CString(state)
    self.prefix = CString(prefix)
    isOn = prefix.count > 0
    onBroker = SharedTokens(isUsed: isOn)
    onDisk = SharedTokens(isUsed: isOn)
    var text = Text(capacity: 300)
    text.append(bytes: prefix)
    text.append("/suppressed/")
    topics = text.cString()
    guard isOn else {
      watch = -1
      return
    }
    watch = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    inotify_add_watch(watch, self.state.pointer, UInt32(IN_MOVED_TO))
  }

  deinit { if watch >= 0 { close(watch) } }

  /// Appends the topic filter of all tokens.
  func appendFilter(to text: inout Text) {
    text.append(bytes: topics.span)
    text.append("+")
  }

  /// Whether a message is about a token.
  func isShared(_ topic: Span<UInt8>) -> Bool { isOn && topic.begins(with: topics.span) }

  // MARK: - From the broker

  /// Takes the record of a message.
  mutating func take(_ payload: Span<UInt8>) {
    guard let record = SharedToken.read(payload) else { return }
    onBroker.remember(record)
    guard onDisk.isNews(record) else { return }
    if receivedCount == Self.receivedMax { _ = write() }
    guard receivedCount < Self.receivedMax else { return }
    received[receivedCount] = record
    receivedCount += 1
  }

  /// Writes the records that came into the list; whether they are on disk.
  mutating func write() -> Bool {
    guard receivedCount > 0 else { return true }
    problem.clear()
    do throws(ExitStatus) {
      let store = try SuppressionDirectory(state.pointer, message: &problem)
      var merge = SuppressionMerge(store)
      for index in 0..<receivedCount { merge.add(received[index]) }
      let isDone = merge.finish { _, _, _ in }
      extendLifetime(store)
      guard isDone else {
        SuppressionDirectory.explain(merge.error, state.pointer, in: &problem)
        return false
      }
      for index in 0..<receivedCount { onDisk.remember(received[index]) }
      receivedCount = 0
      return true
    } catch {
      return false
    }
  }

  // MARK: - To the broker

  /// The subscriptions hold: the broker sends what it has.
  mutating func subscribed(at now: Instant) {
    guard isOn else { return }
    published = nil
    lookAt = isOn ? now + Self.quiet : nil
  }

  /// The list on disk may have changed.
  mutating func diskChanged(at now: Instant) {
    var room: InlineArray<512, UInt64> = .init(repeating: 0)
    var span = room.mutableSpan
    span.withUnsafeMutableBufferPointer { room in
      while CLinux.read(watch, room.baseAddress, room.count * 8) > 0 {}
    }
    lookAt = lookAt ?? now
  }

  /// The broker has the message that was published last.
  mutating func wasPublished(at now: Instant) {
    if let published { onBroker.remember(published) }
    published = nil
    lookAt = now
  }

  /// Publishes the first record that the broker lacks.
  mutating func publish(_ session: inout BrokerSession, at now: Instant) {
    guard isOn, let lookAt, lookAt <= now, session.mayPublish else { return }
    self.lookAt = nil
    var news: SuppressionRecord?
    problem.clear()
    guard let store = try? SuppressionDirectory(state.pointer, message: &problem) else { return }
    _ = store.list { token, reason, time in
      guard let token = DeviceToken(bytes: token) else { return }
      let record = SuppressionRecord(token: token, time: time, reason: reason)
      onDisk.remember(record)
      if news == nil, onBroker.isNews(record) { news = record }
    }
    guard let news else { return }
    var topic = Text(capacity: 320)
    var payload = Text(capacity: 256)
    SharedToken.appendTopic(news.token, prefix: prefix.span, to: &topic)
    SharedToken.append(news, to: &payload)
    if session.publish(topic: topic.bytes, payload: payload.bytes, isRetained: true, at: now) {
      published = news
    }
  }
}
