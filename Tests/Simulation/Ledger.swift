import TinyPush

/// Keeps account of every notification: what the gateway did with it, what the agent can know of that, and what is on disk;
/// and complains when the agent does what none of it allows.
final class Ledger {
  var settings: Courier.Settings
  let timeline: Timeline
  let disk: Disk
  let gateway: Gateway
  private var violations: [String] = []
  /// Whether a file may only leave when everything in it is decided.
  var forbidsLoss = true
  /// Whether every answer comes well within `settle`, so that nothing may be taken for delivered that is not.
  var isPrompt = false
  /// What counted as delivered by time, and was not: its answer came too late, as the protocol allows.
  var lateLosses: Set<Int> = []
  /// The largest number that there is, where it is known.
  var numberMax = Int.max
  var serialMax = Int.max
  /// In how many places of the spool a number stands. Of one that stands in several nobody can tell which it was.
  var places: [Int: Int] = [:]
  /// Some number stands in several places.
  var hasTwins = false
  /// Notifications that may wait in a file of their own, by serial number.
  var movable: Set<Int> = []
  /// Notifications that must not follow newer ones that replace them.
  var overtaken: Set<Int> = []
  /// What was dropped since nobody knew of it, where that is wanted.
  var dropped: Set<Int> = []
  /// How often the gateway died while a notification was alone in flight.
  var deathsAlone: [Int: Int] = [:]
  /// Nothing has happened for which something would be counted twice, or not at all.
  var isUneventful = true
  /// Agents that there have been before this one, and items that were put.
  private(set) var lives = 0
  private var itemsPut = 0
  /// Serial numbers of those for which no limit holds.
  var urgent: Set<Int> = []
  /// Whether the link answers each notification, so that the agent lets it through when the link takes it.
  var isAnswering = false
  /// The agent has been told to stop.
  var isStopping = false
  var waiting = Waiting()
  var suppressing = Suppressing()

  enum Outcome {
    case proved, settled, dropped
    /// Of the time before this agent, as it knows by the progress that was kept.
    case passed
  }

  /// What one agent knows; the next one does not.
  struct Life {
    var counters = Counters()
    var outcomes: [Int: Outcome] = [:]
    var refusals: [Int: UInt16] = [:]
    var recorded: Set<String> = []
    var told: Set<Told> = []
    /// The file whose progress another agent has kept.
    var resumed: SpoolFile?
    /// The files that it looked into, by name.
    var files: [String: SpoolFile] = [:]
    /// Convicted without a word of the gateway, and not yet on record.
    var convictions = 0
    /// What may go again whatever became of it, since all of its file does.
    var reopened: Set<UInt64> = []
    var loose: Set<Int> = []
    var held: Set<UInt64> = []
    var framed: Set<Int> = []
    var repeated: UInt64 = 0
    var postponed: UInt64 = 0
    var isListChanged = false
    var superseded: UInt64 = 0
    /// What the gateway took, with a barrier that it did not answer.
    var silent: [Frame] = []
    var limiting = Limiting()
    /// When the agent looked at the clocks for the first time.
    var beganAt = Instant(milliseconds: 1_000_000)
    var hasBegun = false
  }
  var life = Life()
  /// Notifications that expire soon, and until when the machine slept.
  private var mortal: [Int: Item] = [:]
  var sleptUntil = Instant(milliseconds: 0)

  struct Frame {
    var id: UInt32
    /// Nil for a barrier.
    var number: Int?
    /// It was written before, on another connection.
    var isRepeated = false
    /// Nil while the socket has not taken it.
    var wireEnd: UInt64?
  }

  /// What was written on the present connection, and what was heard.
  struct Account {
    var frames: [Frame] = []
    /// How many of them are settled.
    var settled = 0
    var answer: [UInt8] = []
    /// The agent knows that nothing more comes of it.
    var isOver = false
    var barrierAt: Instant?

    var uncertain: Int { frames[settled...].count { $0.number != nil } }
  }
  var account = Account()

