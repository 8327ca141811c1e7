import TinyPush

/// Events about requests over HTTP/2.
extension Journal {
  func accepted(
    _ arrival: Arrival, _ push: Push, _ acceptance: RequestCheck.Acceptance,
    _ request: PushRequest
  ) {
    let payload = request.payload
    tally.accepted += 1
    tally.acceptedBytes += Int64(payload.count)
    let token = acceptance.token.bytes
    if isJSON, begins() {
      beginEvent("accepted")
      write(arrival)
      out.member("topic", string: acceptance.topic.text)
      out.member("token", hex: token)
      out.member("priority", number: arrival.priority)
      out.member("expiration", number: arrival.expiration)
      out.member("payload", compacting: payload)
      out.endLine()
    }
    if case .anybody = acceptance.destination {
      let presentation = app.receive(acceptance.summary, payload)
      show(presentation, of: app, on: nil, arrival, payload, token: token)
    }
  }

  func refused(
    _ number: Int64, _ request: PushRequest, id: Span<UInt8>, _ reason: Reason,
    _ cause: RefusalCause
  ) {
    tally.refused += 1
    guard begins() else { return }
    if isJSON {
      beginEvent("refused")
      out.member("connection", number: number)
      out.member("stream", number: request.stream)
      out.member("id", string: id)
      out.member("status", number: reason.status)
      out.member("reason", string: reason.name)
      var detail = Text()
      cause.describe(in: &detail)
      out.member("text", string: detail)
      if let token = request.deviceToken {
        out.member("token", string: token)
      } else {
        out.member(null: "token")
      }
      out.endLine()
    } else {
      beginLine(connection: number)
      out.append(palette.bad)
      out.append("refused, ", reason.status)
      out.append(" ", bytes: reason.name)
      out.append(palette.end)
      out.append(": ")
      cause.describe(in: &out)
      out.append("; stream ", request.stream)
      if let digits = request.deviceToken, let token = DeviceToken(hex: digits) {
        out.append(", token ")
        out.append(shortToken: token.bytes)
      }
      out.append("\n")
    }
  }
}
