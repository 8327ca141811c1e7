/// Takes notifications from the spool to a link, and loses none.
///
/// The courier is pure: it touches no file, socket or clock. The agent calls ``next(_:_:)``, does
/// the step that it returns, and reports the result. The agent also reports events, such as a new
/// file in `new/`. Time is a parameter.
///
/// A notification goes through four stages:
///
/// - The courier picks the file with the smallest name (``order``), claims it (``claims``), and
///   reads it (``reader``).
/// - It offers each notification to the link, once for each recipient.
/// - The link reports one outcome for each, in any order. An accepted notification lowers the
///   number of open notifications of its file. A notification to send again or to record is read
///   again from its file (``returns``), since the courier keeps places and no text.
/// - A rejected notification gets a line in `failed/` (``recorder``). When all notifications of a
///   file are settled and the records are on disk, the file leaves the spool.
///
/// Each part owns its state: also ``later`` (notifications for a later time), ``stuck`` (files that
/// the disk refuses to change), ``delivered`` (delivered files still in `new/`), ``replacing``
/// (search by collapse ID), ``progress`` (how far large files are settled), ``suppression`` and
/// ``limits``. The files named Courier… hold the steps that need several parts.
public struct Courier: ~Copyable {
  let settings: Settings
  var time = Time(now: Instant(milliseconds: 0), wallSeconds: nil)
  /// The counts since the agent started.
  public var counters = Counters()
  /// How the wall clock was set, by which the arrival of files is dated.
  ///
  /// The next courier in this process takes them over.
  public var arrivals: ArrivalClock
  /// The tokens that the gateway accepted lately.
  ///
  /// The next courier in this process takes them over if it has the same gateway.
  public var accepted = AcceptedTokens()
  var reports = Reports()
  var isStopping = false

  // The spool.
  var order = SpoolOrder()
  var claims: Claims
  var delivered = DeliveredFiles()
  var stuck = StuckFiles()
  var later = LaterFiles()
  var replacing = Replacing()
  var progress = KeptProgress()

  // Reading, and its results.
  var reader = Reader()
  var returns: Returns
  var recorder = Recorder()
  var suppression = Suppression()
  /// The name of the file of the last report about a token.
  var reportedName = Text(capacity: 256)
  var limits: Limits
  /// The notifications with an `again-after` that were sent lately.
  var recentlySent = RecentKeys()
  /// The place of the notification that would directly follow the last one offered.
  var offeredEnd: FilePlace?
  /// What kept the courier from offering more notifications.
  var obstacle: Obstacle?
  /// The ends of connections that the courier has handled.
  private var endings: UInt32 = 0
  private let pinned = Pinned()

  /// The most bytes of a batch: one less than a TLS record can hold (RFC 8446 section 5.1).
  ///
  /// TLS 1.3 hides the record's type in one byte. With one byte more, mbedTLS would write two
  /// records.
  public static let batchBytesMax = 16_383
  /// Room beyond the setting `window`, for stretches that an answer splits.
  package static let slack = 64
  /// The most settled files that wait for one sync of their records.
  ///
  /// A sync is slow, so the courier waits for more files while there is other work.
  private static let unsyncedMax = 64

  /// Creates a courier with an empty spool.
  public init(_ settings: Settings) {
    self.settings = settings
    arrivals = ArrivalClock(plausibleSince: settings.plausibleSince)
    claims = Claims(capacity: settings.window + Self.slack)
    returns = Returns(capacity: settings.window + Self.slack)
    limits = Limits(perToken: settings.limit, overall: settings.limitAll)
  }

  // MARK: - Steps

