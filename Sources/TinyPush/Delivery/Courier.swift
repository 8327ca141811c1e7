/// Takes notifications from the spool to the gateway, and forgets none. Pure: it never touches a file, a socket or a clock.
///
/// The shell asks ``next(_:)`` what to do, does it, and reports what came of it; and it reports what happens by itself
/// (bytes received, a connection lost, a file that appeared). Everything between is here: which file is read, what is
/// framed, when the batch is written, what an answer settles, what must go again.
///
/// Order is the key to it. Files are claimed by name, notifications framed in file order, and a gateway's answer settles
/// everything before the one it names. So all that is under way forms queues: `sent` (written or about to be, oldest
/// first), `again` (to be sent again before anything new), the file being read, and the `backlog` of names.
public struct Courier: ~Copyable {
  public struct Settings {
    public var format = FrameFormat.items
    public var rules = Rules()
    /// Seconds that the service may keep a notification which does not say itself.
    public var ttl: UInt32 = 86_400
    public var linger = Duration.milliseconds(20)
    public var settle = Duration.seconds(10)
    public var confirm = Confirm.drain
    public var barrierInterval = Duration.seconds(60)
    public var uncertain = Uncertain.resend
    public var rescan = Duration.seconds(900)
    /// Files, or stretches of large files, that may be under way.
    public var window = 8192
    /// Ends when the spool is empty.
    public var isOnce = false

    public init() {}
  }

  /// When a barrier is sent: a frame that the gateway must refuse, so that its answer proves all before it.
  public enum Confirm: UInt8 {
    /// At a drain: the end of `--once`, and at a stop.
    case drain
    /// Also when the window fills or a burst ends.
    case barrier
    /// Never.
    case settle
  }

  /// What happens to notifications of which nobody knows whether they arrived.
  public enum Uncertain: UInt8 {
    case resend
    case drop
  }

  /// What the shell must do next.
  public enum Step {
    /// Offer each name in `new/`, with its inode, by ``offer(_:inode:)``; and if that fails, ``couldNotScan()``.
    case scan
    /// Open ``fileName`` and read from ``readOffset`` into ``inputRoom``; then ``opened(_:bytes:isWhole:)`` or
    /// ``couldNotOpen(_:)``.
    case open
    /// Read on from ``readOffset`` into ``inputRoom``; then ``filled(bytes:isWhole:)``.
    case read
    /// Open the recipients file ``recipientsName()`` and read from ``recipientsOffset`` into ``recipientsRoom``; then
    /// ``readRecipients(_:bytes:isWhole:)`` or ``couldNotReadRecipients(_:)``.
    case readRecipients
    /// Open ``surveyName()`` and read from ``surveyOffset`` into ``surveyRoom``; then ``surveyed(_:bytes:isWhole:)`` or
    /// ``couldNotSurvey()``.
    case survey
    /// Find out whether ``verifiedName()`` is still ``verifiedIdentity``; then ``verified(_:)``.
    case verify
    /// Close the file that was opened.
    case close
    /// Append ``failure`` to the file of the same name in `failed/`, or where it ``isPostponing`` put it into the file
    /// ``laterFileName()`` of `later/`, whole or not at all; then ``recorded(_:)``.
    case record
    /// Put ``forEachLearned(_:)`` into the suppression list, or mend that where it is damaged; then ``keptLearned(_:)``.
    case keepLearned
    /// See to it that all that was recorded outlives a power cut; then ``synced(_:)``.
    case sync
    /// Offer each name in `later/` by ``offerLater(_:)``; and if that fails, ``couldNotScanLater()``.
    case scanLater
    /// Move ``dueName()`` from `later/` to `new/`, under the name of ``appendReleasedName(to:)``; then ``released()`` or
    /// ``couldNotRelease(isGone:)``.
    case release
    /// Remove each file of `later/` that ``isReplaced(_:)``; then ``cancelled(_:)``.
    case cancel
    /// Find out whether failures can be recorded by now; then ``probed(_:)``.
    case probe
    /// Unlink ``settledName`` if it is still ``settledIdentity``, or move it to `failed/` if it ``isSettledSetAside``; then
    /// ``removed(_:)``.
    case remove
    /// Put ``progress`` in the place of what was kept last, so that it outlives a power cut; nil: nothing need be kept.
    /// Then ``keptProgress(_:)``.
    case keepProgress
    /// Connect; then ``connected()`` or ``disconnected(at:byPeer:)``.
    case dial
    /// Write ``batchContents()``; then ``wrote(wireEnd:)`` or ``blocked()``.
    case write
    /// Read what there is to read, and then call ``heard(until:)``.
    case listen
    /// Find out what the peer has acknowledged; then ``sampled(unacknowledged:since:roundTrip:)``.
    case sample
    /// Close the connection.
    case disconnect
    /// Nothing, until something happens or the time has come.
    case wait(until: Instant?)
    /// All is done.
    case finish
  }

