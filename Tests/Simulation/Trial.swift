import TinyPush
import TinyPushBinary

/// A run of a world in which a seed decides everything: the files, the settings and the faults.
///
/// During the faults, the ledger checks each step. After them, everything must be delivered within
/// a limited time.
public final class Trial {
  /// The result of a run.
  public struct Outcome: Sendable {
    /// The seed.
    public var seed: UInt64
    /// The number of steps.
    public var steps: Int
    /// A hash of the run, which is the same for the same seed.
    public var hash: UInt64
    /// The violations of the courier's rules; empty for a good run.
    public var violations: [String]
    /// The lines of the trace, if it was kept.
    public var trace: [String]
  }

  /// The kind of link in a run.
  public enum Way: String, CaseIterable, Sendable {
    /// The binary protocol.
    case binary
    /// A link without a connection, whose answers come in any order.
    case scattered
    /// HTTP/2.
    case http2
    /// Links like the scattered one, to a service of devices and to those of browsers.
    case lanes
  }

  let seed: UInt64
  let world: World
  var random: Seeded
  var workload: Workload
  let faults: Faults
  private let isOnce: Bool
  let way: Way

  var isCalm = false
  private(set) var files: [SpoolFile] = []
  var agentFault: Faults.AgentFault?
  var stopBy: Instant?
  /// The HTTP/2 service, if the run uses that link.
  var service: HTTP2Service?
  var refusalsUntil: Instant?
  var http2Faults = HTTP2Faults()
  var laneFaults = LaneFaults()
  private var wasStopped: Bool { stopBy != nil }
  /// The number of agents that began after the faults.
  var calmLives = 0
  /// The gateway's answers to the next notifications, in order.
  var responses: [Response] = []
  var dialsUntil: Instant?
  /// The names of files that somebody is still writing.
  var beingWritten: Set<String> = []
  var stepMilliseconds = 0
  private var attention = 1
  var blocksOneIn = 0
  private var cutsLeft = 0
  var crashesLeft = 6

  /// The time in which everything must be delivered after the faults: more than the slowest limit
  /// asks of the largest workload.
  private static let patience = Duration.seconds(100_000)
  private static let stepsMax = 1_000_000

  private init(_ seed: UInt64, _ way: Way) {
    self.seed = seed
    self.way = way
    var random = Seeded(seed)
    // A generator of their own, so that limits do not change the other choices.
    var limits = Seeded(seed &+ 0x5EED)
    isOnce = random.oneIn(3)
    faults = Faults(&random, once: isOnce)
    world = World(seed: seed, once: isOnce) {
      $0.rules.pushProtocol = way == .http2 ? .http2 : .binary
      $0.window = random.pick([16, 16, 40, 500])
      $0.uncertain = random.oneIn(12) ? .drop : .resend
      $0.linger = .milliseconds(random.pick([0, 20, 100]))
      $0.rescan = .seconds(random.pick([30, 900]))
      $0.ttl = random.pick([0, 86_400, 86_400, 900])
      $0.reportsSettlements = seed % 4 == 1
      $0.hasWebPush = way == .lanes
      $0.hasDevices = way != .lanes || seed % 8 != 2
      guard limits.oneIn(4) else { return }
      let count = UInt32(limits.pick([1, 1, 2, 5]))
      let period = Duration.seconds(UInt64(limits.pick([2, 5, 60, 600])))
      if !limits.oneIn(3) { $0.limit = RateLimit(count: count, period: period) }
      if $0.limit == nil || limits.oneIn(3) {
        $0.limitAll = RateLimit(count: 4 * count, period: period)
      }
    } binary: {
      $0.format = random.oneIn(3) ? random.pick([.enhanced, .enhanced, .simple]) : .items
      $0.confirm = random.pick([.drain, .drain, .settle, .barrier])
      $0.settle = .seconds(random.pick([2, 10]))
      $0.barrierInterval = .seconds(random.pick([5, 60]))
    }
    world.ledger.isAnswering = way != .binary
    world.ledger.hasLanes = way == .lanes
    workload = Workload(
      &random, duration: isOnce ? 0 : faults.calmAt, horizon: faults.calmAt,
      hasIdentifiers: world.binary.format != .simple, isLimiting: world.ledger.hasLimits)
    self.random = random
  }

  /// Runs the world of a seed.
  public static func run(_ seed: UInt64, _ way: Way = .binary, keepsTrace: Bool = false) -> Outcome
  {
    World.$hasSeveralLengths.withValue(way == .http2) {
      World.$hasBrowsers.withValue(way == .lanes) {
        run(Trial(seed, way), keepsTrace: keepsTrace)
      }
    }
  }

