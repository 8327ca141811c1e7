/// Takes notifications from the spool to a link, and loses none.
///
/// The courier is pure: it touches no file, socket or clock. The agent calls ``next(_:_:)``, does
/// the step that it returns, and reports the result. The agent also reports events, such as a new
/// file in `new/`. Time is a parameter.
///
/// A notification goes this way:
///
/// - A file waits in `new/` (``waiting``). The agent moves the file to `taken/`, where nobody else
///   finds it, and reads it (``files``, ``reader``).
/// - Each notification is checked, and its text goes into the ``outbox``, with a message for each
///   recipient. Files take turns: a small file is read at once, large ones a part at a time.
/// - The link takes the messages and reports one outcome for each, in any order.
/// - What the service has is settled. What must go again waits in the outbox. What was refused gets
///   a line in `failed/` (``recorder``).
/// - When everything in a file is settled and the records are on disk, the file is removed.
///
/// Each part owns its state: also ``later`` (notifications for a later time), ``troubles`` (what
/// the disk refuses), ``suppression`` and ``limits``. The files named Courier… hold the steps that
/// need several parts.
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
  var waiting = WaitingFiles()
  var files: TakenFiles
  var later = LaterFiles()
  var troubles = DiskTroubles()
  var renaming = Renaming()
  /// The name of the file of the present step, and its next name, each followed by a NUL.
  var name = PathName()
  var target = PathName()

  // Reading, and its results.
  var reader = FileReader()
  var outbox: Outbox
  var recorder = Recorder()
  package var suppression = Suppression()
  /// The name of the file of the last report about a token.
  var reportedName = Text(capacity: 256)
  var limits: Limits
  /// The notifications with an `again-after` that were sent lately.
  var recentlySent = RecentKeys()
  var lanes = Lanes()
  var turns = Turns()
  private let pinned = Pinned()

  /// The most bytes of a batch: one less than a TLS record can hold (RFC 8446 section 5.1).
  ///
  /// TLS 1.3 hides the record's type in one byte. With one byte more, mbedTLS would write two
  /// records.
  public static let batchBytesMax = 16_383
  /// Room beyond the setting `window`.
  package static let slack = 64
  /// The most settled files that wait for one sync of their records.
  ///
  /// A sync is slow, so the courier waits for more files while there is other work.
  private static let unsyncedMax = 64

  /// Creates a courier with an empty spool.
  public init(_ settings: Settings) {
    self.settings = settings
    arrivals = ArrivalClock(plausibleSince: settings.plausibleSince)
    files = TakenFiles(capacity: settings.window + Self.slack)
    outbox = Outbox(capacity: settings.window + Self.slack)
    limits = Limits(perToken: settings.limit, overall: settings.limitAll)
  }

  // MARK: - Steps

  /// Returns the agent's next step.
  @inline(never)
  @_optimize(speed)
  public mutating func next<L: Link & ~Copyable>(_ time: Time, _ link: inout L) -> Step {
    self.time = time
    arrivals.observe(time)
    waiting.start(at: time.now, rescan: settings.rescan)
    takeOutcomes(&link)
    if let step = advance(&link) { return step }
    takeResults(&link)
    if let step = settlement(isPatient: true) { return step }
    if limits.areSet, let step = summaryStep() { return step }
    if let step = intake(&link) { return step }
    if let step = settlement(isPatient: false) { return step }
    if outbox.isEmpty { link.resetPoisonSearch() }
    let isEnding = isStopping && !link.isBusy
    if let step = stragglerStep(isEnding: isEnding) { return step }
    if let step = renameStep(isEnding: isEnding) { return step }
    if isDone(link) { return .finish }
    return linkStep(&link) ?? .wait(until: deadline(link))
  }

  /// Returns the first step that a link has before anything else.
  private mutating func advance<L: Link & ~Copyable>(_ link: inout L) -> Step? {
    for number in 0..<link.lanes {
      let lane = Lane((lanes.turn + number) % link.lanes)
      link.select(lane)
      if let step = link.advance(to: time, isStopping: isStopping) { return step }
    }
    return nil
  }

  /// Returns the next step of a link; the link after that has the next turn.
  private mutating func linkStep<L: Link & ~Copyable>(_ link: inout L) -> Step? {
    for number in 0..<link.lanes {
      let lane = Lane((lanes.turn + number) % link.lanes)
      link.select(lane)
      let supply = Supply(
        obstacle: lanes.obstacles[lane.index], isAllSent: isAllSent(in: lane),
        wantsConnection: wantsConnection(in: lane)
          && (lane == .devices || outbox.waiting(in: lane) > 0),
        isStopping: isStopping)
      if let step = link.nextStep(supply) {
        lanes.turn = lane.index + 1
        return step
      }
    }
    return nil
  }

  /// The name of the file of the present step, followed by a NUL.
  @_lifetime(borrow self)
  public func stepName() -> Span<UInt8> { name.bytes() }

  /// The name that the file of the present step gets, followed by a NUL.
  @_lifetime(borrow self)
  public func stepTarget() -> Span<UInt8> { target.bytes() }

  /// Takes the link's traffic counts and outcomes.
  public mutating func takeResults<L: Link & ~Copyable>(_ link: inout L) {
    counters.add(link.takeTraffic())
    takeOutcomes(&link)
  }

  @inline(never)
  @_optimize(speed)
  private mutating func takeOutcomes<L: Link & ~Copyable>(_ link: inout L) {
    while let (message, outcome) = link.takeOutcome() {
      let lane = outbox[message].lane.index
      if case .returned = outcome {
      } else {
        lanes.paces[lane].settle(
          of: outbox.count(of: Lane(lane)), isOfDevices: lane == Lane.devices.index, at: time.now)
      }
      switch outcome {
      case .accepted(let isProved):
        if isProved { counters.settledByProof += 1 } else { counters.settledByTime += 1 }
        lanes.counts[lane].accept()
        // What a browser's service accepts proves nothing for the device tokens.
        if lane == Lane.devices.index { suppression.learned.trustGateway() }
        while let token = link.takeProved() { accepted.accept(token, at: time.now) }
        decide(message, .accepted(isProved: isProved))
      case .superseded:
        counters.superseded += 1
        decide(message, .superseded)
      case .dropped: decide(message, .dropped)
      case .rejected(let rejection):
        counters.recordRejection(rejection)
        lanes.counts[lane].refuse(rejection)
        decide(message, .rejected(rejection))
      case .returned(let wasSent, let notBefore):
        if wasSent { outbox[message].wasSent = true }
        if files[outbox[text: outbox[message].text].file].isDropped {
          drop(message)
        } else if let notBefore {
          outbox.delay(message, until: notBefore)
        } else {
          outbox.moveToFront(message, of: .again)
        }
      }
    }
  }

  /// Settles a message, or puts it in the line of those that must be recorded or reported.
  @_optimize(speed)
  mutating func decide(_ message: MessageNumber, _ outcome: Settlement.Outcome) {
    let file = outbox[text: outbox[message].text].file
    switch outcome {
    case .rejected, .postponed: break
    default: guard reportsSettlements(of: file) else { return settle(message) }
    }
    outbox[message].outcome = outcome
    outbox.move(message, to: .decided)
  }

  /// Removes a message of which nothing is left to do.
  @_optimize(speed)
  mutating func settle(_ message: MessageNumber) {
    let (file, offset) = outbox.place(of: message)
    outbox.remove(message)
    files[file].settledEnd = max(files[file].settledEnd, offset)
    files.settled(file)
    if files[file].size >= TakenFile.largeMin { renaming.settled(at: time.now) }
  }

  /// Returns the step, if any, that the spool needs before anything else.
  ///
  /// A patient call leaves out the sync if only a few files wait for it.
  @inline(never)
  mutating func settlement(isPatient: Bool) -> Step? {
    if recorder.isPending { return recordStep() }
    while let message = outbox.first(in: .decided) {
      recordDecided(message)
      if recorder.isPending { return recordStep() }
    }
    if suppression.mustBeKept(isPatient: isPatient) {
      // A notification to a token on the list counts as suppressed, and gets no record. So the
      // record of the refusal must be on disk first. The sync of the list does not write it.
      return recorder.isUnsynced ? .sync : .keepLearned
    }
    if later.cancelKey != nil { return cancelStep() }
    if troubles.mustRetryRemovals(at: time.now) { files.retryStuck() }
    return leavingStep(isPatient: isPatient && files.settledCount < Self.unsyncedMax)
  }

  // MARK: - Completion

  /// Whether everything in the spool was read, and nothing waits for its time.
  private var isAllRead: Bool {
    reader.file == nil && files.unreadCount == 0 && turns.waitsUntil == nil
      && outbox.count(in: .delayed) == 0
      && (isStopping || waiting.isExhausted && !later.isDue(time.wallSeconds))
  }

  private func isAllSent(in lane: Lane) -> Bool { outbox.waiting(in: lane) == 0 && isAllRead }

  /// Whether everything in the spool was offered to the links.
  var isAllSent: Bool {
    for number in 0..<Lane.count where outbox.waiting(in: Lane(number)) > 0 { return false }
    return isAllRead
  }

  private func isDone<L: Link & ~Copyable>(_ link: borrowing L) -> Bool {
    guard !link.isBusy, !recorder.isPending, outbox.count(in: .decided) == 0,
      files.settledCount == 0
    else { return false }
    return isStopping || settings.isOnce && isAllSent && outbox.count == 0
  }

  /// Whether a connection is wanted for a lane.
  package func wantsConnection(in lane: Lane) -> Bool {
    if isStopping { return false }
    guard lane == .devices else { return outbox.count(of: lane) > 0 }
    guard settings.hasDevices else { return false }
    return !settings.isOnce || outbox.count(of: lane) > 0 || reader.file != nil
      || files.unreadCount > 0
  }

  @inline(never)
  private func deadline<L: Link & ~Copyable>(_ link: borrowing L) -> Instant? {
    let now = time.now
    var earliest = link.deadline
    earliest.include(reader.pausedUntil, after: now)
    earliest.include(renaming.dueAt, after: now)
    guard !isStopping else { return earliest }
    earliest.include(turns.waitsUntil, after: now)
    earliest.include(lanes.roomAt, after: now)
    earliest.include(outbox.nextDueAt, after: now)
    waiting.forEachDeadline { earliest.include($0, after: now) }
    troubles.forEachDeadline { earliest.include($0, after: now) }
    earliest.include(later.dueAt(time), after: now)
    earliest.include(limits.storms.dueAt, after: now)
    if !settings.isOnce { earliest.include(waiting.rescanAt, after: now) }
    return earliest
  }

  /// Records what the wall clock showed soon after the machine started, in UNIX seconds.
  ///
  /// Must be called before anything else.
  public mutating func machineStarted(at earliest: Int64, _ time: Time) {
    arrivals.machineStarted(at: earliest, time)
  }
}

/// The name of a file, followed by a NUL.
struct PathName: ~Copyable {
  private var text = Text(capacity: 300)

  /// Writes a name.
  mutating func set(_ write: (inout Text) -> Void) {
    text.clear()
    write(&text)
    text.append(byte: 0)
  }

  @_lifetime(borrow self)
  func bytes() -> Span<UInt8> { text.bytes.extracting(0..<max(text.count - 1, 0)) }
}