  /// Returns the agent's next step.
  public mutating func next<L: Link & ~Copyable>(_ time: Time, _ link: inout L) -> Step {
    self.time = time
    arrivals.observe(time)
    order.start(at: time.now, rescan: settings.rescan)
    takeOutcomes(&link)
    if order.isScanning { scanned() }
    if let step = link.advance(to: time, isStopping: isStopping) { return step }
    hear(&link)
    if let step = settlement(isPatient: true) { return step }
    if reader.mustClose { return .close }
    if limits.areSet, let step = summaryStep() { return step }
    if let step = intake(&link) { return step }
    // Reading may have shown that a file holds nothing more to send.
    let wasScanWanted = order.isScanWanted
    if let step = settlement(isPatient: false) { return step }
    // A file may have been given up just now, and must be found again by a scan.
    if order.isScanWanted, !wasScanWanted, let step = intake(&link) { return step }
    if claims.isEmpty { link.resetPoisonSearch() }
    if let step = keepProgress(link) { return step }
    if isDone(link) { return .finish }
    let step = link.nextStep(
      Supply(
        obstacle: obstacle, isAllSent: isAllSent, wantsConnection: wantsConnection(link),
        isStopping: isStopping))
    return step ?? .wait(until: deadline(link))
  }

  /// Takes the link's traffic counts and outcomes.
  public mutating func hear<L: Link & ~Copyable>(_ link: inout L) {
    counters.add(link.takeTraffic())
    takeOutcomes(&link)
  }

  @inline(never)
  private mutating func takeOutcomes<L: Link & ~Copyable>(_ link: inout L) {
    if link.endings != endings {
      endings = link.endings
      interruptSending()
    }
    while let outcome = link.takeOutcome() {
      switch outcome {
      case .accepted(let stretch, let isProved):
        if isProved {
          counters.settledByProof += UInt64(stretch.count)
        } else {
          counters.settledByTime += UInt64(stretch.count)
        }
        while let token = link.takeProved() { accepted.accept(token, at: time.now) }
        settled(stretch, .accepted(isProved: isProved))
      case .superseded(let stretch):
        counters.superseded += UInt64(stretch.count)
        settled(stretch, .superseded)
      case .dropped(let stretch): settled(stretch, .dropped)
      case .rejected(let stretch, let rejection):
        counters.recordRejection(rejection)
        returns.decide(stretch, .rejected(rejection))
      case .returned(let stretch, let notBefore):
        if let notBefore {
          returns.delay(stretch, until: notBefore)
        } else {
          returns.putFirst(stretch)
        }
      }
    }
  }

  private mutating func settled(_ stretch: Stretch, _ outcome: Settlement.Outcome) {
    guard !reportsSettlements(of: stretch.place.claim) else {
      return returns.decide(stretch, outcome)
    }
    claims.settled(stretch.place.claim, stretch.count)
    progress.settled(at: time.now)
  }

  /// Returns the step, if any, that the spool needs before anything else.
  ///
  /// A patient call leaves out the sync if only a few files wait for it.
  @inline(never)
  private mutating func settlement(isPatient: Bool) -> Step? {
    if recorder.pending != nil { return .record }
    if counters.settled > 0 { suppression.trustGateway() }
    if suppression.mustBeKept(isPatient: isPatient) {
      // A notification to a token on the list counts as suppressed, and gets no record. So the
      // record of the refusal must be on disk first. The sync of the list does not write it.
      return recorder.isUnsynced ? .sync : .keepLearned
    }
    // The newer notification must survive a power cut before the older ones are removed.
    if later.cancelKey != nil { return recorder.isUnsynced ? .sync : .cancel }
    while let settled = claims.nextSettled, claims[settled].isKept { removed(.kept) }
    guard claims.settledCount > 0, !stuck.isRemovalPaused(at: time.now) else { return nil }
    guard recorder.isUnsynced else { return .remove }
    return isPatient && claims.settledCount < Self.unsyncedMax ? nil : .sync
  }

  // MARK: - Completion

  /// Whether everything in the spool was offered to the link.
  var isAllSent: Bool {
    reader.isIdle && returns.isEmpty
      && (isStopping || order.isExhausted && !later.isDue(time.wallSeconds))
  }

