import CLinux
import TinyPush
import TinyPushAgent
import TinyPushMQTT
import TinyPushRules

/// Asks the broker for the states of all boxes, and prints them.
struct FleetListing: ~Copyable {
  /// The time of silence after which all boxes are listed.
  private static let quiet = Duration.seconds(1)
  /// The age of a state after which a box counts as silent, in seconds: three messages.
  private static let silentSeconds: Int64 = 2700
  /// The bytes of a text that are printed at most.
  private static let stringBytesMax = 1280

  private let isJSON: Bool
  private var count = 0
  private var areAllConnected = true

  init(isJSON: Bool) { self.isJSON = isJSON }

  /// Lists the boxes; returns the exit status, or nil with the problem of the visit.
  mutating func run(_ config: borrowing BridgeConfig, _ visit: inout BrokerVisit) -> ExitStatus? {
    let hasAnswered = visit.run(config.tls) { (event, visit) throws(BrokerProblem) in
      switch event {
      case .connected:
        var filter = Text(capacity: 320)
        filter.append(bytes: config.fleet.span)
        filter.append("/fleet/+")
        _ = visit.session.subscribe(filter.bytes, isState: true, at: Clock.now())
      case .subscribed(let answer):
        guard answer.reason < 0x80 else { throw .notSubscribed(answer.reason) }
        visit.wait(Self.quiet)
      case .published, .unsubscribed: break
      case .message(let message):
        // What a box publishes meanwhile would list it twice.
        guard message.isRetained else { return }
        print(visit.session.bytes(message.topic), visit.session.bytes(message.payload))
        visit.wait(Self.quiet)
      }
    }
    guard hasAnswered else { return nil }
    if count == 0 {
      var text = Text()
      text.append("tinypush-mqtt: no box has published its state below ")
      text.append(printable: config.fleet.span)
      text.append("/fleet, the broker does not let this user read it, or it sends no retained")
      text.append(" messages for a topic filter, as RabbitMQ\n")
      text.write(to: STDERR_FILENO)
      return .tryLater
    }
    return areAllConnected ? .ok : .tryLater
  }

  // MARK: - Printing

  /// Prints a box.
  ///
  /// Anybody who may publish there has written the payload: only known members are printed.
  private mutating func print(_ topic: Span<UInt8>, _ payload: Span<UInt8>) {
    guard Finding.inJSON(payload) == nil else { return }
    var start = topic.count
    while start > 0, topic[start - 1] != .slash { start -= 1 }
    let name = topic.extracting(start..<topic.count)
    var text = Text(capacity: 16384)
    if isJSON { appendJSON(name, payload, to: &text) } else { appendRow(name, payload, to: &text) }
    if Self.isSilent(payload) || !Self.isState(payload, "\"connected\"") { areAllConnected = false }
    count += 1
    text.write(to: STDOUT_FILENO)
  }

  private func appendRow(_ name: Span<UInt8>, _ payload: Span<UInt8>, to text: inout Text) {
    if count == 0 {
      text.append("BOX                       STATE           WAITING   SENT/MIN  LAST PROBLEM\n")
    }
    Self.appendColumn(26, &text) { $0.append(printable: name) }
    Self.appendColumn(16, &text) { Self.appendState(payload, to: &$0) }
    Self.appendColumn(10, &text) { $0.append(bytes: Self.digits("waiting", payload)) }
    Self.appendColumn(10, &text) { $0.append(bytes: Self.digits("sent_last_minute", payload)) }
    Self.appendString("problem", payload, to: &text)
    text.append("\n")
  }

  private func appendJSON(_ name: Span<UInt8>, _ payload: Span<UInt8>, to text: inout Text) {
    text.beginObject()
    text.member("box", string: name)
    if Self.isSilent(payload) {
      text.member("state", word: "silent")
    } else {
      Self.member("state", payload, &text)
    }
    Self.member("detail", payload, &text)
    Self.member("waiting", number: payload, &text)
    Self.member("later", number: payload, &text)
    Self.member("sent_last_minute", number: payload, &text)
    Self.member("problem", payload, &text)
    Self.member("problem_at", number: payload, &text)
    Self.member("time", number: payload, &text)
    Self.member("version", payload, &text)
    text.endLine()
  }

  private static func member(_ name: StaticString, _ payload: Span<UInt8>, _ text: inout Text) {
    var value = Text(capacity: stringBytesMax)
    if decode(name, payload, to: &value) { text.member(name, string: value) }
  }

  private static func member(
    _ name: StaticString, number payload: Span<UInt8>, _ text: inout Text
  ) {
    let value = digits(name, payload)
    if value.count > 0 { text.member(name, raw: value) }
  }

  // MARK: - Members of a state

  private static func appendState(_ payload: Span<UInt8>, to text: inout Text) {
    if isSilent(payload) {
      text.append("silent")
    } else {
      appendString("state", payload, to: &text)
    }
  }

  /// Appends a string for a terminal; nothing if the member is none.
  private static func appendString(
    _ name: StaticString, _ payload: Span<UInt8>, to text: inout Text
  ) {
    var value = Text(capacity: stringBytesMax)
    if decode(name, payload, to: &value) { text.append(printable: value) }
  }

  /// Whether a box that is not offline has published nothing for long.
  ///
  /// A broker that was restarted does not publish the wills of boxes that were connected before.
  private static func isSilent(_ payload: Span<UInt8>) -> Bool {
    if isState(payload, "\"offline\"") { return false }
    return Clock.wallSeconds() > time(payload) + silentSeconds
  }

  private static func isState(_ payload: Span<UInt8>, _ json: StaticString) -> Bool {
    guard let range = PayloadPath.find(("state" as StaticString).span, in: payload) else {
      return false
    }
    return payload.extracting(range).equals(json)
  }

  /// Returns when a box published its state, in UNIX seconds.
  private static func time(_ payload: Span<UInt8>) -> Int64 {
    Int64(digits("time", payload).wholeNumber ?? 0)
  }

  /// Returns the digits of a whole number; empty if the member is none.
  @_lifetime(copy payload)
  private static func digits(_ name: StaticString, _ payload: Span<UInt8>) -> Span<UInt8> {
    guard let range = PayloadPath.find(name.span, in: payload),
      payload.extracting(range).wholeNumber != nil
    else { return payload.extracting(0..<0) }
    return payload.extracting(range)
  }

  /// Appends the text of a string; returns whether the member is one.
  private static func decode(
    _ name: StaticString, _ payload: Span<UInt8>, to text: inout Text
  ) -> Bool {
    guard let range = PayloadPath.find(name.span, in: payload),
      payload[range.lowerBound] == .quote
    else { return false }
    var reader = JSONStringReader()
    let string = payload.extracting(range.lowerBound + 1..<range.upperBound - 1)
    while let byte = reader.next(in: string) { text.append(byte: byte) }
    return true
  }

  /// Appends a column of this width.
  private static func appendColumn(
    _ width: Int, _ text: inout Text, _ write: (inout Text) -> Void
  ) {
    let start = text.count
    write(&text)
    repeat { text.append(" ") } while text.count < start + width
  }
}
