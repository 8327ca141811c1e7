import TinyPush

/// One run of a world in which everything is drawn by a seed: the files, the settings, and what goes wrong. While it does,
/// the ledger watches each step; when it has stopped, everything must be delivered in bounded time.
public final class Trial {
  /// What came of it.
  public struct Outcome: Sendable {
    public var seed: UInt64
    public var steps: Int
    /// The same for the same seed.
    public var hash: UInt64
    public var violations: [String]
    /// The last of what happened, when the trace was kept.
    public var trace: [String]
  }

  private let seed: UInt64
  private let world: World
  private var random: Seeded
  private var workload: Workload
  private let faults: Faults
  private let isOnce: Bool

  private var isCalm = false
  private var files: [SpoolFile] = []
  private var blow: Faults.Blow?
  private var stopBy: Instant?
  private var wasStopped: Bool { stopBy != nil }
  /// Agents that have begun since nothing goes wrong any more.
  private var calmLives = 0
  /// What the gateway does next, whatever comes.
  private var verdicts: [Verdict] = []
  private var dialsUntil: Instant?
  /// Files that have a writer.
  private var beingWritten: Set<String> = []
  private var stepMilliseconds = 0
  private var attention = 1
  private var blocksOneIn = 0
  private var cutsLeft = 0
  private var crashesLeft = 6

  /// How long it may take, from when nothing goes wrong any more, until all is delivered.
  private static let patience = Duration.seconds(30_000)
  private static let stepsMax = 200_000

  private init(_ seed: UInt64) {
    self.seed = seed
    var random = Seeded(seed)
    isOnce = random.oneIn(3)
    faults = Faults(&random, once: isOnce)
    world = World(seed: seed, once: isOnce) {
      $0.window = random.pick([16, 16, 40, 500])
      $0.format = random.oneIn(3) ? random.pick([.enhanced, .enhanced, .simple]) : .items
      $0.confirm = random.pick([.drain, .drain, .settle, .barrier])
      $0.uncertain = random.oneIn(12) ? .drop : .resend
      $0.linger = .milliseconds(random.pick([0, 20, 100]))
      $0.settle = .seconds(random.pick([2, 10]))
      $0.barrierInterval = .seconds(random.pick([5, 60]))
      $0.rescan = .seconds(random.pick([30, 900]))
      $0.ttl = random.pick([0, 86_400])
    }
    workload = Workload(
      &random, duration: isOnce ? 0 : faults.calmAt,
      hasIdentifiers: world.settings.format != .simple)
    self.random = random
  }

  /// Runs the trial of a seed.
  public static func run(_ seed: UInt64, keepsTrace: Bool = false) -> Outcome {
    let trial = Trial(seed)
    trial.world.trace.isKept = keepsTrace
    trial.world.trace.say("\(trial.world.settings) \(trial.faults)")
    Traps.telling(seed) { trial.run() }
    trial.world.trace.say("\(trial.world.courier.counters)")
    return Outcome(
      seed: seed, steps: trial.world.steps, hash: trial.world.trace.hash,
      violations: trial.world.takeViolations(), trace: trial.world.trace.lines)
  }

  private func run() {
    setUp()
    fillSpool()
    for event in faults.events {
      world.timeline.plan(after: event.at) { [self] in strike(event.kind) }
    }
    world.timeline.plan(after: faults.calmAt) { [self] in calm() }
    let end = world.timeline.now + .milliseconds(faults.calmAt) + Self.patience
    world.run(until: end)
    while world.isFinished, !isDone, !mustEnd, world.timeline.now < end {
      // What a stop, or a disk on which nothing could be done, has left is seen to by the next agent.
      if isCalm, !wasStopped, calmLives > 0 { world.complain("ends before all is done") }
      if isCalm { calmLives += 1 }
      restart()
      world.run(until: end)
    }
    guard !world.ledger.hasViolations else { return }
    if !isDone { world.complain("does not come to an end") }
    world.ledger.checkEnd(files)
  }

