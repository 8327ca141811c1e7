import Testing

@testable import TinyPush

/// One run of a world in which everything is drawn by the seed: the spool, the settings, the network and the gateway.
private struct Run {
  let seed: UInt64
  let world: World
  /// Numbers in the order of the spool, by what must become of them.
  private(set) var good: [Int] = []
  private(set) var refused: [Int: Status] = [:]
  private(set) var expired: Set<Int> = []
  private(set) var badTexts = 0
  /// Or it runs on, and files come meanwhile.
  private let isOnce: Bool
  private var hasUnansweredCuts = false
  private var random: Seeded
  private let number = Counter()

  private final class Counter {
    var value = 0
    func next() -> Int {
      value += 1
      return value
    }
  }

  init(seed: UInt64) {
    self.seed = seed
    random = Seeded(seed)
    var draw = Seeded(seed &+ 1000)
    isOnce = seed % 2 == 0
    world = World(seed: seed, once: isOnce) {
      $0.window = draw.pick([16, 16, 40, 500])
      $0.format = draw.oneIn(4) ? .enhanced : .items
      $0.confirm = draw.oneIn(4) ? .settle : .drain
      $0.linger = .milliseconds(draw.pick([0, 20, 100]))
    }
    fillSpool()
    setUpNetwork()
  }

  // MARK: - The spool

  private mutating func fillSpool() {
    for file in 0..<random.upTo(random.oneIn(5) ? 80 : 12) + 1 {
      var text = ""
      var numbers: [Int] = []
      for _ in 0..<random.upTo(random.oneIn(8) ? 150 : 3) + 1 {
        add(to: &text, &numbers)
        // Behind text that is not JSON, only a brace that begins a line is found.
        text += random.pick(["\n", "\n", "\n\n", "\r\n"])
      }
      put("\(1000 + file)", text, numbers)
    }
    world.readBytesMax = random.pick([.max, .max, 10_000, 333])
    var order = random
    world.shuffle = { $0.shuffled(using: &order) }
  }

  /// Before the start or while it runs.
  private mutating func put(_ name: String, _ text: String, _ numbers: [Int]) {
    guard !isOnce, random.oneIn(2) else {
      return world.put(name, text: text, numbers: numbers, tells: false)
    }
    world.after(UInt64(random.upTo(30_000))) { [world] in
      world.put(name, text: text, numbers: numbers)
    }
  }

