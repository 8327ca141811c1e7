import CLinux
import TinyPush
import TinyPushAgent
import TinyPushMQTT

/// Shares the agent's suppression list with the other boxes of a fleet, through the broker.
///
/// The agent and this program change the same list on disk, as `tinypush token` does; the agent
/// loads each change. Messages of the broker never wait for this: what fails here is done again
/// later, and what is lost here costs a request to the service.
struct TokenSharing: ~Copyable {
  /// The time of silence after which the broker has sent what it has.
  private static let quiet = Duration.seconds(2)
  /// The time in which records are collected for one change of the list.
  private static let collecting = Duration.milliseconds(500)
  /// The wait while another program changes the list.
  private static let lockWait = Duration.seconds(1)
  /// The wait after a failure on disk.
  private static let failureWait = Duration.seconds(60)
  /// The wait after the broker refused a message of this box.
  ///
  /// Mosquitto 2.0.11 ends the connection with the refusal if its `max_queued_messages` is 0.
  static let refusalWait = Duration.seconds(600)
  private static let receivedMax = 4096
  private static let outgoingMax = 256

  private let state: CString
  private let prefix: CString
  /// The beginning of all tokens' topics: `PREFIX/suppressed/`.
  private let topics: CString
  private var onBroker: SharedTokens
  /// Whether the box belongs to a fleet.
  let isOn: Bool
  /// Records of other boxes that wait to be written.
  private let received: FixedBuffer<SuppressionRecord>
  private var receivedCount = 0
  /// When to write them; nil: there are none.
  private var writeAt: Instant?
  /// Whether they could not be written.
  private var hasFailed = false
  /// Records that the broker lacks; the one at ``outgoingNext`` is the next to be published.
  private let outgoing: FixedBuffer<SuppressionRecord>
  private var outgoingCount = 0
  private var outgoingNext = 0
  /// When to look for records that the broker lacks; nil: the broker has all.
  private var scanAt: Instant?
  /// Until when nothing is published, since the broker refused a record; nil: it did not.
  private var pauseEnd: Instant?
  /// Whether the broker sends what it has; otherwise nobody knows what it lacks.
  private var isSubscribed = false
  /// Whether a record was ignored because its time is in the future.
  private var hasFuture = false
  /// The watch of the list's directory.
  let watch: Int32

