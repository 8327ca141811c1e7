/// The suppressed device tokens, as delivery sees them.
///
/// They come from the list on disk, from the changes to the list, and from what the agent has
/// learned and not yet written.
///
/// The core learns here that the gateway called a token invalid, or that a notification names a
/// later registration. The agent writes this to disk.
public struct Suppression: ~Copyable {
  package var lists = SuppressionLists()
  /// What the agent has learned and not yet written.
  public internal(set) var learned = Learned()
  /// Whether the agent knows that a list is damaged, and could not set the list aside.
  private var isDamageKnown = false

  init() {}

  /// Returns whether the agent must write to disk, or set a damaged list aside.
  ///
  /// - Parameter isPatient: Whether facts that are learned again at no cost may wait.
  func mustBeKept(isPatient: Bool = false) -> Bool {
    learned.isUrgent || learned.isNew && !isPatient || lists.isDamaged && !isDamageKnown
  }

  /// Returns the record that forbids sending to a token; nil: nothing forbids it.
  ///
  /// - Parameters:
  ///   - registered: UNIX seconds at which the app last registered the token; 0: not stated. A
  ///     registration that ends the suppression is learned.
  ///   - now: UNIX seconds; nil while the clock is not set.
  mutating func record(
    forbidding token: TokenIdentity, registered: UInt32, now: Int64?
  ) -> SuppressionRecord? {
    guard !lists.isEmpty || learned.count > 0 else { return nil }
    guard let known = find(token), known.forbids() else { return nil }
    if known.forbids(registered: registered) { return known }
    // A time in the future would override all reports of the feedback service until then.
    if let now, Int64(known.time) < now {
      let time = min(registered, UInt32(clamping: now))
      learned.insert(SuppressionRecord(token: token, time: time, reason: .registered))
    }
    return nil
  }

  /// Returns whether a token is suppressed, regardless of a registration stated in a notification.
  mutating func isForbidden(_ token: TokenIdentity) -> Bool { find(token)?.forbids() ?? false }

  /// Returns what is known about a token.
  @inline(never)
  mutating func find(_ token: TokenIdentity) -> SuppressionRecord? {
    .overriding(lists.find(token), learned.find(token))
  }

  /// Learns that the gateway calls a token invalid.
  ///
  /// - Parameters:
  ///   - registered: UNIX seconds at which the app last registered the token; 0: not stated. The
  ///     gateway's answer counts as later than this time and than all known facts, even if the
  ///     clock is behind.
  ///   - now: UNIX seconds; nil while the clock is not set. Then the token is suppressed only as
  ///     long as the agent runs.
  mutating func learnInvalid(_ token: TokenIdentity, registered: UInt32, now: Int64?) {
    var time = Learned.noTime
    if let now {
      var latest = max(UInt64(clamping: now), registered > 0 ? UInt64(registered) + 1 : 0)
      // A fact that was learned while the clock was not set has no time to compare with.
      if let known = find(token), known.time != Learned.noTime {
        latest = max(latest, UInt64(known.time) + (known.reason == .registered ? 1 : 0))
      }
      time = min(UInt32(clamping: latest), Learned.noTime - 1)
    }
    learned.insert(SuppressionRecord(token: token, time: time, reason: .invalidToken))
  }

  /// Learns that the app is no longer on the device, as the service says.
  ///
  /// - Parameters:
  ///   - since: UNIX seconds; 0: the service does not say since when.
  ///   - registered: UNIX seconds at which the app last registered the token; 0: not stated. If
  ///     this is not before `since`, the token belongs to another installation, and nothing is
  ///     learned.
  ///   - now: UNIX seconds; nil while the clock is not set.
  mutating func learnGone(_ token: TokenIdentity, since: UInt32, registered: UInt32, now: Int64?) {
    // A time in the future would also override every registration until then.
    let since = min(since, now.map { UInt32(clamping: $0) } ?? since)
    guard registered == 0 || registered < since || since == 0 else { return }
    let time = since > 0 ? since : now.map { UInt32(clamping: $0) } ?? Learned.noTime
    learned.insert(SuppressionRecord(token: token, time: time, reason: .gone))
  }

