import CLinux
import CMbed
import TinyPush
import TinyPushBinary

/// The test of the answer of a gateway with the binary protocol.
extension Checkup {
  /// The wait for a refusal of our certificate, which comes after the handshake in TLS 1.3.
  private static var refusalMs: UInt64 { 300 }
  /// Returns the wait for the gateway's answer in seconds.
  static func answerSeconds(_ timeout: Duration) -> UInt64 {
    min(timeout.milliseconds / 1000, 5)
  }
  /// Sends a frame that the gateway must refuse: the answer shows a push gateway, and nothing is
  /// delivered.
  @inline(never)
  mutating func reportAnswer(
    _ config: borrowing Config, _ connection: inout TLSConnection, _ epoll: Int32
  ) {
    let room = FixedBuffer<UInt8>(capacity: 256)
    var reader = ErrorResponseReader()
    let early = awaitAnswer(&connection, epoll, room, &reader, Self.refusalMs)
    if case .ended = early { return reportFailure(connection, "client") }
    reportClient(connection)
    if case .answered = early { return reportHeard(config, early, 0, asked: 0) }
    if config.binary.confirm == .settle {
      return report.report("answer", .skipped, "not tested: confirm = settle")
    }
    if config.binary.format == .simple {
      return report.report("answer", .skipped, "not tested: format = 0 has no answers")
    }
    report.wait(for: "waiting for an answer", Span())
    let end = Frame.writeRefusable(
      config.binary.format, identifier: Self.identifier, to: room)
    let since = Clock.now()
    let written = room.withSpan(0..<end) { connection.write($0) }
    guard written >= 0 else { return reportFailure(connection, "answer") }
    let heard = awaitAnswer(
      &connection, epoll, room, &reader,
      Self.answerSeconds(config.connectTimeout) * 1000)
    reportHeard(config, heard, since.until(Clock.now()).milliseconds, asked: Self.identifier)
  }

  /// Reports that our certificate was not refused.
  @inline(never)
  mutating func reportClient(_ connection: borrowing TLSConnection) {
    guard !connection.isCertificateShown else {
      return report.report("client", .well, "sent, and not refused")
    }
    report.advice.append("a push gateway asks for it: are the host and the port right?")
    report.report("client", .warning, "the gateway did not ask for our certificate")
  }

  private static var identifier: UInt32 { 1 }

  private enum Heard {
    case nothing
    case answered(ErrorResponse)
    case garbage(UInt8)
    case ended
  }

  /// Waits for an event of the connection; returns false after the deadline.
  @inline(never)
  static func waits(_ epoll: Int32, until deadline: Instant) -> Bool {
    let now = Clock.now()
    guard now < deadline else { return false }
    var event = epoll_event()
    epoll_wait(epoll, &event, 1, Int32(clamping: now.until(deadline).milliseconds))
    return true
  }

  /// Returns what the gateway sends within this time.
  @inline(never)
  private func awaitAnswer(
    _ connection: inout TLSConnection, _ epoll: Int32, _ room: borrowing FixedBuffer<UInt8>,
    _ reader: inout ErrorResponseReader, _ milliseconds: UInt64
  ) -> Heard {
    let deadline = Clock.now() + .milliseconds(milliseconds)
    while true {
      let count = connection.read(room.room())
      if count == CMBED_WANT_READ {
        guard Self.waits(epoll, until: deadline) else { return .nothing }
        continue
      }
      guard count > 0 else { return .ended }
      for index in 0..<Int(count) {
        do throws(ErrorResponseReader.Garbage) {
          if let response = try reader.take(room[index]) { return .answered(response) }
        } catch {
          switch error {
          case .command(let byte): return .garbage(byte)
          }
        }
      }
    }
  }

  @inline(never)
  private mutating func reportHeard(
    _ config: borrowing Config, _ heard: Heard, _ milliseconds: UInt64, asked identifier: UInt32
  ) {
    let unproved: StaticString =
      "without answers nothing proves what arrived: if this persists, set confirm = settle"
    switch heard {
    case .nothing:
      report.message.append("no answer to a frame that it must refuse, within ")
      report.message.append(Self.answerSeconds(config.connectTimeout))
      report.message.append(" s")
      report.advice.append(unproved)
      report.report("answer", .warning)
    case .ended:
      report.message.append("the gateway closed the connection after a frame that it must refuse")
      report.advice.append(unproved)
      report.report("answer", .warning)
    case .garbage(let byte):
      report.message.append("unexpected bytes (first byte ", byte)
      report.message.append("): not the answer of a push gateway")
      report.advice.append("are the host and the port right?")
      report.report("answer", .wrong(.config))
    case .answered(let response):
      report.message.append("within ", milliseconds + 1)
      report.message.append(" ms: status ", response.status.rawValue)
      report.message.append(", ")
      response.status.rejection.appendText(to: &report.message)
      reportAnswered(response, asked: identifier)
    }
  }

  @inline(never)
  private mutating func reportAnswered(_ response: ErrorResponse, asked identifier: UInt32) {
    switch response.status {
    case .missingTopic, .invalidTopicSize:
      report.advice.append(response.status.rejection.advice)
      report.report("answer", .wrong(.config))
    case .shutdown:
      report.report("answer", .well, ": this gateway is shutting down, and another takes over")
    default:
      guard response.identifier == identifier else {
        report.message.append(", but for notification ", response.identifier)
        report.message.append(" instead of ", identifier)
        report.advice.append("refused notifications cannot be identified, so they are sent again")
        return report.report("answer", .warning)
      }
      report.report("answer", .well, ", to a frame that it must refuse")
    }
  }
}
