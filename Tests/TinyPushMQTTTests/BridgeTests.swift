import Testing
import TinyPush
import TinyPushMQTT
import TinyPushRules

/// A bridge and a broker with a perfect connection between them.
private final class Pair {
  var bridge: Bridge
  var broker = SimulatedBroker()
  var now = Instant(milliseconds: 1000)

  /// - Parameter rules: the alerts of the rules for all topics; each rule but the last goes on.
  init(_ rules: [String], filters: [String]) throws {
    bridge = Bridge(BrokerSession.Settings(), seed: 1, at: now)
    try take(rules, filters: filters)
    connect()
  }

  /// Begins a connection, also after another one has ended.
  func connect() {
    bridge.dialed()
    broker.accept()
    var login = BrokerSession.Login()
    login.clientID.append("box")
    bridge.logIn(login, at: now)
  }

  /// Takes a rule for a topic whose silence rings.
  func watch(_ topic: String, seconds: Int) throws {
    var rules = MessageRules(of: .topics)
    try rules.begin(Array(topic.utf8).span)
    try rules.set(.silentFor, to: Array("\(seconds)".utf8).span)
    try rules.set(.alert, to: Array("\(topic) silent".utf8).span)
    var filters = FilterList()
    _ = filters.append(Array("#".utf8).span)
    bridge.replace(&rules, &filters, at: now)
  }

  func take(_ alerts: [String], filters: [String]) throws {
    var rules = MessageRules(of: .topics)
    for (index, alert) in alerts.enumerated() {
      try rules.begin(Array("#".utf8).span)
      try rules.set(.alert, to: Array(alert.utf8).span)
      try rules.set(.data, to: Array("all = {payload}".utf8).span)
      if index < alerts.count - 1 { try rules.set(.goOn, to: Array("yes".utf8).span) }
    }
    var list = FilterList()
    for filter in filters { _ = list.append(Array(filter.utf8).span) }
    bridge.replace(&rules, &list, at: now)
  }

  func publish(_ payload: [UInt8], quality: Int) {
    let isTaken = broker.publish(1, topic: "a", payload: payload, quality: quality)
    #expect(isTaken)
  }

  func next() throws -> Bridge.Step? { try bridge.next(at: now) }

  func closed() -> BrokerSession.Version? { bridge.closed(at: now) }

  /// Gives the bridge what the broker has written.
  func read() {
    receive(broker.output)
    broker.output = []
  }

  /// The answer of a broker that accepts the connection.
  static let accepted: [UInt8] = [0x20, 3, 0, 0, 0]

  /// Takes what the bridge writes, as text.
  func sent() -> String {
    let bytes = bridge.output.array
    bridge.written(bytes.count, at: now)
    return String(decoding: bytes, as: UTF8.self)
  }

  func receive(_ bytes: [UInt8]) {
    let room = bridge.makeRoom()
    for (index, byte) in bytes.enumerated() { room[index] = byte }
    bridge.take(bytes.count)
  }

  /// Connects another box, which takes over the session.
  func beginTakeover() throws {
    broker.cut()
    bridge = Bridge(BrokerSession.Settings(), seed: 2, isTakeover: true, at: now)
    try take(["{payload}"], filters: ["#"])
    connect()
    let bytes = bridge.output.array
    broker.take(bytes)
    bridge.written(bytes.count, at: now)
  }

  /// Exchanges bytes until both are silent; returns the steps, and the bytes of each file.
  func exchange() throws -> (steps: [Bridge.Step], files: [Int]) {
    var (steps, files): ([Bridge.Step], [Int]) = ([], [])
    var hasMore = true
    while hasMore {
      hasMore = false
      let room = bridge.makeRoom()
      let count = min(room.count, broker.output.count)
      for index in 0..<count { room[index] = broker.output[index] }
      broker.output.removeFirst(count)
      if count > 0 { bridge.take(count) }
      if broker.output.isEmpty { bridge.flush() }
      while let step = try bridge.next(at: now) {
        steps.append(step)
        guard step == .write else { continue }
        files.append(bridge.notifications.count)
        let early = broker.takeAcknowledged()
        #expect(early == [])
        bridge.wrote(at: now)
      }
      let bytes = bridge.output.array
      broker.take(bytes)
      bridge.written(bytes.count, at: now)
      hasMore = count > 0 || !bytes.isEmpty
    }
    return (steps, files)
  }
}

