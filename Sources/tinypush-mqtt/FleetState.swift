import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent
import TinyPushMQTT

/// The state of this box, which the fleet sees: a retained message of the topic `PREFIX/fleet/CLIENT-ID`.
///
/// The message is taken from the agent's status page. When the bridge is lost, the broker publishes its will: the box is offline.
struct FleetState: ~Copyable {
  /// The time between two messages. A message keeps the connection alive as a ping does.
  private static let interval = Duration.seconds(60)

  private let page: CString
  private let topic: CString
  /// When the next message is due; nil: there is no session, or no fleet.
  private(set) var dueAt: Instant?

  /// - Parameters:
  ///   - prefix: the first levels of the fleet's topics; empty: there is no fleet.
  ///   - page: the agent's status page; empty: none is set.
  init(prefix: Span<UInt8>, clientID: Span<UInt8>, page: Span<UInt8>) {
    self.page = CString(page)
    var text = Text(capacity: 400)
    if prefix.count > 0 {
      text.append(bytes: prefix)
      text.append("/fleet/")
      text.append(bytes: clientID)
    }
    topic = text.cString()
  }

  deinit {}

  private var isOn: Bool { !topic.isEmpty }

  /// Puts the will into a login.
  func appendWill(to login: inout BrokerSession.Login) {
    login.willTopic.clear()
    login.will.clear()
    guard isOn else { return }
    login.willTopic.append(bytes: topic.span)
    login.will.append("{\"state\":\"offline\"}")
  }

  /// The subscriptions hold.
  mutating func subscribed(at now: Instant) { if isOn { dueAt = now } }

  /// The connection has ended.
  mutating func ended() { dueAt = nil }

  /// Publishes the state when it is due.
  mutating func publish(_ session: inout BrokerSession, at now: Instant) {
    guard let dueAt, dueAt <= now, session.mayPublish else { return }
    self.dueAt = now + Self.interval
    var text = Text(capacity: 2048)
    write(to: &text, at: now)
    _ = session.publish(topic: topic.span, payload: text.bytes, isRetained: true, at: now)
  }

  private func write(to text: inout Text, at now: Instant) {
    text.beginObject()
    do throws(StatusReading.Problem) {
      let reading = try StatusReading(page.pointer)
      writePage(reading, &text, at: now)
    } catch {
      text.member("state", word: "unknown")
      text.member("detail", word: "the agent's status page cannot be read: set status")
    }
    text.member("time", number: UInt64(clamping: Clock.wallSeconds()))
    text.member("version", word: Version.current)
    text.endObject()
  }

  private func writePage(_ reading: StatusReading, _ text: inout Text, at now: Instant) {
    let page = reading.page
    var words = Text(capacity: 1280)
    page.appendWords(to: &words)
    switch page.connectivity {
    case nil: text.member("state", word: "not running")
    case .up: text.member("state", word: "connected")
    case .connecting: text.member("state", word: "connecting")
    case .down: text.member("state", word: "not connected")
    }
    text.member("detail", string: words)
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