  enum Link: Equatable {
    case down(dialAt: Instant)
    case dialing
    case up
    /// The shell is to close it.
    case closing
  }

  /// Why no more can be framed at the moment.
  enum Intake {
    case dry
    case batchFull
    case windowFull
  }

  let settings: Settings
  var time = Time(now: Instant(milliseconds: 0), wallSeconds: nil)
  public var counters = Counters()
  var reports = Reports()

  // What waits.
  var backlog = Backlog()
  var unfinished = Unfinished()
  var beingWritten = BeingWritten()
  /// Files that the disk does not let go, and when to see whether it does by now.
  var held = HeldFiles()
  var delivered = DeliveredFiles()
  var heldRetryAt: Instant?
  var heldPause = Self.heldPauseMin
  /// When to try again to remove the file that is next, where no more can be held.
  var removalRetryAt: Instant?
  /// What waits in `later/`, the next one due first.
  var later = Backlog()
  var isLaterScanWanted = true
  var isLaterChanged = false
  /// An agent before this one may have ended before it synced what it put there.
  var isLaterUnsynced = true
  /// UNIX seconds at which the next one is due.
  var nextDue: Int64?
  /// When to look there again for what could not be moved to `new/`.
  var laterRetryAt: Instant?
  /// The file in `later/` that is to be written, or was last.
  var laterName = Text(capacity: 256)
  /// A notification of this key, of the file of this name, replaces others that wait there.
  var cancelKey: UInt64?
  var cancelName = Text(capacity: 256)
  /// What waits with a `collapse-id`.
  var survey = Survey()
  var collapsing: Collapsing?
  var collapsingKey: UInt64 = 0
  /// A scan of everything was asked for, and tells which held files are gone.
  var isScanning = false
  /// The last scan failed.
  public internal(set) var isScanBroken = false
  /// Whether it has been said that delivered files cannot be removed, and that failures cannot be recorded.
  var isRemovalBroken = false
  var isRecordBroken = false
  var isScanWanted = true
  var rescanAt: Instant?

  // What is under way, oldest first.
  var claims: Claims
  var sent: Window
  var again: Window
  /// Where the last framed notification of the batch ended: one that begins there belongs to the same stretch.
  var framedEnd: FilePlace?
  /// Claims at the front of which everything is settled.
  var settledClaims = 0
  /// What the head of `again` still has to hear of the answer that put it there.
  var trim = Trim()

  // The file being read.
  /// Of files in `new/`, in all.
  public internal(set) var bytesRead: UInt64 = 0
  var reading: Reading?
  var interrupted: Reading?
  let input = FixedBuffer<UInt8>(capacity: 2 * NotificationReader.objectBytesMax)
  var roster = Roster()
  var rosterVersions = RosterVersions()
  var mustClose = false
  /// Nothing is opened before.
  var pausedUntil: Instant?
  static let pause = Duration.seconds(2)
  static let heldPauseMin = Duration.seconds(30)
  static let heldPauseMax = Duration.seconds(900)
  public internal(set) var failure = Text(capacity: NotificationReader.objectBytesMax + 8192)
  var pending: PendingFailure?
  /// Failures were recorded that a power cut might take.
  var isRecordUnsynced = false

