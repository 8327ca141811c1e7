import TinyPush

extension Journal {
  func connected(
    _ number: Int64, _ service: ServiceName, peerPort: UInt16, _ stream: borrowing TLSStream
  ) {
    tally.connections += 1
    if service == .gateway, !stream.isHTTP2,
      let warning = binaryConnections.count(atMs: clock.monotonicMs)
    {
      record(warning)
    }
    guard begins() else { return }
    var topic = Text()
    stream.writeTopic(in: &topic)
    if isJSON {
      beginEvent("connected")
      out.member("connection", number: number)
      out.member("service", word: service.text)
      out.member("peerPort", number: peerPort)
      if service == .gateway { out.member("protocol", word: stream.isHTTP2 ? "http2" : "binary") }
      out.member("topic", string: topic)
      var fact = Text()
      stream.writeVersion(in: &fact)
      out.member("version", string: fact)
      fact.clear()
      stream.writeSuite(in: &fact)
      out.member("suite", string: fact)
      out.member("resumed", bool: stream.isResumed)
      out.endLine()
    } else {
      beginLine(connection: number)
      out.append(service == .gateway ? "to the gateway" : "to the feedback service")
      out.append(" from port ", peerPort, ", ")
      stream.writeVersion(in: &out)
      if stream.isHTTP2 { out.append(", HTTP/2") }
      if stream.isHTTP2, !stream.client.hasCertificate {
        out.append(", no certificate")
      } else {
        out.append(topic.count > 0 ? ", topic " : ", no topic")
      }
      out.append(printable: topic.bytes)
      if stream.isResumed { out.append(", resumed") }
      out.append("\n")
    }
  }

  func handshakeRefused(
    _ number: Int64, _ service: ServiceName, peerPort: UInt16, why: borrowing Text
  ) {
    tally.handshakesRefused += 1
    guard begins() else { return }
    if isJSON {
      beginEvent("handshakeRefused")
      out.member("connection", number: number)
      out.member("service", word: service.text)
      out.member("peerPort", number: peerPort)
      out.member("text", string: why)
      out.endLine()
    } else {
      beginLine(connection: number)
      out.append(palette.bad)
      out.append("handshake refused", palette.end)
      out.append(", from port ", peerPort)
      out.append(": ", printable: why.bytes, "\n")
    }
  }

  func closed(_ number: Int64, accepted: Int64, how: borrowing Text) {
    guard begins() else { return }
    if isJSON {
      beginEvent("closed")
      out.member("connection", number: number)
      out.member("accepted", number: accepted)
      out.member("text", string: how)
      out.endLine()
    } else {
      beginLine(connection: number)
      out.append(accepted)
      out.append(" accepted; ", printable: how.bytes, "\n")
    }
  }

  /// Logs that the feedback service has sent its list.
  ///
  /// - Parameter isReceived: whether the peer has received the whole list.
  func sentFeedback(_ number: Int64, tuples: Int64, isReceived: Bool, isCleared: Bool) {
    if isReceived { tally.feedbackTuples += tuples }
    guard begins() else { return }
    if isJSON {
      beginEvent("feedback")
      out.member("connection", number: number)
      out.member("tuples", number: tuples)
      out.member("received", bool: isReceived)
      out.member("cleared", bool: isCleared)
      out.endLine()
    } else {
      beginLine(connection: number)
      out.append(isReceived ? "received " : "ended while it received ")
      if tuples > 0 || isReceived { out.append(tuples) } else { out.append("the") }
      out.append(tuples == 1 ? " device that is gone" : " devices that are gone")
      if tuples > 0 { out.append(isCleared ? "; the list is cleared" : "; the list is kept") }
      out.append("\n")
    }
  }
}
