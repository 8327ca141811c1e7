import Foundation
import TinyPush

/// A summary, read by Foundation's JSON reader instead of the agent's.
struct Summary {
  let number: Int
  let alerts: Int

  init?(_ line: String) {
    struct Line: Decodable {
      struct Payload: Decodable {
        struct Aps: Decodable { var alert: String }
        var aps: Aps
      }
      var token: String
      var urgent: Bool
      var payload: Payload
    }
    guard line.hasSuffix("}\n"),
      let found = try? JSONDecoder().decode(Line.self, from: Data(line.utf8)), found.urgent,
      let number = Int(found.token, radix: 16),
      let alerts = Int(found.payload.aps.alert.prefix { $0.isNumber })
    else { return nil }
    self.number = number
    self.alerts = alerts
  }
}

/// Checks limits.
extension Ledger {
  /// The limits of one agent, whose buckets were full at its start.
  struct Limiting {
    /// The times at which alerts passed, by token; 0: for all tokens together.
    var times: [Int: [Instant]] = [:]
    var seen: Set<Int> = []
    /// The number of alerts in `failed/` and in no summary, by token.
    var unsummarized: [Int: Int] = [:]
    /// The tokens whose alerts were over a limit, also those that wait in `later/`.
    var tokens: Set<Int> = []
    /// Whether there may have been more tokens than an agent remembers (binary seed 82002176).
    var isOverflowing: Bool { tokens.count > 1000 }

    /// With more tokens than this, the agent may forget a bucket, depending on the tokens' hashes.
    static let bucketsMax = 100
  }

  private var bothLimits: [(key: (Int) -> Int, limit: RateLimit)] {
    [
      settings.limit.map { ({ $0 % World.tokensMax }, $0) },
      settings.limitAll.map { ({ _ in 0 }, $0) },
    ].compactMap { $0 }
  }

  /// Whether any notification may have to wait in `later/`.
  var mayWait: Bool { hasLimits || putsOff }

  var hasLimits: Bool { settings.limit != nil || settings.limitAll != nil }

  /// Checks an alert that goes to the link or over the wire.
  ///
  /// - Parameter isAdmission: whether the agent has just let the alert through. If not, the check
  ///   counts only the alerts since the agent's start, because time has passed since then.
  func passesLimits(_ number: Int, isAdmission: Bool) {
    let serial = World.serial(of: number)
    guard !bothLimits.isEmpty, serial != World.serialOfSummaries, !urgent.contains(serial),
      life.limiting.seen.insert(number).inserted
    else { return }
    for (key, limit) in bothLimits {
      var times = life.limiting.times[key(number), default: isAdmission ? [] : [life.beganAt]]
      times.append(timeline.now)
      life.limiting.times[key(number)] = times
      let isOver =
        isAdmission
        ? isFull(times.dropLast(), limit)
        : isExceeded(times.count - 1, since: life.beganAt, limit)
      let isForgotten = key(number) > 0 && life.limiting.times.count > Limiting.bucketsMax
      if isOver, !isForgotten { complain("\(number) is sent, and exceeds the limit of \(limit)") }
    }
  }

  /// Whether one more alert now, after alerts at these times, would exceed a limit.
  private func isFull(_ times: some BidirectionalCollection<Instant>, _ limit: RateLimit) -> Bool {
    var count = 1
    for time in times.reversed() {
      count += 1
      if isExceeded(count, since: time, limit) { return true }
    }
    return false
  }

  private func isExceeded(_ count: Int, since: Instant, _ limit: RateLimit) -> Bool {
    let refilled =
      since.until(timeline.now).milliseconds * UInt64(limit.count) / limit.period.milliseconds
    return count > Int(limit.count) + Int(refilled)
  }

  /// Checks an alert that exceeds a limit and is recorded or put aside.
  func limits(_ number: Int) {
    let serial = World.serial(of: number)
    life.limiting.tokens.insert(number % World.tokensMax)
    if bothLimits.isEmpty { complain("\(number) is limited without a limit") }
    if urgent.contains(serial) || serial == World.serialOfSummaries {
      complain("\(number) is limited, and no limit applies to it")
    }
    guard isUneventful, isAnswering, !hasTwins else { return }
    if !bothLimits.contains(where: { isFull(life.limiting.times[$0.key(number)] ?? [], $0.limit) })
    {
      complain("\(number) is limited, and the limit has room for it")
    }
  }

  /// Notes an alert over a limit that is in `failed/`.
  func keepsLimited(_ number: Int) {
    // A summary would not fit a browser.
    if World.isBrowser(number) { return }
    life.limiting.unsummarized[number % World.tokensMax, default: 0] += 1
  }

  /// Checks a summary that the agent tried to write.
  func summarized(_ summary: Summary, _ isWritten: Bool) {
    let unsummarized = life.limiting.unsummarized.removeValue(forKey: summary.number) ?? 0
    if summary.alerts != unsummarized, !life.limiting.isOverflowing {
      complain(
        "a summary counts \(summary.alerts) alerts to \(summary.number) instead of \(unsummarized)")
    }
    guard !isWritten else { return }
    // An agent that ends writes no more summaries.
    if settings.isOnce || isStopping {
      life.limiting.unsummarized = [:]
    } else {
      life.limiting.unsummarized[summary.number] = unsummarized
    }
  }

  /// Whether each alert over a limit is in a summary.
  var isAllSummarized: Bool { life.limiting.unsummarized.isEmpty || life.limiting.isOverflowing }
}
