/// Takes notifications from the spool to a link, and forgets none. Pure: it never touches a file, a socket or a clock.
///
/// The shell asks ``next(_:_:)`` what to do, does it, and reports what came of it; and it reports what happens by itself (a
/// file that appeared, time that passed). The courier decides which file is read, offers each notification to the link, and
/// hears from the link what became of it, in any order. A file leaves the spool when everything in it is settled.
///
/// Each part owns its state: ``order`` (the names that wait), ``reader`` (the file that is being read), ``claims`` (the files
/// under way), ``returns`` (what is to be read again), ``recorder`` (what goes to `failed/`), ``later``, ``stuck``,
/// ``delivered``, ``replacing``, ``progress``, ``suppression`` and ``limits``. The files named Courier… hold what joins them.
public struct Courier: ~Copyable {
  let settings: Settings
  var time = Time(now: Instant(milliseconds: 0), wallSeconds: nil)
  public var counters = Counters()
  /// By what files are told that came long ago; for the next courier in this process.
  public var arrivals: ArrivalClock
  /// Likewise, if it has the same gateway.
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

  // What is read, and what becomes of it.
  var reader = Reader()
  var returns: Returns
  var recorder = Recorder()
  var suppression = Suppression()
  /// The name of the file about which something was reported of a token.
  var reportedName = Text(capacity: 256)
  var limits: Limits
  /// What was sent of late that has an `again-after`.
  var recentlySent = RecentKeys()
  /// Where the notification would stand that directly follows the one that was offered last.
  var offeredEnd: FilePlace?
  /// What kept it from offering more.
  var obstacle: Obstacle?
  /// Connections of the link that have ended, as far as that was noticed.
  private var endings: UInt32 = 0
  private let pinned = Pinned()

  /// A TLS record's bound (RFC 8446 section 5.1), less the byte in which TLS 1.3 hides the record's type: one more, and
  /// mbedTLS makes two records of it.
  public static let batchBytesMax = 16_383
  /// Room beyond the setting `window`, for stretches that an answer splits.
  static let slack = 64
  /// Settled files that have something on record gather to so many, if more is to be done meanwhile: to have the records
  /// safe on disk takes its time.
  private static let unsyncedMax = 64

  public init(_ settings: Settings) {
    self.settings = settings
    arrivals = ArrivalClock(plausibleSince: settings.plausibleSince)
    claims = Claims(capacity: settings.window + Self.slack)
    returns = Returns(capacity: settings.window + Self.slack)
    limits = Limits(perToken: settings.limit, overall: settings.limitAll)
  }

  // MARK: - What to do

  /// What the shell must do next.
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
    // Reading may have shown that nothing is left of a file to send.
    let wasScanWanted = order.isScanWanted
    if let step = settlement(isPatient: false) { return step }
    // A file that was given up is looked for again.
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

  /// Takes in what the link has sent, and what became of it.
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
    guard !reportsSettlements(of: stretch.place.claim) else { return returns.decide(stretch, outcome) }
    claims.settled(stretch.place.claim, stretch.count)
    progress.settled(at: time.now)
  }

  /// What is owed to the spool before anything else.
  @inline(never)
  private mutating func settlement(isPatient: Bool) -> Step? {
    if recorder.pending != nil { return .record }
    if counters.settled > 0 { suppression.trustGateway() }
    if suppression.mustBeKept(isPatient: isPatient) {
      // Once a token is on the list, its notification counts as suppressed: the record of its refusal is on disk before. To
      // sync the list would put the record's name there, and not what it says.
      return recorder.isUnsynced ? .sync : .keepLearned
    }
    // What replaces others outlives a power cut before they go.
    if later.cancelKey != nil { return recorder.isUnsynced ? .sync : .cancel }
    while let settled = claims.nextSettled, claims[settled].isKept { removed(.kept) }
    guard claims.settledCount > 0, !stuck.isRemovalPaused(at: time.now) else { return nil }
    guard recorder.isUnsynced else { return .remove }
    return isPatient && claims.settledCount < Self.unsyncedMax ? nil : .sync
  }

  // MARK: - What is left

  /// Everything has been offered to the link that there is to send.
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
    // What is overdue could not be done just now, and is done when something changes: no timer helps.
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

  // MARK: - How far large files are

  /// What an agent before this one kept. To be called before anything else.
  public mutating func resume(_ progress: Progress) { self.progress.resume(progress) }

  /// What the wall clock said soon after the machine started, in UNIX seconds. Likewise.
  public mutating func machineStarted(at earliest: Int64, _ time: Time) {
    arrivals.machineStarted(at: earliest, time)
  }

  /// What is to be kept of the progress in a large file; nil: nothing need be kept.
  public var progressToKeep: Progress? { progress.next }

  /// Whether the progress has been kept.
  public mutating func keptProgress(_ isKept: Bool) { progress.kept(isKept, at: time.now) }

  /// Keeps the progress every few seconds while there is some, and at the end.
  @inline(never)
  private mutating func keepProgress<L: Link & ~Copyable>(_ link: borrowing L) -> Step? {
    guard progress.isDue(at: time.now, isEnding: isStopping && !link.isBusy) else { return nil }
    let oldest = claims.oldest { $0.identity.size >= KeptProgress.bytesMin && !$0.isKept }
    let present = oldest.flatMap { firstUnsettled(of: $0, link) }
    guard progress.wants(present, isLargeUnderWay: oldest != nil) else { return nil }
    return recorder.isUnsynced ? .sync : .keepProgress
  }

  /// The first place in a file that is not settled; nil where that is not known, or is the start.
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
  /// Whether this place stands before another one in the same file.
  fileprivate func sorts(before other: FilePlace) -> Bool {
    offset < other.offset || offset == other.offset && recipient < other.recipient
  }
}
