import CLinux
import CMbed
import TinyPush
import TinyPushHTTP2

extension Checkup {
  /// A notification to a device token that cannot exist: it is neither delivered nor kept.
  private static var notification: StaticString {
    "{\"token\":\"0000000000000000000000000000000000000000000000000000000000000000\",\"ttl\":0,\"payload\":{\"aps\":{\"alert\":\"check\"}}}"
  }

  private enum Heard {
    case outcome(LinkOutcome)
    case nothing
    /// The connection is over.
    case ended
    /// The link does not use the connection any more.
    case left
  }

  /// Sends a request that the HTTP/2 service must refuse for its device token.
  ///
  /// The service checks the credentials and the topic before the token.
  @inline(never)
  mutating func reportService(
    _ config: borrowing Config, _ connection: inout TLSConnection, _ epoll: Int32
  ) {
    var address = Text(capacity: 300)
    config.gatewayAddress(in: &address)
    var link = HTTP2Link(
      config.courier, HTTP2Link.Service(config, at: address.bytes), seed: 1)
    guard config.signingKey.isEmpty || authorize(config, &link) else { return }
    report.wait(for: "waiting for an answer", Span())
    let since = Clock.now()
    _ = link.advance(to: Clock.time(), isStopping: false)
    link.connected()
    take(config, &link)
    let seconds = Self.answerSeconds(config.connectTimeout)
    let room = FixedBuffer<UInt8>(capacity: 16_384)
    let heard = awaitAnswer(&link, &connection, epoll, room, until: since + .seconds(seconds))
    if case .ended = heard, connection.failure == CMBED_REFUSED_CERTIFICATE {
      return reportFailure(connection, "client")
    }
    if config.signingKey.isEmpty {
      reportClient(connection)
    } else {
      report.report(
        "client", .skipped, "not used: each request has a provider token")
    }
    switch heard {
    case .ended: reportFailure(connection, "answer")
    case .left: reportOutcome(nil, &link)
    case .nothing:
      report.message.append("no answer to a request within ", seconds, " s")
      report.advice.append("are the host and the port those of the push service?")
      report.report("answer", .wrong(.unavailable))
    case .outcome(let outcome):
      report.message.append("within ", since.until(Clock.now()).milliseconds + 1, " ms: ")
      reportOutcome(outcome, &link)
    }
  }

  /// Gives the link its provider token, or reports why there is none.
  private mutating func authorize(
    _ config: borrowing Config, _ link: inout HTTP2Link
  ) -> Bool {
    var token = ProviderToken(config)
    switch token.token(Clock.time()) {
    case .ready(let issuedAt):
      link.authorized(token.text.bytes, issuedAt: issuedAt)
      return true
    case .clockNotSet: report.report("answer", .skipped, "not tested: the clock is not set")
    case .failed:
      report.message.append(token.problem)
      report.report("answer", .wrong(.config))
    }
    return false
  }

  private func take(_ config: borrowing Config, _ link: inout HTTP2Link) {
    let text = Self.notification.span
    var reader = NotificationReader()
    var findings = Findings()
    guard
      case .notification(let notification) = reader.next(
        in: text, isWhole: true, config.courier.rules, &findings),
      let token = DeviceToken(hex: text.extracting(notification.firstToken))
    else { return }
    link.take(
      Message(
        token: token, identity: token.identity, payload: notification.payload,
        rendition: Rendition(notification, for: nil, in: text, config.courier.rules),
        expiration: 0, priority: notification.priority, pushType: notification.pushType,
        number: MessageNumber(0)),
      in: text, to: Span())
  }

  /// Writes and reads until the request has an outcome.
  private func awaitAnswer(
    _ link: inout HTTP2Link, _ connection: inout TLSConnection, _ epoll: Int32,
    _ room: borrowing FixedBuffer<UInt8>, until deadline: Instant
  ) -> Heard {
    while Clock.now() < deadline {
      _ = link.advance(to: Clock.time(), isStopping: false)
      if let (_, outcome) = link.takeOutcome() { return .outcome(outcome) }
      guard link.isUp else { return .left }
      if link.batchContents().count > 0 {
        guard connection.write(link.batchContents()) >= 0 else { return .ended }
        link.wrote(wireEnd: connection.wireEnd)
        continue
      }
      let count = connection.read(room.room())
      if count == CMBED_WANT_READ {
        guard Self.waits(epoll, until: deadline) else { return .nothing }
      } else if count > 0 {
        link.received(room.span(0..<Int(count)))
      } else {
        return .ended
      }
    }
    return .nothing
  }

  @inline(never)
  private mutating func reportOutcome(_ outcome: LinkOutcome?, _ link: inout HTTP2Link) {
    switch outcome {
    case .rejected(let rejection) where rejection.reason == .badDeviceToken || rejection.isGone:
      report(rejection)
      report.message.append(", to a device token that cannot exist: ")
      report.report("answer", .well, "it accepts the credentials and the topic")
    case .rejected(let rejection):
      report(rejection)
      report.advice.append(rejection.advice)
      report.report("answer", .warning)
    case .accepted:
      report.advice.append("is it the push service?")
      report.report("answer", .warning, "it accepts a device token that cannot exist")
    default:
      if let rejection = link.refusedConfiguration {
        report(rejection)
        report.advice.append(rejection.advice)
        return report.report("answer", .wrong(.config))
      }
      var isBroken = false
      while let received = link.takeReport() {
        switch received {
        case .refusedOnce(let rejection):
          report(rejection)
          report.advice.append(rejection.advice)
          return report.report("answer", .wrong(.config))
        case .troubled(let rejection):
          report(rejection)
          return report.report("answer", .warning, ": the service has a problem: check again later")
        case .brokenProtocol: isBroken = true
        default: break
        }
      }
      guard !link.isUp else {
        return report.report(
          "answer", .warning, "it did not process the request: check again later")
      }
      report.advice.append("are the host and the port those of the push service?")
      report.report(
        "answer", .wrong(.unavailable),
        isBroken ? "it violates HTTP/2" : "it ended the connection without an answer")
    }
  }

  @inline(never)
  private mutating func report(_ rejection: Rejection) {
    report.message.append("status ", rejection.code)
    report.message.append(", ")
    rejection.appendText(to: &report.message)
  }
}