  private static func run(_ trial: Trial, keepsTrace: Bool) -> Outcome {
    let seed = trial.seed
    trial.world.trace.isKept = keepsTrace
    trial.world.trace.say("\(trial.world.settings) \(trial.world.binary) \(trial.faults)")
    Traps.reporting(seed) { trial.run() }
    trial.world.trace.say("\(trial.world.courier.counters)")
    defer { trial.tearDown() }
    return Outcome(
      seed: seed, steps: trial.world.steps, hash: trial.world.trace.hash,
      violations: trial.world.takeViolations(), trace: trial.world.trace.lines)
  }

  private func run() {
    setUp()
    for list in workload.lists { putList(list) }
    fillSpool()
    for event in faults.events {
      world.timeline.plan(after: event.at) { [self] in inject(event.kind) }
    }
    world.timeline.plan(after: faults.calmAt) { [self] in calm() }
    if service != nil || way == .lanes { planEndOfPoison() }
    let end = world.timeline.now + .milliseconds(faults.calmAt) + Self.patience
    world.run(until: end)
    while world.isFinished, !isDone, !mustEnd, world.timeline.now < end {
      // The next agent handles what a stop, or a failing disk, has left.
      if isCalm, world.disk.waiting.isEmpty {
        // `--once` does not wait for what is due later.
        waitForNextDue()
      } else if isCalm {
        if !wasStopped, calmLives > 0 { world.complain("ends before all is done") }
        calmLives += 1
      }
      restart()
      world.run(until: end)
    }
    guard !world.ledger.hasViolations else { return }
    if !isDone { world.complain("does not come to an end") }
    world.ledger.checkEnd(files)
  }

  /// Breaks reference cycles, since thousands of runs follow each other.
  private func tearDown() {
    world.polls = { false }
    world.shuffle = { $0 }
    world.canDial = { _ in true }
    world.blocks = { _ in nil }
    world.cutAfterBytes = { _ in nil }
    world.response = { _ in .accept }
    world.beforeStep = { _ in }
    world.scattered = nil
    world.lanes = nil
    world.http2 = nil
    tearDownHTTP2()
    world.timeline.cancelAll()
  }

  var mustEnd: Bool { world.steps > Self.stepsMax || world.ledger.hasViolations }

  /// Whether everything has been delivered and nothing is to come.
  var isDone: Bool {
    isCalm && world.disk.waiting.isEmpty && world.disk.later.isEmpty && world.courier.isIdle
      && world.ledger.isAllSummarized
  }

  // MARK: - Choices of the seed

  private func setUp() {
    let settle = Int(world.binary.settle.milliseconds)
    world.ledger.isPrompt = faults.isPrompt
    world.ledger.suppressing.isClockSteady = !faults.has(.wall)
    world.disk.isJournaled = random.oneIn(2)
    world.suppress(workload.suppressed, tells: false)
    world.noticeSuppression()
    world.latency = random.pick([0, 1, 20, 150])
    world.answerDelay = UInt64(random.pick([0, 0, 7, settle / 4]))
    if faults.has(.split) { world.answerPace = UInt64(random.pick([1, 40])) }
    world.resets = random.oneIn(2)
    world.barrierResponse = random.pick([.answer, .answer, .answer, .answer, .ignore, .vanish])
    world.saysNoError = random.oneIn(8)
    world.readBytesMax = random.pick([.max, .max, 10_000, 333])
    world.receiveBuffer = random.pick([1000, 65_536])
    stepMilliseconds = random.pick([0, 0, 0, 2])
    attention = random.pick([1, 3, 1000])
    blocksOneIn = faults.has(.blocking) ? random.pick([5, 20]) : 0
    cutsLeft = faults.has(.close) ? random.upTo(8) : 0
    if faults.has(.wall) {
      world.timeline.begin(wallAtStart: random.pick([nil, 100_000, 1_700_000_000]))
    }
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
    world.response = { [self] in respond($0) }
    world.beforeStep = { [self] in beforeStep(after: $0) }
    switch way {
    case .binary: break
    case .scattered:
      let limit = random.pick([1, 3, 30, 200])
      world.scattered = ScatteredLink(world.ledger, world.gateway, limit: limit) { [self] in
        scatter($0)
      }
    case .http2: setUpHTTP2()
    case .lanes:
      laneFaults = LaneFaults(seed)
      let limit = random.pick([1, 3, 30])
      world.lanes = LanesLink(world.ledger, world.gateway, limit: limit) { [self] host in
        laneFaults.mood(of: host, at: world.timeline.now)
      } respond: { [self] in
        scatter($0)
      }
    }
  }