  private var mustEnd: Bool { world.steps > Self.stepsMax || world.ledger.hasViolations }

  /// Everything has been delivered, and nothing is to come.
  private var isDone: Bool { isCalm && world.disk.new.isEmpty && world.courier.isIdle }

  // MARK: - What is drawn

  private func setUp() {
    let settle = Int(world.settings.settle.milliseconds)
    world.ledger.isPrompt = faults.isPrompt
    world.latency = random.pick([0, 1, 20, 150])
    world.answerDelay = UInt64(random.pick([0, 0, 7, settle / 4]))
    if faults.has(.split) { world.answerPace = UInt64(random.pick([1, 40])) }
    world.resets = random.oneIn(2)
    world.barrierVerdict = random.pick([.answer, .answer, .answer, .answer, .ignore, .vanish])
    world.readBytesMax = random.pick([.max, .max, 10_000, 333])
    world.receiveBuffer = random.pick([1000, 65_536])
    stepMilliseconds = random.pick([0, 0, 0, 2])
    attention = random.pick([1, 3, 1000])
    blocksOneIn = faults.has(.blocking) ? random.pick([5, 20]) : 0
    cutsLeft = faults.has(.close) ? random.upTo(8) : 0
    if faults.has(.wall) { world.wallAtStart = random.pick([nil, 100_000, 1_700_000_000]) }
    world.polls = { [self] in random.oneIn(attention) }
    world.shuffle = { [self] in $0.shuffled(using: &random) }
    world.canDial = { [self] _ in isCalm || !random.oneIn(5) && dialsUntil == nil }
    world.blocks = { [self] _ in
      !isCalm && blocksOneIn > 0 && random.oneIn(blocksOneIn) ? UInt64(random.upTo(400)) : nil
    }
    var places: [Int: Int] = [:]
    world.cutAfterBytes = { [self] connection in
      if let place = places[connection] { return place }
      guard !isCalm, cutsLeft > 0, random.oneIn(2) else {
        places[connection] = .max
        return nil
      }
      cutsLeft -= 1
      places[connection] = random.upTo(random.oneIn(2) ? 40_000 : 600)
      return places[connection]
    }
    world.verdict = { [self] in judge($0) }
    world.beforeStep = { [self] in beforeStep(after: $0) }
  }

  private func judge(_ push: Push) -> Verdict {
    if workload.deadly.contains(push.number) { return .vanish }
    if let status = workload.refusals[push.number] { return .refuse(status) }
    return verdicts.isEmpty ? .accept : verdicts.removeFirst()
  }

  private func fillSpool() {
    for file in workload.files {
      let tells = !isOnce && !random.oneIn(8)
      if file.at == 0 {
        put(file.name, file.text, file.items, tells: tells)
      } else if tells, random.oneIn(3) {
        write(file)
      } else {
        world.timeline.plan(after: file.at) { [self] in
          put(file.name, file.text, file.items, tells: tells)
        }
      }
    }
  }

  private func put(_ name: String, _ text: String, _ items: [Item], tells: Bool) {
    if let old = world.disk.new[name] { forget(old) }
    world.ledger.numberMax = workload.numbers
    world.put(name, text, items: items, tells: tells)
    files.append(world.disk.new[name]!)
  }

  /// As `cp` does: it is created, written in two pieces, and closed.
  private func write(_ file: (name: String, text: String, items: [Item], at: UInt64)) {
    let half = file.text.utf8.count / 2
    let duration = UInt64(random.upTo(3000))
    world.timeline.plan(after: file.at) { [self] in
      put(
        file.name, String(decoding: file.text.bytes.prefix(half), as: UTF8.self), [], tells: false)
      world.notices.append(.began(file.name))
      let created = world.disk.new[file.name]
      beingWritten.insert(file.name)
      world.timeline.plan(after: duration) { [self] in
        beingWritten.remove(file.name)
        guard world.disk.new[file.name] === created else {
          world.ledger.isUneventful = false
          return
        }
        world.append(
          file.name, String(decoding: file.text.bytes.dropFirst(half), as: UTF8.self),
          items: file.items, tells: true)
      }
    }
  }

