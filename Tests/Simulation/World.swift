import TinyPush
import TinyPushBinary

/// A simulated world around a courier: the spool's disk, a network, a gateway, and clocks.
///
/// The world decides everything, so the same script or seed gives the same run. A ``Ledger`` checks
/// each step.
///
/// A notification has a number, which its token shows: `put("a", 1, 2)` puts a file with two
/// notifications, and `accepted` lists the numbers in the order in which the gateway accepted them.
/// Properties of the world's parts can be accessed through the world.
@dynamicMemberLookup
final class World {
  let timeline: Timeline
  let disk: Disk
  let gateway: Gateway
  let ledger: Ledger
  var trace = Trace()

  // The agent.
  var settings: Courier.Settings
  private(set) var binary = BinaryLink.Settings()
  var courier: Courier
  var link: BinaryLink
  /// The link in place of the binary link, if any.
  var scattered: ScatteredLink?
  var lanes: LanesLink?
  var http2: SimulatedHTTP2?
  /// The number of agents before this one.
  var lives = 0
  var isFinished = false
  private(set) var reports: [Report] = []
  private var courierBytes = 0
  /// Calls of `courier.next`.
  private(set) var steps = 0
  var scans = 0
  /// Names and times of the unlinked files, in order.
  var removed: [(name: String, at: Instant)] = []
  /// Events that inotify has not reported yet.
  var notices: [Notice] = []

  enum Notice {
    case began(String)
    case ended(String)
    /// A file in `taken/` was written to or closed.
    case changed(SpoolFile)
    case suppressed
    case overflow
  }

  /// An event that the agent logs, or the moment in which it can log what it left out.
  enum News {
    case connected
    case notConnected
    case ended
    case report(Report)
    case rest
  }

  /// The files of the suppression list that the courier has opened.
  var held: (list: ListFile?, recent: ListFile?)?

  /// The inode of the recipients file that was written last.
  var listInode: UInt64 = 1_000_000

  // The network.
  var connection: Connection?
  var connections = 0
  var dials = 0
  var writes = 0
  /// Whether dialing succeeded, until the agent sees the result.
  var dialed: Bool?
  var blockedBytes: [UInt8]?
  /// Whether connecting works, by attempt.
  var canDial: (Int) -> Bool = { _ in true }
  /// How many milliseconds the socket takes nothing, by the number of the write.
  var blocks: (Int) -> UInt64? = { _ in nil }

  // What a script can change.
  /// Whether the agent polls for events before a step.
  var polls: () -> Bool = { false }
  /// Runs before each step, with the step before: it can let time pass or end the agent.
  var beforeStep: (Word) -> Void = { _ in }
  /// The line that was last written to `failed/`.
  var recordedLine = ""
  /// Runs as soon as a failure is recorded.
  var onRecord: () -> Void = {}
  /// Receives the events that the agent would log.
  var onNews: (News) -> Void = { _ in }
  /// Reorders the names that a scan finds.
  var shuffle: ([String]) -> [String] = { $0 }
  /// The last step.
  var lastWord = Word.wait

  init(
    seed: UInt64 = 1, once: Bool = false, _ change: (inout Courier.Settings) -> Void = { _ in },
    binary changeBinary: (inout BinaryLink.Settings) -> Void = { _ in }
  ) {
    var settings = Courier.Settings()
    settings.isOnce = once
    settings.window = 64
    settings.plausibleSince = 1_000_000_000
    change(&settings)
    self.settings = settings
    changeBinary(&binary)
    courier = Courier(settings)
    link = BinaryLink(settings, binary, seed: seed)
    timeline = Timeline()
    disk = Disk(timeline)
    gateway = Gateway(timeline)
    ledger = Ledger(settings, binary, timeline, disk, gateway)
    ledger.say = { [unowned self] in trace.say($0()) }
  }

  subscript<Value>(dynamicMember path: ReferenceWritableKeyPath<Disk, Value>) -> Value {
    get { disk[keyPath: path] }
    set { disk[keyPath: path] = newValue }
  }
  subscript<Value>(dynamicMember path: KeyPath<Disk, Value>) -> Value { disk[keyPath: path] }
  subscript<Value>(dynamicMember path: ReferenceWritableKeyPath<Gateway, Value>) -> Value {
    get { gateway[keyPath: path] }
    set { gateway[keyPath: path] = newValue }
  }
  subscript<Value>(dynamicMember path: KeyPath<Gateway, Value>) -> Value { gateway[keyPath: path] }
  subscript<Value>(dynamicMember path: ReferenceWritableKeyPath<Timeline, Value>) -> Value {
    get { timeline[keyPath: path] }
    set { timeline[keyPath: path] = newValue }
  }
  subscript<Value>(dynamicMember path: KeyPath<Timeline, Value>) -> Value {
    timeline[keyPath: path]
  }

  // MARK: - Running

  /// The most steps without a wait; more mean an endless loop.
  private static let stepsWithoutRestMax = 300_000

