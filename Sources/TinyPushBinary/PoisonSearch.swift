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
/// - The isolated notification then goes behind all others, since many of them may be good. After
///   ``deathsMax`` deaths at which it was isolated, the next connection is a probe without it. If
///   the probe lives, the notification is rejected, and the others follow one by one at first. If
///   the probe dies, the gateway is the cause.
struct PoisonSearch {
  static let deathsMax = 3
  private static let narrowing = 16
  private static let suspectsMax = 64

  /// A notification that was the only one in flight when a connection died.
  private struct Suspect: BitwiseCopyable {
    /// The hash of the notification.
    var key: UInt64 = 0
    var deaths = 0
  }

  /// The most notifications that may be in flight.
  private(set) var limit = Int.max
  /// The number of notifications that may be the poison; 0: there is no search.
  private var candidates = 0
  /// The number of notifications that settled since the limit last changed.
  private var settledSinceChange = 0
  /// The number of connections in a row that died without settling anything.
  private var deaths = 0
  /// Whether a notification has settled since the search began, or since the last rejection.
  private(set) var hasSettledAny = false
  /// Those whose notification has not been rejected, until nothing waits any more.
  private var suspects = InlineArray<64, Suspect>(repeating: Suspect())
  private var suspectCount = 0
  /// The place of the suspect that was isolated last.
  private var isolated = 0
  /// Whether the next connection is a probe without the isolated notification.
  private(set) var isProbing = false
  /// Whether the isolated notification goes behind all others.
  private(set) var letsOthersGo = false

  /// Whether the number in flight is limited by a search.
  var isNarrowed: Bool { candidates > 0 }

  /// Whether others go before the isolated notification for the first time.
  var isNewSuspect: Bool { letsOthersGo && suspects[isolated].deaths == 1 }

  /// Whether a suspect is known, so that no death counts as an accident.
  var isSuspicious: Bool { isNarrowed || suspectCount > 0 }

  /// Records that a connection died without an answer.
  ///
  /// - Parameters:
  ///   - inFlight: the number of notifications that may or may not have arrived.
  ///   - key: the hash of the only one that was sent; nil: there were others.
  mutating func died(inFlight: Int, alone key: UInt64?) {
    letsOthersGo = false
    guard !isProbing else {
      // The probe died, so the gateway is not well: the notification gets one more attempt.
      isProbing = false
      letsOthersGo = true
      suspects[isolated].deaths -= 1
      return
    }
    guard inFlight > 0 else { return }
    deaths += 1
    let isAccident = deaths == 1 && !isSuspicious
    if let key, inFlight == 1 { suspect(key) }
    if isAccident {
      letsOthersGo = false
      return
    }
    settledSinceChange = 0
    limit = max(inFlight / Self.narrowing, 1)
    candidates = max(candidates, inFlight)
  }

  private mutating func suspect(_ key: UInt64) {
    let known = (0..<suspectCount).first { suspects[$0].key == key }
    isolated = known ?? min(suspectCount, Self.suspectsMax - 1)
    // The deaths of the last suspect follow one another: it has the place of those without room.
    letsOthersGo = isolated < Self.suspectsMax - 1
    if known == nil {
      suspects[isolated] = Suspect(key: key)
      suspectCount = isolated + 1
    }
    suspects[isolated].deaths += 1
    isProbing = suspects[isolated].deaths >= Self.deathsMax
  }

  /// Records that `count` notifications settled, which are not the poison.
  mutating func settled(_ count: Int) {
    deaths = 0
    guard isNarrowed else { return }
    hasSettledAny = true
    candidates = max(candidates - count, 0)
    settledSinceChange += count
    if candidates == 0 {
      endSearch()
    } else if settledSinceChange >= limit {
      settledSinceChange = 0
      limit = min(limit * 2, candidates)
    }
  }

  private mutating func endSearch() {
    limit = .max
    settledSinceChange = 0
    hasSettledAny = false
  }

  /// Records that a probe lived, so that the isolated notification is rejected.
  mutating func rejected() {
    isProbing = false
    suspectCount -= 1
    suspects[isolated] = suspects[suspectCount]
    hasSettledAny = false
    deaths = 0
    candidates = max(candidates - 1, 0)
    if candidates == 0 { endSearch() }
  }
}
