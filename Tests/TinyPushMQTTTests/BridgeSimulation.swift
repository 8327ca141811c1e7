import Simulation
import TinyPush
import TinyPushMQTT
import TinyPushRules

/// A bridge between a broker and a spool that both fail, under one seed.
final class BridgeSimulation {
  /// A rule: its filter, its alert, and whether the rules behind it go on.
  private typealias Rule = (filter: String, alert: String, goesOn: Bool)

  private static let rules: [[Rule]] = [
    [("a/+", "first {payload}", true), ("a/2", "second {payload}", false)],
    [
      ("a/+", "first {payload}", true), ("a/2", "second {payload}", true),
      ("a/2", "third {payload}", true), ("a/2", "fourth {payload}", false),
      ("b/#", "b {payload}", false),
    ],
  ]
  private static let filters = [["a/+", "c"], ["a/2", "b/#", "a/1"]]

  private var random: Seeded
  private var now = Instant(milliseconds: 1_000_000)
  private var broker = SimulatedBroker()
  private var bridge: Bridge
  private var settings = BrokerSession.Settings()
  /// The number of the rules and filters in use.
  private var plan = 0
  private var isLinked = false
  /// The alerts in the notification files, without what fills them up.
  private var disk: [Alert] = []

  private struct Alert: Hashable {
    var word: String
    var number: Int
  }

  /// Messages that must become notifications, with the alerts' first words.
  private var wanted: [Int: [String]] = [:]
  private var published = 0
  /// Whether things go wrong.
  private var isFaulty = true
  private(set) var violation: String?
  private(set) var trace: [String] = []
  /// How often the bridge wanted to be woken at once.
  private var idleTurns = 0

  init(seed: UInt64) {
    random = Seeded(seed)
    settings.openMax = random.pick([1, 4, 32, 256])
    bridge = Bridge(settings, seed: random.next(), at: now)
    takePlan()
  }

  private func takePlan() {
    var rules = MessageRules(of: .topics)
    for rule in Self.rules[plan] {
      do throws(RuleProblem) {
        try rules.begin(Array(rule.filter.utf8).span)
        try rules.set(.alert, to: Array(rule.alert.utf8).span)
        try rules.set(.data, to: Array("all = {payload}".utf8).span)
        if rule.goesOn { try rules.set(.goOn, to: Array("yes".utf8).span) }
      } catch {
        fail("a rule is wrong")
      }
    }
    var filters = FilterList()
    for filter in Self.filters[plan] { _ = filters.append(Array(filter.utf8).span) }
    bridge.replace(&rules, &filters, at: now)
  }

  private func fail(_ words: String) {
    violation = violation ?? words
    note("VIOLATION: \(words)")
  }

  private func note(_ words: String) { trace.append("\(now.milliseconds) \(words)") }

  // MARK: - The run

  /// Lets things go wrong for a while, and then go well; checks that nothing is lost.
  func run() {
    for _ in 0..<400 where violation == nil {
      fault()
      publish()
      turn()
    }
    isFaulty = false
    broker.isSlow = false
    broker.sendLate()
    broker.refused = []
    note("all goes well from now on")
    // Longer than the wait for a refused subscription.
    let end = now + .seconds(1000)
    while violation == nil, now < end || !isQuiet {
      turn()
      if now > end + .seconds(1000) { fail("no end: \(wanted.count) messages are missing") }
    }
    guard violation == nil else { return }
    checkEnd()
  }

  private var isQuiet: Bool { wanted.isEmpty && broker.output.isEmpty && bridge.output.isEmpty }

  private func checkEnd() {
    let filters = broker.session?.filters ?? []
    let wanted = Set(Self.filters[plan])
    if !filters.isSuperset(of: wanted) || !filters.subtracting(wanted).isDisjoint(with: ended) {
      fail("the broker has the filters \(filters.sorted())")
    }
    var counts: [Alert: Int] = [:]
    var last: [String: Int] = [:]
    for alert in disk {
      let (word, number) = (alert.word, alert.number)
      if !unrepeated.contains(number), !isRolledBack {
        if counts[alert] == nil, last[word] ?? 0 > number {
          fail("\(word) \(number) comes behind \(last[word] ?? 0)")
        }
        last[word] = max(last[word] ?? 0, number)
      }
      counts[alert, default: 0] += 1
    }
    for (alert, count) in counts where count > broker.sendings[alert.number] ?? 0 {
      let sent = broker.sendings[alert.number] ?? 0
      fail("\(alert.word) \(alert.number) is on disk \(count) times, and was sent \(sent) times")
    }
  }

  /// Whether the broker forgot something, so that messages may come in another order.
  private var isRolledBack = false
  /// Filters that this bridge must have ended, since it has had them itself.
  private var ended: Set<String> = []
  /// Messages of QoS 0, which overtake those that wait.
  private var unrepeated: Set<Int> = []

