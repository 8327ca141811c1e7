import TinyPush
import TinyPushRules

/// A session with a broker of MQTT 5 or 3.1.1, as one subscriber with acknowledgements of its own
/// timing.
///
/// The session is pure: it touches no socket and no clock. The caller reads from its socket into
/// ``makeRoom()``, calls ``next(at:)`` until there is no event left, writes ``output`` to its
/// socket, and calls again at ``wakeAt``.
///
/// A message of QoS 1 is open from its event until ``acknowledge(_:)``. The caller acknowledges a
/// message once its notification is on disk; the broker sends a message again that was open when
/// the connection ended. The broker is asked for no more open messages than ``Settings/openMax`` at
/// a time. Mosquitto 2.0.11 sends more when it resumes a session, so that more are taken.
///
/// One message at a time goes the other way, by ``publish(topic:payload:at:)``. It is lost with the
/// connection.
public struct BrokerSession: ~Copyable {
  /// Bounds and times of a session.
  public struct Settings: BitwiseCopyable {
    /// The number of open messages that the broker is asked for: the receive maximum (section
    /// 3.1.2.11.3).
    public var openMax: Int
    /// The largest packet that the broker may send, in bytes.
    ///
    /// A broker of MQTT 5 drops a larger message (section 3.1.2.11.4), and so the bound is far
    /// above what a notification needs: a rule may take one word of a message with a picture in it.
    public var packetBytesMax: Int
    /// The time of silence after which a ping goes out.
    public var keepAlive: Duration
    /// The time for which the broker keeps messages for an absent client, in seconds; `UInt32.max`:
    /// for ever.
    public var sessionSeconds: UInt32
    /// The time in which the broker must answer a ping or the connection request.
    public var answerTime: Duration

    /// Creates settings for a box that sends alerts.
    public init() {
      openMax = 256
      packetBytesMax = 1024 * 1024
      // Some load balancers forget a connection that is idle for four minutes.
      keepAlive = .seconds(120)
      sessionSeconds = .max
      answerTime = .seconds(30)
    }
  }

  /// The version of the protocol.
  ///
  /// 3.1.1 has no properties, and so neither a receive maximum nor reasons.
  public enum Version: UInt8, Sendable {
    case v3 = 4
    case v5 = 5

    /// The version in words.
    public var name: StaticString { self == .v5 ? "MQTT 5" : "MQTT 3.1.1" }
  }

  /// What the broker does not offer (section 3.2.2.3).
  public struct Lacks: OptionSet, Sendable {
    /// A bit for each feature.
    public let rawValue: UInt8

    /// Creates a set of features.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Wildcards in topic filters.
    public static let wildcards = Lacks(rawValue: 1)
    /// Subscriptions that begin with `$share/`.
    public static let sharedSubscriptions = Lacks(rawValue: 2)
  }

  /// What a client shows when it connects.
  public struct Login: ~Copyable {
    /// The client identifier, 1 to 23 bytes for every broker (section 3.1.3.1).
    public var clientID = Text(capacity: 256)
    /// The user name; empty: none.
    public var user = Text(capacity: 256)
    /// The password; empty: none.
    public var password = Text(capacity: 1024)
    /// The topic of the message that the broker publishes when the client is lost; empty: none.
    public var willTopic = Text(capacity: 512)
    /// The payload of that message, which is retained.
    public var will = Text(capacity: 256)

    /// Creates an empty login.
    public init() {}

    @inline(never)
    deinit {}
  }

  /// A message from the broker.
  ///
  /// Its ranges hold until ``makeRoom()``.
  public struct Message {
    /// The topic's place in ``bytes(_:)``.
    public var topic: Range<Int>
    /// The payload's place in ``bytes(_:)``.
    public var payload: Range<Int>
    /// The packet identifier; nil: QoS 0, which needs no acknowledgement.
    public var packetID: UInt16?
    /// Whether the broker sent the message before.
    public var isRepeated: Bool
    /// Whether the message is the retained one of its topic.
    public var isRetained: Bool
    /// Whether the message is larger than ``Settings/packetBytesMax``: its end was dropped.
    public var isCut: Bool
  }

  /// The broker's answer to a subscription.
  public struct Subscription {
    /// The number that ``subscribe(_:isState:at:)`` returned.
    public var packetID: UInt16
    /// A reason code of SUBACK (section 3.9.3): the QoS; 0x80 and more refuse.
    public var reason: UInt8
    /// Whether the broker has answered all subscriptions.
    public var isLast: Bool
  }