  private func isDone<L: Link & ~Copyable>(_ link: borrowing L) -> Bool {
    guard !link.isBusy, recorder.pending == nil,
      claims.settledCount == 0 || stuck.isRemovalPaused(at: time.now)
    else { return false }
    return isStopping || settings.isOnce && isAllSent && link.stretchCount == 0
  }

  private func wantsConnection<L: Link & ~Copyable>(_ link: borrowing L) -> Bool {
    if isStopping { return false }
    return !settings.isOnce || !returns.isEmpty || !reader.isIdle || !order.backlog.isEmpty
      || link.stretchCount > 0
  }

  @inline(never)
  private func deadline<L: Link & ~Copyable>(_ link: borrowing L) -> Instant? {
    var earliest = link.deadline
    // An overdue instant needs no timer: the work waits for some other event.
    func consider(_ instant: Instant?) {
      guard let instant, instant > time.now else { return }
      if earliest == nil || instant < earliest! { earliest = instant }
    }
    consider(reader.pausedUntil)
    consider(progress.dueAt)
    guard !isStopping else { return earliest }
    consider(returns.nextDueAt)
    order.forEachDeadline(consider)
    consider(stuck.retryAt)
    consider(stuck.removalRetryAt)
    consider(later.dueAt(time))
    consider(limits.storms.dueAt)
    if !settings.isOnce { consider(order.rescanAt) }
    return earliest
  }

  // MARK: - Progress in large files

  /// Takes the progress that an earlier agent kept.
  ///
  /// Must be called before anything else.
  public mutating func resume(_ progress: Progress) { self.progress.resume(progress) }

  /// Records what the wall clock showed soon after the machine started, in UNIX seconds.
  ///
  /// Must be called before anything else.
  public mutating func machineStarted(at earliest: Int64, _ time: Time) {
    arrivals.machineStarted(at: earliest, time)
  }

  /// The progress in a large file to keep; nil if absent.
  public var progressToKeep: Progress? { progress.next }

  /// Handles the result of keeping the progress.
  public mutating func keptProgress(_ isKept: Bool) { progress.kept(isKept, at: time.now) }

  /// Returns the step that keeps the progress, every few seconds and at a stop.
  @inline(never)
  private mutating func keepProgress<L: Link & ~Copyable>(_ link: borrowing L) -> Step? {
    guard progress.isDue(at: time.now, isEnding: isStopping && !link.isBusy) else { return nil }
    let oldest = claims.oldest { $0.identity.size >= KeptProgress.bytesMin && !$0.isKept }
    let present = oldest.flatMap { firstUnsettled(of: $0, link) }
    guard progress.wants(present, isLargeUnderWay: oldest != nil) else { return nil }
    return recorder.isUnsynced ? .sync : .keepProgress
  }

  /// Returns the first unsettled place of a file; nil: not known, or the start of the file.
  @inline(never)
  private func firstUnsettled<L: Link & ~Copyable>(
    of claim: ClaimNumber, _ link: borrowing L
  ) -> Progress? {
    var first: FilePlace?
    func consider(_ stretch: Stretch) {
      guard stretch.place.claim == claim else { return }
      if let known = first, known.sorts(before: stretch.place) { return }
      first = stretch.place
    }
    if let reading = reader.reading, reading.claim == claim, !reading.isFirst { return nil }
    link.forEachStretch(consider)
    returns.forEach(consider)
    if first == nil, let now = reader.interrupted, now.claim == claim {
      first = FilePlace(
        offset: max(now.inputOffset, now.passUntil), claim: claim, recipient: now.recipient)
    }
    guard let first, first.offset > 0 else { return nil }
    return Progress(
      file: claims[claim].identity, offset: first.offset, recipient: first.recipient)
  }
}

extension FilePlace {
  /// Whether this place is before another one in the same file.
  fileprivate func sorts(before other: FilePlace) -> Bool {
    offset < other.offset || offset == other.offset && recipient < other.recipient
  }
}
