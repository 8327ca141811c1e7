import TinyPush

/// The numbers of events since the start.
struct Tally {
  var connections: Int64 = 0
  var handshakesRefused: Int64 = 0
  var accepted: Int64 = 0
  var acceptedBytes: Int64 = 0
  var refused: Int64 = 0
  var discarded: Int64 = 0
  var faults: Int64 = 0
  var feedbackTuples: Int64 = 0
  /// Notifications delivered to devices of the sandbox.
  var delivered: Int64 = 0
  /// Shown notifications that replaced an earlier one on the device.
  var replaced: Int64 = 0
  var stored: Int64 = 0
  /// Stored notifications that a newer one replaced, or that expired.
  var dropped: Int64 = 0
  var undeliverable: Int64 = 0
  /// Messages that the service accepted and no browser can show.
  var mistakes: Int64 = 0

  /// Appends the numbers in words: `3 connections, 12 notifications accepted, …`.
  func write(in text: inout Text) {
    text.append(connections)
    text.append(connections == 1 ? " connection, " : " connections, ")
    text.append(accepted)
    text.append(accepted == 1 ? " notification accepted (" : " notifications accepted (")
    text.append(acceptedBytes)
    text.append(" bytes), ", refused)
    text.append(" refused, ", discarded, " discarded")
    write(delivered, " delivered", in: &text)
    write(replaced, " replacing an earlier one", in: &text)
    write(stored, " stored", in: &text)
    write(dropped, " dropped", in: &text)
    write(undeliverable, " not deliverable", in: &text)
    write(mistakes, " not shown, by mistake", in: &text)
    if faults > 0 {
      text.append(", ", faults)
      text.append(faults == 1 ? " fault played" : " faults played")
    }
    if handshakesRefused > 0 {
      text.append(", ", handshakesRefused)
      text.append(handshakesRefused == 1 ? " handshake refused" : " handshakes refused")
    }
    if feedbackTuples > 0 {
      text.append(", ", feedbackTuples)
      text.append(feedbackTuples == 1 ? " device" : " devices")
      text.append(" reported by feedback")
    }
  }

  private func write(_ count: Int64, _ what: StaticString, in text: inout Text) {
    guard count > 0 else { return }
    text.append(", ", count)
    text.append(what)
  }

  /// Appends the numbers as members of a JSON object.
  func writeMembers(in text: inout Text) {
    text.member("connections", number: connections)
    text.member("handshakesRefused", number: handshakesRefused)
    text.member("accepted", number: accepted)
    text.member("acceptedBytes", number: acceptedBytes)
    text.member("refused", number: refused)
    text.member("discarded", number: discarded)
    text.member("delivered", number: delivered)
    text.member("replaced", number: replaced)
    text.member("stored", number: stored)
    text.member("dropped", number: dropped)
    text.member("undeliverable", number: undeliverable)
    text.member("mistakes", number: mistakes)
    text.member("faults", number: faults)
    text.member("feedback", number: feedbackTuples)
  }
}
