/// Who is not sent to any more, as delivery sees it: the list on disk, what has changed since it was last made anew, and what
/// the agent has learned and could not put there yet.
///
/// The gateway calls a token invalid once, and a notification may say that a token was registered since: both are learned here,
/// and the shell keeps them.
struct Suppression: ~Copyable {
  var lists = SuppressionLists()
  private(set) var learned = Learned()
  /// That something is damaged has been said, and it could not be set aside.
  private var isBroken = false

  init() {}

  /// Whether the shell has something to put on disk, or to set aside.
  ///
  /// - Parameter isPatient: what costs nothing to learn again gathers meanwhile.
  func mustBeKept(isPatient: Bool = false) -> Bool {
    learned.isUrgent || learned.isNew && !isPatient || lists.isDamaged && !isBroken
  }

  /// Whether a token is not to be sent to.
  ///
  /// - Parameters:
  ///   - registered: UNIX seconds at which the app last registered it, if somebody says so. When that makes a token good again,
  ///     it is learned.
  ///   - now: UNIX seconds; nil while the clock is not set.
  mutating func forbids(_ token: DeviceToken, registered: UInt32, now: Int64?) -> Bool {
    guard !lists.isEmpty || learned.count > 0 else { return false }
    guard let known = find(token), known.forbids() else { return false }
    if known.forbids(registered: registered) { return true }
    // A time to come would hold against all that the feedback service tells until then.
    if let now, Int64(known.time) < now {
      let time = min(registered, UInt32(clamping: now))
      learned.insert(SuppressionRecord(token: token, time: time, reason: .registered))
    }
    return false
  }

  /// Whether a token is not to be sent to, whatever anybody says of its registration.
  mutating func isForbidden(_ token: DeviceToken) -> Bool { find(token)?.forbids() ?? false }

  /// What is known of a token.
  @inline(never)
  mutating func find(_ token: DeviceToken) -> SuppressionRecord? {
    .heavier(lists.find(token), learned.find(token))
  }

  /// The gateway calls a token invalid.
  ///
  /// - Parameters:
  ///   - registered: UNIX seconds at which the app last registered it, if somebody says so. Whatever the clock says, the gateway
  ///     has spoken after that, and after all that is known.
  ///   - now: UNIX seconds; nil while the clock is not set: then it is so for as long as the agent runs.
  mutating func learnInvalid(_ token: DeviceToken, registered: UInt32, now: Int64?) {
    var time = Learned.noTime
    if let now {
      var latest = max(UInt64(clamping: now), registered > 0 ? UInt64(registered) + 1 : 0)
      // What was learned while the clock was not set has no time that could be later.
      if let known = find(token), known.time != Learned.noTime {
        latest = max(latest, UInt64(known.time) + (known.reason == .registered ? 1 : 0))
      }
      time = min(UInt32(clamping: latest), Learned.noTime - 1)
    }
    learned.insert(SuppressionRecord(token: token, time: time, reason: .invalidToken))
  }

  /// The service says that the app is not on the device any more.
  ///
  /// - Parameters:
  ///   - since: UNIX seconds; 0: it does not say since when.
  ///   - registered: UNIX seconds at which the app last registered the token, if somebody says so: when that is not before, the
  ///     token stands for another installation.
  ///   - now: UNIX seconds; nil while the clock is not set.
  mutating func learnGone(_ token: DeviceToken, since: UInt32, registered: UInt32, now: Int64?) {
    guard registered == 0 || registered < since || since == 0 else { return }
    let time = since > 0 ? since : now.map { UInt32(clamping: $0) } ?? Learned.noTime
    learned.insert(SuppressionRecord(token: token, time: time, reason: .gone))
  }

  /// The records of refusals may be lost. The tokens are not suppressed until the gateway has refused them again: a
  /// notification to a suppressed token leaves without a record.
  mutating func forgetInvalidTokens() { learned.forgetInvalidTokens() }

  /// The gateway has accepted something.
  mutating func trustGateway() { learned.trustGateway() }

  /// What was learned is on disk, or cannot be put there at present.
  mutating func kept(_ isKept: Bool) {
    isBroken = lists.isDamaged
    learned.kept(isKept)
  }

  /// What could not be put there is to be tried again.
  mutating func retry() {
    isBroken = false
    learned.retry()
  }
}

/// What the agent has learned of tokens since it was last on disk. The newest are remembered.
public struct Learned: ~Copyable {
  static let capacity = 1024
  /// Of a record that cannot be put on disk, since nobody knows what time it is.
  public static let noTime = UInt32.max
  private let records = FixedBuffer<SuppressionRecord>(capacity: capacity)
  public private(set) var count = 0
  private var next = 0
  /// The gateway has accepted something of this agent's. Before that it may be the wrong one, to which all tokens are foreign,
  /// and what it calls invalid is so only as long as the agent runs.
  private var isGatewayRight = false
  /// Something came that the shell has not seen yet.
  private(set) var isNew = false
  /// To learn it again would cost a connection.
  private(set) var isUrgent = false

  init() {}

  public subscript(index: Int) -> SuppressionRecord { records[index] }

  func find(_ token: DeviceToken) -> SuppressionRecord? {
    for index in 0..<count where records[index].token == token { return records[index] }
    return nil
  }

  /// Whether it may be put on disk.
  func mayKeep(_ record: SuppressionRecord) -> Bool {
    record.time != Self.noTime && (isGatewayRight || record.reason != .invalidToken)
  }

  mutating func insert(_ record: SuppressionRecord) {
    for index in 0..<count where records[index].token == record.token {
      // A record with a time can be put on disk.
      if record.outweighs(records[index]) || records[index].time == Self.noTime {
        records[index] = record
        self.record(record)
      }
      return
    }
    self.record(record)
    records[next] = record
    next = (next + 1) % Self.capacity
    count = min(count + 1, Self.capacity)
  }

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

  /// Forgets what the gateway has called invalid.
  mutating func forgetInvalidTokens() {
    isNew = false
    isUrgent = false
    remove(keepable: false)
    retry()
  }

  /// Lets go of what may be put on disk, or else of what the gateway has called invalid.
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

  /// The shell is to try again.
  mutating func retry() {
    for index in 0..<count { record(records[index]) }
  }

  private mutating func record(_ record: SuppressionRecord) {
    guard mayKeep(record) else { return }
    isNew = true
    if record.reason != .registered { isUrgent = true }
  }
}
