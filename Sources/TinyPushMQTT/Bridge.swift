import TinyPush
import TinyPushRules

/// The bridge from a broker to the spool, without sockets, files and clocks.
///
/// Messages that come together go into one notification file, a line each. They are acknowledged
/// once the caller has the file on disk, so that the broker sends again each message that a crash or
/// a power cut took away.
///
/// The caller connects at ``dialAt``, reads from its socket into ``makeRoom()``, performs each step
/// of ``next(at:)``, and writes ``output`` to its socket.
public struct Bridge: ~Copyable {
  /// The time of silence after which nothing is left to take over.
  private static let quietTime = Duration.seconds(3)

  /// What the caller has to do, or what it may log.
  public enum Step: Equatable, Sendable {
    /// Write ``notifications`` into one file of the spool, and then call ``wrote(at:)``, or
    /// ``ended(needsPerson:at:)`` if that fails.
    case write
    /// The broker accepted the connection; whether it kept the session, or has lost the one before.
    case connected(hasSession: Bool, isLost: Bool)
    /// The broker refused a subscription, which is asked for again; a reason code of SUBACK.
    case refused(filter: Int, reason: UInt8)
    /// The broker accepted a subscription, with this QoS; whether others are refused.
    case accepted(filter: Int, quality: UInt8, hasRefused: Bool)
    /// The broker has answered all subscriptions.
    case subscribed
    /// The broker answered the message that was published last; a reason code of PUBACK.
    case published(reason: UInt8)
    /// There was no room to listen to ``topic`` for its silence.
    case unheard
    /// ``topic`` and ``payload`` made no notification.
    case dropped(Reason)
    /// A rule rings for the silence of a topic.
    case silent(rule: Int)
    /// All messages of the other box have come; or the broker keeps none.
    case tookOver(hasSession: Bool)
  }

  /// Why a message makes no notification.
  public enum Reason: Equatable, Sendable {
    case tooLarge
    /// The message itself is too large.
    case cut
    case ignored
    case retained
    case unchanged
  }

  /// Counts of what became of the messages.
  public struct Counts: BitwiseCopyable, Sendable {
    /// Messages that came.
    public var messages: UInt64 = 0
    /// Messages that the broker sent again.
    public var repeated: UInt64 = 0
    /// Notifications that are in the spool.
    public var notifications: UInt64 = 0
    /// Messages whose notification would be too large.
    public var tooLarge: UInt64 = 0
    /// Messages that made no notification.
    public var ignored: UInt64 = 0
    /// Files that were written.
    public var files: UInt64 = 0
  }

  private var settings: BrokerSession.Settings
  private var session: BrokerSession
  private var attempts: Attempts
  /// The topic filters that the broker is asked for.
  public private(set) var subscriptions = Subscriptions()
  /// The rules by which messages become notifications.
  public private(set) var rules = MessageRules(of: .topics)
  private var batch = MessageBatch()
  /// The message whose notifications are still to be made, by this rule and those behind it.
  private var message: BrokerSession.Message?
  private var nextRule = 0
  /// The places of the last message's topic and payload.
  private var shown: (topic: Range<Int>, payload: Range<Int>) = (0..<0, 0..<0)
  /// Whether all subscriptions were answered since the last time this was told.
  private var hasAnswers = false
  /// Why the connection ends once the messages that came before are in the spool.
  private var problem: BrokerProblem?
  /// Whether the session belongs to another box, whose messages this one takes over.
  private let isTakeover: Bool
  /// When nothing is left to take over.
  private var quietAt: Instant?
  /// Whether bytes came since the last step.
  private var hasHeard = false
  /// Whether all that has come was taken: only then is a topic silent.
  private var isDrained = false
  /// When the broker was there last.
  private var heardAt = Instant(milliseconds: 0)
  /// Whether topics would be silent for too long, and the broker must answer first.
  private var isProbing = false
  /// What became of the messages.
  public private(set) var counts = Counts()
  /// Whether a connection is in use.
  public private(set) var isUp = false
  /// Whether the broker has accepted the connection.
  public private(set) var isAccepted = false