@Test func `a message with many large notifications takes several files, and none is dropped`()
  throws
{
  let pair = try Pair((1...9).map { "\($0) {payload}" }, filters: ["#"])
  _ = try pair.exchange()
  pair.publish([UInt8](repeating: 120, count: 50_000), quality: 1)
  let (steps, files) = try pair.exchange()
  #expect(steps == [.write, .write])
  #expect(files.count == 2)
  #expect(files.reduce(0, +) > 9 * 50_000)
  let acknowledged = pair.broker.takeAcknowledged()
  #expect(acknowledged == [1])
  #expect(pair.bridge.counts.notifications == 9)
}

@Test func `a refused subscription is asked for again, and its acceptance is told`() throws {
  let pair = try Pair(["{payload}"], filters: ["a", "b"])
  pair.broker.refused = ["b"]
  let (steps, _) = try pair.exchange()
  #expect(
    steps == [
      .connected(hasSession: false, isLost: false),
      .accepted(filter: 0, quality: 1, hasRefused: false), .refused(filter: 1, reason: 0x87),
      .subscribed,
    ])
  #expect(pair.bridge.wakeAt == pair.now + .seconds(120), "a ping comes first")
  pair.broker.refused = []
  pair.now = pair.now + .seconds(299)
  #expect(try pair.exchange().steps == [])
  #expect(pair.bridge.wakeAt == pair.now + .seconds(1))
  pair.now = pair.now + .seconds(1)
  #expect(
    try pair.exchange().steps == [
      .accepted(filter: 1, quality: 1, hasRefused: false), .subscribed,
    ])
  #expect(pair.broker.session?.filters == ["a", "b"])
}

@Test func `a broker that ends connections with a refusal is asked for the others first`() throws {
  let pair = try Pair(["{payload}"], filters: ["a", "b", "c"])
  _ = pair.sent()
  pair.receive(Pair.accepted)
  #expect(try pair.next() == .connected(hasSession: false, isLost: false))
  #expect(try pair.next() == nil)
  #expect(pair.sent().filter { "abc".contains($0) } == "abc")
  pair.receive([0x90, 4, 0, 1, 0, 1, 0x90, 4, 0, 2, 0, 0x87])
  #expect(try pair.next() == .accepted(filter: 0, quality: 1, hasRefused: false))
  #expect(try pair.next() == .refused(filter: 1, reason: 0x87))
  #expect(pair.closed() == nil)
  pair.bridge.ended(needsPerson: false, at: pair.now)
  pair.bridge.dialed()
  pair.bridge.logIn(BrokerSession.Login(), at: pair.now)
  _ = pair.sent()
  pair.now = pair.now + .seconds(300)
  pair.receive(Pair.accepted)
  #expect(try pair.next() == .connected(hasSession: false, isLost: true))
  #expect(try pair.next() == nil)
  #expect(pair.sent().filter { "abc".contains($0) } == "ac")
  pair.receive([0x90, 4, 0, 4, 0, 1, 0x90, 4, 0, 5, 0, 1])
  #expect(try pair.next() == .accepted(filter: 0, quality: 1, hasRefused: true))
  #expect(try pair.next() == .accepted(filter: 2, quality: 1, hasRefused: true))
  #expect(try pair.next() == .subscribed)
  #expect(try pair.next() == nil)
  #expect(pair.sent().filter { "abc".contains($0) } == "b")
}

@Test func `a notification that is too large lets the rules behind its rule make theirs`() throws {
  let pair = try Pair(["{payload}"], filters: ["#"])
  var rules = MessageRules(of: .topics)
  try rules.begin(Array("#".utf8).span)
  try rules.set(.data, to: Array("all = {payload}".utf8).span)
  try rules.set(.goOn, to: Array("yes".utf8).span)
  try rules.begin(Array("#".utf8).span)
  try rules.set(.alert, to: Array("Motion".utf8).span)
  var filters = FilterList()
  _ = filters.append(Array("#".utf8).span)
  pair.bridge.replace(&rules, &filters, at: pair.now)
  _ = try pair.exchange()
  pair.publish([UInt8](repeating: 120, count: 70_000), quality: 1)
  let (steps, files) = try pair.exchange()
  #expect(steps == [.dropped(.tooLarge), .write])
  #expect(files.count == 1)
  let acknowledged = pair.broker.takeAcknowledged()
  #expect(acknowledged == [1])
}

