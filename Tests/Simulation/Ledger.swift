import TinyPush
import TinyPushBinary

/// Keeps account of each notification and complains when the agent breaks a rule.
///
/// The ledger knows what the gateway did, what the agent can know of that, and what is on disk.
final class Ledger {
  var settings: Courier.Settings
  let binary: BinaryLink.Settings
  let timeline: Timeline
  let disk: Disk
  let gateway: Gateway
  private var violations: [String] = []
  /// Whether a file may leave only when everything in it is decided.
  var forbidsLoss = true
  /// Whether every answer comes well within `settle`, so nothing may settle by time wrongly.
  var isPrompt = false
  /// Notifications that settled by time but were not accepted: their answers came too late.
  var lateLosses: Set<Int> = []
  /// The largest number in use, if it is known.
  var numberMax = Int.max
  var serialMax = Int.max
  /// The number of places in the spool that hold a number.
  ///
  /// If there are several, the notifications cannot be distinguished.
  var places: [Int: Int] = [:]
  /// Whether a number is in several places.
  var hasTwins = false
  /// The serial numbers of notifications that may be moved to files of their own.
  var movable: Set<Int> = []
  /// Notifications that must not follow newer ones, which replace them.
  var supersededNumbers: Set<Int> = []
  /// Notifications dropped because their outcome is unknown and the settings say so.
  var dropped: Set<Int> = []
  /// How often the service closed while this notification was in flight; over the binary protocol,
  /// while only this one was.
  var closes: [Int: Int] = [:]
  /// Whether nothing happened that makes counts repeat or miss something.
  var isUneventful = true
  /// The number of agents before this one.
  private(set) var lives = 0
  /// The number of files that were put so far.
  private(set) var filesPut = 0
  /// The serial numbers of notifications that no limit holds back.
  var urgent: Set<Int> = []
  /// Whether the link answers each notification, so that it passes limits when the link takes it.
  var isAnswering = false
  /// Whether there are several lanes.
  var hasLanes = false { didSet { putsOff = hasLanes } }
  /// Whether any notification may wait in `later/` until its service or device takes more.
  var putsOff = false
  /// The identity with which each number was sent.
  var identities: [Int: UInt64] = [:]
  /// The notifications that a link has had, now or before.
  var taken: Set<Int> = []
  /// Whether the agent was told to stop.
  var isStopping = false
  var waiting = Waiting()
  var suppressing = Suppressing()

  enum Outcome {
    case proved, settled, dropped
    /// Settled before this agent began, as the name of the file says.
    case passed
  }

  /// The knowledge of one agent, which the next agent does not have.
  struct Life {
    var counters = Counters()
    var outcomes: [Int: Outcome] = [:]
    var refusals: [Int: UInt16] = [:]
    var recorded: Set<String> = []
    var reported: Set<Reported> = []
    /// Notifications that count as rejected without an answer and are not recorded yet.
    var inferredRejections = 0
    /// The size of the smallest payload, above 256 bytes, that was refused for its size.
    var payloadLimit = Int.max
    /// The same, of refusals that came before the agent forgot the sizes.
    var knownLimit = Int.max
    /// The inodes of files that are read again from the start.
    var reopened: Set<UInt64> = []
    /// The notifications that may be sent again, even if they have an outcome.
    var repeatable: Set<Int> = []
    var framed: Set<Int> = []
    var repeated: UInt64 = 0
    var postponed: UInt64 = 0
    var isListChanged = false
    var superseded: UInt64 = 0
    /// Notifications that the gateway took with a barrier that it did not answer.
    var silent: [Frame] = []
    /// When the agent connected in the last ten seconds.
    var dials: [Instant] = []
    /// How many barriers in a row had no answer.
    var missedBarriers = 0
    var limiting = Limiting()
    /// When the agent first looked at the clocks.
    var beganAt = Instant(milliseconds: 1_000_000)
    var hasBegun = false
  }
  var life = Life()
  /// Notifications that expire soon.
  private var expiring: [Int: Item] = [:]
  /// Until when the machine last slept.
  var sleptUntil = Instant(milliseconds: 0)

