import Testing

@testable import Simulation
@testable import TinyPush

private let text = #"{"token":"\#(World.token(7))","payload":{"aps":{"alert":"x"}}}"#.bytes

/// A link alone, without a courier: notifications are told apart by their place, and what the shell does is done here.
private struct Rig: ~Copyable {
  var link: BinaryLink
  var now = Instant(milliseconds: 5000)
  private var next: Int64 = 1
  private var wireEnd: UInt64 = 0
  var supply = Supply(isAllSent: false, wantsConnection: true, isStopping: false)

  init(_ change: (inout Courier.Settings) -> Void = { _ in }) {
    var settings = Courier.Settings()
    settings.window = 64
    change(&settings)
    link = BinaryLink(settings, seed: 1)
  }

  /// The link's next step, in a word.
  mutating func step() -> Word {
    let time = Time(now: now, wallSeconds: nil)
    if let step = link.advance(to: time, isStopping: supply.isStopping) { return Word(step) }
    return link.nextStep(supply).map { Word($0) } ?? .wait
  }

  mutating func connect() {
    // Whatever the backoff says, it is over.
    now = now + .seconds(400)
    #expect(step() == .dial)
    link.connected()
    wireEnd = 0
  }

  /// Offers notifications that stand one behind the other in a file.
  mutating func offer(_ count: Int = 1, to claim: UInt32 = 0, wasSent: Bool = false) {
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
    for index in 0..<count {
      let obstacle = link.obstacle(payloadBytes: rendition.bytes)
      #expect(obstacle == nil)
      link.take(
        Message(
          token: DeviceToken(hex: World.token(7).bytes.span)!, payload: notification.payload,
          rendition: rendition, expiration: 0, priority: 10,
          place: FilePlace(offset: next, claim: ClaimNumber(claim), recipient: 0),
          follows: index > 0, wasSent: wasSent),
        in: text.span)
      next += 1
    }
  }

  /// Writes what the link has, after it has listened.
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

  /// Everything written is acknowledged, and time passes in silence.
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

  /// What the link has to tell, in words: place, and how many behind it from which on.
  mutating func outcomes() -> [String] {
    var told: [String] = []
    func words(_ stretch: Stretch) -> String {
      "\(stretch.place.offset)+\(stretch.skipped) x\(stretch.count)"
    }
    while let outcome = link.takeOutcome() {
      switch outcome {
      case .accepted(let stretch, let isProved):
        told.append("\(isProved ? "proved" : "by time") \(words(stretch))")
      case .rejected(let stretch, let rejection):
        told.append("rejected \(words(stretch)) \(rejection.reason)")
      case .returned(let stretch, _):
        told.append("back \(words(stretch))\(stretch.wasSent ? " sent" : "")")
      case .superseded(let stretch): told.append("superseded \(words(stretch))")
      case .dropped(let stretch): told.append("dropped \(words(stretch))")
      }
    }
    return told
  }
}

@Test func `an answer accepts what came before, rejects one, and gives the rest back`() {
  var rig = Rig()
  rig.connect()
  rig.offer(5)
  rig.write()
  rig.offer(2)
  rig.write()
  rig.say(8, 3)
  #expect(
    rig.outcomes() == [
      "proved 1+0 x2", "rejected 1+2 x1 invalidToken", "back 6+0 x2 sent", "back 1+3 x2 sent",
    ])
  #expect(rig.step() == .disconnect)
  #expect(rig.link.stretchCount == 0)
}

@Test func `a shutdown accepts the one that it names`() {
  var rig = Rig()
  rig.connect()
  rig.offer(3)
  rig.write()
  rig.say(10, 2)
  #expect(rig.outcomes() == ["proved 1+0 x2", "back 1+2 x1 sent"])
}

