import Testing
import TinyPushHTTP2

@testable import Simulation
@testable import TinyPush

/// A world whose link is that of HTTP/2.
func http2World(
  usesProviderToken: Bool = false, once: Bool = false, streams: Int = 200, window: Int = 0
) -> (World, HTTP2Service) {
  let world = World(once: once) {
    $0.rules.pushProtocol = .http2
    if window > 0 { $0.window = window }
    $0.streams = streams
    $0.answerTimeout = .seconds(30)
  }
  world.ledger.isPrompt = true
  world.ledger.isAnswering = true
  let service = HTTP2Service(world.timeline, world.gateway, world.ledger)
  world.http2 = SimulatedHTTP2(
    world.settings, service, usesProviderToken: usesProviderToken, seed: 1)
  return (world, service)
}

extension World {
  /// The numbers of the notifications that the service has accepted.
  fileprivate var taken: Set<Int> { Set(gateway.acceptances.keys) }
}

/// What a service may do to one notification each time, and to no other.
private let poisons: [(name: String, response: HTTP2Service.Response, isRecorded: Bool)] = [
  ("status 500", .answer(500, #"{"reason":"InternalServerError"}"#), false),
  ("status 503", .answer(503, #"{"reason":"ServiceUnavailable"}"#, retryAfter: 999_999_999), false),
  ("a proxy's status 502", .answer(502, "<html>Bad gateway</html>"), false),
  ("a proxy's status 408", .answer(408, ""), false),
  ("a reset", .reset(2), false),
  ("a refused stream", .reset(7), false),
  ("a goodbye by status 503", .answer(503, #"{"reason":"Shutdown"}"#), false),
  ("a goodbye that refuses the request", .leave, false),
  ("silence", .silence, false),
  ("the end of the connection", .cut, true),
  ("an answer that violates HTTP/2", .violate, true),
  ("status 401", .answer(401, ""), true),
  ("status 403", .answer(403, #"{"reason":"Forbidden"}"#), true),
  ("status 404", .answer(404, #"{"reason":"BadPath"}"#), true),
  ("status 405", .answer(405, #"{"reason":"MethodNotAllowed"}"#), true),
]

@Test(arguments: poisons.indices, [false, true])
func `a notification that the service never takes holds up no other`(
  cause: Int, usesProviderToken: Bool
) {
  let (world, service) = http2World(usesProviderToken: usesProviderToken)
  let poison = poisons[cause]
  service.respond = { $0 == 1 ? (poison.response, 1) : (.accept, 1) }
  for number in 1...100 { world.put("\(10_000 + number)", number) }
  world.run(.seconds(60))
  #expect(world.taken == Set(2...100), "\(poison.name)")
  // Later alerts come one by one.
  for number in 101...120 {
    world.put("\(10_000 + number)", number)
    world.run(.seconds(60))
    #expect(world.taken.contains(number), "\(poison.name)")
  }
  #expect(world.recorded == (poison.isRecorded ? [1] : []), "\(poison.name)")
  #expect(world.waiting == (poison.isRecorded ? [] : ["10001"]), "\(poison.name)")
}

@Test(arguments: poisons.indices)
func `two notifications that the service never takes hold up no other`(cause: Int) {
  let (world, service) = http2World()
  let poison = poisons[cause]
  service.respond = { [50, 51].contains($0) ? (poison.response, 1) : (.accept, 1) }
  for number in 1...100 { world.put("\(10_000 + number)", number) }
  world.run(.seconds(100))
  #expect(
    world.taken == Set(1...100).subtracting([50, 51]),
    "\(poison.name) \(Set(1...100).subtracting(world.taken).sorted()) \(service.connections)")
  world.put("20000", 101)
  world.run(.seconds(40))
  #expect(world.taken.contains(101), "\(poison.name)")
}

@Test func `a notification that ends connections is recorded after three, and others are not`() {
  let (world, service) = http2World()
  service.respond = { $0 == 1 ? (.cut, 1) : (.accept, 1) }
  for number in 1...100 { world.put("\(10_000 + number)", number) }
  for number in 101...110 {
    world.run(.seconds(20))
    world.put("\(10_000 + number)", number)
  }
  world.run(.seconds(20))
  #expect(world.recorded == [1])
  #expect(world.taken == Set(2...110))
  // It ends three connections alone, and some before these in the search for it.
  #expect(service.connections <= 8)
}

@Test func `a notification that is alone with an outage is not recorded`() {
  let (world, service) = http2World()
  world.put("10001", 1)
  world.run(.seconds(10))
  service.respond = { _ in (.cut, 1) }
  world.put("10002", 2)
  world.run(.seconds(3600))
  #expect(world.recorded == [])
  service.respond = { _ in (.accept, 1) }
  world.run(.seconds(600))
  #expect(world.taken == [1, 2])
}

// MARK: - Refused configurations

@Test func `a key that is revoked later refuses the configuration, and at most one alert`() {
  let (world, service) = http2World()
  for number in 1...10 { world.put("\(10_000 + number)", number) }
  world.run(.seconds(10))
  #expect(world.taken == Set(1...10))
  service.respond = { _ in (.answer(403, #"{"reason":"Forbidden"}"#), 1) }
  for number in 11...30 { world.put("\(10_000 + number)", number) }
  world.run(.seconds(4 * 3600))
  #expect(world.recorded == [])
  #expect(service.requests < 200)
  #expect(world.reports.contains { if case .configurationRefused = $0 { true } else { false } })
  service.respond = { _ in (.accept, 1) }
  world.run(.seconds(2 * 3600))
  #expect(world.taken == Set(1...30))
}

@Test func `a foreign notification that waits alone is refused, and the configuration is not`() {
  let (world, service) = http2World()
  service.respond = {
    $0 == 1 ? (.answer(400, #"{"reason":"TopicDisallowed"}"#), 1) : (.accept, 1)
  }
  for number in 1...3 { world.put("\(10_000 + number)", number) }
  world.run(.seconds(120))
  #expect(world.recorded == [1])
  #expect(world.taken == [2, 3])
  #expect(!world.reports.contains { if case .configurationRefused = $0 { true } else { false } })
}

// MARK: - Ill connections and services

@Test func `alerts that are refused together hold up no other`() {
  let (world, service) = http2World()
  service.respond = { $0 < 10 ? (.answer(403, #"{"reason":"Forbidden"}"#), 1) : (.accept, 1) }
  world.put("a", 20)
  world.after(1000) { for number in 1...9 { world.put("b\(number)", number) } }
  world.after(1500) { for number in 10...12 { world.put("c\(number)", number) } }
  world.run(.seconds(20))
  #expect(world.taken == [10, 11, 12, 20])
}

@Test func `a connection that answers 500 to everyone is left for another`() {
  let (world, service) = http2World()
  service.respond = { [unowned service] _ in
    service.connections == 1
      ? (.answer(500, #"{"reason":"InternalServerError"}"#), 1) : (.accept, 1)
  }
  for number in 1...100 { world.put("\(10_000 + number)", number) }
  world.run(.seconds(10))
  #expect(world.taken == Set(1...100))
  #expect(service.connections == 2)
}

@Test func `answers that are missed together end no connection that answers others`() {
  let (world, service) = http2World()
  var sent: [Int: Int] = [:]
  service.respond = {
    sent[$0, default: 0] += 1
    return ((51...53).contains($0) && sent[$0] == 1 ? .silence : .accept, 1)
  }
  for number in 1...100 { world.put("\(10_000 + number)", number) }
  world.run(.seconds(100))
  #expect(world.taken == Set(1...100))
  #expect(service.connections == 1)
}

@Test func `a service that allows no request for long is left for another connection`() {
  let (world, service) = http2World()
  service.streamsMax = { [unowned service] in service.connections == 1 ? (0, 0) : (100, 100) }
  world.put("10001", 1)
  world.run(.seconds(100))
  #expect(world.taken == [1])
  #expect(service.connections == 2)
}

@Test func `a service that refuses all devices for a time is asked seldom`() {
  let (world, service) = http2World()
  service.respond = { _ in (.answer(429, #"{"reason":"TooManyRequests"}"#), 1) }
  for number in 1...2000 { world.put("\(10_000 + number)", number) }
  world.run(.seconds(3600))
  #expect(service.requests < 10_000)
  service.respond = { _ in (.accept, 1) }
  world.run(.seconds(1800))
  #expect(world.taken == Set(1...2000))
}

@Test func `a device for which the service takes no more fills no place that others need`() {
  let (world, service) = http2World(window: 16)
  world.ledger.putsOff = true
  service.respond = {
    $0 == 1 ? (.answer(429, #"{"reason":"TooManyRequests"}"#), 1) : (.accept, 1)
  }
  world.put("9999", 2)
  world.run(.seconds(10))
  let serials = 1...300
  for serial in serials {
    world.put(
      "\(10_000 + serial)",
      #"{"token": "\#(World.token(1))", "payload": {"aps": {"alert": "Tank low"}, "n":\#(serial)}}"#,
      items: [Item(number: World.number(1, serial: serial))], tells: true)
  }
  for number in 501...510 {
    world.put("\(10_000 + number)", number)
    world.run(.seconds(300))
    #expect(world.taken.contains(number))
  }
  service.respond = { _ in (.accept, 1) }
  world.run(.seconds(2 * 3600))
  #expect(world.taken.isSuperset(of: serials.map { World.number(1, serial: $0) }))
}

@Test func `devices that are throttled in turn hold up no other`() {
  let (world, service) = http2World()
  world.ledger.putsOff = true
  service.respond = {
    $0 < 5 ? (.answer(429, #"{"reason":"TooManyRequests"}"#, retryAfter: 600), 1) : (.accept, 1)
  }
  for serial in 1...20 {
    for token in 1...4 {
      world.put(
        "\(10_000 + 10 * serial + token)",
        #"{"token": "\#(World.token(token))", "payload": {"aps": {"alert": "Tank low"}, "n":\#(serial)}}"#,
        items: [Item(number: World.number(token, serial: serial))], tells: true)
    }
  }
  world.run(.seconds(5))
  world.put("z", 9)
  world.run(.seconds(5))
  #expect(world.taken == [9])
}

@Test func `a lone alert leaves a connection that answers 500 to everyone`() {
  let (world, service) = http2World()
  service.respond = { [unowned service] _ in
    (service.connections == 1 ? .answer(500, "") : .accept, 1)
  }
  world.put("10001", 1)
  world.run(.seconds(10))
  #expect(world.taken == [1])
}

@Test func `an ill service is asked seldom, and at least every 15 minutes`() {
  let (world, service) = http2World()
  var asked: [Instant] = []
  service.respond = { _ in
    asked.append(world.timeline.now)
    return (.answer(503, #"{"reason":"ServiceUnavailable"}"#, retryAfter: 999_999_999), 1)
  }
  for number in 1...1000 { world.put("\(10_000 + number)", number) }
  world.run(.seconds(6 * 3600))
  let pauses = zip(asked.dropFirst(), asked).map { $1.until($0).milliseconds }
  #expect(pauses.max()! <= 901_000)
  #expect(asked.count < 400)
  service.respond = { _ in (.accept, 1) }
  world.run(.seconds(1000))
  #expect(world.taken == Set(1...1000))
}

@Test func `a wait of 30 years for one notification ends after 15 minutes, and holds up no other`()
{
  let (world, service) = http2World()
  var count = 0
  service.respond = {
    guard $0 == 1 else { return (.accept, 1) }
    count += 1
    return count == 1 ? (.answer(503, "", retryAfter: 999_999_999), 1) : (.accept, 1)
  }
  for number in 1...3 { world.put("\(10_000 + number)", number) }
  world.run(.seconds(10))
  #expect(world.taken == [2, 3])
  world.run(.seconds(900))
  #expect(world.taken == [1, 2, 3])
}

@Test func `alerts for one device that are refused together wait as long as one`() {
  let (world, service) = http2World()
  let start = world.timeline.now
  service.respond = { _ in
    start.until(world.timeline.now) < .seconds(3)
      ? (.answer(429, #"{"reason":"TooManyRequests"}"#, retryAfter: 1), 20) : (.accept, 20)
  }
  let numbers = (1...50).map { World.number(7, serial: $0) }
  for number in numbers {
    world.put(
      "\(number)",
      text:
        #"{"token":"\#(World.token(7))","payload":{"aps":{"badge":1},"n":\#(World.serial(of: number))}}"#,
      numbers: [number])
  }
  world.run(.seconds(10))
  #expect(world.taken == Set(numbers))
  #expect(service.requests < 5 * numbers.count)
}

@Test func `too many provider tokens count as failures in a row, which end a run once`() {
  let (world, service) = http2World(usesProviderToken: true, once: true)
  service.respond = { _ in (.answer(429, #"{"reason":"TooManyProviderTokenUpdates"}"#), 1) }
  for number in 1...3 { world.put("\(10_000 + number)", number) }
  world.run(.seconds(3600))
  // The agent gives up after ten failures in a row.
  let failures = world.http2!.failures
  #expect(failures >= 10)
  #expect(world.waiting.count == 3)
}

// MARK: - Connections

@Test func `a server that cuts each connection after 100 requests gets no alert many times`() {
  let (world, service) = http2World()
  var sent: [Int: Int] = [:]
  var seen: [Int: Int] = [:]
  service.respond = { [unowned service] token in
    sent[token, default: 0] += 1
    seen[service.connections, default: 0] += 1
    // It answers slowly, so that the window is full when the connection ends.
    return seen[service.connections]! >= 100 ? (.cut, 0) : (.accept, 50)
  }
  for number in 1...2000 { world.put("\(10_000 + number)", number) }
  world.run(.seconds(600))
  #expect(world.taken == Set(1...2000))
  #expect(sent.values.max()! <= 6)
  #expect(service.requests < 5000)
}

@Test(arguments: [1, 2, 3, 10])
func `a server that ends each connection after some requests refuses no notification`(max: Int) {
  let (world, service) = http2World()
  var (connection, requests) = (0, 0)
  service.respond = { [unowned service] _ in
    if connection != service.connections { (connection, requests) = (service.connections, 0) }
    requests += 1
    return requests > max ? (.cut, 1) : (.accept, 1)
  }
  for number in 1...100 { world.put("\(10_000 + number)", number) }
  world.run(.seconds(3600))
  #expect(world.recorded == [])
  #expect(world.taken == Set(1...100))
}

@Test func `connections that each deliver something are made seldom`() {
  let (world, service) = http2World()
  // The service ends each connection in order, after one request.
  service.respond = { _ in (.leaveGently, 1) }
  for number in 1...100 { world.put("\(10_000 + number)", number) }
  world.run(.seconds(60))
  #expect(service.connections <= 20)
  #expect(service.connections >= 8)
}

// MARK: - Provider tokens

@Test func `what was refused goes again at once when the clock is set`() {
  let (world, service) = http2World(usesProviderToken: true)
  var isWrong = true
  service.respond = { _ in
    isWrong ? (.answer(403, #"{"reason":"InvalidProviderToken"}"#), 1) : (.accept, 1)
  }
  for number in 1...3 { world.put("\(10_000 + number)", number) }
  world.after(1_000_000) {
    isWrong = false
    service.waits = [:]
    world.courier.clockWasSet()
    world.http2?.dialAtOnce()
  }
  world.run(.seconds(1010))
  #expect(world.taken == [1, 2, 3])
}

@Test(arguments: ["InvalidProviderToken", "ExpiredProviderToken"])
func `a refused provider token is tried until the next one is due`(reason: String) {
  let (world, service) = http2World(usesProviderToken: true)
  service.respond = { _ in
    service.issues.count == 1
      ? (.answer(403, #"{"reason":"\#(reason)"}"#), 1) : (.accept, 1)
  }
  for number in 1...3 { world.put("\(10_000 + number)", number) }
  world.run(.seconds(7200))
  #expect(world.taken == [1, 2, 3])
  #expect(service.issues.count == 2)
  #expect(world.recorded == [])
  #expect(world.reports.contains { if case .configurationRefused = $0 { true } else { false } })
}

// MARK: - Answers

@Test(arguments: [
  "BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken", "UnrelatedKeyIdInToken",
])
func `a signing key that may not be used is a refused configuration`(reason: String) {
  let (world, service) = http2World(usesProviderToken: true)
  service.respond = { _ in (.answer(403, #"{"reason":"\#(reason)"}"#), 1) }
  world.put("10001", 1)
  world.run(.seconds(10))
  let refusals = world.reports.compactMap {
    if case .configurationRefused(let rejection) = $0 { rejection } else { nil }
  }
  let expected: Rejection.Reason =
    reason.hasPrefix("Bad") ? .badEnvironmentKeyIDInToken : .unrelatedKeyIDInToken
  #expect(refusals.map(\.reason) == [expected])
}

@Test func `an idle timeout is tried again on another connection`() {
  let (world, service) = http2World()
  service.respond = { [unowned service] _ in
    service.connections == 1 ? (.answer(400, #"{"reason":"IdleTimeout"}"#), 1) : (.accept, 1)
  }
  world.put("10001", 1)
  world.run(.seconds(10))
  #expect(world.taken == [1])
}

@Test(arguments: [
  (#"{"reason":"Unheard"}"#, "Unheard"), ("<html>Bad gateway</html>", "<html>Bad gateway</html>"),
  ("", ""), (#"{"reason":""}"#, #"{"reason":""}"#),
])
func `an answer that is not documented is reported with its status and text`(
  body: String, text: String
) {
  let (world, service) = http2World()
  service.respond = { _ in (.answer(418, body), 1) }
  world.put("10001", 1)
  world.run(.seconds(10))
  let told: [String] = world.reports.compactMap {
    guard case .unknownAnswer(let status, let text) = $0 else { return nil }
    let bytes = text.indices.map { text[$0] }.prefix { $0 != 0 }
    return "\(status) " + String(decoding: bytes, as: UTF8.self)
  }
  #expect(told == ["418 " + text])
  #expect(world.recorded == [1])
}

// MARK: - Collapse IDs

@Test func `an older notification that comes back from later replaces no newer one that failed`() {
  let (world, service) = http2World()
  func put(_ name: String, serial: Int, to tokens: [Int], _ members: String) {
    let words = tokens.map { "\"\(World.token($0))\"" }.joined(separator: ", ")
    let items = tokens.map {
      Item(number: World.number($0, serial: serial), collapseKey: "tank \(tokens) []")
    }
    world.put(
      name,
      #"{"tokens": [\#(words)], "collapse-id": "tank", "payload": {"aps": {"badge": 1}, "n":\#(serial)}\#(members)}"#,
      items: items, tells: true)
  }
  put("a", serial: 1, to: [1, 2], #", "not-before": 1700000100"#)
  world.run(.seconds(90))
  service.respond = { _ in (.answer(500, "{}"), 1) }
  put("b", serial: 2, to: [1], "")
  world.run(.seconds(9))
  service.respond = { _ in (.accept, 1) }
  world.run(.seconds(4))
  let older = Set([1, 2].map { World.number($0, serial: 1) })
  #expect(world.taken == older)
  world.run(.seconds(600))
  #expect(world.taken == older.union([World.number(1, serial: 2)]))
}
