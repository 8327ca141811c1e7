import Foundation
import Testing

/// Faults of a browser's service, or of Apple's beside it, and killed agents, lose nothing: the rows
/// for Web Push and the second table in docs/measurements.md.
///
/// One agent delivers each notification to a phone and to a browser, at two services: 2,000 for the
/// tables, and 100 otherwise.
@Suite(.sideBySide) struct WebPushFaultTests {
  private static let count = Table.isMade ? 2000 : 100

  struct Row: Sendable, CustomTestStringConvertible {
    var testDescription: String
    /// The fault as the sandbox's `--fault`, without its `@WHEN`.
    var fault: String
    var settings: [String] = []
    /// Whether the result of the requests without an answer is unknown.
    var isUncertain = false
  }

  static let rows = [
    Row(testDescription: "cut", fault: "close", isUncertain: true),
    Row(testDescription: "reset", fault: "reset", isUncertain: true),
    Row(testDescription: "GOAWAY", fault: "goaway"),
    Row(
      testDescription: "stall (`answer-timeout = 2s`)", fault: "stall",
      settings: ["answer-timeout=2s"], isUncertain: true),
    Row(testDescription: "64 bytes that are no answer", fault: "garbage", isUncertain: true),
    Row(testDescription: "reset stream", fault: "reset-stream", isUncertain: true),
    Row(testDescription: "refused stream", fault: "refused-stream"),
    Row(testDescription: "429", fault: "retry-after=1"),
    Row(testDescription: "502 with HTML", fault: "odd-body"),
    Row(testDescription: "503", fault: "reason=ServiceUnavailable"),
    Row(testDescription: "500", fault: "reason=InternalServerError"),
    Row(testDescription: "403", fault: "reason=BadJwtToken"),
  ]

  /// The way to the services: direct, or through a slow proxy.
  enum Way: String, CaseIterable, Sendable {
    case near, distant
  }

  @Test(arguments: rows, Way.allCases)
  func `a fault of a browser's service loses no notification, and a repeat is shown once`(
    row: Row, way: Way
  ) throws {
    let services = try Services(in: box, faultAt: .browser, row.fault + "@\(Self.count / 2)")
    try services.drop(1...Self.count)
    var settings = row.settings
    if way == .distant {
      let proxy = try Proxy(in: box, to: ConnectProxy(in: box).port)
      settings.append("proxy=http://localhost:\(proxy.port)")
    }
    let start = ContinuousClock.now
    let agent = try services.agent("--once", settings: settings)
    try agent.wait()
    let time = ContinuousClock.now - start
    let tally = try services.faulty.tallies(Self.count).at(0)
    try Table.add("Web Push: " + row.testDescription, way.rawValue, tally, time)

    let words = "\(tally)\n\(agent.errors)"
    #expect(agent.status == 0, "\(words)")
    #expect(tally.faults == 1, "\(words)")
    #expect(tally.lost == 0, "\(words)")
    #expect(tally.shownTwice == 0, "\(words)")
    #expect(row.isUncertain || tally.duplicates == 0, "\(words)")
    try services.expectNothingAtTheOther(Self.count, agent)
    #expect(box.queued + box.names(in: "failed") + box.names(in: "later") == [])
  }

  @Test(
    arguments: rows + [Row(testDescription: "no connection", fault: "")], FaultyService.allCases)
  func `a service that fails for long holds up nobody at the other`(row: Row, place: FaultyService)
    throws
  {
    let isDown = row.fault.isEmpty
    let services = try Services(in: box, faultAt: place, isDown ? nil : row.fault + "@100%")
    if isDown { try services.faulty.stop() }
    try services.drop(1...Self.count / 2)
    let start = ContinuousClock.now
    let agent = try services.agent(settings: row.settings)
    try wait(for: "the fault") {
      isDown
        ? agent.errors.contains("cannot connect to")
        : try !services.faulty.events("fault").isEmpty
    }
    try services.drop(Self.count / 2 + 1...Self.count)
    try wait(for: "all at the other service:\n\(agent.errors)") {
      try services.sound.events("delivered").count >= Self.count
    }
    let held = ContinuousClock.now - start
    #expect(!box.queued.isEmpty, "the fault lasts")
    try services.faulty.recover()
    try wait(for: "an empty spool:\n\(agent.errors)") { box.queued + box.names(in: "later") == [] }
    #expect(try agent.terminate() == 0)
    let tally = try services.faulty.tallies(Self.count).at(0)
    try Table.add("both: " + row.testDescription, place.rawValue, tally, held)

    let words = "\(tally)\n\(agent.errors)"
    #expect(tally.lost == 0, "\(words)")
    #expect(tally.shownTwice == 0, "\(words)")
    try services.expectNothingAtTheOther(Self.count, agent)
    #expect(box.names(in: "failed") == [])
  }

  // MARK: - Killed agents

