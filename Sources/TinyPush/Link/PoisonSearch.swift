/// Finds the notification at which connections die, if there is one.
///
/// Some gateways close without a word at what they dislike, and what is sent again with everything else would end each
/// connection for ever. One death is an accident. From the second in a row on, that settled nothing in between, fewer
/// are sent at a time: a sixteenth of what was in flight, twice as many each time that they settle. So it comes to stand
/// alone. After ``deathsMax`` deaths of it alone the next connection carries nothing: only if that one lives the
/// notification is to blame, and not the gateway.
struct PoisonSearch {
  static let deathsMax = 3
  private static let narrowing = 16

  /// How many may be in flight.
  private(set) var limit = Int.max
  /// It is among so many notifications; 0: there is no poisonSearch.
  private var candidates = 0
  /// So many have settled since the limit last changed.
  private var settledSinceChange = 0
  /// Connections in a row that died and had settled nothing.
  private var deaths = 0
  /// Something has settled since the limit was set for the first time.
  private(set) var hasSettledAny = false
  /// The one that was alone in flight, and on how many connections it was so.
  private var isolated: FilePlace?
  private var isolatedDeaths = 0

  var isNarrowed: Bool { candidates > 0 }

  /// Whether the next connection goes without the isolated.
  var isProbing: Bool { isolatedDeaths >= Self.deathsMax }

  /// A connection died without an answer, and had settled nothing, or less than it was to.
  ///
  /// - Parameters:
  ///   - inFlight: notifications of which it is uncertain whether they arrived.
  ///   - place: of the first one.
  mutating func died(inFlight: Int, first place: FilePlace?) {
    guard !isProbing else {
      // It was not there: the gateway is not well, and has to be tried once more.
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

  /// So many notifications settled: it is not among them.
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

  /// A connection without the isolated lived: it is found.
  mutating func reset() {
    self = PoisonSearch()
  }
}