  struct Frame {
    var id: UInt32
    /// Nil for a barrier.
    var number: Int?
    var payloadBytes: Int
    /// Whether it was written before, on another connection.
    var isRepeated = false
    /// The end of its bytes; nil while the socket has not taken them.
    var wireEnd: UInt64?
    /// Whether its connection had died when the agent hung up (binary seed 81001731).
    var hasDied = false
  }

  /// What was written and heard on the present connection.
  struct Account {
    var frames: [Frame] = []
    /// How many frames are settled.
    var settled = 0
    var answer: [UInt8] = []
    /// Whether the agent knows that no more answers come.
    var isOver = false
    var barrierAt: Instant?

    var uncertain: Int { frames[settled...].count { $0.number != nil } }
  }
  var account = Account()

  /// By how much the counters must grow until the next check.
  struct Expected {
    var proved: UInt64 = 0
    var refused: UInt64 = 0
    var uncertain: UInt64 = 0
    var sent: UInt64 = 0
  }
  var expected = Expected()

  init(
    _ settings: Courier.Settings, _ binary: BinaryLink.Settings, _ timeline: Timeline,
    _ disk: Disk, _ gateway: Gateway
  ) {
    self.settings = settings
    self.binary = binary
    self.timeline = timeline
    self.disk = disk
    self.gateway = gateway
  }

  /// Adds a line to the trace.
  var say: (@autoclosure () -> String) -> Void = { _ in }

  func complain(_ violation: String) {
    if violations.count < 20 { violations.append("at \(timeline.elapsed) ms: \(violation)") }
  }

  var hasViolations: Bool { !violations.isEmpty }

  func takeViolations() -> [String] {
    defer { violations = [] }
    return violations
  }

  // MARK: - The spool

  /// Notes the items of a new file.
  func put(_ items: [Item], into name: String) -> [Item] {
    filesPut += 1
    return put(items, into: name, file: filesPut, from: 0)
  }

  /// Notes items that are appended to a file.
  ///
  /// They come before those of a newer file with the same name (scattered seed 82000628).
  func append(_ items: [Item], to file: SpoolFile) -> [Item] {
    defer { file.itemsPut += items.count }
    return put(items, into: file.name, file: file.number, from: file.itemsPut)
  }

  private func put(_ items: [Item], into name: String, file: Int, from first: Int) -> [Item] {
    items.enumerated().map { index, item in
      var item = item
      item.identity = (file * SpoolFile.itemsMax + first + index) * Item.identities
      item.source = name
      if item.putAt.milliseconds == 0 { item.putAt = timeline.now }
      guard let number = item.number else { return item }
      places[number, default: 0] += 1
      if item.ttl != nil { expiring[number] = item }
      let serial = World.serial(of: number)
      if places[number]! > 1, serial != World.serialOfSummaries { hasTwins = true }
      if serial > 0 { waiting.items[serial, default: []].append(item) }
      registers(item)
      if let key = item.collapseKey { waiting.keyed[key, default: []].append(item) }
      return item
    }
  }

  func opened(_ file: SpoolFile) {
    guard file.reader.life != lives else { return }
    file.wasOpened = true
    file.openedAt = timeline.now
    // With several recipients files, a change may be noticed late. Then the whole file is sent
    // again.
    if life.isListChanged, Set(file.items.compactMap(\.list)).count > 1 { reopen(file) }
    file.reader = (lives, life.counters.superseded)
  }

  /// Notes that a file is read again, since it was appended to or its failures are not safe.
  func reopen(_ file: SpoolFile, ifFailed: Bool = false) {
    if ifFailed && file.lines.isEmpty && !file.wasPostponed { return }
    isUneventful = false
    life.reopened.insert(file.inode)
    for item in file.items {
      guard let number = item.number else { continue }
      life.repeatable.insert(notification(of: number))
    }
  }

  /// Whether a notification may be sent again, even if it has an outcome.
  func isRepeatable(_ number: Int) -> Bool { life.repeatable.contains(notification(of: number)) }

