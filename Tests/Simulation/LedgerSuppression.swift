import TinyPush

/// What the ledger makes of the suppression list: whom the agent knows it must not send to, and to whom it must.
extension Ledger {
  /// All that the agent knows of tokens at a time.
  struct Known {
    var list: ListFile?
    var recent: ListFile?
    var learned: [Int: SuppressionRecord] = [:]
    /// What it has heard is invalid while the clock was not set.
    var timeless: Set<Int> = []

    func record(_ token: Int) -> SuppressionRecord? {
      heaviest([list?.records[token], recent?.records[token], learned[token]])
    }

    private func heaviest(_ records: [SuppressionRecord?]) -> SuppressionRecord? {
      records.compactMap { $0 }.reduce(nil) { heaviest, record in
        heaviest.map { record.overrides($0) ? record : $0 } ?? record
      }
    }

    func forbids(_ token: Int, registered: UInt32) -> Bool {
      timeless.contains(token) || record(token)?.forbids(registered: registered) ?? false
    }

    /// Whether it would be forbidden, if what holds it were not damaged.
    func isLost(_ token: Int, registered: UInt32) -> Bool {
      !forbids(token, registered: registered)
        && heaviest([list?.lost[token], recent?.lost[token]])?.forbids(registered: registered)
          ?? false
    }

    /// Those of which it knows that they are suppressed, and since when.
    var suppressed: [Int: UInt32] {
      var times: [Int: UInt32] = [:]
      for records in [list?.records, recent?.records, learned] {
        for number in (records ?? [:]).keys where !World.fillers.contains(number) {
          if let record = record(number), record.forbids() { times[number] = record.time }
        }
      }
      for number in timeless { times[number] = .max }
      return times
    }
  }

  /// A notification, in a file, of which the gateway has said that its token is invalid.
  struct Verdict: Hashable {
    var inode: UInt64
    var number: Int
  }

  struct Suppressing {
    /// What the agent knows by now, and what it knew since something was last written.
    var known = Known()
    var since: [Known] = [Known()]
    /// Until when, and since what time of day, the agent knew of a token that it is suppressed.
    var past: [Int: [(time: UInt32, until: Instant)]] = [:]
    var present: [Int: UInt32] = [:]
    /// Tokens on record as invalid, with all the times that the agent may give to that.
    var invalid: [Int: Set<UInt32>] = [:]
    /// Devices that the service calls gone, with the time that it gives.
    var gone: [Int: UInt32] = [:]
    /// Notifications that it did not take for that.
    var goneNumbers: Set<Int> = []
    /// The refusals by which each was learned, and those of which somebody else knew.
    var verdicts: [Int: Set<Verdict>] = [:]
    var elsewhere: Set<Int> = []
    /// When the app registered a token, as the notifications say that go to it, and those that go to a list.
    var registered: [Int: Set<UInt32>] = [:]
    var registeredLists: Set<UInt32> = []
    /// What each notification says of that, by serial number.
    var said: [Int: UInt32] = [:]
    /// Whether the clock only ever goes on.
    var isClockSteady = true
  }

  // MARK: - What the agent knows

  /// It has taken up these files, or learned something.
  func holds(_ list: ListFile?, _ recent: ListFile?, _ learned: [Int: SuppressionRecord]) {
    suppressing.known.list = list
    suppressing.known.recent = recent
    learns(learned, isNews: true)
  }

  func learns(_ learned: [Int: SuppressionRecord], isNews: Bool = false) {
    let before = suppressing.known.learned
    let news = learned.filter { number, record in
      before[number]?.time != record.time || before[number]?.reason != record.reason
    }
    guard isNews || !news.isEmpty || learned.count != before.count else { return }
    for number in news.keys.sorted() { check(news[number]!, number) }
    suppressing.known.learned = learned
    suppressing.since.append(suppressing.known)
    let present = suppressing.known.suppressed
    for (number, time) in suppressing.present where present[number] != time {
      suppressing.past[number, default: []].append((time, timeline.now))
    }
    suppressing.present = present
  }

  /// Nothing else is in the batch by now than what is framed from now on.
  func beginsBatch() { suppressing.since = [suppressing.known] }

  private func check(_ record: SuppressionRecord, _ number: Int) {
    switch record.reason {
    case .invalidToken:
      if suppressing.invalid[number]?.contains(record.time) != true {
        complain("\(number) is learned to be invalid since \(record.time), which nobody said")
      }
    case .registered:
      if !registrations(number).contains(where: { $0 >= record.time }) {
        complain("\(number) is learned to be registered at \(record.time), which nobody said")
      }
    case .gone:
      if suppressing.gone[number] != record.time {
        complain("\(number) is learned to be gone since \(record.time), which nobody said")
      }
    case .feedback, .byHand: complain("\(number) is learned, \(record.reason.text)")
    }
  }

