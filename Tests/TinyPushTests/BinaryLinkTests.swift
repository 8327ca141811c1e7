import Testing

@testable import Simulation
@testable import TinyPush
@testable import TinyPushBinary

/// Returns a notification with a payload of this size.
private func text(payloadBytes: Int) -> [UInt8] {
  let alert = String(repeating: "x", count: payloadBytes - 20)
  return #"{"token":"\#(World.token(7))","payload":{"aps":{"alert":"\#(alert)"}}}"#.bytes
}

/// A link without a courier, which plays the shell; notifications are numbered from 1 on.
private struct Rig: ~Copyable {
  var link: BinaryLink
  var now = Instant(milliseconds: 5000)
  private var next: UInt32 = 1
  private var wireEnd: UInt64 = 0
  var supply = Supply(isAllSent: false, wantsConnection: true, isStopping: false)

  init(
    _ change: (inout Courier.Settings) -> Void = { _ in },
    binary changeBinary: (inout BinaryLink.Settings) -> Void = { _ in }
  ) {
    var settings = Courier.Settings()
    settings.window = 64
    change(&settings)
    var binary = BinaryLink.Settings()
    changeBinary(&binary)
    link = BinaryLink(settings, binary, seed: 1)
  }

  /// Returns the link's next step.
  mutating func step() -> Word {
    let time = Time(now: now, wallSeconds: nil)
    if let step = link.advance(to: time, isStopping: supply.isStopping) { return Word(step) }
    return link.nextStep(supply).map { Word($0) } ?? .wait
  }

  /// Connects, by default later than after any pause of the backoff.
  mutating func connect(after pause: Duration = .seconds(400)) {
    now = now + pause
    #expect(step() == .dial)
    link.connected()
    wireEnd = 0
  }

  /// Offers the next notifications.
  mutating func offer(_ count: Int = 1, wasSent: Bool = false, payloadBytes: Int = 21) {
    let text = text(payloadBytes: payloadBytes)
    var reader = NotificationReader()
    var findings = Findings()
    guard
      case .notification(let notification) = reader.next(
        in: text.span, isWhole: true, Rules(), &findings)
    else {
      Issue.record("the notification is refused")
      return
    }
    let rendition = Rendition(notification, for: nil, in: text.span, Rules())
    for _ in 0..<count {
      let obstacle = link.obstacle(payloadBytes: rendition.bytes)
      #expect(obstacle == nil)
      link.take(
        Message(
          token: World.deviceToken(7), identity: World.deviceToken(7).identity,
          payload: notification.payload, rendition: rendition, expiration: 0, priority: 10,
          notification: UInt64(next), number: MessageNumber(next), wasSent: wasSent),
        in: text.span, to: Span())
      next += 1
    }
  }

  /// Listens, and then writes the link's batch.
  mutating func write() {
    var word = step()
    if word == .sample {
      acknowledge()
      word = step()
    }
    if word == .listen {
      link.heard(until: now)
      word = step()
    }
    #expect(word == .write)
    wireEnd += UInt64(link.batchContents().count)
    link.wrote(wireEnd: wireEnd)
  }

  mutating func acknowledge() {
    link.sampled(unacknowledged: 0, since: .milliseconds(0), roundTrip: .milliseconds(1))
  }

  /// Acknowledges all that was written, and lets time pass without an answer.
  mutating func wait(_ duration: Duration) {
    acknowledge()
    now = now + duration
    while true {
      switch step() {
      case .listen: link.heard(until: now)
      case .sample: acknowledge()
      default: return
      }
    }
  }

  mutating func say(_ status: UInt8, _ identifier: UInt32) {
    let bytes = [UInt8](
      ErrorResponse(status: Status(rawValue: status), identifier: identifier).bytes.span)
    link.received(bytes.span)
  }

  mutating func die() { link.disconnected(at: now, byPeer: true) }

  /// Returns the link's outcomes in words, the numbers with the same outcome in a row together.
  mutating func outcomes() -> [String] {
    var told: [(outcome: String, numbers: String)] = []
    while let (message, outcome) = link.takeOutcome() {
      let word =
        switch outcome {
        case .accepted(let isProved): isProved ? "proved" : "by time"
        case .rejected(let rejection): "rejected as \(rejection.reason)"
        case .returned(let wasSent, _): wasSent ? "back, sent" : "back"
        case .superseded: "superseded"
        case .dropped: "dropped"
        }
      if told.last?.outcome != word { told.append((word, "")) }
      told[told.count - 1].numbers += " \(message.rawValue)"
    }
    return told.map { "\($0.outcome):\($0.numbers)" }
  }
}

@Test func `an answer proves what came before, rejects one and returns the rest`() {
  var rig = Rig()
  rig.connect()
  rig.offer(5)
  rig.write()
  rig.offer(2)
  rig.write()
  rig.say(8, 3)
  #expect(
    rig.outcomes() == [
      "proved: 1 2", "rejected as invalidToken: 3", "back, sent: 7 6 5 4",
    ])
  #expect(rig.step() == .disconnect)
  #expect(rig.link.window.isEmpty == true)
}

