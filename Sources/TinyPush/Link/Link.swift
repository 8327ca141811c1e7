/// The part that speaks a protocol with the push service or a gateway.
///
/// The courier and the link divide the work. The courier knows files, and no frames, requests or
/// connections. The link knows the connection, and no files. A notification passes between them
/// like this:
///
/// - The courier asks ``obstacle(payloadBytes:)``. If that is nil, it calls ``take(_:in:to:)``. The
///   message has a ``MessageNumber``, and the courier keeps the text.
/// - The link puts the notification into its buffer. When the courier has nothing more to do, it
///   calls ``nextStep(_:)``, which returns the link's next step: connect, write, read.
/// - The agent does the step and calls the link with the result, such as bytes that arrived.
/// - The link learns from answers, or from the absence of answers, what became of notifications.
///   The courier takes these outcomes by ``takeOutcome()``.
///
/// Each notification has exactly one outcome, unless the agent ends first. Outcomes come in any
/// order. A notification that must be sent again is offered again under the same number.
///
/// A link is pure, as the courier is: bytes and instants come in as values, and steps go out.
///
/// Several links may stand behind one: one for each ``Lane``. Then what concerns one of them is about
/// the selected lane, and a step is one of that lane.
public protocol Link: ~Copyable {
  // MARK: Lanes

  /// The number of lanes: 1, or ``Lane/count``.
  var lanes: Int { get }
  /// Makes what follows concern a lane.
  mutating func select(_ lane: Lane)
  /// Gives the selected lane to the push service of browsers at a host.
  mutating func assign(to authority: Span<UInt8>)

  // MARK: Notifications

  /// Whether the link can take notifications now.
  var isOpen: Bool { get }
  /// Returns why a payload of this size is not taken now; nil: it is taken.
  func obstacle(payloadBytes: Int) -> Obstacle?
  /// Takes a notification, if ``obstacle(payloadBytes:)`` is nil.
  ///
  /// - Parameters:
  ///   - text: the text to which the message's ranges refer.
  ///   - subscription: the browser's subscription; empty: the recipient is a device.
  mutating func take(
    _ message: borrowing Message, in text: Span<UInt8>, to subscription: Span<UInt8>)
  /// Returns the next outcome; nil if absent.
  mutating func takeOutcome() -> (message: MessageNumber, outcome: LinkOutcome)?
  /// Returns the hash of the next device token that the last outcome proved to be good.
  ///
  /// Nil: there are no more, or the link has forgotten them.
  mutating func takeProved() -> UInt64?
  /// Ends a search for a poison notification, since no notification is in flight.
  mutating func resetPoisonSearch()

  // MARK: Work

  /// Takes the present time, and returns a step if one is due before anything else.
  mutating func advance(to time: Time, isStopping: Bool) -> Courier.Step?
  /// Returns the link's next step, after the courier has done what it can.
  mutating func nextStep(_ supply: Supply) -> Courier.Step?
  /// When the link has something to do if nothing happens.
  var deadline: Instant? { get }

  // MARK: State

  /// Whether a notification is on the wire, or about to be, without an outcome.
  var isBusy: Bool { get }
  /// Calls `body` with each large buffer.
  func forEachBuffer(_ body: (UnsafeMutableRawBufferPointer) -> Void)
  /// Returns the counts since the last call.
  mutating func takeTraffic() -> LinkTraffic
  /// Returns the next event for the log.
  mutating func takeReport() -> Report?
}

extension Link where Self: ~Copyable {
  /// Returns 1: the link is a single one.
  public var lanes: Int { 1 }
  /// Does nothing: there is one lane.
  public mutating func select(_ lane: Lane) {}
  /// Does nothing: the link is not one to browsers.
  public mutating func assign(to authority: Span<UInt8>) {}
  /// Returns nil: the link remembers no recipients.
  public mutating func takeProved() -> UInt64? { nil }
}

/// A notification to one device.
public struct Message {
  /// The device token.
  public let token: DeviceToken
  /// What identifies the device token.
  public let identity: TokenIdentity
  /// The payload, as the notification's text has it.
  public let payload: Payload
  package let rendition: Rendition
  /// The expiration in UNIX seconds; 0: do not store.
  public let expiration: UInt32
  /// The priority: 10, 5 or 1.
  public let priority: UInt8
  /// The notification's topic in its text; empty: it gives none.
  @TextRange public private(set) var topic: Range<Int>
  /// The notification's identifier in its text; empty: it gives none.
  @TextRange public private(set) var identifier: Range<Int>
  /// The notification's collapse ID in its text; empty: it gives none.
  @TextRange public private(set) var collapseID: Range<Int>
  /// The push type.
  public let pushType: PushType
  /// What identifies the notification at each reading.
  private let notification: UInt64
  /// A number that is larger for a newer notification; 0: the notification has come back from
  /// `later/`, and may be older than others.
  public let order: UInt64
  /// The number that names the notification in its outcome.
  public let number: MessageNumber
  /// Whether the notification was sent before.
  public let wasSent: Bool

