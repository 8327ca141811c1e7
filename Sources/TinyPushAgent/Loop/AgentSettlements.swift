import TinyPush

/// How the agent reports settled notifications: in the log, and to a waiting sender.
extension Agent {
  /// Records the notification that the courier has settled, and reports it.
  mutating func record() {
    let isRecorded = spool.record(&courier, config.failedLimits)
    if isRecorded { report() }
    courier.recorded(isRecorded)
  }

  private mutating func report() {
    switch courier.recordTask {
    case .summary, .probe: return
    default: break
    }
    logSettlement()
    if courier.isSettlementAwaited { writeReceipt() }
  }

  /// Logs how the notification was settled: always if there is a problem, else with `log =
  /// deliveries`.
  @inline(never)
  private mutating func logSettlement() {
    let settlement = courier.settlement
    let reportsSettlements = config.courier.reportsSettlements
    let priority = settlement.priority
    guard reportsSettlements || priority != .info else { return }
    var text = Text(capacity: 2048)
    settlement.describePlace(in: courier.recordedName(), line: settlement.line, to: &text)
    courier.appendService(to: &text)
    let start = text.count
    text.append(" ")
    settlement.describe(failure: courier.failure(), to: &text)
    if courier.isFailure {
      text.append(" (tinypush queue show ")
      text.append(operand: courier.recordedName())
      text.append(")")
    }
    if reportsSettlements {
      output.log.write(priority, text)
    } else {
      output.log.write(priority, text, about: settlement.topic, kindFrom: start)
    }
    if priority != .info { output.page.record(priority, text.bytes) }
  }

  /// Logs the notifications of `later/` that were replaced; a NUL is behind each name.
  @inline(never)
  mutating func logReplaced(_ names: borrowing Text) {
    let settlement = Settlement(outcome: .superseded)
    var start = 0
    for index in 0..<names.count where names.unsafeBytes[index] == 0 {
      var text = Text(capacity: 512)
      settlement.describePlace(in: names.unsafeBytes.extracting(start..<index), line: 0, to: &text)
      text.append(" ")
      settlement.describe(failure: Span(), to: &text)
      output.log.write(settlement.priority, text)
      start = index + 1
    }
  }

  @inline(never)
  private mutating func writeReceipt() {
    let settlement = courier.settlement
    var text = Text(capacity: 2048)
    if settlement.outcome == .postponed {
      text.append("~ ")
      courier.appendPostponedName(to: &text)
      text.append("\n")
    } else {
      Receipt.appendLine(settlement, failure: courier.failure(), to: &text)
    }
    Receipt.append(text, for: courier.recordedName(), in: spool.root.number)
  }

  /// Removes the settled file, after its receipt is complete.
  mutating func remove() {
    if courier.isSettledAwaited {
      Receipt.end(courier.settledName(), in: spool.root.number)
    }
    courier.removed(spool.remove(&courier, config.failedLimits))
    filesFound -= 1
    output.progress.settled()
  }
}