  /// - Parameters:
  ///   - state: the directory of the suppression list.
  ///   - prefix: the first levels of the fleet's topics; empty: nothing is shared.
  init(state: Span<UInt8>, prefix: Span<UInt8>) {
    self.state = CString(state)
    self.prefix = CString(prefix)
    isOn = prefix.count > 0
    onBroker = SharedTokens(isUsed: isOn)
    received = FixedBuffer(capacity: isOn ? Self.receivedMax : 0)
    outgoing = FixedBuffer(capacity: isOn ? Self.outgoingMax : 0)
    var text = Text(capacity: 300)
    text.append(bytes: prefix)
    text.append("/suppressed/")
    topics = text.cString()
    guard isOn else {
      watch = -1
      return
    }
    // The agent makes the directory when it first needs it. A problem is logged when the list is
    // read.
    _ = try? SuppressionDirectory(self.state.pointer, message: &text)
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

  /// When there is something to do.
  ///
  /// - Parameter mayPublish: whether a message can be published.
  func wakeAt(mayPublish: Bool) -> Instant? {
    guard mayPublish, outgoingNext == outgoingCount, let scanAt else { return writeAt }
    return writeAt.map { min($0, scanAt) } ?? scanAt
  }

  // MARK: - The connection

  /// There is a new connection; the broker may have lost what it had.
  mutating func connected() {
    onBroker.removeAll()
    outgoingCount = 0
    outgoingNext = 0
    scanAt = nil
    isSubscribed = false
  }

  /// The broker sends what it has, unless it refused the subscription.
  mutating func subscribed(reason: UInt8, at now: Instant, _ log: inout Log) {
    guard reason >= 0x80 else {
      isSubscribed = true
      scan(from: now + Self.quiet)
      return
    }
    var text = Text()
    text.append("tokens are not shared: the broker refused the subscription to ")
    appendFilter(to: &text)
    text.append(": ")
    BrokerProblem.append(reason, to: &text)
    log.write(.warning, text, about: .suppression)
  }

  /// Whether records must be asked for again, since the clock has been set.
  mutating func clockWasSet() -> Bool {
    defer { hasFuture = false }
    return hasFuture && isSubscribed
  }

  // MARK: - From the broker

  /// Takes the record of a message.
  mutating func take(
    _ topic: Span<UInt8>, _ payload: Span<UInt8>, isRetained: Bool, at now: Instant,
    _ log: inout Log
  ) {
    // Somebody cleared the topic. The token stays on the list.
    guard payload.count > 0 else { return }
    if isRetained, let scanAt, scanAt > now { scan(from: now + Self.quiet) }
    do throws(SharedToken.Problem) {
      let record = try SharedToken.read(
        topic: topic, payload: payload, prefix: prefix.span, wall: Clock.wallSeconds())
      // A full table takes no further tokens: others cannot fill the disk.
      guard onBroker.isNews(record) else { return }
      onBroker.remember(record)
      if receivedCount == received.capacity, !hasFailed { write(at: now, &log) }
      // The broker sends this record again at the next connection.
      guard receivedCount < received.capacity else { return }
      received[receivedCount] = record
      receivedCount += 1
      writeAt = writeAt ?? now + Self.collecting
    } catch {
      if error == .future { hasFuture = true }
      logIgnored(topic, error, &log)
    }
  }

  private func logIgnored(_ topic: Span<UInt8>, _ problem: SharedToken.Problem, _ log: inout Log) {
    var text = Text()
    text.append("a message about a token of the fleet was ignored: ")
    switch problem {
    case .malformed: text.append("the payload is no record of a token")
    case .topic: text.append("its topic belongs to another token")
    case .future: text.append("its time is in the future: set the clocks of all boxes")
    }
    // Everything up to the semicolon decides whether this line is a repetition.
    text.append("; topic ", printable: topic)
    log.write(.warning, text, about: .suppression)
  }

  /// Writes the records of other boxes into the list when that is due.
  mutating func writeWhenDue(at now: Instant, _ log: inout Log) {
    if let writeAt, writeAt <= now { write(at: now, &log) }
  }

  private mutating func write(at now: Instant, _ log: inout Log) {
    writeAt = nil
    hasFailed = true
    var problem = Text()
    do throws(ExitStatus) {
      let store = try SuppressionDirectory(state.pointer, message: &problem)
      var merge = SuppressionMerge(store)
      var (suppressed, registered) = (0, 0)
      var isDone = true
      if addNews(to: &merge, store) > 0 {
        isDone = merge.finish(isPatient: false) { _, _, outcome in
          if outcome == .new { suppressed += 1 }
          if outcome == .returned { registered += 1 }
        }
      }
      extendLifetime(store)
      if merge.wasDamaged { problem.append("state ", printable: state.span) }
      if merge.wasDamaged { problem.append(SuppressionDirectory.setAside) }
      if isDone {
        receivedCount = 0
        hasFailed = false
        logTaken(suppressed, registered, &log)
      } else if merge.error == 0 {
        writeAt = now + Self.lockWait
      } else {
        SuppressionDirectory.explain(merge.error, state.pointer, in: &problem)
        writeAt = now + Self.failureWait
      }
    } catch {
      writeAt = now + Self.failureWait
    }
    if problem.count > 0 { log.write(.error, problem, about: .suppression) }
  }

  /// Adds the received records that the list lacks; returns their number.
  ///
  /// After each connection the broker sends all records again; the list is not written then.
  private func addNews(
    to merge: inout SuppressionMerge, _ store: borrowing SuppressionDirectory
  ) -> Int {
    var error: Int32 = 0
    var lists = store.lists(error: &error)
    var count = 0
    for index in 0..<receivedCount {
      let record = received[index]
      if let known = lists.find(record.token), !record.overrides(known) { continue }
      merge.add(record)
      count += 1
    }
    return count
  }

  private func logTaken(_ suppressed: Int, _ registered: Int, _ log: inout Log) {
    guard suppressed + registered > 0 else { return }
    var text = Text()
    text.append("other boxes of the fleet: ", suppressed)
    text.append(suppressed == 1 ? " token suppressed, " : " tokens suppressed, ")
    text.append(registered)
    text.append(" registered again")
    log.write(.info, text, about: .suppression)
  }

  // MARK: - To the broker

  /// The list on disk may have changed.
  mutating func diskChanged(at now: Instant) {
    var room: InlineArray<512, UInt64> = .init(repeating: 0)
    var span = room.mutableSpan
    span.withUnsafeMutableBufferPointer { room in
      while CLinux.read(watch, room.baseAddress, room.count * 8) > 0 {}
    }
    if isSubscribed, scanAt == nil { scan(from: now) }
  }

  /// Looks for records that the broker lacks at this time, or when the pause is over.
  private mutating func scan(from time: Instant) {
    scanAt = pauseEnd.map { max($0, time) } ?? time
  }

  /// The broker answered the record that was published last.
  mutating func published(isRefused: Bool, at now: Instant) {
    guard outgoingNext < outgoingCount else { return }
    guard !isRefused else {
      outgoingCount = 0
      outgoingNext = 0
      pauseEnd = now + Self.refusalWait
      return scan(from: now)
    }
    pauseEnd = nil
    onBroker.remember(outgoing[outgoingNext])
    outgoingNext += 1
  }

  /// Publishes the next record that the broker lacks; returns whether there was one.
  mutating func publish(_ session: inout BrokerSession, at now: Instant, _ log: inout Log) -> Bool {
    guard isSubscribed, session.mayPublish else { return false }
    if outgoingNext == outgoingCount { scan(at: now, &log) }
    while outgoingNext < outgoingCount {
      let record = outgoing[outgoingNext]
      // Another box may have published the same meanwhile.
      if onBroker.isNews(record),
        let expiry = SharedToken.expiry(record, wall: Clock.wallSeconds())
      {
        var topic = Text(capacity: 320)
        var payload = Text(capacity: 256)
        SharedToken.appendTopic(record.token, prefix: prefix.span, to: &topic)
        SharedToken.append(record, to: &payload)
        return session.publish(
          topic: topic.bytes, payload: payload.bytes, isRetained: true, expirySeconds: expiry,
          at: now)
      }
      outgoingNext += 1
    }
    return false
  }

  /// Collects records that the broker lacks when that is due.
  private mutating func scan(at now: Instant, _ log: inout Log) {
    guard let scanAt, scanAt <= now else { return }
    self.scanAt = nil
    outgoingNext = 0
    outgoingCount = 0
    var problem = Text()
    do throws(ExitStatus) {
      let store = try SuppressionDirectory(state.pointer, message: &problem)
      collect(store, wall: Clock.wallSeconds())
    } catch {
      self.scanAt = now + Self.failureWait
    }
    // The records behind these come with the next scan.
    if outgoingCount == outgoing.capacity { self.scanAt = now }
    if onBroker.isFull {
      problem.append("the fleet shares ", SharedTokens.tokensMax)
      problem.append(" tokens; more stay on the box that learned them")
    }
    if problem.count > 0 { log.write(.warning, problem, about: .suppression) }
  }

  private mutating func collect(_ store: borrowing SuppressionDirectory, wall: Int64) {
    _ = store.list { record in
      guard outgoingCount < outgoing.capacity, onBroker.isNews(record),
        SharedToken.expiry(record, wall: wall) != nil,
        Int64(record.time) <= wall + SharedToken.skewMax
      else { return }
      outgoing[outgoingCount] = record
      outgoingCount += 1
    }
  }
}