  /// A notification for one or more, or something that is none.
  private mutating func add(to text: inout String, _ numbers: inout [Int]) {
    let number = number.next()
    switch random.upTo(19) {
    case 0:
      badTexts += 1
      text += random.pick([
        #"{"prority": 5}"#, "{bad\n", #"{"token": "12", "payload": {"aps": {"badge": 1}}}"#, "{]",
      ])
    case 1:
      expired.insert(number)
      text += World.notification(number, with: #", "expiration": 1600000000"#)
    case 2...3:
      let recipients = [number] + (0..<random.upTo(5)).map { _ in self.number.next() }
      for recipient in recipients { decide(recipient) }
      numbers += recipients
      let tokens = recipients.map { "\"\(World.token($0))\"" }.joined(separator: " , ")
      text += #"{"payload" : {"aps":{"badge":1}}, "tokens":[\#(tokens)]}"#
    default:
      decide(number)
      numbers.append(number)
      text += World.notification(
        number, alert: String(repeating: "x", count: random.upTo(random.oneIn(9) ? 1900 : 90)))
    }
  }

  private mutating func decide(_ number: Int) {
    if random.oneIn(25) {
      refused[number] = random.pick([
        .invalidToken, .invalidPayloadSize, .processingError, .unknown,
      ])
    } else {
      good.append(number)
    }
  }

  // MARK: - The network

  private mutating func setUpNetwork() {
    world.latency = random.pick([0, 1, 20, 300])
    world.answerDelay = random.pick([0, 0, 7, 900, 4000])
    world.answerPace = random.pick([0, 0, 3])
    world.barrierVerdict = random.oneIn(8) ? .ignore : .answer
    var trouble = random
    var attention = random
    let attentive = random.pick([1, 3, 1000])
    world.polls = { attention.oneIn(attentive) }
    // In a third of the runs the gateway always answers; in the others it may be gone at any byte, with or without words.
    let cuts = random.oneIn(3) ? 0 : random.upTo(20)
    hasUnansweredCuts = cuts > 0 || world.barrierVerdict == .ignore
    world.cutAfterBytes = { [places = (0...20).map { _ in random.upTo(40_000) }] connection in
      connection <= cuts && connection % 2 == 1 ? places[connection] : nil
    }
    world.canDial = { _ in !trouble.oneIn(5) }
    world.blocks = { _ in trouble.oneIn(20) ? UInt64(trouble.upTo(400)) : nil }
    let statuses = refused
    var shutdowns = random.oneIn(2) ? random.upTo(5) : 0
    var strange = cuts > 0 ? random.upTo(4) : 0
    world.verdict = { push in
      if let status = statuses[push.number] { return .refuse(status) }
      if shutdowns > 0, trouble.oneIn(60) {
        shutdowns -= 1
        return .shutdown
      }
      if strange > 0, trouble.oneIn(60) {
        strange -= 1
        return trouble.oneIn(2)
          ? .vanish
          : .say([UInt8](hex: trouble.pick(["08 08 00000000", "08 80 00000001", "15", "08"])))
      }
      return .accept
    }
  }

  // MARK: - What must hold

  func check() {
    if isOnce { world.runToEnd(within: .seconds(100_000)) } else { world.run(.seconds(20_000)) }
    func expect(_ isSo: Bool, _ what: String) {
      if !isSo { Issue.record("SEED=\(seed): \(what)") }
    }
    let accepted = world.accepted
    let lost = Set(good).subtracting(accepted)
    expect(lost.isEmpty, "never accepted: \(lost.sorted().prefix(10))")
    expect(
      Set(accepted) == Set(good), "accepted what it must not: \(Set(accepted).subtracting(good))")
    expect(world.waiting == [], "left in the spool: \(world.waiting)")
    let recorded = Dictionary(grouping: world.failures.filter { $0.number != nil }) { $0.number! }
    expect(Set(recorded.keys) == Set(refused.keys), "recorded: \(recorded.keys.sorted())")
    for (number, failures) in recorded {
      expect(
        failures.map(\.status) == [refused[number].map { Int($0.rawValue) }],
        "\(number) is recorded as \(failures.map(\.status))")
    }
    expect(
      world.failures.count { $0.number == nil } == badTexts, "\(badTexts) texts are bad")
    if !hasUnansweredCuts {
      expect(accepted.count == good.count, "accepted twice: \(accepted.count - good.count)")
    }
    let counters = world.courier.counters
    expect(counters.settled == UInt64(good.count), "settled \(counters.settled) of \(good.count)")
    expect(counters.refused == UInt64(refused.count), "refused \(counters.refused)")
    expect(counters.expired == UInt64(expired.count), "expired \(counters.expired)")
    expect(counters.failedCheck == UInt64(badTexts), "failed \(counters.failedCheck)")
    expect(counters.superseded == 0, "superseded \(counters.superseded)")
    expect(world.courier.isIdle, "not idle at the end")
  }
}

@Test(arguments: seeds)
func `whatever the gateway does, each notification arrives or is refused for its true reason`(
  seed: UInt64
) {
  Run(seed: seed).check()
}

/// Files come, change and go, nothing can be written now and then, and the connection is what it is: in the end the spool is
/// empty, and nothing left it that was not decided.
@Test(arguments: seeds)
func `a spool that changes and fails under the agent's hands is emptied all the same`(
  seed: UInt64
) {
  var random = Seeded(seed &+ 77_000)
  let world = World(seed: seed) {
    $0.window = random.pick([16, 40])
    $0.rescan = .seconds(30)
    $0.settle = .seconds(2)
  }
  var attention = Seeded(seed)
  let attentive = random.pick([1, 3, 1000])
  world.polls = { attention.oneIn(attentive) }
  world.readBytesMax = random.pick([.max, 500, 100])
  world.latency = random.pick([0, 5, 200])
  var trouble = random
  let calmAt: UInt64 = 60_000
  world.canDial = { _ in world.elapsed > calmAt || !trouble.oneIn(3) }
  world.verdict = { push in
    if push.number % 10 == 0 { return .refuse(.invalidPayloadSize) }
    if world.elapsed > calmAt { return .accept }
    return trouble.oneIn(30) ? .vanish : trouble.oneIn(30) ? .shutdown : .accept
  }
  var number = 0
  for _ in 0..<random.upTo(80) {
    let name = "a\(random.upTo(9))"
    var numbers: [Int] = []
    var text = ""
    for _ in 0...random.upTo(5) {
      number += 1
      numbers.append(number)
      text += World.notification(number) + random.pick(["\n", "\n", "\n{bad\n"])
    }
    let action = random.upTo(9)
    let tells = !random.oneIn(4)
    world.after(UInt64(random.upTo(Int(calmAt)))) { [text, numbers] in
      switch action {
      case 0...3: world.put(name, text: text, numbers: numbers, tells: tells)
      case 4: if world.new[name] != nil { world.append(name, text: text, numbers: numbers) }
      case 5: world.delete(name)
      case 6: world.canRecord.toggle()
      case 7: world.canRemove.toggle()
      case 8: if world.new[name] != nil { world.makeUnreadable(name, tells ? .later : nil) }
      default: world.cutAtOnce()
      }
    }
  }
  world.after(calmAt) {
    world.canRecord = true
    world.canRemove = true
    for name in world.waiting { world.makeUnreadable(name, nil) }
  }
  world.run(.seconds(1000))
  #expect(world.waiting == [], "SEED=\(seed)")
  #expect(world.courier.isIdle == true, "SEED=\(seed)")
}