@Test func `an answer without an error accepts, and the connection goes on`() {
  var rig = Rig()
  rig.connect()
  rig.offer(4)
  rig.write()
  rig.say(0, 1)
  #expect(rig.outcomes() == ["proved 1+0 x1"])
  rig.say(0, 3)
  #expect(rig.outcomes() == ["proved 1+1 x2"])
  #expect(rig.link.isUp == true)
  rig.die()
  #expect(rig.outcomes() == ["back 1+3 x1 sent"])
}

@Test func `what one write carries is one stretch, as far as it stands together`() {
  var rig = Rig()
  rig.connect()
  rig.offer(3)
  rig.offer(2)
  rig.write()
  rig.offer(1)
  #expect(rig.link.stretchCount == 3)
  #expect(rig.link.notificationCount == 6)
}

@Test func `silence accepts when it was listened to for long enough`() {
  var rig = Rig()
  rig.connect()
  rig.offer(2)
  rig.write()
  rig.wait(.seconds(9))
  #expect(rig.outcomes() == [])
  rig.wait(.seconds(2))
  #expect(rig.outcomes() == ["by time 1+0 x2"])
  #expect(rig.link.isUp == true)
}

@Test
func `what was written when the connection died goes back in its order, and so does the rest`() {
  var rig = Rig()
  rig.connect()
  rig.offer(2)
  rig.write()
  rig.offer(1, to: 3)
  rig.die()
  // Each goes before the one that was told last.
  #expect(rig.outcomes() == ["back 3+0 x1", "back 1+0 x2 sent"])
  #expect(rig.link.takeTraffic().uncertain == 2)
}

@Test func `where the uncertain are dropped, only what was not written goes back`() {
  var rig = Rig { $0.uncertain = .drop }
  rig.connect()
  rig.offer(2)
  rig.write()
  rig.offer(1, to: 3)
  rig.die()
  #expect(rig.outcomes() == ["back 3+0 x1", "dropped 1+0 x2"])
}

@Test func `the answer to a barrier proves all before it`() {
  var rig = Rig()
  rig.connect()
  rig.offer(3)
  rig.write()
  rig.supply.isStopping = true
  rig.write()
  #expect(rig.link.isOpen == false)
  rig.say(5, 4)
  #expect(rig.outcomes() == ["proved 1+0 x3"])
}

@Test(arguments: [true, false])
func `what a barrier did not prove is kept until one went alone`(isAnswered: Bool) {
  var rig = Rig { $0.isOnce = true }
  rig.supply.isAllSent = true
  rig.connect()
  rig.offer(3)
  rig.write()
  rig.acknowledge()
  rig.write()
  rig.wait(.seconds(11))
  #expect(rig.outcomes() == [])
  #expect(rig.link.notificationCount == 3)
  rig.connect()
  #expect(rig.link.isOpen == false)
  rig.write()
  if isAnswered {
    rig.say(5, 1)
    #expect(rig.outcomes() == ["back 1+0 x3 sent"])
    #expect(rig.link.takeTraffic().uncertain == 3)
  } else {
    rig.wait(.seconds(11))
    #expect(rig.outcomes() == ["by time 1+0 x3"])
    #expect(rig.link.takeTraffic().uncertain == 0)
  }
}

@Test func `a notification at which connections end is found, and rejected`() {
  var rig = Rig()
  for death in 1...3 {
    rig.connect()
    rig.offer(1, wasSent: death > 1)
    rig.write()
    rig.die()
    // It stands in the same place each time.
    rig.rewind()
    #expect(rig.outcomes() == (death < 3 ? ["back 1+0 x1 sent"] : []))
  }
  #expect(rig.link.notificationCount == 1)
  rig.connect()
  #expect(rig.link.isOpen == false)
  rig.write()
  rig.say(5, 1)
  #expect(rig.outcomes() == ["rejected 1+0 x1 endsConnections"])
}

@Test func `a gateway that dies without the suspect has it tried once more`() {
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
  #expect(rig.outcomes() == ["back 1+0 x1 sent"])
}

@Test func `nothing is taken while there is no connection, or the socket is full`() {
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
  /// The next notification stands where the first one stood.
  fileprivate mutating func rewind() { next = 1 }
}