  /// Returns one number for all recipients of a notification with a serial number.
  private func notification(of number: Int) -> Int {
    World.serial(of: number) > 0 ? World.number(0, serial: World.serial(of: number)) : number
  }

  /// Checks a failure that the agent tried to record.
  func recorded(_ failure: Failure, of file: SpoolFile?, _ name: String, _ isRecorded: Bool) {
    if let number = failure.number {
      if failure.code == "limited" {
        limits(number)
        if isRecorded { keepsLimited(number) }
      } else if let status = failure.status {
        if refusesUnsent(number, status, failure) {
          life.inferredRejections -= 1
          life.refusals[number] = UInt16(status)
        } else if life.refusals[number].map(Int.init) != status {
          complain("\(number) is recorded as refused with \(status), which nobody said")
        }
      } else if failure.code == "no-device-service" {
        life.inferredRejections -= 1
        if settings.hasDevices || World.isBrowser(number) {
          complain("\(number) is refused for want of a service")
        }
      } else if life.inferredRejections == 0 || closes[number, default: 0] < 3 {
        complain("\(number) is rejected for ending connections, and did not: \(failure.reason)")
      } else {
        life.inferredRejections -= 1
      }
    } else if failure.serial > 0 {
      checkList(failure)
    } else if let offset = failure.offset, let file,
      !file.items.contains(where: { $0.isText(at: offset) }),
      file.items.contains(where: { $0.number == nil })
    {
      let text = String(decoding: file.bytes.dropFirst(offset - 30).prefix(60), as: UTF8.self)
      complain(
        "\(name) has a failure recorded where nothing is wrong, at \(offset), …\(text)…: \(failure.reason)"
      )
    }
    guard let file else { return }
    if isRecorded {
      let key = "\(file.inode):\(failure.number ?? -1):\(failure.offset ?? -1):\(failure.reason)"
      if !life.recorded.insert(key).inserted, !life.reopened.contains(file.inode) {
        complain("\(name) is recorded twice at \(failure.offset ?? -1): \(failure.reason)")
      }
    } else {
      reopen(file)
    }
  }

  /// Whether a notification is refused without being sent, since a payload that is no larger was
  /// refused.
  private func refusesUnsent(_ number: Int, _ status: Int, _ failure: Failure) -> Bool {
    status == Int(Status.invalidPayloadSize.rawValue)
      && life.refusals[number].map(Int.init) != status
      && life.inferredRejections > 0 && failure.payloadBytes >= life.payloadLimit
  }

  func removed(_ file: SpoolFile, _ name: String) {
    checkReported(file, name)
    for item in file.items where forbidsLoss && !isSettled(item, in: file) {
      // A power cut tore the part for one recipient. The whole was read again, and its recipients
      // file had changed (lanes seed 2685), or the whole is being read (lanes seed 110330095).
      if file.isTorn, item.isMember, isGone(item.whole) || disk.holds(item.whole) { continue }
      complain("\(name) was removed, and \(describe(item)) is neither accepted nor safe in failed/")
    }
  }

  /// Checks that everything before an offset is decided, since no agent reads it again.
  func renames(_ file: SpoolFile, settledTo offset: Int64) {
    let checked = file.checked.life == lives ? file.checked.offset : 0
    file.checked = (lives, offset)
    for item in file.items where forbidsLoss && checked <= item.offset && item.offset < offset {
      if !isSettled(item, in: file) {
        complain("\(file.name) is settled to \(offset), and \(describe(item)) is not decided")
      }
    }
  }

  private func describe(_ item: Item) -> String {
    item.number.map { "\($0)\(item.list.map { " to \($0)" } ?? "")" }
      ?? "the text at \(item.offset)"
  }

  /// Whether an item does not need its file any more.
  func isDecided(_ item: Item, in file: SpoolFile) -> Bool {
    guard let number = item.number else {
      return file.isOriginalKept
        || file.lines.contains { $0.isDurable && item.isText(at: $0.failure.offset) }
    }
    if mayExpire(item, in: file) { return true }
    if item.list != nil { return isDecidedForAll(item, in: file) }
    return isDecided(number, item, in: file)
  }