  /// Lets time pass until `end`, or until the courier is finished.
  func run(until end: Instant) {
    var busy = 0
    poll()
    while !isFinished {
      busy += 1
      guard busy < Self.stepsWithoutRestMax else { return complain("does not come to rest") }
      beforeStep(lastWord)
      if polls() { poll() }
      let step = nextStep()
      steps += 1
      account()
      takeReports()
      let word = Word(step)
      trace.note(word.rawValue, at: timeline.elapsed)
      defer { lastWord = word }
      switch step {
      case .scan(let directory): scan(directory)
      case .read(let directory): read(directory)
      case .readRecipients: readRecipients()
      case .release: release()
      case .record: record()
      case .keepLearned: keepLearned()
      case .sync: sync()
      case .remove: remove()
      case .rename: rename()
      case .dial: dial()
      case .write: write()
      case .listen:
        let now = timeline.now
        poll()
        link.heard(until: now)
      case .sample: sample()
      case .disconnect(.current):
        ledger.hungUp(connection)
        hangUp()
      case .authorize, .setAside, .disconnect(.aside):
        complain("the binary link has only one connection")
      case .wait(let deadline):
        onNews(.rest)
        checkMemory()
        giveBackMemory()
        busy = 0
        guard rest(until: deadline, end: end) else { return }
      case .finish:
        isFinished = true
      }
    }
  }

  /// Returns the courier's next step, with the link in use.
  private func nextStep() -> Courier.Step {
    ledger.agentSteps()
    if http2 != nil { return courier.next(timeline.time, &http2!) }
    if scattered != nil { return courier.next(timeline.time, &scattered!) }
    if lanes != nil { return courier.next(timeline.time, &lanes!) }
    return courier.next(timeline.time, &link)
  }

  func complain(_ violation: String) { ledger.complain(violation) }

  /// Returns the violations since the last call.
  func takeViolations() -> [String] { ledger.takeViolations() + gateway.takeComplaints() }

  /// Checks that memory stays constant.
  private func checkMemory() {
    var bytes = 0
    courier.forEachBuffer { bytes += $0.count }
    link.forEachBuffer { bytes += $0.count }
    if courierBytes == 0 { courierBytes = bytes }
    if bytes != courierBytes {
      complain("memory grows from \(courierBytes) to \(bytes) bytes")
    }
  }

  /// Gives idle memory back to the system as the agent does, and fills it with zeros.
  private func giveBackMemory() {
    guard courier.isIdle else { return }
    func empty(_ buffer: UnsafeMutableRawBufferPointer) {
      buffer.initializeMemory(as: UInt8.self, repeating: 0)
    }
    func empty<L: Link & ~Copyable>(_ link: inout L) {
      guard !link.isBusy else { return }
      courier.giveBackMemory(empty)
      link.forEachBuffer(empty)
    }
    if http2 == nil { empty(&link) } else { empty(&http2!) }
  }

  private func account() {
    if http2 != nil {
      courier.takeResults(&http2!)
      return ledger.observeScattered(courier.counters)
    }
    if lanes != nil {
      courier.takeResults(&lanes!)
      return ledger.observeScattered(courier.counters)
    }
    guard scattered == nil else {
      courier.takeResults(&scattered!)
      return ledger.observeScattered(courier.counters)
    }
    courier.takeResults(&link)
    ledger.observe(courier.counters, on: connection)
  }

  private func takeLinkReport() -> Report? {
    http2 == nil ? link.takeReport() : http2!.takeReport()
  }

  private func takeReports() {
    while let report = courier.takeReport() ?? takeLinkReport() {
      trace.say("  \(report)")
      reports.append(report)
      onNews(.report(report))
    }
  }

  /// Lets time pass until something happens.
  ///
  /// Returns false if the end comes first.
  private func rest(until deadline: Instant?, end: Instant) -> Bool {
    if let deadline, deadline <= timeline.now {
      complain("busy: waits for an instant that is past, at \(timeline.elapsed) ms")
      return false
    }
    if hasNews {
      poll()
      return true
    }
    timeline.advance(to: min(timeline.nextAt ?? end, deadline ?? end, end))
    guard timeline.nextAt.map({ $0 <= timeline.now }) ?? false || timeline.now < end else {
      return false
    }
    poll()
    return true
  }

  /// Whether the agent would wake up at once.
  private var hasNews: Bool {
    dialed != nil || !notices.isEmpty
      || connection.map { $0.hasUnread || $0.isWritable } ?? false
  }

  /// Takes in all events since the last poll, as the agent does.
  func poll() {
    timeline.happen()
    for notice in notices {
      switch notice {
      case .began(let name): courier.writingBegan(name.bytes.span)
      case .ended(let name): courier.appeared(name.bytes.span)
      case .changed(let file):
        if let name = disk.taken.first(where: { $0.value === file })?.key {
          courier.changed(name.bytes.span)
        }
      case .suppressed: noticeSuppression()
      case .overflow: courier.missedEvents()
      }
    }
    notices = []
    if let isUp = dialed {
      dialed = nil
      if isUp {
        ledger.connected()
        link.connected()
        onNews(.connected)
      } else {
        onNews(.notConnected)
        link.disconnected(at: timeline.now, byPeer: false)
      }
    }
    listen()
  }

  /// Reads everything that has come over the connection.
  private func listen() {
    guard let connection else { return }
    while let bytes = connection.read() {
      trace.note("received", at: timeline.elapsed, bytes.count)
      ledger.received(bytes, on: connection)
      link.received(bytes.span)
      account()
    }
    if let end = connection.end {
      hangUp()
      if link.isUp { onNews(.ended) }
      trace.note("ended", at: timeline.elapsed)
      ledger.ended(byPeer: end != .timedOut)
      link.disconnected(at: timeline.now, byPeer: end != .timedOut)
      account()
    } else if connection.isWritable {
      connection.isWritable = false
      link.writable()
    }
  }

  func hangUp() {
    ledger.beginsBatch()
    connection?.isHungUp = true
    connection = nil
    blockedBytes = nil
  }
}
