import TinyPush

/// Checks the suppression list: to which tokens the agent must not send, and to which it must.
extension Ledger {
  /// What the agent knows of tokens at one time.
  struct Known {
    var list: ListFile?
    var recent: ListFile?
    var learned: [Int: SuppressionRecord] = [:]
    /// Tokens that became invalid while the clock was not set.
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

    /// Whether damage to the files hides a record that would forbid the token.
    func isLost(_ token: Int, registered: UInt32) -> Bool {
      !forbids(token, registered: registered)
        && heaviest([list?.lost[token], recent?.lost[token]])?.forbids(registered: registered)
          ?? false
    }

    /// The suppressed tokens that the agent knows of, and since when.
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

  /// A notification of a file whose token the gateway called invalid.
  struct Invalidation: Hashable {
    var inode: UInt64
    var number: Int
  }

  struct Suppressing {
    /// What the agent knows now.
    var known = Known()
    /// What the agent has known since something was last written.
    var since: [Known] = [Known()]
    /// The times for which a token was known as suppressed, and until when it was.
    var past: [Int: [(time: UInt32, until: Instant)]] = [:]
    var present: [Int: UInt32] = [:]
    /// Tokens recorded as invalid, with all times that the agent may give for that.
    var invalid: [Int: Set<UInt32>] = [:]
    /// Devices that the service calls gone, with the time that the service gives.
    var gone: [Int: UInt32] = [:]
    /// Notifications that the service did not take because the device is gone.
    var goneNumbers: Set<Int> = []
    /// The notifications by which each token was found invalid.
    var invalidations: [Int: Set<Invalidation>] = [:]
    /// Tokens that somebody else added to the list.
    var elsewhere: Set<Int> = []
    /// When the app registered a token, as notifications to that token say.
    var registered: [Int: Set<UInt32>] = [:]
    /// When the app registered tokens, as notifications to a list say.
    var registeredLists: Set<UInt32> = []
    /// When the app registered a token, as its line of a recipients file says.
    var listed: [Int: UInt32] = [:]
    /// When the app registered the token, by the notification's serial number.
    var said: [Int: UInt32] = [:]
    /// Whether the clock is never set back or forward.
    var isClockSteady = true
  }

  // MARK: - What the agent knows

  /// Notes that the agent opened these files, or learned something.
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

  /// Notes that the batch is empty: only frames from now on can be in it.
  func beginsBatch() { suppressing.since = [suppressing.known] }

  private func check(_ record: SuppressionRecord, _ number: Int) {
    switch record.reason {
    case .invalidToken:
      if suppressing.invalid[number]?.contains(record.time) != true {
        complain("\(number) is learned to be invalid since \(record.time), and nobody said so")
      }
    case .registered:
      if !registrations(number).contains(where: { $0 >= record.time }) {
        complain("\(number) is learned to be registered at \(record.time), and nobody said so")
      }
    case .gone:
      // A time in the future counts as the present.
      let said = suppressing.gone[number] ?? 0
      let isFuture = said > record.time && Int64(said) > timeline.time.wallSeconds ?? .max
      if suppressing.isClockSteady, let wall = timeline.time.wallSeconds, record.time > wall {
        complain("\(number) is learned to be gone since \(record.time), which is in the future")
      }
      if said != record.time, !isFuture {
        complain("\(number) is learned to be gone since \(record.time), and nobody said so")
      }
    case .feedback, .byHand: complain("\(number) is learned with the reason \(record.reason.text)")
    }
  }

  /// Notes that a failure was recorded which calls a token invalid.
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
    // In the same step, the agent may have learned of a registration in this second.
    if registrations(token).contains(where: { $0 >= wall }) {
      suppressing.invalid[token]?.insert(max(UInt32(clamping: wall) + 1, time))
    }
    learns(learned)
    if !suppressing.known.forbids(token, registered: time - 1) {
      complain("\(token) is invalid, and that is not learned")
    }
  }

  /// Notes that the refusal is recorded, at least until it is lost.
  func refuses(_ number: Int, in file: SpoolFile) {
    suppressing.invalidations[number % World.tokensMax, default: []].insert(
      Invalidation(inode: file.inode, number: number))
  }

  /// Forgets tokens whose records may be lost: the gateway must call them invalid again.
  func forgetsInvalidTokens(_ learned: [Int: SuppressionRecord]) {
    suppressing.known.timeless = []
    learns(learned, isNews: true)
  }

  /// Notes that somebody else changed the list.
  func suppressedElsewhere(_ changes: [SuppressionRecord]) {
    for change in changes { suppressing.elsewhere.insert(World.number(change.token)) }
  }

