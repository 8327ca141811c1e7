import TinyPush

/// The number of connections in the present minute.
///
/// Gateways take rapid connecting for an attack, so a client that does so needs a correction.
struct ConnectionCount {
  /// The most connections in a minute that are not rapid.
  ///
  /// The agent itself makes fewer, even if each connection ends at once.
  static let calmMax: Int64 = 50
  private static let periodMs: Int64 = 60_000

  private var count: Int64 = 0
  private var beganMs: Int64 = 0

  /// Counts a connection; returns a warning at the first one too many of a minute.
  mutating func count(atMs now: Int64) -> Text? {
    if count == 0 || now - beganMs >= Self.periodMs {
      beganMs = now
      count = 0
    }
    count += 1
    guard count == Self.calmMax + 1 else { return nil }
    var text = Text()
    text.append("warning: ", count)
    text.append(" connections to the binary gateway within ", max((now - beganMs) / 1000, 1))
    text.append(" s: a real gateway takes rapid connecting for an attack")
    return text
  }
}