  /// - Parameters:
  ///   - seed: any number that differs between boxes.
  ///   - isTakeover: whether the client ID is another box's, whose messages this one takes over.
  public init(
    _ settings: BrokerSession.Settings, seed: UInt64, isTakeover: Bool = false, at now: Instant
  ) {
    self.settings = settings
    self.isTakeover = isTakeover
    session = BrokerSession(settings)
    attempts = Attempts(seed: seed, at: now)
  }

  @inline(never)
  deinit {}

  /// Takes rules and topic filters; the caller gets those before.
  ///
  /// Subscriptions that are not among the new filters are ended.
  public mutating func replace(
    _ rules: inout MessageRules, _ filters: inout FilterList, at now: Instant
  ) {
    swap(&self.rules, &rules)
    subscriptions.replace(&filters, isConnected: isAccepted && !isTakeover)
    if isAccepted { self.rules.connected(at: now) }
  }

  // MARK: - The connection

  /// When to connect; nil: there is a connection.
  public var dialAt: Instant? { attempts.dueAt }

  /// The caller connects.
  public mutating func dialed() { attempts.began() }

  /// Asks the broker for the session, on a new connection.
  public mutating func logIn(_ login: borrowing BrokerSession.Login, at now: Instant) {
    isUp = true
    session.connect(login, attempts.version, at: now)
  }

  /// Forgets the connection, or an attempt to connect, and chooses the time of the next one.
  ///
  /// - Parameter needsPerson: whether only a person can solve the problem.
  public mutating func ended(needsPerson: Bool, at now: Instant) {
    forgetConnection()
    attempts.ended(needsPerson: needsPerson, at: now)
  }

  private mutating func forgetConnection() {
    // A connection that has hung carried no messages.
    if isAccepted { rules.disconnected(at: heardAt) }
    session.ended()
    subscriptions.ended()
    if batch.text.count > 0 { rules.forgetChanges() }
    rules.silencesTold(isKept: false)
    batch.clear()
    message = nil
    hasAnswers = false
    problem = nil
    isDrained = false
    isProbing = false
    isUp = false
    isAccepted = false
  }

  /// Connects at once with other settings, to what may be another broker.
  public mutating func beginAnew(_ settings: BrokerSession.Settings, at now: Instant) {
    forgetConnection()
    self.settings = settings
    session = BrokerSession(settings)
    attempts.beginAnew(at: now)
  }

  /// Says goodbye: nothing may follow.
  public mutating func disconnect() { session.disconnect() }

  /// Says goodbye after a problem.
  ///
  /// - Returns: the version of MQTT of the next attempt, if it is another one.
  public mutating func failed(_ problem: BrokerProblem) -> BrokerSession.Version? {
    session.disconnect(after: problem)
    if problem.isOfVersion { return attempts.tryOtherVersion(isGuess: false) }
    // A broker of MQTT 3.1.1 may wait for more bytes than MQTT 5 sends.
    return problem == .silent ? tryOtherVersion() : nil
  }

  /// The broker closed the connection.
  ///
  /// Some brokers do so when they do not speak the version of MQTT.
  ///
  /// - Returns: the version of MQTT of the next attempt, if it is another one.
  public mutating func closed(at now: Instant) -> BrokerSession.Version? {
    heardAt = now
    // The broker may not send the messages again: QoS 0, or a broker that was killed.
    batch.isDue = true
    return tryOtherVersion()
  }

  /// A broker that has accepted a connection speaks its version, and may be starting now.
  private mutating func tryOtherVersion() -> BrokerSession.Version? {
    isAccepted || attempts.knowsVersion ? nil : attempts.tryOtherVersion(isGuess: true)
  }

  /// The version of MQTT of this connection.
  public var version: BrokerSession.Version { attempts.version }
  /// How many connections one after the other ended within a minute.
  public var shortCount: Int { attempts.shortCount }
  /// The time for which the broker keeps messages for an absent client, in seconds; `UInt32.max`:
  /// for ever.
  public var sessionSeconds: UInt32 { session.sessionSeconds }