  /// What the broker did.
  public enum Event {
    /// The broker accepted the connection.
    ///
    /// Without a session it has forgotten all subscriptions.
    case connected(hasSession: Bool)
    /// The broker answered a subscription.
    case subscribed(Subscription)
    /// The broker has ended all subscriptions that it was told to end.
    case unsubscribed
    /// A message came.
    case message(Message)
    /// The broker answered the message that was published last; a reason code of PUBACK (section
    /// 3.4.2.1), 0x80 and more refuse.
    case published(reason: UInt8)
  }

  private enum State {
    case down
    case connecting
    case up
  }

  /// Open messages at a time at most: there are no more packet identifiers.
  private static let openLimit = 65_535
  /// The bytes of a published message's payload at most.
  public static let publishedBytesMax = 8192

  private let settings: Settings
  private var state = State.down
  private var version = Version.v5
  private var hasWill = false
  /// What the broker of this connection does not offer.
  public private(set) var lacks: Lacks = []

  /// The reason code with which the broker would refuse a topic filter that it does not offer; nil:
  /// it offers the filter.
  ///
  /// Some brokers take such a subscription, and send nothing.
  public func lack(for filter: Span<UInt8>) -> UInt8? {
    if lacks.contains(.sharedSubscriptions), TopicFilter.isShared(filter) { return 0x9E }
    return lacks.contains(.wildcards) && !TopicFilter.isTopic(filter) ? 0xA2 : nil
  }
  /// Whether bytes came since the time was last looked at.
  private var hasHeard = false
  private var reader: PacketReader
  private var writer = PacketWriter(capacity: 16 * 1024)
  /// The packet identifiers of open messages, the oldest at ``openStart``.
  private let open: FixedBuffer<UInt16>
  private var openStart = 0
  /// Messages that are open.
  public private(set) var openCount = 0
  /// The oldest open messages whose acknowledgement waits for room in ``writer``.
  private var settledCount = 0
  private var keepAlive: Duration
  private var lastWritten = Instant(milliseconds: 0)
  /// The time by which the broker must answer; nil: nothing is asked.
  private var answerDue: Instant?
  private var subscriptionsAsked = 0
  private var unsubscriptionsAsked = 0
  /// The time for which the broker keeps messages for an absent client, in seconds; `UInt32.max`:
  /// for ever.
  ///
  /// The broker may grant less than ``Settings/sessionSeconds``.
  public private(set) var sessionSeconds: UInt32 = 0
  private var nextPacketID: UInt16 = 1
  /// The topic of the message that was published last.
  private var publishedTopic = Text(capacity: 512)
  /// The packet identifier of the published message that is not acknowledged.
  private var publishedID: UInt16?

  /// Creates a session without a connection.
  public init(_ settings: Settings) {
    self.settings = settings
    keepAlive = settings.keepAlive
    reader = PacketReader(packetBytesMax: settings.packetBytesMax)
    open = FixedBuffer(capacity: Self.openLimit)
  }

  @inline(never)
  deinit {}

  // MARK: - Connecting

  /// Asks the broker for the session, on a new connection.
  public mutating func connect(
    _ login: borrowing Login, _ version: Version = .v5, at now: Instant
  ) {
    ended()
    state = .connecting
    self.version = version
    hasWill = login.willTopic.count > 0
    // A will has QoS 1 and is retained (section 3.1.2.3).
    var flags: UInt8 = 0
    if login.user.count > 0 { flags |= 0x80 }
    if login.password.count > 0 { flags |= 0x40 }
    // Without a clean start the broker keeps the session; in MQTT 3.1.1 for ever. RabbitMQ 4.0 keeps
    // the queue of a session of 0 s, too.
    if settings.sessionSeconds == 0 { flags |= 0x02 }
    if hasWill { flags |= 0x20 | 0x08 | 0x04 }
    writer.begin(.connect)
    writer.string(("MQTT" as StaticString).span)
    writer.byte(version.rawValue)
    writer.byte(flags)
    let seconds = settings.keepAlive.milliseconds / 1000
    // The broker waits for one and a half times this.
    writer.number16(UInt16(seconds < 65_535 ? seconds : 65_535))
    if version == .v5 {
      writer.byte(5 + 3 + 5)
      writer.byte(0x11)
      writer.number32(settings.sessionSeconds)
      writer.byte(0x21)
      writer.number16(UInt16(settings.openMax))
      writer.byte(0x27)
      writer.number32(UInt32(settings.packetBytesMax))
    }
    writer.string(login.clientID.bytes)
    if hasWill {
      noProperties()
      writer.string(login.willTopic.bytes)
      writer.string(login.will.bytes)
    }
    if login.user.count > 0 { writer.string(login.user.bytes) }
    if login.password.count > 0 { writer.string(login.password.bytes) }
    writer.end(.connect)
    lastWritten = now
    answerDue = now + settings.answerTime
  }