  /// A failure is on record that says a token is invalid.
  func learnsInvalid(_ number: Int, _ learned: [Int: SuppressionRecord]) {
    let token = number % World.tokensMax
    guard let wall = timeline.time.wallSeconds else {
      suppressing.known.timeless.insert(token)
      return learns(learned, isNews: true)
    }
    let known = suppressing.known.record(token)
    let said = registered(number)
    let time = max(
      UInt32(clamping: wall), said > 0 ? said + 1 : 0,
      known.map { $0.reason == .registered ? $0.time + 1 : $0.time } ?? 0)
    suppressing.invalid[token, default: []].insert(time)
    // In the same step, the agent may have learned a registration of this second.
    if registrations(token).contains(where: { $0 >= wall }) {
      suppressing.invalid[token]?.insert(max(UInt32(clamping: wall) + 1, time))
    }
    learns(learned)
    if !suppressing.known.forbids(token, registered: time - 1) {
      complain("\(token) is invalid, and that is not learned")
    }
  }

  /// It is on record, for now.
  func refuses(_ number: Int, in file: SpoolFile) {
    suppressing.verdicts[number % World.tokensMax, default: []].insert(
      Verdict(inode: file.inode, number: number))
  }

  /// The records of what the gateway has called invalid may be lost, and the agent must hear it again.
  func forgetsVerdicts(_ learned: [Int: SuppressionRecord]) {
    suppressing.known.timeless = []
    learns(learned, isNews: true)
  }

  /// Somebody else changes the list.
  func suppressedElsewhere(_ changes: [SuppressionRecord]) {
    for change in changes { suppressing.elsewhere.insert(World.number(change.token)) }
  }

  /// Whether a token is suppressed since the gateway refused this notification, and for no other reason: then it does not go
  /// without a record.
  func isRefused(_ number: Int, in file: SpoolFile) -> Bool {
    let token = number % World.tokensMax
    return !suppressing.elsewhere.contains(token)
      && suppressing.verdicts[token] == [Verdict(inode: file.inode, number: number)]
  }

  /// The shell is to put this on disk.
  func keeps(_ learned: [Int: SuppressionRecord], of all: [Int: SuppressionRecord]) {
    learns(all)
    if learned.isEmpty, suppressing.known.list?.isDamaged != true,
      suppressing.known.recent?.isDamaged != true
    {
      complain("there is nothing to keep, and nothing to mend")
    }
  }

  /// What became of that, and what is left of it.
  func kept(
    _ isKept: Bool, _ learned: [Int: SuppressionRecord], _ left: [Int: SuppressionRecord]
  ) {
    if isKept, !left.isEmpty { complain("\(left.count) are kept, and not let go") }
    if !isKept, left.count < learned.count { complain("what is not kept is forgotten") }
  }

  // MARK: - What is sent, and what is not

  func registers(_ item: Item) {
    guard let number = item.number else { return }
    if item.notBefore > 0 || hasLimits { movable.insert(World.serial(of: number)) }
    if item.isUrgent { urgent.insert(World.serial(of: number)) }
    suppressing.said[World.serial(of: number)] = item.registered
    guard item.registered > 0 else { return }
    if item.list == nil {
      suppressing.registered[number % World.tokensMax, default: []].insert(item.registered)
    } else {
      suppressing.registeredLists.insert(item.registered)
    }
  }

  /// When the app registered a token, as notifications say.
  private func registrations(_ token: Int) -> Set<UInt32> {
    suppressing.registered[token, default: []].union(suppressing.registeredLists)
  }

  /// When the app registered the token of a notification, as that says itself.
  private func registered(_ number: Int) -> UInt32 {
    suppressing.said[World.serial(of: number)] ?? 0
  }

  /// A frame is about to be written.
  func checkSuppressed(_ number: Int, isDamageKnown: Bool) {
    let serial = World.serial(of: number)
    guard serial == 0 || suppressing.said[serial] != nil else { return }
    let token = number % World.tokensMax
    let registered = registered(number)
    if suppressing.since.allSatisfy({ $0.forbids(token, registered: registered) }) {
      complain("\(number) goes, and its token is suppressed")
    }
    if !isDamageKnown,
      suppressing.since.allSatisfy({ $0.isLost(token, registered: registered) })
    {
      complain("\(number) goes, and the damage that hides its token is not noticed")
    }
    guard suppressing.isClockSteady, let wall = timeline.time.wallSeconds,
      let record = suppressing.known.record(token),
      record.forbids(), !record.forbids(registered: registered), Int64(record.time) + 60 < wall,
      suppressing.since.count == 1
    else { return }
    complain("\(number) goes since it is registered, and that is not learned")
  }

  /// Whether the agent may have kept a notification from a token that it knew to be suppressed.
  func isSuppressed(_ number: Int, _ item: Item) -> Bool {
    let token = number % World.tokensMax
    func isSuppressed(since time: UInt32) -> Bool { item.registered == 0 || item.registered < time }
    if let time = suppressing.present[token], isSuppressed(since: time) { return true }
    return suppressing.past[token, default: []].contains {
      $0.until >= item.putAt && isSuppressed(since: $0.time)
    }
  }
}
