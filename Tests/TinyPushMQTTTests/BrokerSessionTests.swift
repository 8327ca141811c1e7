import Testing
import TinyPush
import TinyPushMQTT

/// A session and the bytes that a broker would exchange with it.
private final class Rig {
  var session: BrokerSession
  var now = Instant(milliseconds: 1000)
  /// The size of the pieces in which the broker's bytes arrive.
  var piece = Int.max

  init(openMax: Int = 4, piece: Int = .max) {
    var settings = BrokerSession.Settings()
    settings.openMax = openMax
    settings.packetBytesMax = 1024
    session = BrokerSession(settings)
    self.piece = piece
  }

  /// Connects, and takes the CONNECT packet.
  func connect(answer: String = "20 03 00 00 00") throws -> [String] {
    var login = BrokerSession.Login()
    login.clientID.append("box")
    session.connect(login, at: now)
    _ = written()
    return try heard(answer)
  }

  /// Connects with MQTT 3.1.1; returns the CONNECT packet and the events.
  func connectOld(answer: String = "20 02 00 00", will: Bool = false) throws -> (String, [String]) {
    var login = BrokerSession.Login()
    login.clientID.append("box")
    if will {
      login.willTopic.append("t")
      login.will.append("w")
    }
    session.connect(login, .v3, at: now)
    return (written(), try heard(answer))
  }

  var mayPublish: Bool { session.mayPublish }
  var openCount: Int { session.openCount }
  var wakeAt: Instant? { session.wakeAt }

  func subscribe(_ filter: String, isState: Bool) -> UInt16? {
    session.subscribe(Array(filter.utf8).span, isState: isState, at: now)
  }

  func publish(_ topic: String, _ payload: String) {
    session.publish(topic: Array(topic.utf8).span, payload: Array(payload.utf8).span, at: now)
  }