@Test func `a shutdown proves the notification that it names`() {
  var rig = Rig()
  rig.connect()
  rig.offer(3)
  rig.write()
  rig.say(10, 2)
  #expect(rig.outcomes() == ["proved: 1 2", "back, sent: 3"])
}

@Test func `an answer without an error proves notifications and keeps the connection`() {
  var rig = Rig()
  rig.connect()
  rig.offer(4)
  rig.write()
  rig.say(0, 1)
  #expect(rig.outcomes() == ["proved: 1"])
  rig.say(0, 3)
  #expect(rig.outcomes() == ["proved: 2 3"])
  #expect(rig.link.isUp == true)
  rig.die()
  #expect(rig.outcomes() == ["back, sent: 4"])
}

@Test func `notifications settle by time after the settle time without an answer`() {
  var rig = Rig()
  rig.connect()
  rig.offer(2)
  rig.write()
  rig.wait(.seconds(9))
  #expect(rig.outcomes() == [])
  rig.wait(.seconds(2))
  #expect(rig.outcomes() == ["by time: 1 2"])
  #expect(rig.link.isUp == true)
}

@Test
func `a lost connection returns written and unwritten notifications in order`() {
  var rig = Rig()
  rig.connect()
  rig.offer(2)
  rig.write()
  rig.offer()
  rig.die()
  // The outcomes come from the last notification on.
  #expect(rig.outcomes() == ["back: 3", "back, sent: 2 1"])
  #expect(rig.link.takeTraffic().uncertain == 2)
}

@Test func `with uncertain = drop only unwritten notifications return`() {
  var rig = Rig { $0.uncertain = .drop }
  rig.connect()
  rig.offer(2)
  rig.write()
  rig.offer()
  rig.die()
  #expect(rig.outcomes() == ["back: 3", "dropped: 2 1"])
}

@Test func `the answer to a barrier proves all notifications before it`() {
  var rig = Rig()
  rig.connect()
  rig.offer(3)
  rig.write()
  rig.supply.isStopping = true
  rig.write()
  #expect(rig.link.isOpen == false)
  rig.say(5, 4)
  #expect(rig.outcomes() == ["proved: 1 2 3"])
}

@Test(arguments: [true, false])
func `notifications that a barrier did not prove stay until a barrier alone was sent`(
  isAnswered: Bool
) {
  var rig = Rig { $0.isOnce = true }
  rig.supply.isAllSent = true
  rig.connect()
  rig.offer(3)
  rig.write()
  rig.acknowledge()
  rig.write()
  rig.wait(.seconds(11))
  #expect(rig.outcomes() == [])
  #expect(rig.link.window.count == 3)
  rig.connect()
  #expect(rig.link.isOpen == false)
  rig.write()
  if isAnswered {
    rig.say(5, 1)
    #expect(rig.outcomes() == ["back, sent: 3 2 1"])
    #expect(rig.link.takeTraffic().uncertain == 3)
  } else {
    rig.wait(.seconds(11))
    #expect(rig.outcomes() == ["by time: 1 2 3"])
    #expect(rig.link.takeTraffic().uncertain == 0)
  }
}

@Test(arguments: [257, 2048])
func `payloads as large as a refused one are refused without being sent`(limit: Int) {
  var rig = Rig()
  rig.connect()
  rig.offer(1, payloadBytes: limit)
  rig.offer(1, payloadBytes: limit - 1)
  rig.write()
  rig.say(7, 1)
  #expect(rig.outcomes() == ["rejected as invalidPayloadSize: 1", "back, sent: 2"])
  #expect(rig.step() == .disconnect)
  rig.connect()
  rig.offer(1, payloadBytes: limit)
  rig.offer(1, payloadBytes: limit - 1)
  rig.offer(1, payloadBytes: 2048)
  #expect(rig.outcomes() == ["rejected as invalidPayloadSize: 3 5"])
  rig.write()
  #expect(rig.link.takeTraffic().sent == 3)
}

@Test func `refusals without being sent cost no wait, and are bounded`() {
  var rig = Rig()
  rig.connect()
  rig.offer(1, payloadBytes: 300)
  rig.write()
  rig.say(7, 1)
  _ = rig.outcomes()
  #expect(rig.step() == .disconnect)
  rig.connect()
  rig.offer(32, payloadBytes: 300)
  #expect(rig.link.obstacle(payloadBytes: 300) == .batchFull)
  #expect(rig.link.obstacle(payloadBytes: 299) == nil)
  // The courier takes outcomes before each step.
  #expect(rig.step() == .listen)
  #expect(rig.outcomes().count == 1)
  #expect(rig.link.isBusy == false)
}

