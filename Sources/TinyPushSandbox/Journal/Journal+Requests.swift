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
      show(
        presentation, of: app, on: nil, arrival, payload, token: token,
        replacing: arrival.collapseID)
    }
  }

  /// Logs that a message for a browser was accepted.
  ///
  /// - Parameters:
  ///   - body: the size of the encrypted body.
  ///   - text: nil: the body cannot be decrypted.
  func accepted(
    _ arrival: Arrival, _ app: Installation, _ device: Device, body: Int, _ text: Span<UInt8>?
  ) {
    tally.accepted += 1
    tally.acceptedBytes += Int64(body)
    guard isJSON, begins() else { return }
    beginEvent("accepted", arrival, topic: app.topic, device)
    out.member("token", hex: app.token.bytes)
    out.member("expiration", number: arrival.expiration)
    out.member("body", number: body)
    if let text { out.member("payload", string: text) } else { out.member(null: "payload") }
    out.endLine()
  }

  /// Logs what is wrong with a message that the service accepted and a browser does not show.
  func mistaken(
    _ words: borrowing Text, _ arrival: Arrival, _ app: Installation, _ device: Device
  ) {
    tally.mistakes += 1
    guard begins() else { return }
    if isJSON {
      beginEvent("mistake", arrival, topic: app.topic, device)
      out.member("text", string: words)
      out.endLine()
    } else {
      beginLine()
      write(device)
      out.append(": ", palette.bad)
      out.append(bytes: words.bytes)
      out.append(palette.end)
      out.append("; stream ", arrival.identifier ?? 0)
      out.append(", token ")
      out.append(shortToken: app.token.bytes)
      out.append("\n")
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
      if let token = request.address {
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
      if let digits = request.address, let token = DeviceToken(hex: digits) {
        out.append(", token ")
        out.append(shortToken: token.bytes)
      }
      out.append("\n")
    }
  }
}
