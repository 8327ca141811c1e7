import Testing

@testable import Simulation
@testable import TinyPush

/// Runs a test with a link for devices and links for the services of browsers.
///
/// Tokens that three divides are devices; the others are browsers, of which two with neighbouring
/// numbers share one of twelve services: `h0.example` to `h11.example`.
private func withLanes(
  mood: @escaping (_ host: String) -> LanesLink.Mood = { _ in .well },
  respond: @escaping (_ token: Int) -> ScatteredLink.Response = { _ in .accept },
  after: @escaping (_ token: Int) -> UInt64 = { _ in 10 },
  settings change: (inout Courier.Settings) -> Void = { _ in }, _ test: (World) -> Void
) {
  World.$hasBrowsers.withValue(true) {
    let world = World {
      $0.hasWebPush = true
      change(&$0)
    }
    world.ledger.hasLanes = true
    world.lanes = LanesLink(world.ledger, world.gateway, limit: 8, mood: mood) {
      (respond($0), after: after($0))
    }
    test(world)
    world.lanes = nil
  }
}

/// What services do, which a test changes while the world runs.
private final class Moods {
  private var moods: [String: LanesLink.Mood] = [:]

  subscript(host: String) -> LanesLink.Mood {
    get { moods[host] ?? .well }
    set { moods[host] = newValue }
  }
}

extension World {
  /// Puts a file with notifications to these tokens, which this serial number distinguishes.
  fileprivate func put(
    _ name: String, to tokens: [Int], serial: Int, with members: String = "",
    _ change: (inout Item) -> Void = { _ in }
  ) {
    let words = tokens.map { "\"\(World.token($0))\"" }.joined(separator: ", ")
    var items = tokens.map { Item(number: World.number($0, serial: serial), offset: 0) }
    for index in items.indices {
      items[index].recipient = index
      change(&items[index])
    }
    put(
      name,
      #"{"tokens": [\#(words)], "payload": {"aps": {"alert": "Tank low"}, "n":\#(serial)}\#(members)}"#,
      items: items, tells: true)
  }

  /// Puts a file with a line for each serial number.
  fileprivate func putBulk(_ count: Int, to token: (_ serial: Int) -> Int) {
    var text = ""
    var items: [Item] = []
    for serial in 1...count {
      let token = token(serial)
      items.append(Item(number: World.number(token, serial: serial), offset: text.utf8.count))
      text +=
        #"{"token": "\#(World.token(token))", "payload": {"aps": {"badge": 1}, "n":\#(serial)}}"#
        + "\n"
    }
    put("bulk", text, items: items, tells: true)
  }

  fileprivate func hasAccepted(_ token: Int, serial: Int) -> Bool {
    gateway.acceptances[World.number(token, serial: serial)] == 1
  }
}

private let day: UInt64 = 86_400

/// Browsers of two services, and a device.
private let (one, other, device) = (2, 5, 3)
private let (hostOfOne, hostOfOther) = ("h1.example", "h2.example")

// MARK: - A service that takes nothing

@Test(arguments: [LanesLink.Mood.down, .silent, .busy])
func `a service that takes nothing for hours holds up no device and no other browser`(
  mood: LanesLink.Mood
) {
  let moods = Moods()
  moods[hostOfOne] = mood
  withLanes(mood: { moods[$0] }) { world in
    let files = 300
    for serial in 1...files { world.put("a\(10_000 + serial)", to: [one], serial: serial) }
    world.run(.seconds(120))
    // The time to live of a day must not end.
    let hours = 20
    for hour in 1...hours {
      let serial = 10_000 + hour
      world.put("z\(serial)", to: [device, other], serial: serial)
      world.run(.seconds(60))
      #expect(world.hasAccepted(device, serial: serial))
      #expect(world.hasAccepted(other, serial: serial))
      world.run(.seconds(3540))
    }
    #expect(world.gateway.acceptances.count == 2 * hours)
    moods[hostOfOne] = .well
    world.run(.seconds(7200))
    #expect(world.gateway.acceptances.count == 2 * hours + files)
    #expect(world.gateway.acceptances.values.allSatisfy { $0 == 1 })
    #expect(world.waiting == [])
    #expect(world.later.isEmpty)
  }
}