  /// Notes whether all learned facts are in the list on disk, and the list is whole.
  ///
  /// If not, they are to be written again when more is learned, and at each scan.
  package mutating func kept(_ isKept: Bool) {
    isDamageKnown = lists.isDamaged
    learned.kept(isKept)
  }

  /// Lets the agent try again to write the facts that could not be written.
  mutating func retry() {
    isDamageKnown = false
    learned.retry()
  }
}

/// The facts about tokens that the agent has learned since it last wrote them to disk.
///
/// The newest are kept.
public struct Learned: ~Copyable {
  static let capacity = 1024
  /// The time of a record that cannot be written to disk, because the clock is not set.
  public static let noTime = UInt32.max
  private let records = FixedBuffer<SuppressionRecord>(capacity: capacity)
  /// The number of records.
  public private(set) var count = 0
  private var next = 0
  /// Whether the gateway has accepted a notification of this agent.
  ///
  /// Before that, the gateway may be the wrong one, for which all tokens are foreign. The tokens
  /// that it calls invalid then stay suppressed only as long as the agent runs.
  private var isGatewayRight = false
  /// Whether a record was added that the agent has not seen yet.
  private(set) var isNew = false
  /// Whether a record was added that would cost a connection to learn again.
  private(set) var isUrgent = false

  init() {}

  func find(_ token: TokenIdentity) -> SuppressionRecord? {
    for index in 0..<count where records[index].token == token { return records[index] }
    return nil
  }

  /// Calls `body` with the records; with `isKeepable`, only with those that may be written now.
  public func forEach(isKeepable: Bool = true, _ body: (SuppressionRecord) -> Void) {
    for index in 0..<count
    where isKeepable ? mayKeep(records[index]) : records[index].time != Self.noTime {
      body(records[index])
    }
  }

  /// Returns whether a record may be written to disk.
  func mayKeep(_ record: SuppressionRecord) -> Bool {
    record.time != Self.noTime && (isGatewayRight || record.reason != .invalidToken)
  }

  mutating func insert(_ record: SuppressionRecord) {
    for index in 0..<count where records[index].token == record.token {
      // Only a record with a time can be written to disk.
      if record.overrides(records[index]) || records[index].time == Self.noTime {
        records[index] = record
        // The record that is gone may have been the only one to write to disk.
        isNew = false
        isUrgent = false
        retry()
      }
      return
    }
    self.record(record)
    records[next] = record
    next = (next + 1) % Self.capacity
    count = min(count + 1, Self.capacity)
  }

  /// Notes that the gateway has accepted a notification.
  mutating func trustGateway() {
    guard !isGatewayRight else { return }
    isGatewayRight = true
    retry()
  }

  mutating func kept(_ isKept: Bool) {
    isNew = false
    isUrgent = false
    if isKept { remove(keepable: true) }
  }

  /// Forgets the tokens that the gateway called invalid, since the records in failed/ may be lost.
  ///
  /// Such a token is not suppressed until the service refuses it again: a notification to a
  /// suppressed token leaves the spool without a record.
  mutating func forgetInvalidTokens() {
    isNew = false
    isUrgent = false
    remove(keepable: false)
    retry()
  }

  /// Removes the records that may be written to disk, or else those of invalid tokens.
  private mutating func remove(keepable: Bool) {
    var left = 0
    for index in 0..<count
    where !(keepable ? mayKeep(records[index]) : records[index].reason == .invalidToken) {
      records[left] = records[index]
      left += 1
    }
    count = left
    next = left % Self.capacity
  }

  /// Marks all records as new, so that the agent tries again to write them.
  mutating func retry() {
    for index in 0..<count { record(records[index]) }
  }

  private mutating func record(_ record: SuppressionRecord) {
    guard mayKeep(record) else { return }
    isNew = true
    if record.reason != .registered { isUrgent = true }
  }
}
