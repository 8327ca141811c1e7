/// Files that end inside a notification, or are empty: they are probably still being written.
///
/// Such a file is not read until it has changed, or has not changed for a while.
struct Unfinished: ~Copyable {
  /// How long such a file may stay unchanged before it counts as wrong.
  static let patience = Duration.seconds(10)
  /// The time between two checks; inotify reports a close sooner.
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

  /// Returns whether to wait longer for a file.
  ///
  /// If there are too many, files that find no room here wait without a limit.
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

  /// The time until the next check.
  ///
  /// Without room for more files, a check has no effect before some files are given up.
  private var wait: Duration { count < Self.capacity ? Self.pause : Self.patience }

  /// Removes files that were not seen for a while, since they were completed or removed.
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