  /// Whether the token is suppressed only because the gateway refused this very notification.
  ///
  /// Then the notification may not leave without a record.
  func isRefused(_ number: Int, in file: SpoolFile) -> Bool {
    let token = number % World.tokensMax
    return !suppressing.elsewhere.contains(token)
      && suppressing.invalidations[token] == [Invalidation(inode: file.inode, number: number)]
  }

  /// Checks what the agent wants to put on disk.
  func keeps(_ learned: [Int: SuppressionRecord], of all: [Int: SuppressionRecord]) {
    learns(all)
    if learned.isEmpty, suppressing.known.list?.isDamaged != true,
      suppressing.known.recent?.isDamaged != true
    {
      complain("the list is written without a change or damage")
    }
  }

  /// Checks what is left after the agent tried to put it on disk.
  func kept(
    _ isKept: Bool, _ learned: [Int: SuppressionRecord], _ left: [Int: SuppressionRecord]
  ) {
    if isKept, !left.isEmpty { complain("\(left.count) records are on disk and still in memory") }
    if !isKept, left.count < learned.count { complain("a record is neither on disk nor in memory") }
  }

  // MARK: - Sending

  func registers(_ item: Item) {
    guard let number = item.number else { return }
    if item.notBefore > 0 || mayWait { movable.insert(World.serial(of: number)) }
    if item.isUrgent { urgent.insert(World.serial(of: number)) }
    suppressing.said[World.serial(of: number)] = item.registered
    guard item.registered > 0 else { return }
    if item.list == nil {
      suppressing.registered[number % World.tokensMax, default: []].insert(item.registered)
    } else {
      suppressing.registeredLists.insert(item.registered)
    }
  }

  /// Notes a line of a recipients file.
  func registers(_ line: String) {
    let bytes = line.bytes
    guard case .recipient(let recipient) = RecipientsFile.read(bytes.span, for: .http2),
      recipient.registered > 0
    else { return }
    suppressing.listed[World.number(recipient.token)] = recipient.registered
  }

  /// When the app registered a token, as all notifications and its recipients file say.
  private func registrations(_ token: Int) -> Set<UInt32> {
    suppressing.registered[token, default: []].union(suppressing.registeredLists)
      .union([suppressing.listed[token] ?? 0])
  }

  /// When the app registered a notification's token, as the notification or its recipients file says.
  private func registered(_ number: Int) -> UInt32 {
    max(
      credible(suppressing.said[World.serial(of: number)]),
      credible(suppressing.listed[number % World.tokensMax]))
  }

  /// Returns a time of registration; 0 if it is unknown or more than a day in the future.
  private func credible(_ registered: UInt32?) -> UInt32 {
    // While the clock is not set, the agent takes each time for past.
    guard let registered, let wall = timeline.time.wallSeconds else { return registered ?? 0 }
    return Int64(registered) > wall + 86_400 ? 0 : registered
  }

  /// Checks a frame that is about to be written.
  func checkSuppressed(_ number: Int, isDamageKnown: Bool) {
    let serial = World.serial(of: number)
    guard serial == 0 || suppressing.said[serial] != nil else { return }
    let token = number % World.tokensMax
    // The clock may have been set since the agent looked.
    let registered =
      suppressing.isClockSteady
      ? registered(number) : max(suppressing.said[serial] ?? 0, suppressing.listed[token] ?? 0)
    if suppressing.since.allSatisfy({ $0.forbids(token, registered: registered) }) {
      complain("\(number) is sent, and its token is suppressed")
    }
    if !isDamageKnown,
      suppressing.since.allSatisfy({ $0.isLost(token, registered: registered) })
    {
      complain("\(number) is sent, and the damage that hides its token was not noticed")
    }
    guard suppressing.isClockSteady, let wall = timeline.time.wallSeconds,
      let record = suppressing.known.record(token),
      record.forbids(), !record.forbids(registered: registered), Int64(record.time) + 60 < wall,
      suppressing.since.count == 1
    else { return }
    complain("\(number) is sent since its token is registered, and the registration is not learned")
  }

  /// Whether the agent may withhold a notification because it knew the token as suppressed.
  func isSuppressed(_ number: Int, _ item: Item) -> Bool {
    let token = number % World.tokensMax
    // A summary goes to a token of a recipients file, but not to the file.
    let listed = item.list != nil ? credible(suppressing.listed[token]) : 0
    // What is in the future after the clock was set back, may be in the past now.
    let registered = suppressing.isClockSteady ? max(credible(item.registered), listed) : 0
    func isSuppressed(since time: UInt32) -> Bool { registered == 0 || registered < time }
    if let time = suppressing.present[token], isSuppressed(since: time) { return true }
    return suppressing.past[token, default: []].contains {
      $0.until >= item.putAt && isSuppressed(since: $0.time)
    }
  }
}