  // MARK: - Bytes and time

  /// Room for bytes from the socket, once ``next(at:)`` returned nil.
  public mutating func makeRoom() -> UnsafeMutableBufferPointer<UInt8> { session.makeRoom() }

  /// Takes the first `count` bytes of the room, which have been filled.
  public mutating func take(_ count: Int) {
    session.take(count)
    hasHeard = true
  }

  /// Has what came written into the spool: nothing more is to be read now.
  public mutating func flush() {
    batch.isDue = true
    isDrained = true
  }

  /// Notes that this machine was suspended: nothing could be heard in that time.
  public mutating func slept(_ time: Duration) { rules.slept(time) }

  /// The bytes that wait for the socket.
  ///
  /// They change with the next call.
  public var output: Span<UInt8> {
    @_lifetime(immortal) get { session.output }
  }

  /// Drops the first `count` bytes of ``output``, which the socket took.
  public mutating func written(_ count: Int, at now: Instant) { session.written(count, at: now) }

  /// When to connect, or to call ``next(at:)`` without new bytes.
  public var wakeAt: Instant? {
    guard isUp else { return attempts.dueAt }
    var wake = session.wakeAt
    wake.include(quietAt)
    guard isAccepted else { return wake }
    if !session.isAsking { wake.include(subscriptions.askAt) }
    if !isProbing { wake.include(rules.silentAt) }
    return wake
  }

  // MARK: - Publishing

  /// Whether a message can be published: the broker has accepted the connection, and has answered
  /// the message before.
  public var mayPublish: Bool { isAccepted && session.mayPublish }

  /// Publishes a retained message with QoS 1; ``mayPublish`` holds.
  public mutating func publish(topic: Span<UInt8>, payload: Span<UInt8>, at now: Instant) {
    session.publish(topic: topic, payload: payload, at: now)
  }

  /// The topic of the message that was published last.
  ///
  /// It changes with the next message.
  public var lastPublishedTopic: Span<UInt8> {
    @_lifetime(immortal) get { session.lastPublishedTopic }
  }

  // MARK: - Steps

  /// The topic of the message that a step is about.
  public var topic: Span<UInt8> { @_lifetime(immortal) get { session.bytes(shown.topic) } }
  /// The payload of the message that a step is about.
  public var payload: Span<UInt8> { @_lifetime(immortal) get { session.bytes(shown.payload) } }
  /// The notifications to write, a line each.
  public var notifications: Span<UInt8> { @_lifetime(immortal) get { batch.text.unsafeBytes } }

  /// Returns the next step; nil: more bytes are needed.
  public mutating func next(at now: Instant) throws(BrokerProblem) -> Step? {
    while isUp {
      if let step = dueStep(at: now) { return step }
      if let problem { throw problem }
      if let message {
        if let step = makeNotification(of: message) { return step }
        continue
      }
      let event: BrokerSession.Event?
      do throws(BrokerProblem) {
        event = try session.next(at: now)
      } catch {
        guard batch.text.count > 0 else { throw error }
        // The broker may not send the messages again.
        problem = error
        batch.isDue = true
        continue
      }
      guard let event else { break }
      if let step = take(event, at: now) { return step }
    }
    isDrained = false
    return nil
  }

  private mutating func dueStep(at now: Instant) -> Step? {
    if hasHeard {
      if quietAt != nil { quietAt = now + Self.quietTime }
      heardAt = now
      isProbing = false
    }
    hasHeard = false
    if batch.isDue {
      if batch.text.count > 0 { return .write }
      acknowledge(at: now)
    }
    if hasAnswers {
      hasAnswers = false
      return .subscribed
    }
    if let quietAt, quietAt <= now { return .tookOver(hasSession: true) }
    guard isAccepted else { return nil }
    if let refusal = subscriptions.ask(&session, at: now) {
      hasAnswers = !session.isAsking && !subscriptions.isAsking
      return .refused(filter: refusal.filter, reason: refusal.reason)
    }
    guard isDrained, message == nil, let due = rules.silentAt, due <= now else { return nil }
    guard heardAt >= due else {
      // The connection may have hung, so that no message comes.
      if !isProbing { session.probe(at: now) }
      isProbing = true
      return nil
    }
    if !batch.isFull, let rule = rules.appendSilence(at: now, to: &batch.text) {
      batch.notifications += 1
      return .silent(rule: rule)
    }
    batch.isDue = true
    return dueStep(at: now)
  }