  /// By how much the counters must move until they are looked at next.
  struct Expected {
    var proved: UInt64 = 0
    var refused: UInt64 = 0
    var uncertain: UInt64 = 0
    var sent: UInt64 = 0
  }
  var expected = Expected()

  init(_ settings: Courier.Settings, _ timeline: Timeline, _ disk: Disk, _ gateway: Gateway) {
    self.settings = settings
    self.timeline = timeline
    self.disk = disk
    self.gateway = gateway
  }

  func complain(_ violation: String) {
    if violations.count < 20 { violations.append("at \(timeline.elapsed) ms: \(violation)") }
  }

  var hasViolations: Bool { !violations.isEmpty }

  func takeViolations() -> [String] {
    defer { violations = [] }
    return violations
  }

  // MARK: - The spool

  func put(_ items: [Item], into name: String) -> [Item] {
    items.map { item in
      var item = item
      itemsPut += 1
      item.identity = itemsPut
      item.source = name
      if item.putAt.milliseconds == 0 { item.putAt = timeline.now }
      guard let number = item.number else { return item }
      places[number, default: 0] += 1
      if item.ttl != nil { mortal[number] = item }
      let serial = World.serial(of: number)
      if places[number]! > 1, serial != World.serialOfSummaries { hasTwins = true }
      if serial > 0 { waiting.items[serial, default: []].append(item) }
      registers(item)
      if let key = item.collapseKey { waiting.keyed[key, default: []].append(item) }
      return item
    }
  }

  func opened(_ file: SpoolFile, _ name: String) {
    file.wasOpened = true
    file.openedAt = timeline.now
    // Of several recipients files one that has changed before may be noticed late, and all of the file is repeated.
    if life.isListChanged, Set(file.items.compactMap(\.list)).count > 1 { reopen(file) }
    if file.reader.life != lives { file.reader = (lives, life.counters.superseded) }
    life.files[name] = file
  }

  /// All of a file will be delivered again, since somebody wrote on it, or its failures are not safe.
  func reopen(_ file: SpoolFile, ifFailed: Bool = false) {
    if ifFailed && file.lines.isEmpty && !file.wasPostponed { return }
    isUneventful = false
    life.reopened.insert(file.inode)
    for item in file.items {
      guard let number = item.number else { continue }
      life.loose.insert(notification(of: number))
    }
  }

  /// Whether a notification may go again, whatever became of it.
  func isLoose(_ number: Int) -> Bool { life.loose.contains(notification(of: number)) }

  /// Where several go to one token, all the recipients of a notification stand for each other.
  private func notification(of number: Int) -> Int {
    World.serial(of: number) > 0 ? World.number(0, serial: World.serial(of: number)) : number
  }

  /// A failure was to be written.
  func recorded(_ failure: Failure, of name: String, _ isRecorded: Bool) {
    let file = life.files[name] ?? disk.new[name]
    if let number = failure.number {
      if failure.code == "limited" {
        limits(number)
        if isRecorded { keepsLimited(number) }
      } else if let status = failure.status {
        if life.refusals[number].map(Int.init) != status {
          complain("\(number) is recorded as refused with \(status), which nobody said")
        }
      } else if life.convictions == 0 || deathsAlone[number, default: 0] < 3 {
        complain("\(number) is blamed for deaths that are not its own: \(failure.reason)")
      } else {
        life.convictions -= 1
      }
    } else if failure.serial > 0 {
      checkList(failure)
    } else if let offset = failure.offset, let file,
      !file.items.contains(where: { $0.isText(at: offset) }),
      file.items.contains(where: { $0.number == nil })
    {
      let text = String(decoding: file.bytes.dropFirst(offset - 30).prefix(60), as: UTF8.self)
      complain(
        "\(name) is recorded for what is not wrong at \(offset), …\(text)…: \(failure.reason)")
    }
    guard let file else { return }
    if isRecorded {
      let key = "\(file.inode):\(failure.number ?? -1):\(failure.offset ?? -1):\(failure.reason)"
      if !life.recorded.insert(key).inserted, !life.reopened.contains(file.inode) {
        complain("\(name) is recorded twice at \(failure.offset ?? -1): \(failure.reason)")
      }
    } else {
      reopen(file)
      life.held.insert(file.inode)
    }
  }

