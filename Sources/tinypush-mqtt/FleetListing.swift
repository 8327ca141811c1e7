import CLinux
import CMbed
import TinyPush
import TinyPushAgent
import TinyPushMQTT

/// Asks the broker for the states of all boxes, and prints them.
struct FleetListing: ~Copyable {
  /// The time of silence after which all boxes are listed, in milliseconds.
  private static let quietMs: Int32 = 1000

  private var session: BrokerSession
  private var connection: TLSConnection
  private let isJSON: Bool
  private var count = 0
  private var areAllConnected = true
  /// Why the broker did not answer.
  private(set) var problem = Text(capacity: 1024)

  init(_ config: borrowing BridgeConfig, isJSON: Bool) {
    var settings = BrokerSession.Settings()
    settings.sessionSeconds = 0
    session = BrokerSession(settings)
    connection = TLSConnection(
      address: config.broker.span, port: config.port, config.tls, isPlain: !config.isEncrypted)
    self.isJSON = isJSON
  }

  deinit {}

  /// Lists the boxes; returns the exit status.
  mutating func run(_ config: borrowing BridgeConfig) -> ExitStatus {
    let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    defer { close(epoll) }
    guard connection.connect(epoll: epoll, config: config.tls) else {
      problem.append("cannot connect to the broker: ")
      problem.append(connection.problem)
      return .unavailable
    }
    var login = BrokerSession.Login()
    login.clientID.append("tinypush-fleet-")
    login.clientID.append(Int(getpid()))
    login.user.append(config.login.user)
    login.password.append(config.login.password)
    session.connect(login, at: Clock.now())
    do throws(BrokerProblem) {
      try listen(epoll, config)
    } catch {
      problem.clear()
      error.append(to: &problem)
      return .unavailable
    }
    session.disconnect()
    send()
    connection.hangUp(epoll: epoll, closeNotify: true)
    guard problem.count == 0 else { return .unavailable }
    if count == 0, !isJSON {
      var text = Text()
      text.append("no box has published its state yet\n")
      text.write(to: STDOUT_FILENO)
    }
    return areAllConnected ? .ok : .tryLater
  }

  private mutating func listen(
    _ epoll: Int32, _ config: borrowing BridgeConfig
  ) throws(BrokerProblem) {
    var isSubscribed = false
    while true {
      while let event = try session.next(at: Clock.now()) {
        switch event {
        case .connected:
          var filter = Text(capacity: 320)
          filter.append(bytes: config.fleet.span)
          filter.append("/fleet/+")
          _ = session.subscribe(filter.bytes, isState: true, at: Clock.now())
        case .subscribed(let answer):
          guard answer.reason < 0x80 else { throw .notSubscribed(answer.reason) }
          isSubscribed = true
        case .published: break
        case .message(let message):
          print(session.bytes(message.topic), session.bytes(message.payload))
          if message.packetID != nil { session.acknowledge(1, at: Clock.now()) }
        }
      }
      send()
      let result = connection.read(session.makeRoom())
      guard result <= 0 else {
        session.take(Int(result))
        continue
      }
      guard result == CMBED_WANT_READ else {
        problem.append("the broker closed the connection: ")
        return problem.append(connection.problem)
      }
      var event = epoll_event()
      let wait = isSubscribed ? Self.quietMs : 10_000
      guard epoll_wait(epoll, &event, 1, wait) > 0 else {
        if !isSubscribed { problem.append("the broker does not answer") }
        return
      }
    }
  }

  private mutating func send() {
    while !session.output.isEmpty {
      let result = connection.write(session.output)
      guard result > 0 else { return }
      session.written(Int(result), at: Clock.now())
    }
  }

  // MARK: - Printing

  private mutating func print(_ topic: Span<UInt8>, _ payload: Span<UInt8>) {
    guard PayloadPath.isJSON(payload) else { return }
    var start = topic.count
    while start > 0, topic[start - 1] != .slash { start -= 1 }
    let name = topic.extracting(start..<topic.count)
    var text = Text(capacity: 8192)
    if !Self.value("state", payload).bytes.equals("connected") { areAllConnected = false }
    if isJSON {
      text.beginObject()
      text.member("box", string: name)
      text.member("report", raw: payload)
      text.endLine()
      text.write(to: STDOUT_FILENO)
      return
    }
    if count == 0 {
      text.append("BOX                       STATE           WAITING   SENT/MIN  LAST PROBLEM\n")
    }
    count += 1
    Self.append(name, 26, &text)
    Self.append(Self.value("state", payload).bytes, 16, &text)
    Self.append(Self.value("waiting", payload).bytes, 10, &text)
    Self.append(Self.value("sent_last_minute", payload).bytes, 10, &text)
    text.append(printable: Self.value("problem", payload).bytes)
    text.append("\n")
    text.write(to: STDOUT_FILENO)
  }

  /// Returns the value of a member as it reads; empty if absent.
  private static func value(_ name: StaticString, _ payload: Span<UInt8>) -> Text {
    var text = Text(capacity: 512)
    guard let range = PayloadPath.find(name.span, in: payload) else { return text }
    guard payload[range.lowerBound] == .quote else {
      text.append(bytes: payload.extracting(range))
      return text
    }
    var reader = JSONStringReader()
    let string = payload.extracting(range.lowerBound + 1..<range.upperBound - 1)
    while let byte = reader.next(in: string) { text.append(byte: byte) }
    return text
  }

  private static func append(_ word: Span<UInt8>, _ width: Int, _ text: inout Text) {
    let start = text.count
    text.append(printable: word)
    repeat { text.append(" ") } while text.count < start + width
  }
}
