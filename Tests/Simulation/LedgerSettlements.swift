import TinyPush

/// What the ledger makes of settlements: the agent tells of each notification, and of none what is not so.
extension Ledger {
  /// A notification of a file, as the agent tells of it.
  struct Told: Hashable {
    var inode: UInt64
    var offset: Int
    /// Nil: the verdict holds for all recipients.
    var token: Int?
  }

  /// The agent tells how a notification was settled.
  func tells(_ settlement: Settlement, of name: String) {
    guard let file = life.files[name] ?? disk.new[name] else { return }
    let token = settlement.token.map(World.number)
    life.told.insert(Told(inode: file.inode, offset: Int(settlement.offset), token: token))
    let numbers = file.items.filter {
      $0.offset == Int(settlement.offset) && $0.list == nil
        && $0.number.map { $0 % World.tokensMax } == token
    }.compactMap(\.number)
    guard let token, let number = numbers.first, numbers.count == 1 else { return }
    let isTrue =
      switch settlement.outcome {
      case .accepted: gateway.acceptances[number] != nil || lateLosses.contains(number)
      case .rejected(let rejection):
        rejection.reason == .endsConnections || life.refusals[number] == rejection.code
          || suppressing.gone[token] != nil
      case .suppressed: suppressing.known.forbids(token, registered: 0)
      case .expired: file.items.contains { $0.number == number && mayExpire($0) }
      case .dropped: settings.uncertain == .drop
      case .superseded: true
      case .postponed, .limited, .duplicate: hasLimits
      case .refused: false
      }
    // What was appended to a file counts from when the file was first seen, until the file is read anew.
    if !isTrue, !life.reopened.contains(file.inode) {
      complain("\(number) of \(name) counts as \(settlement.outcome)")
    }
  }

  /// A file leaves: each notification for a token was told of, unless an agent before this one had to do with the file.
  func checkTold(_ file: SpoolFile, _ name: String) {
    guard settings.reportsSettlements, lives == 0, !life.reopened.contains(file.inode) else {
      return
    }
    for item in file.items where item.list == nil && item.offset < .max {
      guard let number = item.number else { continue }
      let told = Told(inode: file.inode, offset: item.offset, token: number % World.tokensMax)
      let all = Told(inode: file.inode, offset: item.offset, token: nil)
      if !life.told.contains(told), !life.told.contains(all) {
        complain("\(name) was removed, and nothing was told of \(number)")
      }
    }
  }
}