@Test func `silence counts once all was read, and not while the machine is suspended`() throws {
  let pair = try Pair(["{payload}"], filters: ["#"])
  try pair.watch("pump", seconds: 100)
  _ = try pair.exchange()
  pair.now = pair.now + .seconds(1090)
  pair.bridge.slept(.seconds(1000))
  pair.bridge.flush()
  #expect(try pair.next() == nil)
  pair.now = pair.now + .seconds(10)
  #expect(try pair.next() == nil)
  pair.bridge.flush()
  // The broker must answer first.
  #expect(try pair.next() == nil)
  let (steps, _) = try pair.exchange()
  #expect(steps == [.silent(rule: 0), .write])
}

@Test func `no topic counts as silent while the connection hangs`() throws {
  let pair = try Pair(["{payload}"], filters: ["#"])
  try pair.watch("pump", seconds: 100)
  _ = try pair.exchange()
  // The broker's machine loses its power.
  pair.now = pair.now + .seconds(100)
  pair.bridge.flush()
  #expect(try pair.next() == nil)
  #expect(pair.bridge.wakeAt == pair.now + .seconds(30))
  pair.now = pair.now + .seconds(30)
  #expect(throws: BrokerProblem.silent) { try pair.next() }
  pair.broker.cut()
  pair.bridge.ended(needsPerson: false, at: pair.now)
  // The time goes on with the next connection.
  pair.connect()
  _ = try pair.exchange()
  pair.now = pair.now + .seconds(99)
  pair.bridge.flush()
  #expect(try pair.next() == nil)
  pair.now = pair.now + .seconds(1)
  let (steps, _) = try pair.exchange()
  #expect(steps == [.silent(rule: 0), .write])
}

@Test func `the end of a subscription is told again on the next connection`() throws {
  let pair = try Pair(["{payload}"], filters: ["a", "b"])
  _ = try pair.exchange()
  try pair.take(["{payload}"], filters: ["b"])
  // The broker does not see the packet.
  _ = try pair.bridge.next(at: pair.now)
  pair.broker.cut()
  pair.bridge.ended(needsPerson: false, at: pair.now)
  #expect(pair.broker.session?.filters == ["a", "b"])
  pair.connect()
  _ = try pair.exchange()
  #expect(pair.broker.session?.filters == ["b"])
}

@Test func `a subscription that is wanted again is not ended in between`() throws {
  let pair = try Pair(["{payload}"], filters: ["a", "b"])
  try pair.take(["{payload}"], filters: ["b"])
  try pair.take(["{payload}"], filters: ["a", "b"])
  _ = try pair.exchange()
  #expect(pair.broker.ended == [])
  #expect(pair.broker.session?.filters == ["a", "b"])
  try pair.take(["{payload}"], filters: ["b"])
  _ = try pair.exchange()
  #expect(pair.broker.ended == ["a"])
  #expect(pair.broker.session?.filters == ["b"])
}

@Test func `a new subscription begins before an old one ends`() throws {
  let pair = try Pair(["{payload}"], filters: ["a"])
  _ = try pair.exchange()
  try pair.take(["{payload}"], filters: ["#"])
  _ = try pair.bridge.next(at: pair.now)
  let sent = pair.bridge.output.array
  // SUBSCRIBE and UNSUBSCRIBE.
  #expect(sent.first == 0x82 && sent.contains(0xA2))
}

@Test(arguments: [[0xE0, 0x01, 0x8E], [0xF0, 0x00]], [0, 1])
func `a message is written although the broker's next packet ends the connection`(
  packet: [UInt8], quality: Int
) throws {
  let pair = try Pair(["{payload}"], filters: ["#"])
  _ = try pair.exchange()
  pair.publish([120], quality: quality)
  pair.broker.output += packet
  pair.read()
  #expect(try pair.next() == .write)
  pair.bridge.wrote(at: pair.now)
  #expect(throws: BrokerProblem.self) { try pair.next() }
}