  /// Forgets the connection.
  ///
  /// The broker will send the open messages again.
  public mutating func ended() {
    state = .down
    reader.clear()
    writer.clear()
    openStart = 0
    openCount = 0
    settledCount = 0
    subscriptionsAsked = 0
    unsubscriptionsAsked = 0
    answerDue = nil
    hasHeard = false
    publishedID = nil
    keepAlive = settings.keepAlive
    lacks = []
  }

  /// Says goodbye, and has the broker publish the will.
  public mutating func disconnect() {
    // In MQTT 3.1.1, only a connection that ends without goodbye publishes the will.
    guard state == .up, writer.hasRoom(2), version == .v5 || !hasWill else { return }
    writer.begin(.disconnect)
    // Disconnect with the will (section 3.14.2.1): the fleet sees that this client is gone.
    if version == .v5 { writer.byte(0x04) }
    writer.end(.disconnect)
  }

  /// Says goodbye after a problem.
  public mutating func disconnect(after problem: BrokerProblem) {
    guard state != .down, version == .v5, let reason = problem.answer, writer.hasRoom(2) else {
      return
    }
    writer.begin(.disconnect)
    writer.byte(reason)
    writer.end(.disconnect)
  }

  /// Writes that a packet has no properties.
  private mutating func noProperties() { if version == .v5 { writer.byte(0) } }

  // MARK: - Asking

  /// Asks for the messages of a topic filter.
  ///
  /// - Parameter isState: whether the messages are state, of which the last one of each topic
  ///   counts. The broker sends the retained ones at each subscription, and with QoS 0: it keeps no
  ///   state for an absent client, whose queue has room for other messages only. Otherwise the QoS
  ///   is 1, and retained messages come only with the first subscription.
  /// - Returns: the number of the question; nil: there was no room to ask.
  public mutating func subscribe(
    _ filter: Span<UInt8>, isState: Bool, at now: Instant
  ) -> UInt16? {
    guard state == .up, writer.hasRoom(filter.count + 6) else { return nil }
    let packetID = takePacketID()
    writer.begin(.subscribe, flags: 2)
    writer.number16(packetID)
    noProperties()
    writer.string(filter)
    // Maximum QoS 0 or 1, and retain handling 0 or 1 (section 3.8.3.1). A shared subscription has
    // no retained messages. State of this client's own does not come back: with Nagle's algorithm
    // in the broker, the acknowledgement of each message would wait behind it.
    // MQTT 3.1.1 has only the QoS.
    let options: UInt8 = isState ? 0x04 : 0x11
    writer.byte(version == .v5 ? options : options & 0x03)
    writer.end(.subscribe)
    subscriptionsAsked += 1
    wrote(at: now)
    answerDue = answerDue ?? now + settings.answerTime
    return packetID
  }

  /// Ends the subscription to a topic filter.
  public mutating func unsubscribe(_ filter: Span<UInt8>, at now: Instant) -> Bool {
    guard state == .up, writer.hasRoom(filter.count + 5) else { return false }
    writer.begin(.unsubscribe, flags: 2)
    writer.number16(takePacketID())
    noProperties()
    writer.string(filter)
    writer.end(.unsubscribe)
    unsubscriptionsAsked += 1
    wrote(at: now)
    return true
  }

  /// Whether a subscription waits for its answer.
  var isAsking: Bool { subscriptionsAsked > 0 }

  /// Whether a message can be published: the one before is acknowledged, and there is room.
  public var mayPublish: Bool { state == .up && publishedID == nil && output.isEmpty }

  /// Publishes a retained message with QoS 1; ``mayPublish`` holds.
  ///
  /// - Parameters:
  ///   - topic: 512 bytes at most.
  ///   - payload: ``publishedBytesMax`` bytes at most.
  public mutating func publish(topic: Span<UInt8>, payload: Span<UInt8>, at now: Instant) {
    precondition(mayPublish)
    publishedTopic.clear()
    publishedTopic.append(bytes: topic)
    let packetID = takePacketID()
    publishedID = packetID
    writer.begin(.publish, flags: 2 | 1)
    writer.string(topic)
    writer.number16(packetID)
    noProperties()
    writer.raw(payload)
    writer.end(.publish)
    wrote(at: now)
  }