  /// How many files that the disk does not let go an agent remembers.
  private static let heldMax = 256

  /// The disk does not let a file go: of very many, the last ones are forgotten, and delivered again.
  func held(_ file: SpoolFile) {
    if life.held.count >= Self.heldMax, !life.held.contains(file.inode) { reopen(file) }
    life.held.insert(file.inode)
  }

  func removed(_ file: SpoolFile, _ name: String) {
    life.held.remove(file.inode)
    checkTold(file, name)
    for item in file.items where forbidsLoss && !isSettled(item, in: file) {
      complain("\(name) was removed, and \(describe(item)) is neither accepted nor safe in failed/")
    }
  }

  /// Everything before the progress must be decided: nobody will look at it again.
  func keeps(_ progress: Progress?) {
    // There is one record: where another file comes first, this one is repeated.
    if let resumed = life.resumed, progress?.file != resumed.identity {
      for item in resumed.items {
        if let number = item.number, life.outcomes[number] == .passed {
          life.outcomes[number] = nil
        }
      }
    }
    guard let progress, let file = disk.new.values.first(where: { $0.identity == progress.file })
    else { return }
    for item in file.items where forbidsLoss && isBefore(progress, item, in: file) {
      if !isSettled(item, in: file) {
        complain("progress to \(progress.offset) is kept, and \(describe(item)) is not decided")
      }
    }
  }

  private func isBefore(_ progress: Progress, _ item: Item, in file: SpoolFile) -> Bool {
    if item.offset == .max { return false }
    if item.offset < progress.offset { return true }
    let next = file.items.lazy.map(\.offset).filter { $0 >= progress.offset }.min()
    return item.offset == next && item.recipient < progress.recipient
  }

  private func describe(_ item: Item) -> String {
    item.number.map { "\($0)\(item.list.map { " to \($0)" } ?? "")" }
      ?? "the text at \(item.offset)"
  }

  /// Whether an item needs its file no more.
  func isDecided(_ item: Item, in file: SpoolFile) -> Bool {
    guard let number = item.number else {
      return file.isOriginalKept
        || file.lines.contains { $0.isDurable && item.isText(at: $0.failure.offset) }
    }
    if mayExpire(item) { return true }
    if item.list != nil { return isDecidedForAll(item, in: file) }
    return isDecided(number, item, in: file)
  }

  /// Whether nothing more is to come of a number.
  func isDecided(_ number: Int, _ item: Item, in file: SpoolFile) -> Bool {
    gateway.acceptances[number] != nil || lateLosses.contains(number) || dropped.contains(number)
      || file.lines.contains { $0.isDurable && $0.failure.number == number }
      || isSuppressed(number, item) && !isRefused(number, in: file)
      || suppressing.goneNumbers.contains(number) || overtaken.contains(number)
      || item.isEcho && isElsewhere(number, besides: file)
  }

  /// Whether the same is under way, or was recorded, in another file.
  private func isElsewhere(_ number: Int, besides file: SpoolFile) -> Bool {
    disk.lines.contains { $0.isDurable && $0.failure.number == number }
      || (Array(disk.new.values) + Array(disk.later.values)).contains { other in
        other !== file && other.items.contains { $0.number == number }
      }
  }

  func mayExpire(_ item: Item) -> Bool {
    guard let wall = timeline.latestWall(since: item.putAt) else { return false }
    if let expiration = item.expiration { return expiration > 0 && expiration <= wall }
    let ttl = item.ttl ?? UInt64(settings.ttl)
    guard ttl > 0 else { return false }
    // What waits for room in a limit has a date instead.
    if hasLimits, !suppressing.isClockSteady {
      isUneventful = false
      return true
    }
    if item.putAt.until(timeline.now) >= .seconds(ttl) { return true }
    if item.notBefore > 0, item.notBefore + Int64(ttl) <= wall { return true }
    // An agent that has begun since the clock was set cannot know by which one the file came; nor can one know of a clock that
    // was set twice at once.
    return timeline.wasSet(between: item.putAt, and: max(life.beganAt, item.putAt))
  }

