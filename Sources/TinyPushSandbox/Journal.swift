import CLinux
import TinyPush

/// Says what happens: as words for a person, as JSON Lines for a program, or, when quiet, as sums at the end. What is
/// said is gathered, and goes out once a turn of the loop.
final class Journal {
  /// Room for a whole event at any time: an accepted payload of the largest size, and what is said around it. Words
  /// can take four bytes for a byte of a payload, which they are then cut at.
  private static let eventBytesMax = SandboxOptions.payloadLimitMax + 16_384
  private static let capacity = eventBytesMax + 65_536

  private var out = Text(capacity: capacity)
  private(set) var tally = Tally()
  private var clock = SystemClock()
  private let isJSON: Bool
  private let isQuiet: Bool
  private let palette: Palette
  /// Whether nobody reads it any more.
  private(set) var isLost = false

  init(isJSON: Bool, isQuiet: Bool) {
    self.isJSON = isJSON
    self.isQuiet = isQuiet
    let isPlain = isJSON || isatty(1) == 0 || getenv("NO_COLOR") != nil
    palette = isPlain ? .plain : .terminal
  }

  /// The time of what is said next.
  func tick(_ clock: SystemClock) { self.clock = clock }

  func flush() {
    guard out.count > 0 else { return }
    if Home.writeAll(1, out) != 0 { isLost = true }
    out.clear()
  }

  // MARK: - The sandbox

  func listening(_ sandbox: borrowing Listener, _ feedback: borrowing Listener, _ home: Home) {
    if isJSON {
      let line = JSONLine("listening", at: clock.unixMs, in: &out)
      line.member("gateway", sandbox.port, in: &out)
      line.member("feedback", feedback.port, in: &out)
      line.key("config", in: &out)
      var path = Text(capacity: 8192)
      home.write(ConfigFile.name, in: &path)
      out.append(json: path)
      line.end(in: &out)
    } else {
      Greeting.write(sandbox, feedback, home, isQuiet: isQuiet, in: &out)
    }
    flush()
  }

  /// The last words.
  func stopped() {
    begin()
    if isJSON {
      var line = JSONLine("stopped", at: clock.unixMs, in: &out)
      tally.write(as: &line, in: &out)
      line.end(in: &out)
    } else {
      out.append("Goodbye. ")
      tally.write(in: &out)
      out.append(".\n")
    }
    flush()
  }

  /// Something that a person should know.
  func note(_ words: borrowing Text) {
    guard !isQuiet else { return }
    begin()
    if isJSON {
      let line = JSONLine("note", at: clock.unixMs, in: &out)
      line.member("text", text: words.bytes, in: &out)
      line.end(in: &out)
    } else {
      beginLine()
      out.append(bytes: words.bytes)
      out.append("\n")
    }
  }

  // MARK: - Connections

  func connected(_ number: Int64, _ service: ServiceName, peerPort: UInt16, _ link: borrowing Link) {
    tally.connections += 1
    guard !isQuiet else { return }
    begin()
    var topic = Text()
    link.writeTopic(in: &topic)
    if isJSON {
      let line = JSONLine("connected", at: clock.unixMs, in: &out)
      line.member("connection", number, in: &out)
      line.member("service", text: service.text.span, in: &out)
      line.member("peerPort", peerPort, in: &out)
      line.member("topic", text: topic.bytes, in: &out)
      var fact = Text()
      link.writeVersion(in: &fact)
      line.member("version", text: fact.bytes, in: &out)
      fact.clear()
      link.writeSuite(in: &fact)
      line.member("suite", text: fact.bytes, in: &out)
      line.member("resumed", link.isResumed, in: &out)
      line.end(in: &out)
    } else {
      beginLine(connection: number)
      out.append(service == .gateway ? "to the gateway" : "to the feedback service")
      out.append(" from port ")
      out.append(peerPort)
      out.append(", ")
      link.writeVersion(in: &out)
      out.append(topic.count > 0 ? ", topic " : ", no topic")
      out.append(printable: topic.bytes)
      if link.isResumed { out.append(", resumed") }
      out.append("\n")
    }
  }

  func handshakeRefused(
    _ number: Int64, _ service: ServiceName, peerPort: UInt16, why: borrowing Text
  ) {
    tally.handshakesRefused += 1
    guard !isQuiet else { return }
    begin()
    if isJSON {
      let line = JSONLine("handshakeRefused", at: clock.unixMs, in: &out)
      line.member("connection", number, in: &out)
      line.member("service", text: service.text.span, in: &out)
      line.member("peerPort", peerPort, in: &out)
      line.member("text", text: why.bytes, in: &out)
      line.end(in: &out)
    } else {
      beginLine(connection: number)
      out.append(palette.bad)
      out.append("handshake refused")
      out.append(palette.end)
      out.append(", from port ")
      out.append(peerPort)
      out.append(": ")
      out.append(printable: why.bytes)
      out.append("\n")
    }
  }

  func closed(_ number: Int64, accepted: Int64, how: borrowing Text) {
    guard !isQuiet else { return }
    begin()
    if isJSON {
      let line = JSONLine("closed", at: clock.unixMs, in: &out)
      line.member("connection", number, in: &out)
      line.member("accepted", accepted, in: &out)
      line.member("text", text: how.bytes, in: &out)
      line.end(in: &out)
    } else {
      beginLine(connection: number)
      out.append(printable: how.bytes)
      if accepted > 0 {
        out.append(" ")
        out.append(accepted)
        out.append(" accepted on it.")
      }
      out.append("\n")
    }
  }