  /// The topic of the message that was published last.
  ///
  /// It changes with the next message.
  public var lastPublishedTopic: Span<UInt8> {
    @_lifetime(immortal) get { publishedTopic.unsafeBytes }
  }

  /// Acknowledges the oldest `count` open messages: the broker forgets them.
  public mutating func acknowledge(_ count: Int, at now: Instant) {
    settledCount += count
    precondition(settledCount <= openCount)
    writeAcknowledgements(at: now)
  }

  /// Acknowledgements go out in the order of the messages (section 4.6).
  private mutating func writeAcknowledgements(at now: Instant) {
    while settledCount > 0, writer.hasRoom(2) {
      writer.begin(.publishAnswer)
      writer.number16(open[openStart])
      writer.end(.publishAnswer)
      openStart = (openStart + 1) % open.capacity
      openCount -= 1
      settledCount -= 1
      wrote(at: now)
    }
  }

  // MARK: - Bytes and time

  /// Room for bytes from the socket, once ``next(at:)`` returned nil.
  public mutating func makeRoom() -> UnsafeMutableBufferPointer<UInt8> { reader.makeRoom() }

  /// Takes the first `count` bytes of the room, which have been filled.
  public mutating func take(_ count: Int) {
    reader.take(count)
    hasHeard = true
  }

  /// The bytes of a range of the last message.
  @_lifetime(immortal)
  public func bytes(_ range: Range<Int>) -> Span<UInt8> { reader.bytes(range) }

  /// The bytes that wait for the socket.
  ///
  /// They change with the next call.
  public var output: Span<UInt8> {
    @_lifetime(immortal) get { writer.output }
  }

  /// Drops the first `count` bytes of ``output``, which the socket took.
  public mutating func written(_ count: Int, at now: Instant) {
    writer.written(count)
    writeAcknowledgements(at: now)
  }

  /// The time of the next ping, or by which the broker must answer; nil: there is no connection.
  public var wakeAt: Instant? {
    guard state != .down else { return nil }
    var wake: Instant? = lastWritten + keepAlive
    wake.include(answerDue)
    return wake
  }

  private mutating func wrote(at now: Instant) { lastWritten = now }

  /// Sends a ping when it is due.
  private mutating func ping(at now: Instant) throws(BrokerProblem) {
    guard state != .down else { return }
    // A broker that sends bytes is not silent: on a slow link an answer waits behind messages.
    if hasHeard, answerDue != nil { answerDue = now + settings.answerTime }
    hasHeard = false
    if let answerDue, now >= answerDue { throw .silent }
    guard state == .up, now >= lastWritten + keepAlive else { return }
    // The broker has taken no bytes for as long as the keep alive.
    guard writer.hasRoom(0) else { throw .silent }
    probe(at: now)
  }

  /// Asks whether the broker is there.
  ///
  /// If there is no room, the next ping follows.
  mutating func probe(at now: Instant) {
    guard writer.hasRoom(0) else { return }
    writer.begin(.ping)
    writer.end(.ping)
    wrote(at: now)
    answerDue = answerDue ?? now + settings.answerTime
  }

  private mutating func takePacketID() -> UInt16 {
    if nextPacketID == publishedID { nextPacketID = nextPacketID == .max ? 1 : nextPacketID + 1 }
    defer { nextPacketID = nextPacketID == .max ? 1 : nextPacketID + 1 }
    return nextPacketID
  }

  // MARK: - Events

  /// Returns the next event; nil: more bytes are needed.
  public mutating func next(at now: Instant) throws(BrokerProblem) -> Event? {
    while let packet = try reader.next() {
      if let event = try take(packet, at: now) { return event }
    }
    try ping(at: now)
    return nil
  }