  package init(
    token: DeviceToken, identity: TokenIdentity, payload: Payload, rendition: Rendition,
    expiration: UInt32,
    priority: UInt8, topic: Range<Int> = 0..<0, identifier: Range<Int> = 0..<0,
    collapseID: Range<Int> = 0..<0, pushType: PushType = .alert,
    notification: UInt64 = 0, order: UInt64 = 0,
    number: MessageNumber, wasSent: Bool = false
  ) {
    self.token = token
    self.identity = identity
    self.payload = payload
    self.rendition = rendition
    self.expiration = expiration
    self.priority = priority
    self.topic = topic
    self.identifier = identifier
    self.collapseID = collapseID
    self.pushType = pushType
    self.notification = notification
    self.order = order
    self.number = number
    self.wasSent = wasSent
  }

  /// The hash that identifies the notification to this device at each reading.
  public var fingerprint: Fingerprint { Fingerprint(identity: notification, token: identity) }
}

/// What became of a notification that a link took.
public enum LinkOutcome: BitwiseCopyable {
  /// The service has it: an answer proved it, or no refusal came in time.
  case accepted(isProved: Bool)
  /// The service refused it.
  case rejected(Rejection)
  /// It is to be sent again, but not before an instant.
  ///
  /// It may have arrived if it `wasSent`.
  case returned(wasSent: Bool, notBefore: Instant?)
  /// A newer notification that replaces it on the device was accepted meanwhile.
  case superseded
  /// It may or may not have arrived, and is configured not to be sent again.
  case dropped
}

/// Why a link takes no more notifications now.
public enum Obstacle {
  /// There is no connection, or it cannot be written to.
  case closed
  /// The batch is full.
  case batchFull
  /// No more notifications may be in flight.
  case windowFull
}

/// What the courier still has to send in a lane.
public struct Supply {
  /// Why the courier offered no more; nil: it has nothing more.
  public var obstacle: Obstacle?
  /// Whether everything in the spool was offered, and nothing of the lane is to be sent again.
  public var isAllSent: Bool
  /// Whether there is something to send, or may be at any moment.
  public var wantsConnection: Bool
  /// Whether nothing new is sent, since the agent is stopping.
  public var isStopping: Bool

  /// Creates the supply before the courier's first step.
  package init() {
    self.init(isAllSent: false, wantsConnection: false, isStopping: false)
  }

  init(obstacle: Obstacle? = nil, isAllSent: Bool, wantsConnection: Bool, isStopping: Bool) {
    self.obstacle = obstacle
    self.isAllSent = isAllSent
    self.wantsConnection = wantsConnection
    self.isStopping = isStopping
  }
}

/// The counts of what a link has written.
public struct LinkTraffic {
  /// The notifications written, repetitions included.
  public var sent: UInt64 = 0
  /// The notifications that were written again.
  public var repeated: UInt64 = 0
  /// The notifications that may or may not have arrived before their connection ended.
  public var uncertain: UInt64 = 0
  /// The connections made.
  public var connections: UInt64 = 0
  /// The TLS records written.
  public var records: UInt64 = 0
  /// The notifications to send again, by the raw value of the cause.
  private(set) var retried: InlineArray<9, UInt64> = .init(repeating: 0)

  /// Creates counts that are 0.
  public init() {}

  /// Returns the counts since the last call.
  package mutating func take() -> LinkTraffic {
    defer { self = LinkTraffic() }
    return self
  }

  /// Adds the counts of another link.
  package mutating func add(_ other: LinkTraffic) {
    sent += other.sent
    repeated += other.repeated
    uncertain += other.uncertain
    connections += other.connections
    records += other.records
    for cause in retried.indices { retried[cause] += other.retried[cause] }
  }

  /// Counts notifications to send again.
  package mutating func recordRetry(_ cause: RetryCause, _ count: Int = 1) {
    retried[Int(cause.rawValue)] += UInt64(count)
  }
}
