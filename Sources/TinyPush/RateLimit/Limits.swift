/// The limits on alerts to each device token and from this machine.
///
/// Without a limit the type takes neither memory nor time.
struct Limits: ~Copyable {
  /// A limit that an alert exceeds, and the instant at which it has room again.
  struct Refusal {
    var limit: RateLimit
    var isOverall: Bool
    var roomAt: Instant
  }

  private let perToken: RateLimit?
  private let overall: RateLimit?
  /// For each token, the time at which its bucket is full.
  ///
  /// A token that was forgotten counts as full.
  private var buckets = RecentKeys()
  private var box = TokenBucket()
  var storms: Storms

  init(perToken: RateLimit?, overall: RateLimit?) {
    self.perToken = perToken
    self.overall = overall
    storms = Storms(perToken, overall)
  }

  /// Whether a limit is configured.
  var areSet: Bool { perToken != nil || overall != nil }

  /// Takes the room of one alert, or returns the limit that has no room.
  @inline(never)
  mutating func take(_ token: TokenIdentity, at now: Instant) -> Refusal? {
    if let overall, !box.hasRoom(overall, at: now) {
      return Refusal(limit: overall, isOverall: true, roomAt: box.roomAt(overall))
    }
    if let perToken {
      var hash = Hash()
      hash.add(token.bytes)
      var bucket = TokenBucket(fullAt: buckets.find(hash.value)?.value ?? 0)
      guard bucket.hasRoom(perToken, at: now) else {
        return Refusal(limit: perToken, isOverall: false, roomAt: bucket.roomAt(perToken))
      }
      bucket.take(perToken, at: now)
      buckets.put(RecentKeys.Entry(key: hash.value, value: bucket.fullAt))
    }
    if let overall { box.take(overall, at: now) }
    return nil
  }
}