  /// The alert of a line.
  private static func alert(_ line: ArraySlice<UInt8>) -> Alert? {
    let text = String(decoding: line.prefix(200), as: UTF8.self)
    guard let match = text.firstMatch(of: #/"alert":"([a-z]+) m([0-9]+)\./#) else { return nil }
    return Int(match.2).map { Alert(word: String(match.1), number: $0) }
  }

  /// The first words of the alerts of a message, as the rules have it.
  private func words(_ topic: String) -> [String] {
    var words: [String] = []
    for rule in Self.rules[plan] where SimulatedBroker.matches(rule.filter, topic) {
      words.append(String(rule.alert.prefix { $0 != " " }))
      if !rule.goesOn { break }
    }
    return words
  }

  private func publish() {
    for _ in 0..<random.pick([0, 0, 1, 1, 3, 40]) {
      published += 1
      let topic = random.pick(["a/1", "a/2", "b/x", "b/y/z", "c", "d"])
      let size = random.oneIn(40) ? 50_000 : random.oneIn(3) ? 3000 : 1
      let payload = Array("m\(published).".utf8) + [UInt8](repeating: 120, count: size)
      let quality = random.oneIn(6) ? 0 : 1
      if quality == 0 { unrepeated.insert(published) }
      let isKept = broker.publish(published, topic: topic, payload: payload, quality: quality)
      // QoS 0 promises nothing, and other rules may be in use when the message comes.
      if isKept, quality > 0 { wanted[published] = words(topic) }
    }
  }

  private func fault() {
    if random.oneIn(25) {
      note("the connection is cut")
      broker.cut()
    }
    if random.oneIn(60) { broker.save() }
    if random.oneIn(150) {
      let lost = broker.kill()
      isRolledBack = true
      // The broker remembers subscriptions again.
      ended = []
      note("the broker is killed, and forgets \(lost.count) messages")
      for number in lost { wanted[number] = nil }
    }
    if random.oneIn(80) { crash() }
    if random.oneIn(50) {
      ended.formUnion(Self.filters[plan])
      plan = 1 - plan
      ended.subtract(Self.filters[plan])
      note("plan \(plan)")
      takePlan()
      // Messages under way may meet either rules.
      for number in wanted.keys { wanted[number] = [] }
    }
    if random.oneIn(30) { broker.isSlow.toggle() }
    if !broker.isSlow || random.oneIn(5) { broker.sendLate() }
    if random.oneIn(40) {
      broker.refused = random.oneIn(2) ? [] : [random.pick(Self.filters[plan])]
    }
  }

  /// The program or the machine ends; files that are on disk stay.
  private func crash() {
    note("the bridge crashes")
    ended = []
    broker.cut()
    isLinked = false
    bridge = Bridge(settings, seed: random.next(), at: now)
    takePlan()
  }

  // MARK: - One turn of the loop

  private func turn() {
    if let dialAt = bridge.dialAt {
      if dialAt <= now { dial() }
    } else if !broker.isConnected {
      _ = bridge.closed(at: now)
      if case .some(.write) = try? bridge.next(at: now) { write() }
      end(needsPerson: false)
    } else {
      receive()
    }
    send()
    if let words = broker.violation { fail(words) }
    for number in broker.takeAcknowledged() { settle(number) }
    passTime()
  }

  private func dial() {
    bridge.dialed()
    guard !isFaulty || random.oneIn(2) else { return end(needsPerson: false) }
    broker.accept()
    isLinked = true
    var login = BrokerSession.Login()
    login.clientID.append("box")
    bridge.logIn(login, at: now)
    note("a connection")
  }

  private func end(needsPerson: Bool) {
    broker.cut()
    isLinked = false
    bridge.ended(needsPerson: needsPerson, at: now)
  }

  private func receive() {
    do throws(BrokerProblem) {
      try performSteps()
      var turns = 0
      while bridge.isUp, !broker.output.isEmpty, turns < random.upTo(12) {
        let room = bridge.makeRoom()
        let most = min(room.count, broker.output.count)
        let count = isFaulty ? 1 + random.upTo(most - 1) : most
        _ = room.update(fromContentsOf: broker.output[..<count])
        broker.output.removeFirst(count)
        bridge.take(count)
        try performSteps()
        turns += 1
      }
      bridge.flush()
      try performSteps()
    } catch {
      note("\(error)")
      if !(isFaulty && error == .silent) { fail("\(error)") }
      _ = bridge.failed(error)
      end(needsPerson: error.isConfiguration)
    }
  }

  private func performSteps() throws(BrokerProblem) {
    var steps = 0
    while let step = try bridge.next(at: now) {
      steps += 1
      guard steps < 10_000 else { return fail("steps without end: \(step)") }
      switch step {
      case .write: write()
      case .dropped(.tooLarge): fail("a notification had no room")
      default: break
      }
    }
  }

  private func write() {
    if isFaulty, random.oneIn(30) {
      note("the spool takes no file")
      return end(needsPerson: true)
    }
    let bytes = bridge.notifications.array
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
      guard let alert = Self.alert(line) else { return fail("a line without an alert") }
      disk.append(alert)
    }
    note("a file of \(bytes.count) bytes")
    if isFaulty, random.oneIn(60) { return crash() }
    bridge.wrote(at: now)
    if random.oneIn(2) { send() }
  }

  private func send() {
    while bridge.isUp, broker.isConnected, !bridge.output.isEmpty {
      let count = isFaulty ? 1 + random.upTo(bridge.output.count - 1) : bridge.output.count
      broker.take(Array(bridge.output.array.prefix(count)))
      bridge.written(count, at: now)
      if isFaulty, random.oneIn(4) { return }
    }
  }

  /// The broker has forgotten a message, which therefore must be on disk.
  private func settle(_ number: Int) {
    guard let words = wanted[number] else { return }
    wanted[number] = nil
    for word in words where !disk.contains(Alert(word: word, number: number)) {
      fail("\(word) \(number) is acknowledged, and not on disk")
    }
  }

  private func passTime() {
    let isMoving =
      isLinked && (!broker.output.isEmpty || broker.isConnected && !bridge.output.isEmpty)
    if isMoving || isLinked != broker.isConnected {
      idleTurns = 0
      return now = now + .milliseconds(UInt64(random.upTo(20)))
    }
    guard let wake = bridge.wakeAt else { return fail("the bridge sleeps for ever") }
    guard wake <= now else {
      idleTurns = 0
      let most = isFaulty ? now + .milliseconds(UInt64(random.upTo(3000))) : wake
      return now = min(wake, most)
    }
    idleTurns += 1
    if idleTurns > 100 { fail("the bridge does not sleep") }
  }
}