  /// Nobody answers for what a file held that somebody removed.
  private func forget(_ file: SpoolFile) {
    files.removeAll { $0 === file }
    world.ledger.reopen(file)
  }

  // MARK: - What goes wrong

  private func strike(_ kind: Faults.Kind) {
    world.trace.say("\(kind) strikes")
    let settle = world.settings.settle.milliseconds
    switch kind {
    case .close: world.cut()
    case .reset: world.connection?.reset(latency: 0, hides: true)
    case .death: dieSilently()
    case .stall:
      let longest = faults.isPrompt ? settle / 4 : 3 * settle
      world.stalledUntil = world.timeline.now + .milliseconds(UInt64(random.upTo(Int(longest))))
    case .slow: world.latency = random.pick([0, 5, 150])
    case .dialing: dialsUntil = until(random.upTo(60_000)) { $0.dialsUntil = nil }
    case .blocking: blocksOneIn = random.pick([1, 3, 20])
    case .shutdown: verdicts.append(.shutdown)
    case .vanish: verdicts.append(.vanish)
    case .garbage: verdicts.append(.say(garbage()))
    case .split: world.answerPace = UInt64(random.pick([0, 1, 40]))
    case .hidden: during(random.upTo(5000)) { $0.world.hidesAnswers = $1 }
    case .late: world.answerDelay = UInt64(random.upTo(Int(3 * settle)))
    case .crash: blow = .crash
    case .powerCut: blow = .powerCut
    case .stop: blow = .stop
    case .sleep: blow = .sleep(UInt64(random.upTo(random.oneIn(2) ? 20_000 : 7_200_000)))
    case .rescan: world.courier.rescan()
    case .overflow:
      world.notices = [.overflow]
    case .diskFull:
      during(random.upTo(20_000)) {
        $0.world.canRecord = !$1
        $0.world.canKeepProgress = !$1
      }
    case .readOnly:
      during(random.upTo(60_000)) {
        $0.world.canRecord = !$1
        $0.world.canKeepProgress = !$1
        $0.world.canRemove = !$1
      }
    case .unsynced: during(random.upTo(3000)) { $0.world.canSync = !$1 }
    case .busy:
      guard let name = anyName() else { return }
      world.makeUnreadable(name, .later)
      _ = until(random.upTo(9000)) { $0.world.makeUnreadable(name, nil) }
    case .unreadable:
      guard let name = anyName(), let file = world.disk.new[name] else { return }
      // For good, or from somewhere in the middle on.
      if random.oneIn(2) {
        file.failure = .unreadable(13)
      } else {
        file.readableBytes = random.upTo(file.bytes.count)
      }
    case .wall:
      world.wallAtStart = random.pick([nil, 1_700_000_000, 1_900_000_000, 1_700_090_000])
    case .replace, .append, .delete: meddle(kind)
    }
  }

  private func until(_ milliseconds: Int, _ act: @escaping (Trial) -> Void) -> Instant {
    let end = world.timeline.now + .milliseconds(UInt64(milliseconds))
    world.timeline.plan(at: end) { [self] in act(self) }
    return end
  }

  private func during(_ milliseconds: Int, _ set: @escaping (Trial, Bool) -> Void) {
    set(self, true)
    _ = until(milliseconds) { set($0, false) }
  }

  /// Nothing passes over the connection any more; the kernel finds out after a while.
  private func dieSilently() {
    guard let connection = world.connection else { return }
    connection.isDead = true
    world.timeline.plan(after: UInt64(20_000 + random.upTo(60_000))) { connection.timeOut() }
  }

  private func garbage() -> [UInt8] {
    random.pick([
      [8, 8, 0, 0, 0, 0], [8, 128, 0, 0, 0, 1], [21], [8], [8, 0, 0, 0, 0, 1],
      [8, 7, 127, 255, 255, 255], [8, 10, 0, 0, 0, 0], [72, 84, 84, 80],
    ])
  }