@Test func `a broker that has spoken MQTT 5 is not asked for MQTT 3.1.1 while it starts`() throws {
  let pair = try Pair(["{payload}"], filters: ["#"])
  #expect(pair.closed() == .v3)
  #expect(pair.closed() == .v5)
  _ = try pair.exchange()
  pair.bridge.ended(needsPerson: false, at: pair.now)
  for _ in 0..<3 {
    pair.bridge.dialed()
    pair.bridge.logIn(BrokerSession.Login(), at: pair.now)
    #expect(pair.closed() == nil)
    #expect(pair.bridge.failed(.silent) == nil)
  }
  #expect(pair.bridge.failed(.refused(0x84)) == .v3)
}

@Test func `a broker that was starting is asked for MQTT 5 again at the next connection`() throws {
  let pair = try Pair(["{payload}"], filters: ["#"])
  #expect(pair.closed() == .v3)
  _ = try pair.exchange()
  pair.bridge.ended(needsPerson: false, at: pair.now)
  #expect(pair.bridge.version == .v5)
  pair.bridge.dialed()
  pair.bridge.logIn(BrokerSession.Login(), at: pair.now)
  #expect(pair.closed() == .v3)
}

@Test func `a broker that lacks MQTT 5 is not asked for it again`() throws {
  let pair = try Pair(["{payload}"], filters: ["#"])
  #expect(pair.bridge.failed(.refused(0x84)) == .v3)
  _ = try pair.exchange()
  pair.bridge.ended(needsPerson: false, at: pair.now)
  #expect(pair.bridge.version == .v3)
}

@Test func `a takeover goes on after a file that took long to write`() throws {
  let pair = try Pair(["{payload}"], filters: ["#"])
  _ = try pair.exchange()
  pair.publish([120], quality: 1)
  try pair.beginTakeover()
  pair.read()
  #expect(try pair.next() == .connected(hasSession: true, isLost: false))
  #expect(try pair.next() == nil)
  pair.bridge.flush()
  #expect(try pair.next() == .write)
  pair.now = pair.now + .seconds(4)
  pair.bridge.wrote(at: pair.now)
  #expect(try pair.next() == nil)
  pair.now = pair.now + .seconds(3)
  #expect(try pair.next() == .tookOver(hasSession: true))
}

@Test func `a takeover goes on while a message arrives`() throws {
  let pair = try Pair(["{payload}"], filters: ["#"])
  _ = try pair.exchange()
  pair.publish([UInt8](repeating: 120, count: 1000), quality: 1)
  try pair.beginTakeover()
  let bytes = pair.broker.output
  pair.receive(Array(bytes.prefix(100)))
  #expect(try pair.next() == .connected(hasSession: true, isLost: false))
  for part in [100..<200, 200..<300] {
    pair.now = pair.now + .seconds(2)
    pair.receive(Array(bytes[part]))
    #expect(try pair.next() == nil)
  }
  pair.now = pair.now + .seconds(3)
  #expect(try pair.next() == .tookOver(hasSession: true))
}

@Test func `subscriptions that the broker offers none of count as answered`() throws {
  let pair = try Pair(["{payload}"], filters: ["$share/box/#"])
  pair.receive([0x20, 0x05, 0, 0, 2, 0x2A, 0])
  #expect(try pair.next() == .connected(hasSession: false, isLost: false))
  #expect(try pair.next() == .refused(filter: 0, reason: 0x9E))
  #expect(try pair.next() == .subscribed)
  #expect(try pair.next() == nil)
}

@Test(arguments: [0, 1])
func `a message is written although the connection has ended`(quality: Int) throws {
  let pair = try Pair(["{payload}"], filters: ["#"])
  _ = try pair.exchange()
  pair.publish([120], quality: quality)
  pair.read()
  #expect(try pair.next() == nil)
  #expect(pair.closed() == nil)
  #expect(try pair.next() == .write)
}