  private func respond(_ push: Push) -> Response {
    let token = push.number % World.tokensMax
    if workload.deadly.contains(token) { return .vanish }
    if let status = workload.refusals[token] { return .refuse(status) }
    if push.payloadBytes.count > workload.payloadLimit { return .refuse(.invalidPayloadSize) }
    return responses.isEmpty ? .accept : responses.removeFirst()
  }

  /// Decides what a service that answers each notification does, and after how many milliseconds.
  private func scatter(_ token: Int) -> (ScatteredLink.Response, after: UInt64) {
    let after = UInt64(
      random.pick([1, 1, 5, 40, 1 + random.upTo(random.oneIn(20) ? 60_000 : 900)]))
    if let status = workload.refusals[token] {
      return (.reject(status.rejection), after)
    }
    if let time = world.ledger.suppressing.gone[token] {
      return (.reject(Rejection(.unregistered, code: 410, since: time)), after)
    }
    if isCalm { return (.accept, after) }
    if World.isBrowser(token), random.oneIn(60) {
      let time = UInt32(1_700_000_000 - random.upTo(100_000))
      world.ledger.suppressing.gone[token] = time
      return (.reject(Rejection(.unregistered, code: 410, since: time)), after)
    }
    switch random.upTo(60) {
    case 0...3: return (.giveBack(nil), after)
    case 4...6: return (.giveBack(UInt64(random.upTo(90_000))), after)
    case 7...8: return (.loseAnswer, after)
    case 9: return (.cut(UInt64(random.upTo(20_000))), after)
    default: return (.accept, after)
    }
  }

  private func fillSpool() {
    for file in workload.files {
      let tells = !isOnce && !random.oneIn(8)
      if file.at == 0 {
        put(file.name, file.text, file.items, tells: tells)
      } else if tells, !workload.isCollapsing, random.oneIn(3) {
        write(file)
      } else {
        world.timeline.plan(after: file.at) { [self] in
          put(file.name, file.text, file.items, tells: tells)
        }
      }
    }
  }

  private func waitForNextDue() {
    guard let next = world.disk.later.keys.min().flatMap({ Int64($0.prefix(10)) }),
      let wall = world.timeline.time.wallSeconds
    else { return }
    world.timeline.advance(to: world.timeline.now + .seconds(UInt64(max(next - wall, 0))))
  }

  func putList(_ list: (name: String, lines: [String], content: List, failure: OpenFailure?)) {
    world.putList(list.name, list.lines, list.failure)
    world.ledger.changed(list.name, list.content)
  }

  func put(_ name: String, _ text: String, _ items: [Item], tells: Bool) {
    if let old = world.disk.new[name] { forget(old) }
    world.ledger.numberMax = workload.numbers
    world.ledger.serialMax = workload.serials
    world.put(name, text, items: items, tells: tells)
    world.disk.new[name]!.mayGrow = random.oneIn(6)
    files.append(world.disk.new[name]!)
  }

  /// Creates a file, writes it in two pieces and closes it, as `cp` does.
  private func write(_ file: (name: String, text: String, items: [Item], at: UInt64)) {
    let half = file.text.utf8.count / 2
    let duration = UInt64(random.upTo(3000))
    for item in file.items { world.ledger.registers(item) }
    world.timeline.plan(after: file.at) { [self] in
      put(
        file.name, String(decoding: file.text.bytes.prefix(half), as: UTF8.self), [], tells: false)
      world.notices.append(.began(file.name))
      // A number counts as put in a place as soon as its file is being written.
      for item in file.items {
        if let number = item.number { world.ledger.places[number, default: 0] += 1 }
      }
      let createdAt = world.timeline.now
      let created = world.disk.new[file.name]!
      created.isBeingWritten = true
      beingWritten.insert(file.name)
      world.timeline.plan(after: duration) { [self] in
        beingWritten.remove(file.name)
        created.isBeingWritten = false
        if world.timeline.elapsed >= faults.calmAt { created.mayGrow = false }
        guard world.disk.waiting.contains(where: { $0 === created }) else {
          world.ledger.isUneventful = false
          return
        }
        var items = file.items
        for index in items.indices {
          items[index].putAt = createdAt
          if let number = items[index].number { world.ledger.places[number]! -= 1 }
        }
        world.append(
          to: created, String(decoding: file.text.bytes.dropFirst(half), as: UTF8.self),
          items: items, tells: true)
      }
    }
  }

  /// Forgets what a removed file held.
  func forget(_ file: SpoolFile) {
    files.removeAll { $0 === file }
    world.ledger.forget(file)
  }
}
