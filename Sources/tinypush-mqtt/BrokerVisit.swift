import CLinux
import CMbed
import TinyPush
import TinyPushAgent
import TinyPushMQTT

/// A short connection to the broker, to ask for something, with a client ID of its own.
struct BrokerVisit: ~Copyable {
  /// The time in which the broker must answer.
  private static let patience = Duration.seconds(10)

  private let broker: CString
  private let isEncrypted: Bool
  private let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
  private var login = BrokerSession.Login()
  var session: BrokerSession
  private var connection: TLSConnection
  /// When the broker has said all that it has to say.
  private var end = Clock.now()
  /// Whether the broker has accepted the connection, and whether it has answered all questions.
  private var isAccepted = false
  private var hasAnswered = false
  /// Why the broker did not answer.
  private(set) var problem = Text(capacity: 1024)

  init(_ config: borrowing BridgeConfig) {
    broker = CString(config.broker.span)
    isEncrypted = config.isEncrypted
    var settings = BrokerSession.Settings()
    settings.sessionSeconds = 0
    session = BrokerSession(settings)
    connection = config.connection()
    // Two visits from two machines must not disconnect each other.
    var number: UInt32 = 0
    _ = getrandom(&number, 4, 0)
    login.clientID.append("tinypush-", number)
    login.user.append(config.login.user)
    login.password.append(config.login.password)
  }

  deinit { close(epoll) }

  /// Connects with MQTT 5 or else with MQTT 3.1.1, and calls `body` with each event until the broker
  /// is silent.
  ///
  /// Returns whether the broker has answered; see ``problem``.
  mutating func run(
    _ tls: borrowing Config,
    _ body: (BrokerSession.Event, inout BrokerVisit) throws(BrokerProblem) -> Void
  ) -> Bool {
    var isOtherVersion = false
    let hasAnswered = run(.v5, tls, &isOtherVersion, body)
    return isOtherVersion ? run(.v3, tls, &isOtherVersion, body) : hasAnswered
  }

  private mutating func run(
    _ version: BrokerSession.Version, _ tls: borrowing Config, _ isOtherVersion: inout Bool,
    _ body: (BrokerSession.Event, inout BrokerVisit) throws(BrokerProblem) -> Void
  ) -> Bool {
    problem.clear()
    isAccepted = false
    hasAnswered = false
    guard connection.connect(epoll: epoll, config: tls) else {
      var text = Text(capacity: 1024)
      BridgeConfig.appendUnreachable(broker.span, connection.problem, to: &text)
      problem.append(text)
      return false
    }
    session.connect(login, version, at: Clock.now())
    do throws(BrokerProblem) {
      try listen(body)
      // Some brokers of MQTT 3.1.1 close the connection, or say nothing.
      isOtherVersion = !isAccepted
    } catch {
      problem.clear()
      error.append(to: &problem)
      isOtherVersion = error.isOfVersion
    }
    session.disconnect()
    send()
    connection.hangUp(epoll: epoll, closeNotify: true)
    return problem.count == 0
  }

  /// Waits for more, for so long.
  mutating func wait(_ time: Duration) { end = Clock.now() + time }

  /// The broker has no more to answer.
  mutating func finish() {
    hasAnswered = true
    wait(.milliseconds(0))
  }

  private mutating func listen(
    _ body: (BrokerSession.Event, inout BrokerVisit) throws(BrokerProblem) -> Void
  ) throws(BrokerProblem) {
    wait(Self.patience)
    while true {
      while let event = try session.next(at: Clock.now()) {
        if case .connected = event { isAccepted = true }
        if case .subscribed = event { hasAnswered = true }
        try body(event, &self)
      }
      send()
      let result = connection.read(session.makeRoom())
      if result > 0 {
        session.take(Int(result))
        if Clock.now() < end { continue }
      } else if result != CMBED_WANT_READ {
        problem.append("the broker closed the connection: ")
        problem.append(bytes: connection.problem.unsafeBytes)
        if !isAccepted, !isEncrypted { problem.append("; does it want tls = yes?") }
        return
      }
      var event = epoll_event()
      let wait = Clock.now().until(end).milliseconds
      if wait > 0, epoll_wait(epoll, &event, 1, Int32(clamping: wait)) > 0 { continue }
      if !hasAnswered { problem.append("the broker does not answer") }
      return
    }
  }

  private mutating func send() {
    while !session.output.isEmpty {
      let result = connection.write(session.output)
      guard result > 0 else { return }
      session.written(Int(result), at: Clock.now())
    }
  }
}