  /// Whether nothing more is to come for a number.
  func isDecided(_ number: Int, _ item: Item, in file: SpoolFile) -> Bool {
    gateway.acceptances[number] != nil || lateLosses.contains(number) || dropped.contains(number)
      || file.lines.contains { $0.isDurable && $0.failure.number == number }
      || isSuppressed(number, item) && !isRefused(number, in: file)
      || suppressing.goneNumbers.contains(number) || supersededNumbers.contains(number)
      || item.isEcho && isElsewhere(number, besides: file)
  }

  /// Whether the same notification waits in another file, or is recorded, perhaps in a whole file
  /// that was moved to `failed/` (scattered seed 91038068).
  private func isElsewhere(_ number: Int, besides file: SpoolFile) -> Bool {
    let files = disk.waiting + Array(disk.later.values) + Array(disk.setAside.values)
    return disk.lines.contains { $0.isDurable && $0.failure.number == number }
      || files.contains { other in
        other !== file && other.items.contains { $0.number == number }
          // The items of a file are noted when it is complete.
          || other.isBeingWritten && places[number, default: 0] > 1
      }
  }

  func mayExpire(_ item: Item, in file: SpoolFile? = nil) -> Bool {
    guard let wall = timeline.latestWall(since: item.putAt) else { return false }
    if let expiration = item.expiration { return expiration > 0 && expiration <= wall }
    let ttl = item.ttl ?? UInt64(settings.ttl)
    guard ttl > 0 else { return false }
    // A notification over a limit has a date instead.
    if mayWait, !suppressing.isClockSteady {
      isUneventful = false
      return true
    }
    // The date is in whole seconds.
    if item.putAt.until(timeline.now) >= .seconds(mayWait ? ttl - 1 : ttl) { return true }
    if item.notBefore > 0, item.notBefore + Int64(ttl) <= wall { return true }
    // If the clock was set before the agent began, or twice at once, the agent cannot know by which
    // clock the file came.
    return timeline.wasSet(between: item.putAt, and: max(life.beganAt, item.putAt))
      || file.map { timeline.wasSetTwice(at: $0.cameAt) } ?? false
  }

  /// The tolerance for a notification that was read in time and sent after it expired.
  private static let expiryPatience = Duration.seconds(5)

  /// Checks whether a notification that is sent may have expired.
  func checkExpired(_ number: Int) {
    guard let item = expiring[number], let ttl = item.ttl, suppressing.isClockSteady,
      places[number] ?? 1 == 1, !isRepeatable(number),
      timeline.now > sleptUntil + Self.expiryPatience, let wall = timeline.time.wallSeconds
    else { return }
    let files = disk.waiting.filter { $0.holds(item) }
    let isOver = files.allSatisfy { file in
      if file.wasReleased { return item.notBefore + Int64(ttl) + 5 < wall }
      return file.cameAt.until(timeline.now) > .seconds(ttl) + Self.expiryPatience
    }
    if isOver, !files.isEmpty { complain("\(number) is sent, and has expired") }
  }

  // MARK: - The agent

  /// Begins a new agent, which knows only what is on disk.
  func restarted(_ settings: Courier.Settings) {
    self.settings = settings
    isUneventful = false
    lives += 1
    life = Life()
    life.beganAt = timeline.now
    isStopping = false
    // An item in a file and also put aside from it is sent twice.
    var seen: Set<Int> = []
    for file in disk.waiting + Array(disk.later.values) {
      for item in file.items where !seen.insert(item.identity / Item.identities).inserted {
        if let number = item.number { life.repeatable.insert(notification(of: number)) }
      }
    }
    account = Account()
    account.isOver = true
    expected = Expected()
    suppressing.known = Known()
    learns([:], isNews: true)
    beginsBatch()
    for (name, file) in disk.taken {
      let offset = TakenName(name.bytes.span)!.offset
      for item in file.items where item.offset < offset {
        if let number = item.number { life.outcomes[number] = .passed }
      }
    }
  }

  /// Notes that the agent makes a step, and so looks at the clocks.
  func agentSteps() {
    guard !life.hasBegun else { return }
    life.hasBegun = true
    life.beganAt = timeline.now
  }

