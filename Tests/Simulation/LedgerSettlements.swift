import TinyPush

/// Checks settlements: the agent reports each notification, and reports nothing untrue.
extension Ledger {
  /// A notification of a file whose settlement the agent reported.
  struct Reported: Hashable {
    var inode: UInt64
    var offset: Int
    /// The recipient; nil: the settlement is that of all recipients.
    var token: Int?
  }

  /// The agent reports how a notification was settled.
  func settlementReported(_ settlement: Settlement, of file: SpoolFile?) {
    guard let file else { return }
    let name = file.name
    let token = settlement.token.map(World.number)
    life.reported.insert(Reported(inode: file.inode, offset: Int(settlement.offset), token: token))
    let numbers = file.items.filter {
      $0.offset == Int(settlement.offset) && $0.list == nil
        && $0.number.map { $0 % World.tokensMax } == token
    }.compactMap(\.number)
    guard let token, let number = numbers.first, numbers.count == 1 else { return }
    let isTrue =
      switch settlement.outcome {
      case .accepted: gateway.acceptances[number] != nil || lateLosses.contains(number)
      case .rejected(let rejection):
        rejection.reason == .endsConnections
          || rejection.reason == .noDeviceService && !settings.hasDevices
          || life.refusals[number] == rejection.code
          || rejection.reason == .invalidPayloadSize && life.payloadLimit < .max
          || suppressing.gone[token] != nil
      case .suppressed: suppressing.known.forbids(token, registered: 0)
      case .expired: file.items.contains { $0.number == number && mayExpire($0, in: file) }
      case .dropped: settings.uncertain == .drop
      case .superseded: true
      case .postponed: mayWait || waiting.leftLarge.contains(number)
      case .limited, .duplicate: hasLimits
      case .failedCheck: false
      }
    // For appended text, `ttl` counts from when the file was first seen, until it is read again.
    if !isTrue, !life.reopened.contains(file.inode) {
      complain("\(number) of \(name) counts as \(settlement.outcome)")
    }
  }

  /// Checks that each notification of a removed file was reported, if only this agent read the
  /// file.
  func checkReported(_ file: SpoolFile, _ name: String) {
    guard settings.reportsSettlements, lives == 0, !life.reopened.contains(file.inode),
      !file.hasReplaced
    else { return }
    for item in file.items where item.list == nil && item.offset < .max {
      guard let number = item.number else { continue }
      let reported = Reported(
        inode: file.inode, offset: item.offset, token: number % World.tokensMax)
      let all = Reported(inode: file.inode, offset: item.offset, token: nil)
      if !life.reported.contains(reported), !life.reported.contains(all) {
        complain("\(name) was removed, but no settlement of \(number) was reported")
      }
    }
  }
}
