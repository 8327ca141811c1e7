import Simulation

/// A broker that keeps one session, and breaks connections, repeats and delays messages.
///
/// Written from the standards (MQTT 5 and 3.1.1), without code of the bridge's.
struct SimulatedBroker {
  /// A message that the session keeps: its number and its bytes.
  struct Kept {
    var number: Int
    var topic: String
    var payload: [UInt8]
    /// The packet identifier, once the message was sent.
    var packetID: UInt16?
  }

  /// What the broker keeps for the client, on its disk.
  struct Session {
    var filters: Set<String> = []
    /// Sent and not acknowledged, in the order in which they were sent.
    var sent: [Kept] = []
    var queue: [Kept] = []
    var nextPacketID: UInt16 = 1
  }

  private(set) var session: Session?
  /// The session as it was last saved, which comes back after the broker was killed.
  private var saved: Session?
  /// Filters that a client ended, one after the other.
  private(set) var ended: [String] = []
  /// Filters that the broker refuses.
  var refused: Set<String> = []
  private(set) var isConnected = false
  private(set) var isAccepted = false
  /// Bytes for the client.
  var output: [UInt8] = []
  private var input: [UInt8] = []
  private var receiveMax = 0
  /// The properties of a packet that has none: a byte in MQTT 5, and nothing in MQTT 3.1.1.
  private var properties: [UInt8] = []
  /// How often each message was sent.
  private(set) var sendings: [Int: Int] = [:]
  /// Messages that were acknowledged, since ``takeAcknowledged()``.
  private var acknowledged: [Int] = []
  /// A violation of the standard by the client.
  private(set) var violation: String?
  /// Whether packets are answered late, and then in another order.
  var isSlow = false
  private var late: [[UInt8]] = []

  // MARK: - What happens to the broker

  mutating func accept() {
    isConnected = true
    isAccepted = false
    input = []
    output = []
    late = []
  }

  mutating func cut() {
    isConnected = false
    isAccepted = false
    output = []
  }

  mutating func save() { saved = session }

  /// Ends the broker without a chance to save; returns the numbers of the messages that it forgets.
  mutating func kill() -> Set<Int> {
    cut()
    let before = Set((session?.sent ?? []).map(\.number) + (session?.queue ?? []).map(\.number))
    session = saved
    let after = Set((session?.sent ?? []).map(\.number) + (session?.queue ?? []).map(\.number))
    return before.subtracting(after)
  }

  /// Takes a message from a publisher; returns whether the session keeps or sends the message.
  mutating func publish(_ number: Int, topic: String, payload: [UInt8], quality: Int) -> Bool {
    guard session?.filters.contains(where: { Self.matches($0, topic) }) == true else {
      return false
    }
    let message = Kept(number: number, topic: topic, payload: payload)
    guard quality > 0 else {
      guard isAccepted else { return false }
      send(message, isRepeated: false)
      return true
    }
    session?.queue.append(message)
    sendQueue()
    return true
  }

  mutating func takeAcknowledged() -> [Int] {
    defer { acknowledged = [] }
    return acknowledged
  }

  /// Sends answers that were held back.
  mutating func sendLate() {
    for answer in late.reversed() { output += answer }
    late = []
  }

  // MARK: - Packets

  mutating func take(_ bytes: [UInt8]) {
    input += bytes
    while let (head, body) = nextPacket() {
      handle(head, body)
      guard isConnected else { return }
    }
  }

  private mutating func nextPacket() -> (UInt8, [UInt8])? {
    var (length, at, shift) = (0, 1, 0)
    while true {
      guard at < input.count else { return nil }
      length |= Int(input[at] & 0x7F) << shift
      shift += 7
      at += 1
      if input[at - 1] & 0x80 == 0 { break }
    }
    guard input.count >= at + length else { return nil }
    let packet = (input[0], Array(input[at..<at + length]))
    input.removeFirst(at + length)
    return packet
  }

