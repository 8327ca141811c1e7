import TinyPush

/// The search for a poison notification: one at which each connection dies.
///
/// Some gateways close the connection without an answer when they dislike a notification. Sent
/// again with all others, it would end each connection. The search isolates it:
///
/// - The first death of a connection counts as an accident. From the second in a row that settled
///   nothing, the number in flight is limited to a sixteenth of the notifications that were in
///   flight.
/// - The limit doubles when as many notifications have settled as the limit allows, and falls again
///   at each death. So the poison notification is isolated: it is the only one in flight.
/// - After ``deathsMax`` deaths with the same isolated notification, the next connection is a probe
///   without it. If the probe lives, the notification is rejected. If the probe dies, the gateway
///   is the cause.
struct PoisonSearch {
  static let deathsMax = 3
  private static let narrowing = 16

  /// The most notifications that may be in flight.
  private(set) var limit = Int.max
  /// The number of notifications that may be the poison; 0: there is no search.
  private var candidates = 0
  /// The number of notifications that settled since the limit last changed.
  private var settledSinceChange = 0
  /// The number of connections in a row that died without settling anything.
  private var deaths = 0
  /// Whether a notification has settled since the search began.
  private(set) var hasSettledAny = false
  /// The notification that was the only one in flight.
  private var isolated: MessageNumber?
  /// The number of deaths in a row with the same isolated notification in flight.
  private var isolatedDeaths = 0

  /// Whether the number in flight is limited by a search.
  var isNarrowed: Bool { candidates > 0 }

  /// Whether the next connection is a probe without the isolated notification.
  var isProbing: Bool { isolatedDeaths >= Self.deathsMax }

  /// Records that a connection died without an answer.
  ///
  /// - Parameters:
  ///   - inFlight: the number of notifications that may or may not have arrived.
  ///   - place: the first of them.
  mutating func died(inFlight: Int, first place: MessageNumber?) {
    guard !isProbing else {
      // The probe died, so the gateway is not well: the notification gets one more attempt.
      isolatedDeaths = Self.deathsMax - 1
      return
    }
    guard inFlight > 0 else { return }
    deaths += 1
    isolatedDeaths = inFlight > 1 ? 0 : place == isolated ? isolatedDeaths + 1 : 1
    isolated = inFlight > 1 ? nil : place
    guard deaths > 1 || isNarrowed else { return }
    candidates = inFlight
    settledSinceChange = 0
    limit = max(inFlight / Self.narrowing, 1)
  }

  /// Records that `count` notifications settled, which are not the poison.
  mutating func settled(_ count: Int) {
    deaths = 0
    isolatedDeaths = 0
    guard isNarrowed else { return }
    hasSettledAny = true
    candidates -= count
    settledSinceChange += count
    if candidates <= 0 {
      self = PoisonSearch()
    } else if settledSinceChange >= limit {
      settledSinceChange = 0
      limit = min(limit * 2, candidates)
    }
  }

  /// Ends the search.
  mutating func reset() {
    self = PoisonSearch()
  }
}
