import Foundation
import TinyPush

/// A summary, read by somebody else's JSON reader.
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

/// What the ledger makes of limits.
extension Ledger {
  /// Of one agent, whose buckets were full at its start.
  struct Limiting {
    /// When alerts went for the first time, by token; 0: all of them.
    var times: [Int: [Instant]] = [:]
    var seen: Set<Int> = []
    /// How many alerts to each token are in `failed/` and in no summary.
    var untold: [Int: Int] = [:]
    /// There were more tokens than an agent keeps in mind.
    var isOverflowing = false

    static let tokensMax = 1000
    /// Of more tokens the agent may forget the bucket of one, depending on their hashes.
    static let bucketsMax = 100
  }

  private var bothLimits: [(key: (Int) -> Int, limit: RateLimit)] {
    [
      settings.limit.map { ({ $0 % World.tokensMax }, $0) },
      settings.limitAll.map { ({ _ in 0 }, $0) },
    ].compactMap { $0 }
  }

  var hasLimits: Bool { settings.limit != nil || settings.limitAll != nil }

  /// An alert goes to the link, or over the wire.
  ///
  /// - Parameter isAdmission: whether this is when the agent has let it through. If not, some time has passed since, and
  ///   only what has gone since its start says anything.
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
      if isOver, !isForgotten { complain("\(number) goes, and is over the limit of \(limit)") }
    }
  }

  /// Whether one more alert now, behind those at these times, would be over a limit.
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

  /// An alert is to be recorded, or to wait, since it is over a limit.
  func limits(_ number: Int) {
    let serial = World.serial(of: number)
    if bothLimits.isEmpty { complain("\(number) is limited without a limit") }
    if urgent.contains(serial) || serial == World.serialOfSummaries {
      complain("\(number) is limited, and passes limits")
    }
    guard isUneventful, isAnswering, !hasTwins else { return }
    if !bothLimits.contains(where: { isFull(life.limiting.times[$0.key(number)] ?? [], $0.limit) })
    {
      complain("\(number) is limited, and there is room for it")
    }
  }

  /// An alert over a limit is in `failed/`.
  func keepsLimited(_ number: Int) {
    life.limiting.untold[number % World.tokensMax, default: 0] += 1
    if life.limiting.untold.count > Limiting.tokensMax { life.limiting.isOverflowing = true }
  }

  /// A summary was to be written.
  func summarized(_ summary: Summary, _ isWritten: Bool) {
    let untold = life.limiting.untold.removeValue(forKey: summary.number) ?? 0
    if summary.alerts != untold, !life.limiting.isOverflowing {
      complain(
        "\(summary.alerts) alerts to \(summary.number) are told of, and there were \(untold)")
    }
    guard !isWritten else { return }
    // An agent that comes to its end tells of none any more.
    if settings.isOnce || isStopping {
      life.limiting.untold = [:]
    } else {
      life.limiting.untold[summary.number] = untold
    }
  }

  /// Whether each alert that is in no other place is in a summary.
  var isAllTold: Bool { life.limiting.untold.isEmpty || life.limiting.isOverflowing }
}
