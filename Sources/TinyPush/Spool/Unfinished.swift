/// Files that end in the middle of a notification, or are empty: most likely somebody is still writing them. They are
/// left alone until they change, or have not changed for a while.
struct Unfinished: ~Copyable {
  /// How long such a file may stay as it is before it counts as wrong.
  static let patience = Duration.seconds(10)
  /// How often it is looked at meanwhile; inotify tells sooner when it is closed.
  static let pause = Duration.seconds(2)

  static let capacity = 256

  struct Entry: BitwiseCopyable {
    var identity: FileIdentity
    var since: Instant
    var seenAt: Instant
  }

  private let entries = FixedBuffer<Entry>(capacity: capacity)
  private var count = 0
  private(set) var retryAt: Instant?

  init() {}

  /// Whether to wait for `identity` some more. Of many, those wait without a limit that find no room here yet.
  mutating func waits(for identity: FileIdentity, at now: Instant) -> Bool {
    for index in 0..<count where entries[index].identity.inode == identity.inode {
      if entries[index].identity != identity {
        entries[index] = Entry(identity: identity, since: now, seenAt: now)
      } else if now >= entries[index].since + Self.patience {
        count -= 1
        entries[index] = entries[count]
        return false
      }
      var entry = entries[index]
      entry.seenAt = now
      entries[index] = entry
      retryAt = now + wait
      return true
    }
    forgetTheGone(at: now)
    if count < Self.capacity {
      entries[count] = Entry(identity: identity, since: now, seenAt: now)
      count += 1
    }
    retryAt = now + wait
    return true
  }

  /// When there are too many, nothing comes of it to look before some have been given up.
  private var wait: Duration { count < Self.capacity ? Self.pause : Self.patience }

  /// Files that were completed or removed are not looked at again.
  private mutating func forgetTheGone(at now: Instant) {
    var kept = 0
    for index in 0..<count
    where entries[index].seenAt.until(now) < Self.patience + Self.pause + Self.pause {
      entries[kept] = entries[index]
      kept += 1
    }
    count = kept
  }

  mutating func retried() {
    retryAt = nil
  }
}