  // How far the oldest file is settled.
  /// What was kept last, and what is to be kept now.
  var keptProgress: Progress?
  public internal(set) var progress: Progress?
  var keepProgressAt: Instant?
  /// The file of what was kept is done with.
  var isProgressStale = false
  /// The present scan has found it.
  var isProgressFileSeen = false
  /// The last try to keep some failed.
  var isProgressRefused = false
  static let progressInterval = Duration.seconds(5)
  /// A smaller file is repeated as a whole: that is less work than keeping count.
  static let progressBytesMin: Int64 = 65_536

  // The connection.
  var link: Link
  var upSince: Instant?
  /// A connection that lasted so long was no failure, even if there was nothing to settle on it.
  static let lasting = Duration.seconds(60)
  var backoff: Backoff
  var nextID: UInt32 = 1
  var lastWrittenID: UInt32 = 0
  let batch = FixedBuffer<UInt8>(capacity: Self.batchBytesMax)
  var batchBytes = 0
  /// Notifications in the batch that were on the wire before.
  var batchRepeated: UInt64 = 0
  var batchSince = Instant(milliseconds: 0)
  var flushAt: Instant?
  var isBlocked = false
  var isUnblocked = false
  var intakeState = Intake.dry
  /// Whether the connection settled anything.
  package var isProgress = false
  var wireEnd: UInt64 = 0
  var acknowledgedEnd: UInt64 = 0
  var acknowledgements: Acknowledgements
  /// When the peer's acknowledgements were last asked for, and last moved on.
  var sampledAt = Instant(milliseconds: 0)
  var movedAt = Instant(milliseconds: 0)
  var writtenAt = Instant(milliseconds: 0)
  var answer = ErrorResponseReader()
  /// Until when everything that the gateway said has been read.
  var heardAt = Instant(milliseconds: 0)
  /// Nothing has been done since.
  var hasJustHeard = false
  var barrierID: UInt32?
  var barrierAt: Instant?
  /// How many of the oldest stretch in `sent` are known to be accepted, by an answer without an error.
  var provedOfHead: UInt32 = 0
  /// Barriers in a row of which the connection ended without an answer. That may have had other causes: after two, one goes
  /// alone; and when two of those got no answer either, no more are sent, and only time settles.
  var vainBarriers = 0
  /// Stretches at the front of `again` that arrived, and whose barrier was not answered: whether they go again is decided by
  /// the barrier that goes alone.
  var silent = 0
  /// One has been answered: it is not the barriers at which connections end.
  var isBarrierSound = false
  static let vainBarriersBeforeTrial = 2
  static let vainBarriersMax = 4
  var suspicion = Suspicion()
  /// One was condemned, and the gateway has taken nothing since.
  var isGatewayUnproven = false
  var isStopping = false
  var suppression = Suppression()
  /// What is found in the notification that is being read.
  var findings = Findings()

  /// A TLS record's bound (RFC 8446 section 5.1), less the byte in which TLS 1.3 hides the record's type: one more, and
  /// mbedTLS makes two records of it.
  public static let batchBytesMax = 16_383
  /// Room in the windows beyond the setting, for what an answer splits.
  static let slack = 64

  /// - Parameter seed: for the jitter of connecting again.
  public init(_ settings: Settings, seed: UInt64) {
    self.settings = settings
    claims = Claims(capacity: settings.window + Self.slack)
    sent = Window(capacity: settings.window + Self.slack)
    again = Window(capacity: 2 * (settings.window + Self.slack))
    acknowledgements = Acknowledgements(settle: settings.settle)
    backoff = Backoff(seed: seed)
    link = .down(dialAt: Instant(milliseconds: 0))
  }