  private mutating func take(
    _ packet: PacketReader.Packet, at now: Instant
  ) throws(BrokerProblem) -> Event? {
    var fields = FieldReader(packet)
    let kind = PacketKind(rawValue: packet.kind)
    switch (state, kind) {
    case (.connecting, .connectAnswer): return try takeConnectAnswer(&fields)
    case (.connecting, .disconnect), (.up, .disconnect):
      throw .disconnected(fields.isEmpty ? 0 : try fields.byte(reader))
    case (.up, .publish): return .message(try takeMessage(packet, &fields))
    case (.up, .publishAnswer):
      let packetID = try fields.number16(reader)
      let reason = fields.isEmpty ? 0 : try fields.byte(reader)
      guard packetID == publishedID else { return nil }
      publishedID = nil
      return .published(reason: reason)
    case (.up, .subscribeAnswer): return try takeSubscribeAnswer(&fields)
    case (.up, .unsubscribeAnswer):
      guard unsubscriptionsAsked > 0 else { return nil }
      unsubscriptionsAsked -= 1
      return unsubscriptionsAsked == 0 ? .unsubscribed : nil
    case (.up, .pingAnswer):
      if subscriptionsAsked == 0 { answerDue = nil }
      // The answer to a subscription may still be missing.
      hasHeard = false
      return nil
    default: throw .malformed(.outOfTurn(packet.kind))
    }
  }

  private mutating func takeConnectAnswer(
    _ fields: inout FieldReader
  ) throws(BrokerProblem) -> Event {
    let hasSession = try fields.byte(reader) & 1 != 0
    let reason = try fields.byte(reader)
    guard version == .v5 else {
      guard reason == 0 else { throw .refused(Self.reason(ofReturnCode: reason)) }
      sessionSeconds = .max
      return connected(hasSession)
    }
    guard reason == 0 else { throw .refused(reason) }
    var keepAliveSeconds: UInt32?
    var lacks: Lacks = []
    var hasAcknowledgements = true
    var sessionSeconds = settings.sessionSeconds
    try fields.properties(reader) { identifier, value in
      switch identifier {
      case 0x11: sessionSeconds = value
      case 0x13: keepAliveSeconds = value
      case 0x24: hasAcknowledgements = value > 0
      case 0x28: if value == 0 { lacks.insert(.wildcards) }
      case 0x2A: if value == 0 { lacks.insert(.sharedSubscriptions) }
      default: break
      }
    }
    guard hasAcknowledgements else { throw .lacksAcknowledgements }
    self.lacks = lacks
    self.sessionSeconds = sessionSeconds
    // The broker's own value holds (section 3.2.2.3.14); 0 turns the keep alive off, and our own
    // pings do no harm.
    if let keepAliveSeconds, keepAliveSeconds > 0 {
      let served = Duration.seconds(UInt64(keepAliveSeconds))
      if served < keepAlive { keepAlive = served }
    }
    return connected(hasSession)
  }

  /// The reason code of a return code of MQTT 3.1.1 (its section 3.2.2.3).
  private static func reason(ofReturnCode code: UInt8) -> UInt8 {
    switch code {
    case 1: 0x84
    case 2: 0x85
    case 3: 0x88
    case 4: 0x86
    case 5: 0x87
    default: code
    }
  }

  private mutating func connected(_ hasSession: Bool) -> Event {
    state = .up
    answerDue = nil
    return .connected(hasSession: hasSession)
  }

  private mutating func takeSubscribeAnswer(
    _ fields: inout FieldReader
  ) throws(BrokerProblem) -> Event {
    let packetID = try fields.number16(reader)
    if version == .v5 { try fields.properties(reader) { _, _ in } }
    // Each question has one topic filter, and so one reason code.
    let reason = try fields.byte(reader)
    guard subscriptionsAsked > 0 else { throw .malformed(.outOfTurn(fields.kind)) }
    subscriptionsAsked -= 1
    if subscriptionsAsked == 0 { answerDue = nil }
    return .subscribed(
      Subscription(packetID: packetID, reason: reason, isLast: subscriptionsAsked == 0))
  }

  private mutating func takeMessage(
    _ packet: PacketReader.Packet, _ fields: inout FieldReader
  ) throws(BrokerProblem) -> Message {
    let topic = try fields.string(reader)
    let quality = packet.flags >> 1 & 3
    // No subscription asks for QoS 2, and no topic alias was offered.
    guard quality < 2 else { throw .malformed(.quality) }
    guard !topic.isEmpty else { throw .malformed(.alias) }
    var packetID: UInt16?
    if quality == 1 {
      let number = try fields.number16(reader)
      guard number != 0 else { throw .malformed(.content(packet.kind)) }
      guard openCount < Self.openLimit else { throw .malformed(.tooManyOpen) }
      open[(openStart + openCount) % open.capacity] = number
      openCount += 1
      packetID = number
    }
    if version == .v5 { try fields.properties(reader) { _, _ in } }
    return Message(
      topic: topic, payload: fields.rest(), packetID: packetID, isRepeated: packet.flags & 8 != 0,
      isRetained: packet.flags & 1 != 0, isCut: packet.isCut)
  }
}