  @Test func `kills of an agent for phones and browsers lose no notification`() throws {
    let services = try Services(in: box, faultAt: .browser, nil, devices: 2)
    let kills = Table.isMade ? 200 : 20
    let start = ContinuousClock.now
    // Each agent gets 20 small files. Every 25th also gets a large one.
    let (files, lines) = (20, 50)
    var number = 0
    // The notifications still in the spool at a kill: these may arrive twice.
    var unsettled = 0
    var random = SeededRandom(for: "the times of the kills over both links")
    for kill in 0..<kills {
      if kill % 25 == 0 {
        try services.drop(number + 1...number + lines, as: "many-\(kill)")
        number += lines
      }
      try services.drop(number + 1...number + files)
      number += files
      let agent = try services.agent()
      // Three of four agents are killed after they have connected, the others at any time.
      if kill % 4 != 0 { try agent.line("connected to", in: .errors) }
      usleep(.random(in: 0...250_000, using: &random))
      agent.kill()
      #expect(agent.status == 128 + SIGKILL, "\(agent.errors)")
      for name in box.queued { unsettled += name.hasPrefix("many") ? lines : 1 }
    }
    let last = try services.agent("--once")
    #expect(try last.wait() == 0, "\(last.errors)")
    let time = ContinuousClock.now - start
    for service in [services.faulty, services.sound] {
      for (tally, device) in try zip(service.tallies(number), service.devices.map(\.name)) {
        let words = "\(device): \(tally), \(unsettled) unsettled\n\(last.errors)"
        try Table.add(
          "Web Push: kill -9, \(kills) times, \(device)", Way.near.rawValue, tally, time)
        #expect(tally.lost == 0, "\(words)")
        #expect(tally.shownTwice == 0, "\(words)")
        #expect(tally.duplicates <= unsettled, "\(words)")
        #expect(tally.connections > kills / 2, "most were connected: \(words)")
      }
    }
    #expect(box.queued + box.names(in: "failed") + box.names(in: "later") == [])
  }
}

// MARK: - Services

/// The service at which a fault is played.
enum FaultyService: String, CaseIterable, Sendable {
  case browser, apple
}

/// Apple's service and a browser's, and an agent for both.
private struct Services {
  private let box: Box
  let apple: Service
  let browser: Service
  let faulty: Service
  let sound: Service

  /// - Parameters:
  ///   - fault: the fault as the sandbox's `--fault`.
  ///   - devices: how many devices each service has, which are all in one recipients file.
  init(in box: Box, faultAt place: FaultyService, _ fault: String?, devices: Int = 1) throws {
    self.box = box
    try box.makeVAPIDKey()
    let options = fault.map { ["--fault", $0] } ?? []
    apple = try Service(in: box, "apple", place == .apple ? options : [])
    browser = try Service(in: box, "browser", place == .browser ? options : [])
    (faulty, sound) = place == .apple ? (apple, browser) : (browser, apple)
    for name in (1...devices).map({ "phone-\($0)" }) {
      try apple.add(name, apple.sandbox.token(box, "add", name))
    }
    for name in (1...devices).map({ "browser-\($0)" }) {
      try browser.add(name, browser.sandbox.subscription(box, name))
    }
    try box.write(box.text("apple/ca.pem") + box.text("browser/ca.pem"), to: "both.pem")
  }

  /// Drops a file for each of these notifications, or one file with a name.
  func drop(_ numbers: ClosedRange<Int>, as name: String? = nil) throws {
    let lines = numbers.map { #"{"to":"family","payload":{"aps":{"alert":"Tank \#($0)"}}}"# + "\n" }
    if let name { return try box.drop(lines.joined(), as: name) }
    for (number, line) in zip(numbers, lines) { try box.drop(line, as: "one-\(number)") }
  }

  func agent(_ options: String..., settings: [String] = []) throws -> Child {
    try box.start(
      Build.command(Build.host) + ["run"] + options + ["--config", apple.sandbox.http2Config]
        + box.browserSettings
        + (["spool=\(box.spool)", "ca=\(box.path)/both.pem"] + settings).flatMap { ["-o", $0] })
  }

  /// Expects that the service without a fault got each notification once, on one connection.
  func expectNothingAtTheOther(_ count: Int, _ agent: Child) throws {
    let tally = try sound.tallies(count).at(0)
    let words = "\(tally)\n\(agent.errors)"
    #expect(tally.lost == 0, "\(words)")
    #expect(tally.duplicates == 0, "\(words)")
    #expect(tally.connections == 1, "\(words)")
  }
}

/// A sandbox that is one of two services, and can be replaced.
private final class Service {
  private let box: Box
  private let name: String
  private(set) var sandbox: Sandbox
  /// The journals of the sandboxes before this one.
  private var earlier = ""
  /// The devices, each with its token or the end of its endpoint.
  private(set) var devices: [(name: String, token: String)] = []

  init(in box: Box, _ name: String, _ options: [String]) throws {
    (self.box, self.name) = (box, name)
    sandbox = try Sandbox(in: box, options, hasDevices: true, name: name)
  }

  /// Adds a device token or a subscription to the recipients file.
  func add(_ device: String, _ recipient: String) throws {
    try box.add(recipient, to: "family")
    let token = try #require(recipient.firstMatch(of: /[0-9a-f]{64}/))
    devices.append((device, String(token.output)))
  }

  func events(_ event: String) throws -> [[String: Any]] { try sandbox.events(event) }

  func stop() throws { #expect(try sandbox.child.terminate() == 0) }

  /// Replaces the sandbox by one without a fault, with the same devices.
  func recover() throws {
    try stop()
    earlier += sandbox.child.output
    sandbox = try Sandbox(
      in: box, ["--port", "\(sandbox.gateway)"], hasDevices: true, name: name)
  }

  /// Ends the service, and returns what each device got.
  func tallies(_ count: Int) throws -> [Tally] {
    try stop()
    let journal = try box.write(earlier + sandbox.child.output, to: name + ".journal")
    return try devices.map { try Tally(journal, count: count, of: $0.token, in: box) }
  }
}
