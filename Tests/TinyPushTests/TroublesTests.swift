import Testing

@testable import TinyPush
@testable import TinyPushAgent

/// The facts at a moment, and the reports that they cause.
private struct Moment {
  /// Seconds since the agent started.
  var at: UInt64
  var waits = false
  /// Since when a service of browsers takes nothing, in seconds.
  var missedSince: UInt64?
  var settled: UInt64 = 0
  var isConnected = false
  var isSettling = false
  var isRefused = false
  /// Days until the certificate ends; nil: unknown.
  var days: Int64?
  var isClockSet = true
  var tells: [String] = []
}

private struct Story: Sendable, CustomTestStringConvertible {
  var testDescription: String
  var told: UInt8 = 0
  var moments: [Moment]
  /// The deadline at the end.
  var deadline: UInt64?

  init(_ description: String, told: UInt8 = 0, deadline: UInt64? = nil, _ moments: [Moment]) {
    testDescription = description
    self.told = told
    self.moments = moments
    self.deadline = deadline
  }
}

extension Moment: Sendable {}

@Test(arguments: [
  Story(
    "nothing waits",
    [Moment(at: 0), Moment(at: 9000), Moment(at: 9001, isConnected: true)]),
  Story(
    "an outage that is short", deadline: nil,
    [
      Moment(at: 0, waits: true), Moment(at: 599, waits: true),
      Moment(at: 599, waits: true, settled: 1, isConnected: true),
      Moment(at: 700, settled: 1, isConnected: true),
    ]),
  Story(
    "a long outage is reported once, and its end",
    [
      Moment(at: 10, waits: true), Moment(at: 609, waits: true),
      Moment(at: 610, waits: true, tells: ["offline began"]), Moment(at: 5000, waits: true),
      Moment(at: 5001, waits: true, isConnected: true),
      Moment(at: 5002, waits: true, settled: 1, isConnected: true, tells: ["offline over"]),
      Moment(at: 5003, settled: 2, isConnected: true),
    ]),
  Story(
    "what others take does not end a service's outage that an earlier agent has told", told: 1,
    deadline: 611,
    [
      Moment(at: 0, waits: true, missedSince: 0, settled: 7, isConnected: true),
      Moment(at: 5, waits: true, missedSince: 0, settled: 8, isConnected: true),
      Moment(at: 9, waits: true, missedSince: 0, settled: 9, isConnected: true),
      Moment(at: 12, waits: true, missedSince: 11, settled: 10, tells: ["offline over"]),
    ]),
  Story(
    "the count of an earlier agent is no progress", told: 1,
    [
      Moment(at: 0, waits: true, settled: 7), Moment(at: 5, waits: true, settled: 7),
      Moment(at: 9, waits: true, settled: 8, tells: ["offline over"]),
    ]),
  Story(
    "an outage counts from the first waiting notification", deadline: 9600,
    [Moment(at: 0), Moment(at: 9000, waits: true), Moment(at: 9599, waits: true)]),
  Story(
    "a connection that delivers nothing is an outage", deadline: nil,
    [
      Moment(at: 0, waits: true, isConnected: true),
      Moment(at: 600, waits: true, isConnected: true, tells: ["offline began"]),
    ]),
  Story(
    "a long burst is no outage",
    [
      Moment(at: 0, waits: true, isConnected: true),
      Moment(at: 500, waits: true, settled: 9, isConnected: true),
      Moment(at: 1000, waits: true, settled: 10, isConnected: true),
      Moment(at: 1001, settled: 11, isConnected: true),
    ]),
  Story(
    "an outage of one service beside another that works",
    [
      Moment(at: 0, waits: true, isConnected: true),
      Moment(at: 500, waits: true, missedSince: 100, settled: 9, isConnected: true),
      Moment(
        at: 700, waits: true, missedSince: 100, settled: 10, isConnected: true,
        tells: ["offline began"]),
      Moment(at: 800, waits: true, missedSince: 100, settled: 11, isConnected: true),
      Moment(at: 900, settled: 12, isConnected: true, tells: ["offline over"]),
    ]),
  Story(
    "the wait of one service has a deadline", deadline: 700,
    [Moment(at: 500, waits: true, missedSince: 100, settled: 9, isConnected: true)]),
  Story(
    "waiting for the settle time is no outage",
    [
      Moment(at: 0, waits: true, isConnected: true, isSettling: true),
      Moment(at: 3000, waits: true, isConnected: true, isSettling: true),
    ]),
  Story(
    "the waiting notifications were dropped", deadline: nil,
    [
      Moment(at: 0, waits: true), Moment(at: 600, waits: true, tells: ["offline began"]),
      Moment(at: 700), Moment(at: 800, isConnected: true, tells: ["offline over"]),
    ]),
  Story(
    "an agent that starts in an outage does not report it again", told: 1,
    [
      Moment(at: 0), Moment(at: 5, waits: true), Moment(at: 700, waits: true),
      Moment(at: 701, waits: true, settled: 1, isConnected: true, tells: ["offline over"]),
    ]),
  Story(
    "a refusal is reported at once, and over after an acceptance",
    [
      Moment(at: 0, isRefused: true, tells: ["credentials began"]), Moment(at: 50, isRefused: true),
      Moment(at: 60, isConnected: true), Moment(at: 61, isConnected: true, isRefused: true),
      Moment(at: 70, settled: 1, isConnected: true, tells: ["credentials over"]),
    ]),
  Story(
    "a refusal is over when a connection lasts", deadline: 120,
    [
      Moment(at: 0, isRefused: true, tells: ["credentials began"]),
      Moment(at: 60, isConnected: true), Moment(at: 119, isConnected: true),
    ]),
  Story(
    "a connection has lasted",
    [
      Moment(at: 0, isRefused: true, tells: ["credentials began"]),
      Moment(at: 60, isConnected: true),
      Moment(at: 120, isConnected: true, tells: ["credentials over"]),
    ]),
  Story(
    "a certificate that ends soon, and another",
    [
      Moment(at: 0, days: 14), Moment(at: 1, days: 13, tells: ["certificate began"]),
      Moment(at: 2), Moment(at: 3, days: -1), Moment(at: 4, days: 364, tells: ["certificate over"]),
    ]),
  Story(
    "no certificate ends while the clock is not set",
    [Moment(at: 0, days: -3, isClockSet: false)]),
  Story(
    "two troubles at once are reported one after the other", deadline: 600,
    [
      Moment(
        at: 0, waits: true, isRefused: true, days: 2,
        tells: ["certificate began", "credentials began"])
    ]),
])
private func `each trouble is reported once, and its end once`(story: Story) {
  let day: Int64 = 1_800_000_000
  var troubles = Troubles(after: .seconds(600), reported: story.told)
  for moment in story.moments {
    var facts = Troubles.Facts(
      time: Time(
        now: Instant(milliseconds: 1_000_000 + moment.at * 1000),
        wallSeconds: moment.isClockSet ? day : nil))
    facts.isWaiting = moment.waits
    facts.missedSince = moment.missedSince.map { Instant(milliseconds: 1_000_000 + $0 * 1000) }
    facts.settled = moment.settled
    facts.isConnected = moment.isConnected
    facts.isSettling = moment.isSettling
    facts.isRefused = moment.isRefused
    facts.certificateEnd = moment.days.map { day + $0 * 86_400 } ?? 0
    troubles.update(facts)
    var told: [String] = []
    while let (kind, began) = troubles.take() { told.append("\(kind) \(began ? "began" : "over")") }
    #expect(told == moment.tells, "at \(moment.at) s")
    if let deadline = troubles.deadline { #expect(deadline > facts.time.now) }
  }
  #expect(
    troubles.deadline == story.deadline.map { Instant(milliseconds: 1_000_000 + $0 * 1000) })
}

@Test func `a connection after a failure of our own shows that the cause is gone`() {
  var state = ConnectionState()
  state.failed(isOurFault: true, wasUp: false)
  #expect(state.isConfigBroken)
  state.connected()
  #expect(!state.isConfigBroken)
  state.failed(isOurFault: true, wasUp: false)
  state.configWorks()
  #expect(!state.isConfigBroken)
}