  // MARK: - What to do

  /// What the shell must do next.
  public mutating func next(_ time: Time) -> Step {
    self.time = time
    if rescanAt == nil { rescanAt = time.now + settings.rescan }
    defer { hasJustHeard = false }
    if isScanning { scanned() }
    if let step = settleByTime() ?? endTrial() { return step }
    if let step = settlement(isPatient: true) { return step }
    if mustClose { return .close }
    if link == .closing { return hangUp() }
    if let step = intake() { return step }
    // Reading may have shown that nothing is left of a file to send.
    let wasScanWanted = isScanWanted
    if let step = settlement(isPatient: false) { return step }
    // A file that was given up is looked for again.
    if isScanWanted, !wasScanWanted, let step = intake() { return step }
    if let step = keepStep() { return step }
    if isDone { return .finish }
    switch link {
    case .down(let dialAt):
      if time.now >= dialAt, wantsLink {
        link = .dialing
        return .dial
      }
    case .dialing, .closing: break
    case .up:
      if let step = transmit() { return step }
      if link == .closing { return hangUp() }
      if acknowledgements.mustAsk(at: time.now) { return .sample }
    }
    return .wait(until: deadline)
  }

  /// Files that are settled and have something on record gather to so many, if more is to be done meanwhile: to have it safe
  /// on disk takes its time.
  private static let unsyncedMax = 64

  /// What is owed to the spool before anything else.
  private mutating func settlement(isPatient: Bool) -> Step? {
    if pending != nil { return .record }
    if counters.settled > 0 { suppression.trustGateway() }
    if suppression.mustBeKept(isPatient: isPatient) {
      // Once a token is on the list, its notification counts as suppressed: the record of its refusal is on disk before. To
      // sync the list would put the record's name there, and not what it says.
      return isRecordUnsynced ? .sync : .keepLearned
    }
    // What replaces others outlives a power cut before they go.
    if cancelKey != nil { return isRecordUnsynced ? .sync : .cancel }
    while settledClaims > 0, claims[claims.first].isKept { removed(.kept) }
    guard settledClaims > 0, !isRemovalPaused else { return nil }
    guard isRecordUnsynced else { return .remove }
    return isPatient && settledClaims < Self.unsyncedMax ? nil : .sync
  }

  /// Everything has been sent that there is to send.
  var isAllSent: Bool {
    reading == nil && interrupted == nil && again.isEmpty && batchBytes == 0
      && (isStopping
        || backlog.isEmpty && backlog.isComplete && !isScanWanted && unfinished.retryAt == nil
          && !isReleaseDue)
  }

  var isDone: Bool {
    guard sent.isEmpty, batchBytes == 0, pending == nil, settledClaims == 0 || isRemovalPaused
    else {
      return false
    }
    return isStopping || settings.isOnce && isAllSent
  }

  private var wantsLink: Bool {
    if isStopping { return false }
    return !settings.isOnce || !again.isEmpty || reading != nil || interrupted != nil
      || !backlog.isEmpty
  }

  private var deadline: Instant? {
    var earliest: Instant?
    // What is overdue could not be done just now, and is done when something changes: no timer helps.
    func consider(_ instant: Instant?) {
      guard let instant, instant > time.now else { return }
      if earliest == nil || instant < earliest! { earliest = instant }
    }
    if case .down(let dialAt) = link, wantsLink { consider(dialAt) }
    if case .up = link, !isBlocked, batchBytes > 0 { consider(flushAt) }
    consider(pausedUntil)
    consider(acknowledgements.deadline)
    consider(trialEnd)
    consider(soloEnd)
    consider(keepProgressAt)
    if !isStopping {
      consider(unfinished.retryAt)
      consider(heldRetryAt)
      consider(removalRetryAt)
      consider(beingWritten.retryAt)
      consider(releaseAt)
      if !settings.isOnce { consider(rescanAt) }
    }
    return earliest
  }

