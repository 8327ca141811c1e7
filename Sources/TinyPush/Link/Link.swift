/// The way across to the push service: takes notifications, and says what became of each. Pure, as the courier is: bytes and
/// instants come in as values, and what is to be done goes out as a step.
///
/// A link knows no files: a ``Stretch`` is a place that it gives back with the outcome. The courier knows no frames, answers
/// or connections. Outcomes come in any order and any number; each notification that a link took has one outcome in the end,
/// unless the agent ends first.
public protocol Link: ~Copyable {
  // MARK: Notifications

  /// Whether anything can be taken at the moment.
  var isOpen: Bool { get }
  /// Why a notification with a payload of so many bytes is not taken now; nil: it is.
  func obstacle(payloadBytes: Int) -> Obstacle?
  /// Takes a notification; ``obstacle(payloadBytes:)`` must be nil. `text` is the text in which the notification stands.
  mutating func take(_ message: borrowing Message, in text: Span<UInt8>)
  /// What became of notifications, one outcome a call; nil when there is nothing new.
  mutating func takeOutcome() -> LinkOutcome?
  /// Whom the notifications went to of which the last outcome proves that they were accepted: the hash of one token a call, as
  /// far as the link remembers them.
  mutating func takeProved() -> UInt64?
  /// Nothing that could be to blame for anything is under way any more.
  mutating func resetPoisonSearch()

  // MARK: Work

  /// Lets time pass. What is due may need a step first.
  mutating func advance(to time: Time, isStopping: Bool) -> Courier.Step?
  /// The link's next step, when the courier has done what it can.
  mutating func nextStep(_ supply: Supply) -> Courier.Step?
  /// When something is due.
  var deadline: Instant? { get }

  // MARK: Looking

  /// Stretches that were taken and have no outcome, and notifications in them.
  var stretchCount: Int { get }
  var notificationCount: Int { get }
  /// Whether something is on the wire, or about to be, whose outcome is to come.
  var isBusy: Bool { get }
  /// Connections that have ended.
  var endings: UInt32 { get }
  func forEachStretch(_ body: (Stretch) -> Void)
  func forEachBuffer(_ body: (UnsafeMutableRawBufferPointer) -> Void)
  /// What was written since this was asked last.
  mutating func takeTraffic() -> LinkTraffic
  /// The next thing worth a line in the log.
  mutating func takeReport() -> Report?
}

extension Link where Self: ~Copyable {
  public mutating func takeProved() -> UInt64? { nil }
}

/// A notification as it goes to one device.
public struct Message {
  public let token: DeviceToken
  public let payload: Payload
  package let rendition: Rendition
  /// UNIX seconds; 0: do not store.
  public let expiration: UInt32
  public let priority: UInt8
  /// What the notification says of itself, in its text: empty where it does not.
  public let topic: Range<Int>
  public let identifier: Range<Int>
  public let collapseID: Range<Int>
  public let pushType: PushType
  public let fingerprint: Fingerprint
  /// Grows with the order in which notifications are read for the first time.
  public let order: UInt64
  public let place: FilePlace
  /// The notification stands directly behind the one that was offered before.
  public let follows: Bool
  public let wasSent: Bool

  package init(
    token: DeviceToken, payload: Payload, rendition: Rendition, expiration: UInt32,
    priority: UInt8, topic: Range<Int> = 0..<0, identifier: Range<Int> = 0..<0,
    collapseID: Range<Int> = 0..<0, pushType: PushType = .alert,
    fingerprint: Fingerprint = Fingerprint(high: 0, low: 0), order: UInt64 = 0,
    place: FilePlace, follows: Bool,
    wasSent: Bool
  ) {
    self.token = token
    self.payload = payload
    self.rendition = rendition
    self.expiration = expiration
    self.priority = priority
    self.topic = topic
    self.identifier = identifier
    self.collapseID = collapseID
    self.pushType = pushType
    self.fingerprint = fingerprint
    self.order = order
    self.place = place
    self.follows = follows
    self.wasSent = wasSent
  }
}

/// What became of notifications.
public enum LinkOutcome {
  /// The service has them: it said so, or counts as having them after a sound wait.
  case accepted(Stretch, isProved: Bool)
  /// The service does not take this notification.
  case rejected(Stretch, Rejection)
  /// These go again, perhaps not before an instant.
  case returned(Stretch, notBefore: Instant?)
  /// Newer ones that replace these on the device have been accepted meanwhile.
  case superseded(Stretch)
  /// Nobody knows whether these arrived, and the configuration says not to send them again.
  case dropped(Stretch)
}

/// Why no more is taken at the moment.
public enum Obstacle {
  /// Nothing can be written now.
  case closed
  /// The batch is full.
  case batchFull
  /// So many are in flight that no more may be.
  case windowFull
}

/// How much the courier has to send.
public struct Supply {
  /// What kept the courier from offering more; nil: it has nothing more.
  public var obstacle: Obstacle?
  /// Everything in the spool was offered, and nothing waits to go again.
  public var isAllSent: Bool
  /// There is something to send, or there may be at any moment.
  public var wantsConnection: Bool
  /// Nothing new is taken any more.
  public var isStopping: Bool

  /// Before the courier has said anything.
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

/// What was written, and what the ends of connections left unknown.
public struct LinkTraffic {
  /// Notifications, repetitions included; and the repetitions.
  public var sent: UInt64 = 0
  public var repeated: UInt64 = 0
  /// Notifications of which the end of a connection left unknown whether they arrived.
  public var uncertain: UInt64 = 0
  public var connections: UInt64 = 0
  /// TLS records.
  public var records: UInt64 = 0
  /// Notifications that were sent and go again, by the raw value of the cause.
  private(set) var retried: InlineArray<9, UInt64> = .init(repeating: 0)

  public init() {}

  package mutating func recordRetry(_ cause: RetryCause, _ count: Int = 1) {
    retried[Int(cause.rawValue)] += UInt64(count)
  }
}