@Test func `a service that takes a message every few seconds holds up no device`() {
  withLanes(after: { $0 % World.tokensMax == one ? 25_000 : 10 }, settings: { $0.window = 2000 }) {
    world in
    let files = 3000
    for serial in 1...files { world.put("a\(10_000 + serial)", to: [one], serial: serial) }
    world.run(.seconds(120))
    for minute in 1...60 {
      let serial = 10_000 + minute
      world.put("z\(serial)", to: [device], serial: serial)
      world.run(.seconds(60))
      #expect(world.hasAccepted(device, serial: serial))
    }
    world.run(.seconds(20 * 3600))
    #expect(world.gateway.acceptances.count == files + 60)
    #expect(world.gateway.acceptances.values.allSatisfy { $0 == 1 })
    #expect(world.waiting == [])
    #expect(world.later.isEmpty)
  }
}

@Test(arguments: [LanesLink.Mood.down, .silent, .busy])
func `a service that takes nothing holds up no other recipient of a bulk file`(
  mood: LanesLink.Mood
) {
  let moods = Moods()
  moods[hostOfOne] = mood
  withLanes(mood: { moods[$0] }) { world in
    world.putBulk(900) { [one, device, other][$0 % 3] }
    world.run(.seconds(3600))
    #expect(world.gateway.acceptances.count == 600)
    moods[hostOfOne] = .well
    world.run(.seconds(7200))
    #expect(world.gateway.acceptances.count == 900)
    #expect(world.gateway.acceptances.values.allSatisfy { $0 == 1 })
    #expect(world.waiting == [])
    #expect(world.later.isEmpty)
  }
}