  /// When to connect again: at once after a connection that settled something, by the backoff otherwise; and that begins
  /// anew after a connection which lasted.
  mutating func dialAt() -> Instant {
    if isProgress { return time.now }
    if let upSince, upSince + Self.lasting < time.now {
      backoff.reset()
      // Whatever was wrong may be over.
      vainBarriers = min(vainBarriers, Self.vainBarriersBeforeTrial)
    }
    return time.now + backoff.fail()
  }

  private mutating func hangUp() -> Step {
    link = .down(dialAt: dialAt())
    return .disconnect
  }

  // MARK: - Suppression

  /// The suppression list, and what has changed since it was last made anew, as they are on disk by now. Both must last until
  /// they are replaced again.
  public mutating func suppress(list: UnsafeRawBufferPointer, recent: UnsafeRawBufferPointer) {
    suppression.replace(list: list, recent: recent)
  }

  /// Whether what it learned is in the suppression list by now, and that is whole. If not, that is tried again when there is more
  /// of it, and whenever the spool is looked through.
  public mutating func keptLearned(_ isKept: Bool) { suppression.kept(isKept) }

  // MARK: - What the shell looks at

  /// What it has learned of tokens and is not on disk; with `isKeepable` what may be put there by now.
  public func forEachLearned(isKeepable: Bool = true, _ body: (SuppressionRecord) -> Void) {
    for index in 0..<suppression.learned.count {
      let record = suppression.learned[index]
      if isKeepable ? suppression.mayKeep(record) : record.time != Learned.noTime { body(record) }
    }
  }

  /// Whether something in the suppression list is damaged.
  public var isSuppressionDamaged: Bool { suppression.isDamaged }

  /// Notifications sent and not settled.
  public var inFlight: Int { sent.notifications + again.notifications }

  /// Files in `new/` that are known and not done with; more may be there unless ``areFilesKnown``.
  public var files: Int { claims.count + backlog.count }

  /// Files in `later/`, as far as they are known.
  public var laterFiles: Int { later.count }

  /// Whether all of `new/` is known.
  public var areFilesKnown: Bool { backlog.isComplete && !isScanWanted }

  /// Whether everything has been settled and nothing waits.
  public var isIdle: Bool { claims.isEmpty && backlog.isEmpty && batchBytes == 0 }

  /// The size of the largest ``failure``.
  public var failureBytesMax: Int { failure.memory.count }

  /// Whether there are files that the disk does not let go. One that could not even be opened has no identity to be known by.
  public var isHolding: Bool { !held.isEmpty || isRecordBroken }

  /// When it will connect; nil while it is connected, or has nothing to send.
  public var nextDialAt: Instant? {
    if case .down(let instant) = link, wantsLink { return instant }
    return nil
  }

  /// Whether there is a connection that may be written to.
  public var isUp: Bool { link == .up }

  /// Connections that failed or settled nothing, one after the other.
  public var failures: Int { backoff.failures }

  /// Whether nothing but the end of the connection was waited for.
  public var isAwaitingEnd: Bool {
    sent.isEmpty && (isStopping || settings.isOnce) && isAllSent
  }

  /// The large memories, whose pages may be given back to the system while ``isIdle``.
  public func forEachBuffer(_ body: (UnsafeMutableRawBufferPointer) -> Void) {
    body(input.bytes)
    body(failure.memory)
    sent.forEachBuffer(body)
    again.forEachBuffer(body)
    claims.forEachBuffer(body)
    roster.forEachBuffer(body)
    backlog.forEachBuffer(body)
    later.forEachBuffer(body)
    survey.forEachBuffer(body)
  }

  /// The next thing worth a line in the log.
  public mutating func takeReport() -> Report? { reports.take() }
}
