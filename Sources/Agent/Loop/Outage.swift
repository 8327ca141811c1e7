import TinyPush

/// What the log has said of the connection: whether it is up, and since when and how often it is tried in vain.
struct Outage {
  /// Tries in a row that failed.
  private(set) var tries = 0
  private var since = Instant(milliseconds: 0)
  private var isUpLogged = false

  /// No connection could be made, and that is said.
  mutating func failed(at now: Instant) {
    if tries == 0 { since = now }
    tries += 1
    isUpLogged = false
  }

  /// Something was said of it: that it ended, or will.
  mutating func ended() { isUpLogged = false }

  /// It is up: whether that is news. If so, how long it took is appended to what is said.
  mutating func connected(at now: Instant, in text: inout Text) -> Bool {
    defer {
      tries = 0
      isUpLogged = true
    }
    // A reconnect that only an answer brought about is none.
    guard !isUpLogged else { return false }
    if tries > 0 {
      text.append("; after ")
      text.append(rounded: since.until(now))
      text.append(" and ")
      text.append(tries)
      text.append(tries == 1 ? " try in vain" : " tries in vain")
    }
    return true
  }
}
