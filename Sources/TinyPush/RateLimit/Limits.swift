/// How many alerts may go out: to each device token, and from this box. Without a limit it takes neither memory nor time.
struct Limits: ~Copyable {
  /// A limit that an alert is over, and when there is room for it.
  struct Refusal {
    var limit: RateLimit
    var isOverall: Bool
    var roomAt: Instant
  }

  private let perToken: RateLimit?
  private let overall: RateLimit?
  /// Of each token, when its bucket is full. One that is forgotten is full.
  private var buckets = RecentKeys()
  private var box = TokenBucket()
  var storms: Storms

  init(perToken: RateLimit?, overall: RateLimit?) {
    self.perToken = perToken
    self.overall = overall
    storms = Storms(perToken, overall)
  }

  /// Whether there is any.
  var areSet: Bool { perToken != nil || overall != nil }

  /// Takes the room of one alert; or says which limit has none.
  @inline(never)
  mutating func take(_ token: DeviceToken, at now: Instant) -> Refusal? {
    if let overall, !box.hasRoom(overall, at: now) {
      return Refusal(limit: overall, isOverall: true, roomAt: box.roomAt(overall))
    }
    if let perToken {
      var hash = Hash()
      hash.add(token.bytes.span)
      let key = max(hash.value, 1)
      var bucket = TokenBucket(fullAt: buckets.find(key)?.value ?? 0)
      guard bucket.hasRoom(perToken, at: now) else {
        return Refusal(limit: perToken, isOverall: false, roomAt: bucket.roomAt(perToken))
      }
      bucket.take(perToken, at: now)
      buckets.put(RecentKeys.Entry(key: key, value: bucket.fullAt))
    }
    if let overall { box.take(overall, at: now) }
    return nil
  }
}
