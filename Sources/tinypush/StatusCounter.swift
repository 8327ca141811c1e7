import TinyPush
import TinyPushAgent

/// A counter of the agent's page, by the name that programs know it by.
struct StatusCounter {
  let name: StaticString
  let help: StaticString
  let value: UInt64

  static func all(of page: borrowing StatusPage) -> InlineArray<18, StatusCounter> {
    let counters = page.counters
    return [
      Self("sent", "Notifications written to the gateway, repetitions included.", counters.sent),
      Self(
        "settled_by_proof", "Notifications that an answer proved to have arrived.",
        counters.settledByProof),
      Self(
        "settled_by_time", "Notifications acknowledged and not refused within settle.",
        counters.settledByTime),
      Self("refused", "Notifications refused by the gateway.", counters.refused),
      Self("failed_check", "Notifications refused before they were sent.", counters.failedCheck),
      Self("repeated", "Notifications written again.", counters.repeated),
      Self(
        "uncertain", "Notifications of which a cut left unknown whether they arrived.",
        counters.uncertain),
      Self("expired", "Notifications that expired before they could be sent.", counters.expired),
      Self("suppressed", "Notifications to devices that are gone, not sent.", counters.suppressed),
      Self(
        "tokens_suppressed", "Device tokens that the service called invalid or gone.",
        counters.tokensSuppressed),
      Self("gone", "Notifications to devices that the gateway called gone.", counters.gone),
      Self("superseded", "Notifications replaced by newer ones.", counters.superseded),
      Self("postponed", "Notifications put aside until their time.", counters.postponed),
      Self("limited", "Alerts over a limit, put into failed/.", counters.limited),
      Self("summaries", "Summaries of alerts over a limit.", counters.summaries),
      Self(
        "duplicates", "Notifications left out, the same having gone within their again-after.",
        counters.duplicates),
      Self("connections", "Connections made to the gateway.", counters.connections),
      Self("records", "TLS records written, each with one or more frames.", counters.records),
    ]
  }

  private init(_ name: StaticString, _ help: StaticString, _ value: UInt64) {
    self.name = name
    self.help = help
    self.value = value
  }
}

/// A period over which rates and latencies are told.
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

  /// Seconds of it that the agent has been there for.
  func length(_ page: borrowing StatusPage, at now: Instant) -> UInt64 {
    let running = Instant(milliseconds: page.startedInstant).until(now).milliseconds / 1000
    return max(min(seconds, running), 1)
  }
}
