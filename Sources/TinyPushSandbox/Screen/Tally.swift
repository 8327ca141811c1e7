import TinyPush

/// What has happened since the start, in numbers.
struct Tally {
  var connections: Int64 = 0
  var handshakesRefused: Int64 = 0
  var accepted: Int64 = 0
  var acceptedBytes: Int64 = 0
  var refused: Int64 = 0
  var discarded: Int64 = 0
  var faults: Int64 = 0
  var feedbackTuples: Int64 = 0
  /// To devices of the sandbox.
  var delivered: Int64 = 0
  var stored: Int64 = 0
  /// Replaced by a newer one, or expired.
  var dropped: Int64 = 0
  var undeliverable: Int64 = 0

  /// In words: `3 connections, 12 accepted, 1 refused, …`.
  func write(in text: inout Text) {
    text.append(connections)
    text.append(connections == 1 ? " connection, " : " connections, ")
    text.append(accepted)
    text.append(accepted == 1 ? " notification accepted (" : " notifications accepted (")
    text.append(acceptedBytes)
    text.append(" bytes of frames), ")
    text.append(refused)
    text.append(" refused, ")
    text.append(discarded)
    text.append(" discarded")
    write(delivered, " delivered", in: &text)
    write(stored, " stored", in: &text)
    write(dropped, " dropped", in: &text)
    write(undeliverable, " not deliverable", in: &text)
    if faults > 0 {
      text.append(", ")
      text.append(faults)
      text.append(faults == 1 ? " fault played" : " faults played")
    }
    if handshakesRefused > 0 {
      text.append(", ")
      text.append(handshakesRefused)
      text.append(handshakesRefused == 1 ? " handshake refused" : " handshakes refused")
    }
    if feedbackTuples > 0 {
      text.append(", ")
      text.append(feedbackTuples)
      text.append(feedbackTuples == 1 ? " device" : " devices")
      text.append(" told by feedback")
    }
  }

  private func write(_ count: Int64, _ what: StaticString, in text: inout Text) {
    guard count > 0 else { return }
    text.append(", ")
    text.append(count)
    text.append(what)
  }

  /// As members of a JSON object.
  func write(as line: inout JSONLine, in text: inout Text) {
    line.member("connections", connections, in: &text)
    line.member("handshakesRefused", handshakesRefused, in: &text)
    line.member("accepted", accepted, in: &text)
    line.member("acceptedBytes", acceptedBytes, in: &text)
    line.member("refused", refused, in: &text)
    line.member("discarded", discarded, in: &text)
    line.member("delivered", delivered, in: &text)
    line.member("stored", stored, in: &text)
    line.member("dropped", dropped, in: &text)
    line.member("undeliverable", undeliverable, in: &text)
    line.member("faults", faults, in: &text)
    line.member("feedback", feedbackTuples, in: &text)
  }
}
