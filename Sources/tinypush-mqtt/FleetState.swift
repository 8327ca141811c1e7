import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent
import TinyPushMQTT

/// The state of this box, which the fleet sees: a retained message of the topic
/// `PREFIX/fleet/CLIENT-ID`.
///
/// The message is made of the agent's status page. When the bridge is lost, the broker publishes
/// the will: the box is offline.
struct FleetState: ~Copyable {
  /// The time between two looks at the state.
  private static let interval = Duration.seconds(60)
  /// After this time, a state that has not changed is published again.
  ///
  /// A broker that keeps its messages on disk writes all of them for each retained one.
  private static let longest = Duration.seconds(900)
  /// The wait after the broker refused a message of this box.
  ///
  /// Mosquitto 2.0.11 ends the connection with the refusal if its `max_queued_messages` is 0.
  private static let refusalWait = Duration.seconds(600)

  private let page: CString
  private let clientID: CString
  private let topic: CString
  /// The first levels of Home Assistant's topics; empty: it does not discover the box.
  private let discovery: CString
  /// The message for Home Assistant.
  private enum Discovery {
    case none
    case due
    case underWay
    /// The broker refused it. It is not published again.
    case refused
  }
  private var discoveryState = Discovery.none
  /// When the next message is due; nil: there is no session, or no fleet.
  private(set) var dueAt: Instant?
  /// The state that was published last on this connection, and until when it need not be published.
  private var published: (hash: UInt64, until: Instant)?
  /// Until when nothing is published, since the broker refused a message; nil: it did not.
  private var pauseEnd: Instant?
  /// Whether a message waits for its answer, and whether the broker has answered one on this
  /// connection.
  private var isAwaited = false
  private var hasAnswer = false
  /// Whether the broker accepts the will; brokers may refuse the connection otherwise.
  private var isWillAccepted = true

  /// - Parameters:
  ///   - page: the agent's status page.
  init(_ config: borrowing BridgeConfig, page: Span<UInt8>) {
    self.page = CString(page)
    clientID = CString(config.login.clientID.bytes)
    discovery = CString(config.discovery.span)
    var text = Text(capacity: 512)
    if !config.fleet.isEmpty {
      text.append(bytes: config.fleet.span)
      text.append("/fleet/", config.login.clientID)
    }
    topic = text.cString()
  }

  deinit {}

  private var isOn: Bool { !topic.isEmpty }

  /// Puts the will into a login.
  func appendWill(to login: inout BrokerSession.Login) {
    login.willTopic.clear()
    login.will.clear()
    guard isOn, isWillAccepted else { return }
    login.willTopic.append(bytes: topic.span)
    login.will.append("{\"state\":\"offline\"}")
  }

  /// The broker refused the connection: this client is not authorized.
  ///
  /// The reason may be the will. After an attempt with it, the next one is without it.
  ///
  /// - Returns: whether an attempt without the will is left, as the text says then.
  mutating func notAuthorized(_ text: inout Text) -> Bool {
    guard isOn else { return false }
    isWillAccepted.toggle()
    guard !isWillAccepted else { return false }
    text.append("; the next attempt is without the last will, topic ", bytes: topic.span)
    return true
  }

  /// The subscriptions are answered.
  mutating func subscribed(at now: Instant) {
    guard isOn else { return }
    published = nil
    dueAt = pauseEnd.map { max($0, now) } ?? now
    if !discovery.isEmpty, discoveryState != .refused { discoveryState = .due }
  }

  /// The clock was set: the time of the last message may be wrong.
  mutating func clockWasSet() { published = nil }

  /// The connection has ended.
  ///
  /// - Returns: whether that may be the answer to the first message, as some brokers refuse one. The
  ///   next message waits.
  mutating func ended(at now: Instant) -> Bool {
    let isRefused = isAwaited && !hasAnswer
    if isRefused { pauseEnd = now + Self.refusalWait }
    dueAt = nil
    isAwaited = false
    hasAnswer = false
    return isRefused
  }

  /// The broker answered the message that was published last.
  mutating func published(isRefused: Bool, at now: Instant) {
    isAwaited = false
    hasAnswer = true
    guard discoveryState != .underWay else {
      return discoveryState = isRefused ? .refused : .none
    }
    if isRefused { published = nil }
    pauseEnd = isRefused ? now + Self.refusalWait : nil
    if let pauseEnd, dueAt != nil { dueAt = pauseEnd }
  }

  /// Publishes what is due.
  mutating func publish(_ bridge: inout Bridge, at now: Instant) {
    guard let dueAt, dueAt <= now, bridge.mayPublish else { return }
    if discoveryState == .due {
      isAwaited = true
      discoveryState = .underWay
      return publishDiscovery(&bridge, at: now)
    }
    self.dueAt = now + Self.interval
    var text = Text(capacity: 2048)
    write(to: &text, at: now)
    var hash = Hash()
    hash.add(text.bytes)
    if let published, published.hash == hash.value, now < published.until { return }
    published = (hash.value, now + Self.longest)
    text.member("time", number: UInt64(clamping: Clock.wallSeconds()))
    text.member("version", word: Version.current)
    text.endObject()
    isAwaited = true
    bridge.publish(topic: topic.span, payload: text.bytes, at: now)
  }

  private func publishDiscovery(_ bridge: inout Bridge, at now: Instant) {
    var config = Text(capacity: 512)
    HomeAssistant.appendTopic(prefix: discovery.span, clientID: clientID.span, to: &config)
    var text = Text(capacity: BrokerSession.publishedBytesMax)
    HomeAssistant.append(
      clientID: clientID.span, state: topic.span, version: Version.current, to: &text)
    bridge.publish(topic: config.bytes, payload: text.bytes, at: now)
  }

  private func write(to text: inout Text, at now: Instant) {
    text.beginObject()
    do throws(StatusReading.Problem) {
      let reading = try StatusReading(page.pointer)
      writePage(reading, &text, at: now)
    } catch {
      var detail = Text()
      // The page is removed when the agent's service stops.
      if case .cannotOpen(ENOENT) = error {
        text.member("state", word: "not running")
        detail.append("there is no status page ")
      } else {
        text.member("state", word: "unknown")
        detail.append("cannot read the status page ")
      }
      detail.append(bytes: page.span)
      text.member("detail", string: detail)
    }
  }

  private func writePage(_ reading: StatusReading, _ text: inout Text, at now: Instant) {
    let page = reading.page
    text.member("state", word: StatusPage.words(page.connectivity))
    var words = Text(capacity: 1280)
    page.appendWords(to: &words)
    if page.connectivity != nil { text.member("detail", string: words) }
    text.member("waiting", number: page.files)
    text.member("later", number: page.later)
    text.member("sent_last_minute", number: page.traffic.sent(in: .minute, at: now))
    guard page.problems[0].count > 0 else { return }
    words.clear()
    page.problems[0].append(to: &words)
    text.member("problem", string: words)
    text.member("problem_at", number: UInt64(clamping: page.problems[0].time))
  }
}