  // MARK: - The end

  /// How long a notification may wait behind others for one of the lanes, or for its service.
  ///
  /// There are more services than lanes, and many of them take nothing (lanes seed 91003414). A
  /// service may take one notification at a time, and be slow (lanes seed 91003544).
  private static let laneQueue = Duration.seconds(600)

  /// Whether a notification waits behind others that its service has accepted lately.
  private func isQueued(_ number: Int) -> Bool {
    hasLanes
      && gateway.acceptedLast[World.host(number)].map { timeline.now < $0 + Self.laneQueue }
        ?? false
  }

  /// Returns how many notifications wait that the service does not take.
  ///
  /// With `--once` they stay in memory, and may take all of it (http2 seed 110395331).
  private func countWaiting(_ isPoison: (Int) -> Bool) -> Int {
    disk.waiting.reduce(0) { sum, file in
      sum
        + file.items.count { item in
          item.number.map { isPoison($0 % World.tokensMax) } ?? false && !isDecided(item, in: file)
        }
    }
  }

  /// Checks that notifications that the service does not take hold up no others.
  ///
  /// - Parameter isPoison: whether the service takes nothing for a token.
  func checkHeldUp(besides isPoison: (Int) -> Bool) {
    guard hasLanes || !settings.isOnce || countWaiting(isPoison) < settings.window else { return }
    for file in disk.waiting where file.failure == nil {
      for item in file.items {
        guard let number = item.number, item.list == nil, !isDecided(item, in: file),
          !isGone(item), !isPoison(number % World.tokensMax),
          !file.lines.contains(where: { $0.failure.number == number }),
          // A file whose record could not be written is delivered again as a whole.
          !life.reopened.contains(file.inode),
          // What waits in later/ is judged below (lanes seed 91003275).
          !disk.later.values.contains(where: { $0.holds(item) }),
          !isQueued(number)
        else { continue }
        complain("\(number) of \(file.name) is held up")
      }
    }
    // After a sleep, everything that waits is due at once. If the clock was set, what waits seems
    // old, and waits for an hour.
    guard sleptUntil.milliseconds == 0, suppressing.isClockSteady else { return }
    let wall = timeline.time.wallSeconds ?? 0
    for (name, file) in disk.later {
      // A service that answered nothing for a while gets the rest within an hour, perhaps behind
      // others (lanes seed 91006382).
      if putsOff, (wall - 600..<wall + 3600).contains(Int64(name.prefix(10))!) { continue }
      for item in file.items where item.notBefore == 0 && !isPoison(item.number! % World.tokensMax)
      {
        complain("\(item.number!) is held up in later/")
      }
    }
  }

  /// Checks after the faults that nothing is left and nothing was lost.
  func checkEnd(_ files: [SpoolFile]) {
    for file in disk.waiting { complain("\(file.name) is left in the spool") }
    for name in disk.later.keys.sorted() { complain("\(name) is left in later/") }
    if forbidsLoss { checkReplaced() }
    if life.counters.postponed != life.postponed {
      complain("\(life.counters.postponed) count as postponed, and \(life.postponed) are")
    }
    if !isAllSummarized { complain("\(life.limiting.unsummarized.count) alerts are in no summary") }
    guard isUneventful else { return }
    let counters = life.counters
    var total = 0
    for file in files { for item in file.items { total += count(item) } }
    total -= waiting.replaced.values.reduce(0) { $0 + count($1) }
    total -= supersededNumbers.count
    total += Int(counters.summaries)
    let decided =
      counters.settled + counters.refused + counters.failedCheck + counters.expired
      + counters.suppressed + counters.gone + counters.limited
      + counters.duplicates
      + (settings.uncertain == .drop ? counters.uncertain : 0)
    if decided != total { complain("\(decided) of \(total) notifications are counted") }
    if counters.repeated != life.repeated, places.allSatisfy({ $0.value == 1 }) {
      complain("\(counters.repeated) count as repeated, and \(life.repeated) are")
    }
    if counters.superseded != life.superseded {
      complain("\(counters.superseded) count as superseded, and \(life.superseded) are")
    }
  }
}