  private mutating func take(_ event: BrokerSession.Event, at now: Instant) -> Step? {
    switch event {
    case .connected(let hasSession):
      let isLost = attempts.hasConnected && !hasSession
      isAccepted = true
      attempts.accepted(at: now)
      subscriptions.connected()
      if isTakeover { return takeOver(hasSession, at: now) }
      rules.connected(at: now)
      hasAnswers = !subscriptions.isAsking
      return .connected(hasSession: hasSession, isLost: isLost)
    case .subscribed(let answer):
      hasAnswers = answer.isLast
      guard let filter = subscriptions.take(answer, at: now) else { return nil }
      guard answer.reason < 0x80 else { return .refused(filter: filter, reason: answer.reason) }
      return .accepted(
        filter: filter, quality: answer.reason, hasRefused: subscriptions.hasRefused)
    case .unsubscribed:
      subscriptions.unsubscribed()
      return nil
    case .published(let reason): return .published(reason: reason)
    case .message(let message):
      self.message = message
      nextRule = 0
      shown = (message.topic, message.payload)
      counts.messages += 1
      if message.isRepeated { counts.repeated += 1 }
      guard !isTakeover else { return nil }
      let hasRoom = rules.note(
        topic: session.bytes(message.topic), payload: session.bytes(message.payload),
        isRetained: message.isRetained, at: now)
      return hasRoom ? nil : .unheard
    }
  }

  /// Ends the subscriptions that the other box shares with this one, and waits for the messages
  /// that the broker has kept for it.
  ///
  /// The session stays, so that a message that comes late is not lost.
  private mutating func takeOver(_ hasSession: Bool, at now: Instant) -> Step? {
    guard hasSession else { return .tookOver(hasSession: false) }
    var none = FilterList()
    subscriptions.replace(&none, isConnected: false)
    quietAt = now + Self.quietTime
    return .connected(hasSession: true, isLost: false)
  }

  /// Appends the next notification of the message to the batch.
  ///
  /// A message with many notifications may take several files. It is acknowledged with the last.
  private mutating func makeNotification(of message: BrokerSession.Message) -> Step? {
    guard !batch.isFull else {
      batch.isDue = true
      return nil
    }
    let isFirst = nextRule == 0
    let outcome =
      message.isCut
      ? .tooLarge(rule: nil)
      : rules.append(
        address: session.bytes(message.topic), payload: session.bytes(message.payload),
        packetID: message.packetID, isRetained: message.isRetained, from: nextRule, to: &batch.text)
    if let rule = outcome.rule, rules.goesOn(rule) {
      nextRule = rule + 1
    } else {
      self.message = nil
      batch.count(message, openMax: settings.openMax)
    }
    switch outcome {
    case .heard: return nil
    case .rule, .notification:
      batch.notifications += 1
      return nil
    case .tooLarge:
      counts.tooLarge += 1
      return .dropped(message.isCut ? .cut : .tooLarge)
    case .ignored, .retained, .unchanged:
      guard isFirst else { return nil }
      counts.ignored += 1
      return .dropped(
        outcome == .retained ? .retained : outcome == .unchanged ? .unchanged : .ignored)
    }
  }

  /// Acknowledges the messages whose notifications are on disk.
  public mutating func wrote(at now: Instant) {
    counts.files += 1
    // Messages may have come while the file was written.
    if quietAt != nil { quietAt = now + Self.quietTime }
    acknowledge(at: now)
  }

  private mutating func acknowledge(at now: Instant) {
    counts.notifications += batch.notifications
    session.acknowledge(batch.openCount, at: now)
    rules.silencesTold(isKept: true)
    batch.clear()
  }
}