@Test func `a service that takes little holds up no device behind it in a recipients file`() {
  withLanes(after: { World.host($0 % World.tokensMax) == hostOfOne ? 20_000 : 10 }) { world in
    let slow = (1...9000).filter { World.host($0) == hostOfOne }.prefix(400)
    let devices = (1...15).filter { !World.isBrowser($0) }
    let numbers = slow + devices
    world.putList("family", numbers.map { World.token($0) }, nil)
    world.put(
      "a", #"{"to": "family", "payload": {"aps": {"alert": "Tank low"}}}"#,
      items: numbers.map { Item(number: $0) }, tells: true)
    world.run(.seconds(60))
    for number in devices { #expect(world.gateway.acceptances[number] == 1) }
    world.run(.seconds(20 * 3600))
    #expect(world.gateway.acceptances.count == numbers.count)
    #expect(world.gateway.acceptances.values.allSatisfy { $0 == 1 })
  }
}

@Test func `a bulk file to a dead service delays no device for long`() {
  withLanes(mood: { $0 == hostOfOne ? .down : .well }) { world in
    world.putBulk(1500) { _ in one }
    world.run(.seconds(90))
    for round in 1...10 {
      let serial = 10_000 + round
      world.put("z\(serial)", to: [device], serial: serial)
      world.run(.seconds(6))
      #expect(world.hasAccepted(device, serial: serial))
      world.run(.seconds(24))
    }
    #expect(world.later.count > 1000)
  }
}

@Test func `a service that takes nothing holds up no other line of a recipients file`() {
  withLanes(mood: { $0 == hostOfOne ? .down : .well }) { world in
    let numbers = Array(1...900)
    world.putList("family", numbers.map { World.token($0) }, nil)
    world.put(
      "a", #"{"to": "family", "payload": {"aps": {"alert": "Tank low"}}}"#,
      items: numbers.map { Item(number: $0) }, tells: true)
    world.run(.seconds(3600))
    let down = numbers.count { World.host($0) == hostOfOne }
    #expect(down > 30)
    #expect(world.gateway.acceptances.count == 900 - down)
  }
}

@Test func `without a service of devices in reach browsers get theirs`() {
  let moods = Moods()
  moods[LanesLink.devices] = .down
  withLanes(mood: { moods[$0] }) { world in
    for serial in 1...500 { world.put("a\(10_000 + serial)", to: [device], serial: serial) }
    world.run(.seconds(120))
    for serial in 1001...1010 {
      world.put("z\(serial)", to: [one], serial: serial)
      world.run(.seconds(60))
      #expect(world.hasAccepted(one, serial: serial))
    }
    moods[LanesLink.devices] = .well
    world.run(.seconds(7200))
    #expect(world.gateway.acceptances.count == 510)
    #expect(world.waiting == [])
  }
}

@Test func `what the service of a browser accepts proves nothing for device tokens`() {
  withLanes(respond: { $0 == device ? .reject(Rejection(.badDeviceToken, code: 400)) : .accept }) {
    world in
    var words: Set<Word> = []
    world.beforeStep = { words.insert($0) }
    world.put("a", to: [one], serial: 1)
    world.run(.seconds(10))
    world.put("b", to: [device], serial: 2)
    world.run(.seconds(60))
    #expect(world.hasAccepted(one, serial: 1))
    #expect(world.recorded.count == 1)
    #expect(!words.contains(.keepLearned))
    world.put("c", to: [device + 3], serial: 3)
    world.run(.seconds(60))
    #expect(words.contains(.keepLearned))
  }
}

@Test(arguments: [LanesLink.Mood.down, .silent, .busy])
func `eight services that take nothing hold up no ninth`(mood: LanesLink.Mood) {
  withLanes(mood: { Int($0.dropFirst().prefix { $0.isNumber }) ?? 99 < 8 ? mood : .well }) {
    world in
    let browsers = (1...47).filter { World.isBrowser($0) }
    for token in browsers { world.put("a\(100 + token)", to: [token], serial: token) }
    world.put("b", to: [device], serial: 200)
    world.run(.seconds(400))
    for token in browsers where !(0..<8).contains(token / 2 % 12) {
      #expect(world.hasAccepted(token, serial: token))
    }
    #expect(world.hasAccepted(device, serial: 200))
  }
}

@Test func `services that take nothing take lanes from each other ever more seldom`() {
  withLanes(mood: { _ in .down }) { world in
    let browsers = (1...24).filter { World.isBrowser($0) }
    for token in browsers { world.put("a\(100 + token)", to: [token], serial: token) }
    world.run(.seconds(day))
    #expect(world.courier.counters.postponed < 400)
  }
}

@Test func `an old notification that finds all lanes in use waits for a minute, not for an hour`() {
  let moods = Moods()
  moods[hostOfOne] = .down
  withLanes(mood: { moods[$0] }) { world in
    for serial in 1...300 { world.put("a\(1000 + serial)", to: [one], serial: serial) }
    world.run(.seconds(7200))
    moods[hostOfOne] = .well
    let first = world.disk.later.keys.map { Int64($0.prefix(10))! }.min()!
    let due = world.disk.later.filter { Int64($0.key.prefix(10))! <= first + 5 }
      .flatMap { $0.value.items.map { $0.number! } }
    world.run(.seconds(UInt64(first - world.timeline.time.wallSeconds! - 5)))
    for host in 2..<10 {
      moods["h\(host).example"] = .silent
      let token = World.isBrowser(2 * host) ? 2 * host : 2 * host + 1
      world.put("b\(host)", to: [token], serial: 400 + host)
    }
    world.run(.seconds(200))
    #expect(!due.isEmpty)
    for number in due { #expect(world.gateway.acceptances[number] == 1) }
  }
}

@Test func `a flood of notifications to a service that works goes to no file in later`() {
  withLanes { world in
    for serial in 1...400 { world.put("a\(10_000 + serial)", to: [one], serial: serial) }
    world.run(.seconds(60))
    #expect(world.gateway.acceptances.count == 400)
    #expect(world.courier.counters.postponed == 0)
  }
}

@Test func `a notification that waits in later for its service expires as it would have`() {
  let moods = Moods()
  moods[hostOfOne] = .down
  withLanes(mood: { moods[$0] }) { world in
    for serial in 1...300 {
      world.put("a\(1000 + serial)", to: [one], serial: serial, with: #", "ttl": 3600"#) {
        $0.ttl = 3600
      }
    }
    world.run(.seconds(3500))
    #expect(world.courier.counters.postponed > 0)
    world.run(.seconds(3700))
    moods[hostOfOne] = .well
    world.run(.seconds(7200))
    #expect(world.gateway.acceptances.isEmpty)
    #expect(world.courier.counters.expired == 300)
    #expect(world.waiting == [])
  }
}

@Test func `a notification that waits in later is replaced by a newer one with its collapse ID`() {
  let moods = Moods()
  moods[hostOfOne] = .down
  withLanes(mood: { moods[$0] }) { world in
    for serial in 1...200 { world.put("a\(1000 + serial)", to: [one], serial: serial) }
    for serial in 501...600 {
      world.after(UInt64(serial) * 1000) {
        world.put("b\(serial)", to: [one], serial: serial, with: #", "collapse-id": "tank""#) {
          $0.collapseKey = "tank"
        }
      }
    }
    world.run(.seconds(3600))
    moods[hostOfOne] = .well
    world.run(.seconds(7200))
    #expect(world.gateway.acceptances.count == 201)
    #expect(world.hasAccepted(one, serial: 600))
  }
}

@Test func `an alert that waits for its service does not follow a newer one with a not-before`() {
  let moods = Moods()
  moods[hostOfOne] = .busy
  withLanes(mood: { moods[$0] }) { world in
    // The connection is up, so that the service has the older alert before the newer one is read.
    world.put("a", to: [one], serial: 9)
    world.run(.seconds(1))
    let due = world.timeline.time.wallSeconds! + 130
    func text(_ serial: Int, _ member: String) -> String {
      #"{"token": "\#(World.token(one))", "payload": {"aps": {"alert": "a"}, "n":\#(serial)}, "#
        + #""collapse-id": "tank"\#(member)}"# + "\n"
    }
    let older = text(1, "")
    var items = [1, 2].map { Item(number: World.number(one, serial: $0), offset: 0) }
    items[1].offset = older.utf8.count
    items[1].notBefore = due
    for index in items.indices { items[index].collapseKey = "tank" }
    world.put("b", older + text(2, #", "not-before": \#(due)"#), items: items, tells: true)
    world.run(.seconds(100))
    // Eight other services take its lane.
    for host in 2..<10 {
      let token = World.isBrowser(2 * host) ? 2 * host : 2 * host + 1
      world.put("c\(host)", to: [token], serial: 400 + host)
    }
    world.run(.seconds(20))
    moods[hostOfOne] = .well
    world.run(.seconds(4000))
    #expect(!world.hasAccepted(one, serial: 1))
    #expect(world.hasAccepted(one, serial: 2))
    #expect(world.hasAccepted(one, serial: 9))
  }
}

// MARK: - Recipients

@Test func `a notification to a device and two browsers counts once for each`() {
  let moods = Moods()
  moods[hostOfOther] = .down
  withLanes(mood: { moods[$0] }) { world in
    world.putList("family", World.token(device), World.token(one), World.token(other))
    world.put(
      "a", #"{"to": "family", "payload": {"aps": {"alert": "Tank low"}}}"#,
      items: [device, one, other].map { Item(number: $0) }, tells: true)
    world.run(.seconds(60))
    #expect(world.courier.counters.settledByProof == 2)
    #expect(world.waiting == ["a"])
    moods[hostOfOther] = .well
    world.run(.seconds(60))
    #expect(world.courier.counters.settledByProof == 3)
    #expect(world.waiting == [])
  }
}

@Test func `without a service of devices each device token is refused, and browsers get theirs`() {
  withLanes(settings: { $0.hasDevices = false }) { world in
    let numbers = Array(1...900)
    world.put(
      "bulk", text: numbers.map { World.notification($0) + "\n" }.joined(), numbers: numbers)
    world.run(.seconds(600))
    #expect(world.failures.count == 300)
    #expect(world.failures.allSatisfy { $0.code == "no-device-service" })
    #expect(world.courier.counters.refused == 300)
    #expect(world.courier.counters.rejected(for: .noDeviceService) == 300)
    #expect(world.gateway.acceptances.count == 600)
    #expect(world.waiting == [])
  }
}

@Test func `a browser that is gone is suppressed by the digest of its endpoint`() {
  withLanes(respond: { $0 == one ? .reject(Rejection(.unregistered, code: 410)) : .accept }) {
    world in
    world.ledger.suppressing.gone[one] = UInt32(Workload.start)
    world.put("a", to: [one], serial: 1)
    world.run(.seconds(10))
    let endpoint = World.endpoint(one).bytes
    let digest = SHA256.digest(endpoint.span)
    let records = world.disk.suppression.recent?.records ?? [:]
    #expect(records.count == 1)
    let identity = records[one]!.token
    let (found, expected) = ([UInt8](identity.bytes), [UInt8](digest.span))
    #expect(found == expected)
    world.put("b", to: [one, other], serial: 2)
    world.run(.seconds(10))
    #expect(world.courier.counters.sent == 2)
    #expect(world.courier.counters.gone == 1)
    #expect(world.courier.counters.suppressed == 1)
    #expect(world.failures.isEmpty)
  }
}

@Test func `a line of failed/ names the whole subscription, and can be sent again`() {
  var isRefusing = true
  withLanes(respond: { _ in isRefusing ? .reject(Rejection(.badTopic, code: 400)) : .accept }) {
    world in
    var line = ""
    world.onRecord = { [unowned world] in line = world.recordedLine }
    world.put("a", to: [device, one], serial: 1)
    world.run(.seconds(10))
    #expect(world.failures.map(\.token) == [World.token(device), World.token(one)])
    isRefusing = false
    world.ledger.life.refusals = [:]
    world.put(
      "b", line, items: [Item(number: World.number(one, serial: 1), offset: 0)], tells: true)
    world.run(.seconds(10))
    #expect(world.hasAccepted(one, serial: 1))
    #expect(world.failures.count == 2)
  }
}

// MARK: - Limits

@Test func `an alert over the limit of a browser goes to failed/, and no summary follows`() {
  withLanes(settings: { $0.limit = RateLimit(count: 1, period: .seconds(60)) }) { world in
    for serial in 1...3 { world.put("a\(serial)", to: [one], serial: serial) }
    world.run(.seconds(600))
    #expect(world.gateway.acceptances.count == 1)
    #expect(world.failures.map(\.code) == ["limited", "limited"])
    #expect(world.failures.allSatisfy { $0.token == World.token(one) })
    #expect(world.failures.allSatisfy { !$0.reason.contains("summary") })
    #expect(world.courier.counters.summaries == 0)
    #expect(world.waiting == [])
  }
}

@Test func `an alert with a collapse ID over the limit waits, and comes back to its browser`() {
  withLanes(settings: { $0.limit = RateLimit(count: 1, period: .seconds(60)) }) { world in
    for serial in 1...4 {
      world.put("a\(serial)", to: [one], serial: serial, with: #", "collapse-id": "tank""#) {
        $0.collapseKey = "tank"
      }
      world.run(.seconds(1))
    }
    #expect(world.later.count == 1)
    world.run(.seconds(600))
    #expect(world.hasAccepted(one, serial: 1))
    #expect(world.hasAccepted(one, serial: 4))
    #expect(world.gateway.acceptances.count == 2)
    #expect(world.failures.isEmpty)
    #expect(world.later.isEmpty)
  }
}

// MARK: - Counters

@Test func `the counters have room for each reason`() {
  var counters = Counters()
  for value in 0..<Rejection.Reason.count {
    let reason = Rejection.Reason(rawValue: UInt8(value))!
    counters.recordRejection(Rejection(reason))
    let isGone = Rejection(reason).isGone
    #expect(counters.rejected(for: reason) == (isGone ? 0 : 1))
  }
  #expect(Rejection.Reason(rawValue: UInt8(Rejection.Reason.count)) == nil)
}

@Test func `what a service accepts, refuses or calls gone is counted for it alone`() {
  let (refused, gone, refusedDevice) = (5, 13, 6)
  withLanes(respond: {
    switch $0 {
    case refused, refusedDevice: .reject(Rejection(.badTopic, code: 400))
    case gone: .reject(Rejection(.unregistered, code: 410))
    default: .accept
    }
  }) { world in
    world.ledger.suppressing.gone[gone] = UInt32(Workload.start) + 30
    for (serial, token) in [one, one, refused, gone, device, refusedDevice].enumerated() {
      world.put("a\(serial)", to: [token], serial: serial)
      world.run(.seconds(10))
    }
    // The services have lanes in the order in which they were needed.
    let counts = (0..<5).map {
      let counts = world.courier.counts(of: Lane($0))
      return [counts.accepted, counts.refused, counts.gone]
    }
    #expect(counts == [[1, 1, 0], [2, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]])
  }
}

@Test func `the notifications for a service that is down are in flight in its lane alone`() {
  withLanes(mood: { $0 == hostOfOne ? .down : .well }) { world in
    for serial in 1...3 { world.put("a\(serial)", to: [one, other, device], serial: serial) }
    world.run(.seconds(10))
    let inFlight = (0..<3).map { world.courier.inFlight(in: Lane($0)) }
    #expect(inFlight == [0, 3, 0])
    var progress: [Courier.FileProgress] = []
    world.courier.forEachFileUnderWay { progress.append($1) }
    #expect(progress.first == .waits)
  }
}
