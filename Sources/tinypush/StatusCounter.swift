import TinyPush
import TinyPushAgent

/// The counters of the agent's page, with the names that programs use.
enum StatusCounter {
  /// A line for each counter: its name, and what it counts.
  private static let table: StaticString = """
    sent Notifications written to the gateway, including repetitions.
    settled_by_proof Notifications that an answer proved to have arrived.
    settled_by_time Notifications acknowledged and not refused within settle.
    refused Notifications refused by the service.
    failed_check Notifications refused before they were sent.
    repeated Notifications written again.
    uncertain Notifications that may have arrived before a connection was lost.
    expired Notifications that expired before they could be sent.
    suppressed Notifications not sent, as their device tokens are suppressed.
    tokens_suppressed Device tokens that the service called invalid or gone.
    gone Notifications to devices that the service called gone.
    superseded Notifications replaced by newer ones.
    postponed Notifications moved to later/.
    limited Alerts over a limit, put into failed/.
    summaries Summaries of alerts over a limit.
    duplicates Notifications skipped, as the same was sent within their again-after.
    connections Connections made to the service.
    records TLS records written, each with one or more frames.

    """

  /// Calls `body` with the name, the description and the value of each counter.
  @inline(never)
  static func forEach(
    of page: borrowing StatusPage, _ body: (Span<UInt8>, Span<UInt8>, UInt64) -> Void
  ) {
    let counters = page.counters
    let values: InlineArray<18, UInt64> = [
      counters.sent, counters.settledByProof, counters.settledByTime, counters.refused,
      counters.failedCheck, counters.repeated, counters.uncertain, counters.expired,
      counters.suppressed, counters.tokensSuppressed, counters.gone, counters.superseded,
      counters.postponed, counters.limited, counters.summaries, counters.duplicates,
      counters.connections, counters.records,
    ]
    let table = table.span
    var start = 0
    for index in values.indices {
      var space = start
      while table[space] != .space { space += 1 }
      var end = space
      while table[end] != .lineFeed { end += 1 }
      body(
        table.extracting(start..<space), table.extracting(space + 1..<end), values[index])
      start = end + 1
    }
  }
}

/// A period for which rates and latencies are printed.
struct StatusPeriod {
  let name: StaticString
  private let period: Traffic.Period
  private let seconds: UInt64

  static var all: InlineArray<3, StatusPeriod> {
    [
      Self(name: "minute", period: .minute, seconds: 60),
      Self(name: "hour", period: .hour, seconds: 3600),
      Self(name: "start", period: .start, seconds: .max),
    ]
  }

  func sent(_ page: borrowing StatusPage, at now: Instant) -> UInt64 {
    page.traffic.sent(in: period, at: now)
  }

  func latencies(_ page: borrowing StatusPage, at now: Instant) -> Latencies {
    page.traffic.latencies(in: period, at: now)
  }

  /// Returns the length in seconds, but at most the time since the agent started.
  func length(_ page: borrowing StatusPage, at now: Instant) -> UInt64 {
    let running = Instant(milliseconds: page.startedInstant).until(now).milliseconds / 1000
    return max(min(seconds, running), 1)
  }
}