  /// The bytes that the session has written, in hexadecimal digits.
  func written() -> String {
    let bytes = session.output.array
    session.written(bytes.count, at: now)
    return bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// Gives bytes of the broker to the session.
  ///
  /// Returns the events in words.
  func heard(_ hex: String) throws -> [String] {
    var rest = [UInt8](hex: hex)[...]
    var events: [String] = []
    repeat {
      let part = rest.prefix(piece)
      rest = rest.dropFirst(part.count)
      let room = session.makeRoom()
      for (index, byte) in part.enumerated() { room[index] = byte }
      if part.count > 0 { session.take(part.count) }
      while let event = try session.next(at: now) { events.append(words(event)) }
    } while !rest.isEmpty
    return events
  }

  private func words(_ event: BrokerSession.Event) -> String {
    switch event {
    case .connected(let hasSession): return hasSession ? "resumed" : "connected"
    case .subscribed(let answer):
      return "subscribed \(answer.packetID) \(answer.reason)" + (answer.isLast ? " last" : "")
    case .published(let reason): return "published \(reason)"
    case .unsubscribed: return "unsubscribed"
    case .message(let message):
      let text = "\(session.bytes(message.topic).string)=\(session.bytes(message.payload).string)"
      let flags =
        (message.isRepeated ? " repeated" : "") + (message.isRetained ? " retained" : "")
        + (message.isCut ? " cut" : "")
      return text + " \(message.packetID.map(String.init) ?? "-")" + flags
    }
  }
}

/// PUBLISH of `a` = `x` with QoS 1.
private func publish(_ packetID: UInt8, flags: String = "2") -> String {
  "3\(flags) 07 0001 61 00\(packetID < 16 ? "0" : "")\(String(packetID, radix: 16)) 00 78"
}

@Test func `a session connects with a client ID, a kept session and a receive maximum`() throws {
  var session = BrokerSession(BrokerSession.Settings())
  var login = BrokerSession.Login()
  login.clientID.append("box")
  login.user.append("u")
  login.password.append("p")
  login.willTopic.append("t")
  login.will.append("w")
  session.connect(login, at: Instant(milliseconds: 0))
  let expected =
    "10 2a 0004 4d515454 05 ec 0078 0d 11ffffffff 210100 2700100000 0003 626f78 00 0001 74 0001 77 0001 75 0001 70"
  let output = session.output.array
  #expect(output == [UInt8](hex: expected))
}

@Test(arguments: [BrokerSession.Version.v5, .v3])
func `a session that need not be kept starts clean`(version: BrokerSession.Version) {
  var settings = BrokerSession.Settings()
  settings.sessionSeconds = 0
  var session = BrokerSession(settings)
  var login = BrokerSession.Login()
  login.clientID.append("box")
  session.connect(login, version, at: Instant(milliseconds: 0))
  let flags = session.output.array[9]
  #expect(flags == 0x02)
}

@Test func `a session with MQTT 3.1.1 has no properties`() throws {
  let rig = Rig()
  let (packet, events) = try rig.connectOld(answer: "20 02 01 00")
  #expect(packet == "100f" + "00044d515454" + "04" + "00" + "0078" + "0003626f78")
  #expect(events == ["resumed"])
  #expect(rig.session.sessionSeconds == .max)
  #expect(rig.subscribe("a", isState: false) == 1)
  #expect(rig.written() == "8206" + "0001" + "000161" + "01")
  #expect(try rig.heard("90 03 0001 01") == ["subscribed 1 1 last"])
  #expect(try rig.heard("32 06 0001 61 0007 78") == ["a=x 7"])
  rig.session.acknowledge(1, at: rig.now)
  #expect(rig.written() == "40020007")
  rig.publish("t", "on")
  #expect(rig.written() == "3307" + "000174" + "0002" + "6f6e")
  #expect(try rig.heard("40 02 0002") == ["published 0"])
  let hasRoom = rig.session.unsubscribe(Array("a".utf8).span, at: rig.now)
  #expect(hasRoom)
  #expect(rig.written() == "a205" + "0003" + "000161")
  rig.session.disconnect()
  #expect(rig.written() == "e000")
}

@Test func `a goodbye of MQTT 3.1.1 would take back the will, and is not said`() throws {
  let rig = Rig()
  let (packet, _) = try rig.connectOld(will: true)
  #expect(packet == "1015" + "00044d515454" + "04" + "2c" + "0078" + "0003626f78" + "000174000177")
  rig.session.disconnect()
  #expect(rig.written() == "")
}

@Test(arguments: [(1, 0x84), (2, 0x85), (3, 0x88), (4, 0x86), (5, 0x87)])
func `a return code of MQTT 3.1.1 has the words of its reason`(code: UInt8, reason: UInt8) {
  let rig = Rig()
  #expect(throws: BrokerProblem.refused(reason)) { try rig.connectOld(answer: "20 02 00 0\(code)") }
  #expect(BrokerProblem.refused(reason).isOfVersion == (code == 1))
}

@Test func `what the broker does not offer is known`() throws {
  let rig = Rig()
  _ = try rig.connect(answer: "20 07 00 00 04 28 00 2a 00")
  #expect(rig.session.lacks == [.wildcards, .sharedSubscriptions])
  rig.session.ended()
  _ = try rig.connect(answer: "20 05 00 00 02 2a 01")
  #expect(rig.session.lacks == [])
}

@Test func `a broker that sends bytes is not silent`() throws {
  let rig = Rig()
  _ = try rig.connect()
  _ = rig.subscribe("a", isState: false)
  // A large message comes slowly, before the answer to the subscription.
  let message = [UInt8](hex: publish(1)).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
  for byte in message {
    rig.now = rig.now + .seconds(20)
    _ = try rig.heard(byte)
  }
  rig.now = rig.now + .seconds(31)
  #expect(throws: BrokerProblem.silent) { try rig.heard("") }
}

@Test(arguments: [1, 2, 3, Int.max])
func `messages come out of a stream however it is cut into pieces`(piece: Int) throws {
  let rig = Rig(piece: piece)
  #expect(try rig.connect() == ["connected"])
  let events = try rig.heard(publish(1) + publish(2, flags: "a") + "30 05 0001 61 00 79")
  #expect(events == ["a=x 1", "a=x 2 repeated", "a=y -"])
  #expect(rig.openCount == 2)
}

/// MQTT 3.1.1 cannot tell a broker the bound, and the broker sends the message until the bridge has
/// acknowledged the message.
@Test(arguments: [1, 100, 1021, 1030, Int.max])
func `a message above the bound is cut, and those around it are taken`(piece: Int) throws {
  let rig = Rig(piece: piece)
  _ = try rig.connectOld()
  for bytes in [1021, 1022, 1023, 5000] {
    let length = 5 + bytes
    let head = [0x32, length & 127 | 128, length >> 7, 0, 1, 0x61, 0, 2]
    let hex = (head + Array(repeating: 0x78, count: bytes)).map { byte in
      (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }.joined()
    let events = try rig.heard("32 06 0001 61 0001 78" + hex + "32 06 0001 61 0003 79")
    let kept = String(repeating: "x", count: min(bytes, 1024 - 8))
    #expect(events == ["a=x 1", "a=\(kept) 2" + (bytes > 1016 ? " cut" : ""), "a=y 3"])
    rig.session.acknowledge(3, at: rig.now)
    #expect(rig.written() == "400200014002000240020003")
  }
}

@Test func `a message is acknowledged when the caller says so, in the order of arrival`() throws {
  let rig = Rig()
  _ = try rig.connect()
  _ = try rig.heard(publish(7) + publish(3) + publish(9))
  #expect(rig.written().isEmpty)
  rig.session.acknowledge(2, at: rig.now)
  #expect(rig.written() == "40020007" + "40020003")
  rig.session.acknowledge(1, at: rig.now)
  #expect(rig.written() == "40020009")
  #expect(rig.openCount == 0)
}

@Test func `a session takes more open messages than it asked for, up to all identifiers`() throws {
  let rig = Rig(openMax: 2)
  _ = try rig.connect()
  _ = try rig.heard(publish(1) + publish(2) + publish(3))
  #expect(rig.openCount == 3)
  for _ in 3..<65_535 { _ = try rig.heard(publish(3)) }
  #expect(throws: BrokerProblem.malformed(.tooManyOpen)) { try rig.heard(publish(3)) }
}

@Test func `open messages are forgotten with the connection`() throws {
  let rig = Rig()
  _ = try rig.connect()
  _ = try rig.heard(publish(1))
  rig.session.ended()
  #expect(rig.openCount == 0)
  #expect(try rig.connect(answer: "20 03 01 00 00") == ["resumed"])
  #expect(try rig.heard(publish(1)) == ["a=x 1"])
}

@Test func `the answer to each subscription is reported, and which is the last`() throws {
  let rig = Rig()
  _ = try rig.connect()
  #expect(rig.subscribe("a/#", isState: false) == 1)
  #expect(rig.subscribe("s/+", isState: true) == 2)
  #expect(
    rig.written() == "8209" + "0001" + "00" + "0003612f23" + "11" + "8209" + "0002" + "00"
      + "0003732f2b" + "04")
  // Not authorized; and the answers in another order.
  #expect(try rig.heard("90 04 0002 00 87") == ["subscribed 2 135"])
  #expect(try rig.heard("90 04 0001 00 01") == ["subscribed 1 1 last"])
  #expect(throws: BrokerProblem.malformed(.outOfTurn(9))) { try rig.heard("90 04 0001 00 01") }
}

@Test func `a broker that does not answer a subscription is reported, though it answers pings`()
  throws
{
  let rig = Rig()
  _ = try rig.connect(answer: "20 06 00 00 03 13 000a")
  rig.now = Instant(milliseconds: 2000)
  _ = rig.subscribe("a", isState: false)
  let due = Instant(milliseconds: 32_000)
  rig.now = Instant(milliseconds: 12_000)
  #expect(try rig.heard("") == [])
  #expect(try rig.heard("d0 00") == [])
  rig.now = due
  #expect(throws: BrokerProblem.silent) { try rig.heard("") }
}

@Test func `a broker that takes no bytes for the time of a ping is reported`() throws {
  let rig = Rig()
  _ = try rig.connect()
  // Together they fill the room for bytes that wait.
  for (index, count) in [8180, 8183].enumerated() {
    #expect(rig.subscribe(String(repeating: "a", count: count), isState: false) != nil)
    _ = try rig.heard("90 04 000\(index + 1) 00 01")
  }
  #expect(rig.subscribe("a", isState: false) == nil)
  rig.now = try #require(rig.wakeAt)
  #expect(throws: BrokerProblem.silent) { try rig.heard("") }
}

@Test func `the broker may keep messages for a shorter time than it was asked to`() throws {
  let rig = Rig()
  _ = try rig.connect()
  #expect(rig.session.sessionSeconds == .max)
  _ = try rig.connect(answer: "20 08 00 00 05 11 00000e10")
  #expect(rig.session.sessionSeconds == 3600)
}

@Test func `a published message is lost with the connection, and the next one may follow`() throws {
  let rig = Rig()
  _ = try rig.connect()
  rig.publish("t", "on")
  #expect(rig.written() == "3308" + "000174" + "0001" + "00" + "6f6e")
  #expect(!rig.mayPublish)
  rig.session.ended()
  #expect(!rig.mayPublish)
  _ = try rig.connect(answer: "20 03 01 00 00")
  #expect(rig.written() == "")
  #expect(rig.mayPublish)
  rig.publish("t", "off")
  #expect(rig.written() == "3309" + "000174" + "0002" + "00" + "6f6666")
  #expect(try rig.heard("40 02 0002") == ["published 0"])
  #expect(rig.mayPublish)
}

@Test func `a ping goes out after a silence, and a missing answer ends the connection`() throws {
  let rig = Rig()
  // The broker wants a keep alive of 60 s.
  _ = try rig.connect(answer: "20 06 00 00 03 13 003c")
  #expect(rig.wakeAt == Instant(milliseconds: 61_000))
  rig.now = Instant(milliseconds: 61_000)
  #expect(try rig.heard("") == [])
  #expect(rig.written() == "c000")
  rig.now = Instant(milliseconds: 62_000)
  #expect(try rig.heard("d0 00") == [])
  #expect(rig.wakeAt == Instant(milliseconds: 121_000))
  rig.now = Instant(milliseconds: 121_000)
  _ = try rig.heard("")
  rig.now = rig.wakeAt ?? rig.now
  #expect(throws: BrokerProblem.silent) { try rig.heard("") }
}

@Test(arguments: [
  ("20 03 00 87 00", BrokerProblem.refused(0x87)),
  ("20 05 00 00 02 24 00", .lacksAcknowledgements),
  ("20 02 00 00", .malformed(.content(2))), ("d0 00", .malformed(.outOfTurn(13))),
  ("f0 00", .malformed(.packetKind(0xF0))),
  ("20 ff ff ff ff 01", .malformed(.length)), ("20 ff ff 03", .malformed(.packetBytes(65_539))),
  // A broker of MQTT 3.1.1.
  ("20 02 00 01", .refused(1)),
  ("e0 00", .disconnected(0)),
  ("e0 02 8b 00", .disconnected(0x8B)),
])
func `a broker that refuses or breaks the protocol is reported`(hex: String, problem: BrokerProblem)
  throws
{
  let rig = Rig()
  #expect(throws: problem) { try rig.connect(answer: hex) }
}

@Test(arguments: [
  (BrokerProblem.refused(1), "it does not speak this version"), (.refused(0x84), "this version"),
  (.disconnected(0x8E), "another client uses the same client ID: set client-id"),
  (.disconnected(0x9A), "remove fleet"), (.refused(0xC0), "reason code 192"),
])
func `a problem is explained`(problem: BrokerProblem, words: String) {
  var text = Text()
  problem.append(to: &text)
  #expect(text.bytes.string.contains(words))
}

@Test(
  arguments: [
    ("34 07 0001 61 0001 00 78", .quality), ("32 05 0000 0001 00", .alias),
    ("32 06 0001 61 0000 00", .content(3)), ("32 07 0009 61 0001 00 78", .content(3)),
    ("32 09 0001 61 0001 02 7f00 78", .content(3)),
  ] as [(String, BrokerProblem.Fault)])
func `a malformed message ends the connection`(hex: String, fault: BrokerProblem.Fault) throws {
  let rig = Rig()
  _ = try rig.connect()
  #expect(throws: BrokerProblem.malformed(fault)) { try rig.heard(hex) }
}

/// Noise must end in a problem or in nothing, and never in a crash.
@Test(arguments: 0..<64)
func `noise from a broker crashes nothing`(seed: Int) throws {
  var state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1
  let rig = Rig()
  _ = try rig.connect()
  for _ in 0..<200 {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    let count = Int(state % 7) + 1
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: state >> (8 * UInt64($0))) }
    let hex = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    do { _ = try rig.heard(hex) } catch { return }
  }
}