  private func anyName() -> String? {
    let names = world.waiting.filter { !beingWritten.contains($0) }
    return names.isEmpty ? nil : random.pick(names)
  }

  private func meddle(_ kind: Faults.Kind) {
    guard let name = anyName(), let file = world.disk.new[name] else { return }
    switch kind {
    case .append:
      var (text, items) = workload.more(&random)
      for index in items.indices {
        items[index].offset += file.bytes.count
        items[index].end += file.bytes.count
      }
      world.ledger.numberMax = workload.numbers
      world.append(name, text, items: items, tells: random.oneIn(2))
    case .replace:
      let (text, items) = workload.more(&random)
      put(name, text, items, tells: random.oneIn(2))
    default:
      forget(file)
      world.delete(name)
    }
  }

  /// From now on nothing goes wrong but what always does.
  private func calm() {
    isCalm = true
    blow = nil
    verdicts = []
    dialsUntil = nil
    stepMilliseconds = 0
    world.latency = min(world.latency, 20)
    world.answerDelay = min(world.answerDelay, world.settings.settle.milliseconds / 4)
    world.answerPace = min(world.answerPace, 1)
    world.hidesAnswers = false
    world.stalledUntil = nil
    // Where a gateway dies at barriers nobody can tell whether it is well without the notification at which it dies, too.
    if !workload.deadly.isEmpty, world.barrierVerdict == .vanish { world.barrierVerdict = .answer }
    world.canRecord = true
    world.canSync = true
    world.canRemove = true
    world.canKeepProgress = true
    for file in world.new.values { if case .later = file.failure { file.failure = nil } }
  }

  // MARK: - What befalls the agent

  private func beforeStep(after word: Word) {
    if mustEnd || word == .wait && isDone {
      world.isFinished = true
      return
    }
    if stepMilliseconds > 0, random.oneIn(4) { pass(UInt64(random.upTo(stepMilliseconds))) }
    if let stopBy, world.timeline.now >= stopBy { blow = .crash }
    if crashesByChance(after: word) { blow = faults.has(.powerCut) ? .powerCut : .crash }
    guard let blow else { return }
    self.blow = nil
    switch blow {
    case .crash: restart()
    case .powerCut:
      world.trace.note("power cut", at: world.timeline.elapsed)
      world.disk.cutPower(&random)
      restart()
    case .stop:
      world.trace.note("stop", at: world.timeline.elapsed)
      world.courier.stop()
      stopBy = world.timeline.now + world.settings.settle + .seconds(5)
    case .sleep(let milliseconds): sleep(milliseconds)
    }
  }

  /// Between any two steps, but rather behind one that changes the disk.
  private func crashesByChance(after word: Word) -> Bool {
    guard !isCalm, faults.stepsBetweenCrashes > 0, crashesLeft > 0 else { return false }
    let isDelicate = [.record, .sync, .remove, .keepProgress].contains(word)
    guard random.oneIn(isDelicate ? 20 : faults.stepsBetweenCrashes) else { return false }
    crashesLeft -= 1
    return true
  }

  private func pass(_ milliseconds: UInt64) {
    world.timeline.advance(to: world.timeline.now + .milliseconds(milliseconds))
    world.timeline.happen()
  }

  private func restart() {
    world.trace.note("restart", at: world.timeline.elapsed)
    stopBy = nil
    world.hangUp()
    pass(UInt64(random.pick([0, 100, 5000])))
    world.restart()
  }

  /// The machine sleeps: what comes meanwhile is sent once more when it wakes, or the connection is no more.
  private func sleep(_ milliseconds: UInt64) {
    world.trace.note("sleep", at: world.timeline.elapsed, Int(milliseconds))
    world.connection?.sleep(
      for: .milliseconds(milliseconds), and: .milliseconds(UInt64(random.upTo(1000))))
    pass(milliseconds)
    world.courier.suspended(until: world.timeline.now)
  }
}
