import TinyPush

/// How long the connection has been offline, and whether the log says that it is up.
struct Outage {
  /// The number of failed attempts in a row.
  private(set) var attempts = 0
  private var since = Instant(milliseconds: 0)
  private var isUpLogged = false

  /// Records a failed attempt, which is logged.
  mutating func failed(at now: Instant) {
    if attempts == 0 { since = now }
    attempts += 1
    isUpLogged = false
  }

  /// Records that the log says that the connection ended or will end.
  mutating func ended() { isUpLogged = false }

  /// Records that the connection is up, and returns whether to log that.
  ///
  /// Then the length of the outage is appended to the text.
  mutating func connected(at now: Instant, in text: inout Text) -> Bool {
    defer {
      attempts = 0
      isUpLogged = true
    }
    // A reconnect is not news if only an error response ended the connection.
    guard !isUpLogged else { return false }
    if attempts > 0 {
      text.append("; after ")
      text.append(rounded: since.until(now))
      text.append(" offline, ", attempts)
      text.append(attempts == 1 ? " attempt" : " attempts")
    }
    return true
  }
}