@Test func `a small payload that is refused for its size teaches nothing`() {
  var rig = Rig()
  rig.connect()
  rig.offer(1, payloadBytes: 256)
  rig.write()
  rig.say(7, 1)
  _ = rig.outcomes()
  #expect(rig.step() == .disconnect)
  rig.connect()
  rig.offer(1, payloadBytes: 256)
  #expect(rig.outcomes() == [])
  rig.write()
}

@Test func `with confirm = barrier time settles nothing that a barrier can prove`() {
  var rig = Rig(binary: { $0.confirm = .barrier })
  rig.supply.isAllSent = true
  rig.connect()
  rig.offer(1)
  rig.write()
  rig.acknowledge()
  rig.write()
  rig.say(5, 2)
  #expect(rig.outcomes() == ["proved: 1"])
  #expect(rig.step() == .disconnect)
  // The next barrier may be sent a minute after the first.
  rig.connect(after: .seconds(1))
  rig.offer(3)
  rig.write()
  rig.wait(.seconds(30))
  #expect(rig.outcomes() == [])
  #expect(rig.link.deadline == Instant(milliseconds: 465_000))
  rig.wait(.seconds(29))
  rig.write()
  rig.say(5, 4)
  #expect(rig.outcomes() == ["proved: 2 3 4"])
}

@Test func `with confirm = barrier a full window gets a barrier at once`() {
  var rig = Rig(binary: { $0.confirm = .barrier })
  for _ in 1...2 {
    rig.connect(after: .seconds(5))
    rig.offer(3)
    rig.supply.obstacle = .windowFull
    rig.write()
    rig.acknowledge()
    rig.write()
    rig.say(5, 4)
    _ = rig.outcomes()
    #expect(rig.step() == .disconnect)
  }
}

@Test(arguments: [BinaryLink.Confirm.barrier, .drain])
func `a gateway that hangs at a stop`(confirm: BinaryLink.Confirm) {
  var rig = Rig(binary: { $0.confirm = confirm })
  rig.connect()
  rig.offer(2)
  rig.write()
  rig.acknowledge()
  rig.supply.isStopping = true
  rig.write()
  rig.wait(.seconds(11))
  #expect(rig.outcomes() == [confirm == .barrier ? "back, sent: 2 1" : "by time: 1 2"])
}

@Test func `a notification at which connections end is found and rejected`() {
  var rig = Rig()
  for death in 1...3 {
    rig.connect()
    rig.offer(1, wasSent: death > 1)
    rig.write()
    rig.die()
    // The notification has the same number each time.
    rig.rewind()
    #expect(rig.outcomes() == (death < 3 ? ["back, sent: 1"] : []))
  }
  #expect(rig.link.window.count == 1)
  rig.connect()
  #expect(rig.link.isOpen == false)
  rig.write()
  rig.say(5, 1)
  #expect(rig.outcomes() == ["rejected as endsConnections: 1"])
}

@Test
func `an isolated notification is sent again if the gateway also ends a connection without it`() {
  var rig = Rig()
  for _ in 1...3 {
    rig.connect()
    rig.offer()
    rig.write()
    rig.die()
    rig.rewind()
    _ = rig.outcomes()
  }
  rig.connect()
  rig.write()
  rig.die()
  #expect(rig.outcomes() == ["back, sent: 1"])
}

@Test func `a notification is isolated alone, and not with those behind it`() {
  var rig = Rig()
  for death in 1...2 {
    rig.connect()
    rig.offer(1, wasSent: death > 1)
    rig.write()
    rig.die()
    rig.rewind()
    #expect(rig.outcomes() == ["back, sent: 1"])
  }
  rig.connect()
  // Another one settles, which ends the search.
  rig.rewind(to: 2)
  rig.offer()
  rig.write()
  rig.wait(.seconds(11))
  #expect(rig.outcomes() == ["by time: 2"])
  rig.rewind()
  rig.offer(1, wasSent: true)
  rig.write()
  rig.rewind(to: 3)
  rig.offer(2)
  rig.die()
  #expect(rig.outcomes() == ["back: 4 3", "back, sent: 1"])
  #expect(rig.link.window.count == 0)
}

@Test func `the link takes nothing while it is offline or the socket is full`() {
  var rig = Rig()
  #expect(rig.link.obstacle(payloadBytes: 20) == .closed)
  rig.connect()
  #expect(rig.link.obstacle(payloadBytes: 20) == nil)
  #expect(rig.link.obstacle(payloadBytes: 20_000) == .batchFull)
  rig.offer()
  #expect(rig.step() == .listen)
  rig.link.heard(until: rig.now)
  #expect(rig.step() == .write)
  rig.link.blocked()
  #expect(rig.link.obstacle(payloadBytes: 20) == .closed)
  rig.link.writable()
  rig.write()
  #expect(rig.link.obstacle(payloadBytes: 20) == nil)
}

extension Rig {
  /// Gives the next notification the number of the first.
  fileprivate mutating func rewind(to number: UInt32 = 1) { next = number }
}