  /// What comes so late after the end of its time was read in time.
  private static let expiryPatience = Duration.seconds(5)

  /// A notification is about to be sent whose time may be over.
  func checkExpired(_ number: Int) {
    guard let item = mortal[number], let ttl = item.ttl, suppressing.isClockSteady,
      places[number] ?? 1 == 1, !isLoose(number),
      timeline.now > sleptUntil + Self.expiryPatience, let wall = timeline.time.wallSeconds
    else { return }
    let files = disk.new.values.filter { $0.holds(item) }
    let isOver = files.allSatisfy { file in
      if file.wasReleased { return item.notBefore + Int64(ttl) + 5 < wall }
      return file.cameAt.until(timeline.now) > .seconds(ttl) + Self.expiryPatience
    }
    if isOver, !files.isEmpty { complain("\(number) goes, and its time was over") }
  }

  // MARK: - The agent

  /// The agent is gone with what it knew; the next one has what is on disk.
  func restarted(_ settings: Courier.Settings) {
    self.settings = settings
    isUneventful = false
    lives += 1
    life = Life()
    life.beganAt = timeline.now
    isStopping = false
    // What is both in a file and put aside from it goes twice.
    var seen: Set<Int> = []
    for file in Array(disk.new.values) + Array(disk.later.values) {
      for item in file.items
      where (item.notBefore > 0 || hasLimits) && !seen.insert(item.identity).inserted {
        if let number = item.number { life.loose.insert(notification(of: number)) }
      }
    }
    account = Account()
    account.isOver = true
    expected = Expected()
    suppressing.known = Known()
    learns([:], isNews: true)
    beginsBatch()
    guard let progress = disk.progress,
      let file = disk.new.values.first(where: { $0.identity == progress.file })
    else { return }
    life.resumed = file
    for item in file.items where isBefore(progress, item, in: file) {
      if let number = item.number { life.outcomes[number] = .passed }
    }
  }

  /// The agent looks at the clocks.
  func looks() {
    guard !life.hasBegun else { return }
    life.hasBegun = true
    life.beganAt = timeline.now
  }

  // MARK: - The end

  /// After the faults have stopped, and time enough: nothing is left, and nothing was lost.
  func checkEnd(_ files: [SpoolFile]) {
    for name in disk.new.keys.sorted() { complain("\(name) is left in the spool") }
    for name in disk.later.keys.sorted() { complain("\(name) is left in later/") }
    if forbidsLoss { checkReplaced() }
    if life.counters.postponed != life.postponed {
      complain("\(life.counters.postponed) count as postponed, and \(life.postponed) are")
    }
    if !isAllTold { complain("\(life.limiting.untold.count) alerts are in no summary") }
    guard isUneventful else { return }
    let counters = life.counters
    var total = 0
    for file in files { for item in file.items { total += count(item) } }
    total -= waiting.replaced.values.reduce(0) { $0 + count($1) }
    total -= overtaken.count
    total += Int(counters.summaries)
    let decided =
      counters.settled + counters.refused + counters.failedCheck + counters.expired
      + counters.suppressed + counters.gone + counters.limited
      + counters.duplicates
      + (settings.uncertain == .drop ? counters.uncertain : 0)
    if decided != total { complain("\(decided) are accounted for, of \(total)") }
    if counters.repeated != life.repeated, places.allSatisfy({ $0.value == 1 }) {
      complain("\(counters.repeated) count as repeated, and \(life.repeated) are")
    }
    if counters.superseded != life.superseded {
      complain("\(counters.superseded) count as superseded, and \(life.superseded) are")
    }
  }
}