  func fedBack(_ number: Int64, tuples: Int64, isCleared: Bool) {
    tally.feedbackTuples += tuples
    guard !isQuiet else { return }
    begin()
    if isJSON {
      let line = JSONLine("feedback", at: clock.unixMs, in: &out)
      line.member("connection", number, in: &out)
      line.member("tuples", tuples, in: &out)
      line.member("cleared", isCleared, in: &out)
      line.end(in: &out)
    } else {
      beginLine(connection: number)
      out.append("told of ")
      out.append(tuples)
      out.append(tuples == 1 ? " device that is gone" : " devices that are gone")
      if tuples > 0 {
        out.append(isCleared ? "; the list is cleared" : "; the list is kept, to be told again")
      }
      out.append("\n")
    }
  }

  // MARK: - Notifications

  func accepted(
    _ number: Int64, _ frame: ReceivedFrame, _ summary: PayloadSummary,
    _ reader: borrowing FrameReader
  ) {
    tally.accepted += 1
    tally.acceptedBytes += Int64(frame.byteCount)
    guard !isQuiet else { return }
    begin()
    let token = reader.bytes(frame.token ?? 0..<0)
    let payload = reader.bytes(frame.payload ?? 0..<0)
    if isJSON {
      let line = JSONLine("accepted", at: clock.unixMs, in: &out)
      line.member("connection", number, in: &out)
      line.member("command", frame.format.rawValue, in: &out)
      line.member("identifier", frame.identifier, in: &out)
      line.member("token", hex: token, in: &out)
      line.member("priority", frame.priority ?? 10, in: &out)
      line.member("expiration", frame.expiration, in: &out)
      line.member("payload", json: payload, in: &out)
      line.end(in: &out)
    } else {
      beginLine()
      let card = Card(frame: frame, summary: summary, connection: number, palette: palette)
      card.write(token: token, payload: payload, now: clock.unixSeconds, in: &out)
    }
  }

  /// - Parameter tokenRange: what there is of it.
  func refused(
    _ number: Int64, identifier: UInt32?, token tokenRange: Range<Int>,
    _ reader: borrowing FrameReader, _ status: Status, _ fault: Fault
  ) {
    tally.refused += 1
    guard !isQuiet else { return }
    begin()
    let token = reader.bytes(tokenRange)
    if isJSON {
      let line = JSONLine("refused", at: clock.unixMs, in: &out)
      line.member("connection", number, in: &out)
      line.member("identifier", identifier, in: &out)
      line.member("status", status.rawValue, in: &out)
      line.member("reason", text: status.text.span, in: &out)
      var detail = Text()
      fault.describe(in: &detail)
      line.member("text", text: detail.bytes, in: &out)
      let shown = token.count <= 64 ? token.count : 64
      line.member("token", hex: token.extracting(0..<shown), in: &out)
      line.end(in: &out)
    } else {
      beginLine(connection: number)
      out.append(palette.bad)
      out.append("refused, status ")
      out.append(status.rawValue)
      out.append(" (")
      out.append(status.text)
      out.append(")")
      out.append(palette.end)
      out.append(": ")
      fault.describe(in: &out)
      if let identifier {
        out.append("; identifier ")
        out.append(identifier)
      }
      if token.count > 0 {
        out.append(", token ")
        Card.write(shortToken: token, in: &out)
      }
      out.append("\n")
    }
  }

  /// What followed a refused notification.
  func discarded(_ number: Int64, notifications: Int64, bytes: Int64) {
    tally.discarded += notifications
    guard !isQuiet else { return }
    begin()
    if isJSON {
      let line = JSONLine("discarded", at: clock.unixMs, in: &out)
      line.member("connection", number, in: &out)
      line.member("notifications", notifications, in: &out)
      line.member("bytes", bytes, in: &out)
      line.end(in: &out)
    } else {
      beginLine(connection: number)
      out.append("discarded what came after that: ")
      out.append(notifications)
      out.append(notifications == 1 ? " notification, " : " notifications, ")
      out.append(bytes)
      out.append(" bytes\n")
    }
  }

  // MARK: - Parts

  /// Makes room for one more event.
  private func begin() {
    if out.count > Self.capacity - Self.eventBytesMax { flush() }
  }

  private func beginLine(connection: Int64? = nil) {
    out.append(palette.dim)
    clock.write(in: &out)
    out.append(palette.end)
    out.append("  ")
    guard let connection else { return }
    out.append("connection ")
    out.append(connection)
    out.append(": ")
  }
}

/// The two things that the sandbox offers.
enum ServiceName {
  case gateway, feedback

  var text: StaticString {
    switch self {
    case .gateway: "gateway"
    case .feedback: "feedback"
    }
  }
}

/// How a terminal shows things; nothing, where there is none.
struct Palette {
  var strong: StaticString
  var dim: StaticString
  var bad: StaticString
  var end: StaticString

  static var plain: Palette { Palette(strong: "", dim: "", bad: "", end: "") }
  static var terminal: Palette {
    Palette(strong: "\u{1B}[1m", dim: "\u{1B}[2m", bad: "\u{1B}[31m", end: "\u{1B}[0m")
  }
}