  private mutating func handle(_ head: UInt8, _ body: [UInt8]) {
    guard isAccepted || head >> 4 == 1 else { return violation = "packet before CONNECT" }
    switch head >> 4 {
    case 1: connect(body)
    case 4: acknowledge(UInt16(body[0]) << 8 | UInt16(body[1]))
    case 8:
      let filter = text(body[(2 + properties.count)..<body.count - 1])
      let isRefused = refused.contains(filter)
      if !isRefused { session?.filters.insert(filter) }
      let reason: UInt8 = !isRefused ? 1 : properties.isEmpty ? 0x80 : 0x87
      answer(0x90, Array(body.prefix(2)) + properties + [reason])
    case 10:
      let filter = text(body[(2 + properties.count)...])
      session?.filters.remove(filter)
      ended.append(filter)
      answer(0xB0, Array(body.prefix(2)) + properties + (properties.isEmpty ? [] : [0]))
    case 12: answer(0xD0, [])
    case 14: cut()
    default: violation = "packet of kind \(head >> 4)"
    }
  }

  /// The topic filter in bytes that begin with its length.
  private func text(_ bytes: ArraySlice<UInt8>) -> String {
    String(decoding: bytes.dropFirst(2), as: UTF8.self)
  }

  private mutating func answer(_ head: UInt8, _ body: [UInt8]) {
    let packet = [head, UInt8(body.count)] + body
    if isSlow { late.append(packet) } else { output += packet }
  }

  private mutating func connect(_ body: [UInt8]) {
    guard body[7] & 0x02 == 0 else { return violation = "a clean start" }
    properties = body[6] == 5 ? [0] : []
    // The properties: the session's time, the receive maximum and the largest packet.
    receiveMax = body[6] == 5 ? Int(body[17]) << 8 | Int(body[18]) : 20
    let hasSession = session != nil
    if session == nil { session = Session() }
    isAccepted = true
    output += [0x20, UInt8(2 + properties.count), hasSession ? 1 : 0, 0] + properties
    for message in session?.sent ?? [] { send(message, isRepeated: true) }
    sendQueue()
  }

  private mutating func sendQueue() {
    guard isAccepted else { return }
    while var session, session.sent.count < receiveMax, !session.queue.isEmpty {
      var message = session.queue.removeFirst()
      while session.sent.contains(where: { $0.packetID == session.nextPacketID }) {
        session.nextPacketID = session.nextPacketID == .max ? 1 : session.nextPacketID + 1
      }
      message.packetID = session.nextPacketID
      session.nextPacketID = session.nextPacketID == .max ? 1 : session.nextPacketID + 1
      session.sent.append(message)
      self.session = session
      send(message, isRepeated: false)
    }
  }

  private mutating func send(_ message: Kept, isRepeated: Bool) {
    sendings[message.number, default: 0] += 1
    let topic = Array(message.topic.utf8)
    var body = [UInt8(topic.count >> 8), UInt8(topic.count & 255)] + topic
    if let packetID = message.packetID { body += [UInt8(packetID >> 8), UInt8(packetID & 255)] }
    body += properties + message.payload
    var length: [UInt8] = []
    var rest = body.count
    repeat {
      length.append(UInt8(rest & 0x7F) | (rest > 0x7F ? 0x80 : 0))
      rest >>= 7
    } while rest > 0
    let flags: UInt8 = (isRepeated ? 8 : 0) | (message.packetID == nil ? 0 : 2)
    output += [0x30 | flags] + length + body
  }

  private mutating func acknowledge(_ packetID: UInt16) {
    guard let first = session?.sent.first else { return violation = "PUBACK without a message" }
    // Section 4.6: in the order of the messages.
    guard first.packetID == packetID else {
      return violation = "PUBACK \(packetID) instead of \(first.packetID ?? 0)"
    }
    session?.sent.removeFirst()
    acknowledged.append(first.number)
    sendQueue()
  }

  /// Whether a topic filter, whose last level may be a wildcard, matches a topic.
  static func matches(_ filter: String, _ topic: String) -> Bool {
    guard let wildcard = filter.last, "+#".contains(wildcard) else { return filter == topic }
    return topic.hasPrefix(filter.dropLast())
  }
}
