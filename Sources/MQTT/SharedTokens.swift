import TinyPush

/// What the boxes of a fleet tell each other about device tokens, in retained messages of the broker.
///
/// A record of a token is the message of the topic `PREFIX/suppressed/HASH`, where `HASH` is made
/// of the token: `{"token": "…", "time": 1795000000, "reason": "gone"}`. So each box learns what
/// the service told another box, and a device that is gone costs the fleet one request. The table
/// remembers the records that the broker has, so that no box repeats them.
public struct SharedTokens: ~Copyable {
  /// The most tokens that a fleet shares; more stay where they were learned.
  public static let tokensMax = 16_384
  /// How long the broker keeps a suppressed token, from the time in its record on, in seconds.
  ///
  /// A registration is kept for ever: a box that was away for long must not go on suppressing the
  /// token.
  public static let keptSeconds: UInt32 = 31_536_000
  private static let places = tokensMax * 2

  private let known: SharedTokenTable
  /// The number of known tokens.
  public private(set) var count = 0

  /// Creates an empty table.
  ///
  /// - Parameter isUsed: whether tokens are shared; a table that is not used has no memory.
  public init(isUsed: Bool = true) { known = SharedTokenTable(places: isUsed ? Self.places : 0) }

  /// Whether there is no room for another token.
  public var isFull: Bool { count == Self.tokensMax }

  /// Forgets all records.
  public mutating func removeAll() {
    guard count > 0 else { return }
    known.removeAll()
    count = 0
  }

  /// Whether a record tells the fleet something new.
  public func isNews(_ record: SuppressionRecord) -> Bool {
    let place = known.place(of: Self.hash(record.token))
    guard known.hash(at: place) != 0 else { return count < Self.tokensMax }
    return record.overrides(known.record(at: place, record.token))
  }

  /// Remembers a record that the broker has.
  public mutating func remember(_ record: SuppressionRecord) {
    let hash = Self.hash(record.token)
    let place = known.place(of: hash)
    if known.hash(at: place) == 0 {
      guard count < Self.tokensMax else { return }
      count += 1
    }
    known.put(record, hash, at: place)
  }

  private static func hash(_ token: TokenIdentity) -> UInt64 {
    var hash = ContentHash()
    hash.add(token.bytes)
    // 0 marks a free place.
    return hash.value == 0 ? 1 : hash.value
  }
}

/// A hash table of fixed size, with open addressing.
struct SharedTokenTable: ~Copyable {
  private let hashes: FixedBuffer<UInt64>
  private let times: FixedBuffer<UInt32>
  private let reasons: FixedBuffer<UInt8>

  /// - Parameter places: a power of two, at least twice the number of tokens.
  init(places: Int) {
    hashes = FixedBuffer(capacity: places)
    times = FixedBuffer(capacity: places)
    reasons = FixedBuffer(capacity: places)
    removeAll()
  }

  func removeAll() { for place in 0..<hashes.capacity { hashes[place] = 0 } }

  /// The place of a token, or the free place where it would be.
  func place(of hash: UInt64) -> Int {
    var place = Int(truncatingIfNeeded: hash >> 8) & (hashes.capacity - 1)
    while hashes[place] != 0, hashes[place] != hash { place = (place + 1) & (hashes.capacity - 1) }
    return place
  }

  func hash(at place: Int) -> UInt64 { hashes[place] }

  func record(at place: Int, _ token: TokenIdentity) -> SuppressionRecord {
    SuppressionRecord(
      token: token, time: times[place],
      reason: SuppressionRecord.Reason(rawValue: reasons[place]) ?? .registered)
  }

  func put(_ record: SuppressionRecord, _ hash: UInt64, at place: Int) {
    hashes[place] = hash
    times[place] = record.time
    reasons[place] = record.reason.rawValue
  }
}

/// The message of a record.
public enum SharedToken {
  /// Why a message is not taken as a record.
  public enum Problem: Error {
    /// The payload is no record.
    case malformed
    /// The topic belongs to another token.
    case topic
    /// The time is in the future: a clock is wrong.
    case future
  }

  /// The seconds by which the clocks of two boxes may differ.
  public static let skewMax: Int64 = 60

  /// The reasons as messages spell them, by ``SuppressionRecord/Reason``.
  private static var reasons: WordList { "registered feedback invalid by-hand gone" }

  /// Appends the topic of a token.
  public static func appendTopic(_ token: TokenIdentity, prefix: Span<UInt8>, to text: inout Text) {
    text.append(bytes: prefix)
    text.append("/suppressed/")
    var hash = Hash()
    hash.add(token.bytes)
    text.append(hex: hash.value)
    var content = ContentHash()
    content.add(token.bytes)
    text.append(hex: content.value)
  }

  /// Appends the payload of a record.
  public static func append(_ record: SuppressionRecord, to text: inout Text) {
    text.beginObject()
    text.member("token", hex: record.token.bytes)
    text.member("time", number: record.time)
    text.member("reason", string: reasons[Int(record.reason.rawValue)])
    text.endObject()
  }

  /// Returns the seconds for which the broker is to keep a record; 0: for ever, nil: not at all.
  ///
  /// - Parameter wall: UNIX seconds.
  public static func expiry(_ record: SuppressionRecord, wall: Int64) -> UInt32? {
    guard record.reason != .registered else { return 0 }
    let left = Int64(record.time) + Int64(SharedTokens.keptSeconds) - wall
    return left > 0 ? UInt32(min(left, Int64(SharedTokens.keptSeconds))) : nil
  }

  /// Reads a message of the topics of a fleet, and does not trust it.
  ///
  /// A record from the future would outlast later registrations of the token.
  ///
  /// - Parameter wall: UNIX seconds.
  public static func read(
    topic: Span<UInt8>, payload: Span<UInt8>, prefix: Span<UInt8>, wall: Int64
  ) throws(Problem) -> SuppressionRecord {
    guard let record = read(payload) else { throw .malformed }
    var text = Text(capacity: 320)
    appendTopic(record.token, prefix: prefix, to: &text)
    guard text.bytes.equals(topic) else { throw .topic }
    guard Int64(record.time) <= wall + skewMax else { throw .future }
    return record
  }

  /// Reads a payload; nil if it is not a record.
  ///
  /// Unknown members are passed over.
  public static func read(_ payload: Span<UInt8>) -> SuppressionRecord? {
    guard PayloadPath.isJSON(payload), let token = string("token", payload),
      let token = DeviceToken(hex: payload.extracting(token)),
      token.count == TokenIdentity.byteCount,
      let reason = string("reason", payload),
      let reason = reasons.index(of: payload.extracting(reason)),
      let reason = SuppressionRecord.Reason(rawValue: UInt8(reason)),
      let time = PayloadPath.find(("time" as StaticString).span, in: payload)
    else { return nil }
    var seconds: UInt64 = 0
    for index in time {
      guard payload[index].isDigit, seconds < 1 << 32 else { return nil }
      seconds = seconds * 10 + UInt64(payload[index].digitValue)
    }
    guard let seconds = UInt32(exactly: seconds), seconds < .max else { return nil }
    return SuppressionRecord(token: token.identity, time: seconds, reason: reason)
  }

  /// Where the text of a string member stands.
  private static func string(_ name: StaticString, _ payload: Span<UInt8>) -> Range<Int>? {
    guard let value = PayloadPath.find(name.span, in: payload), payload[value.lowerBound] == .quote
    else { return nil }
    return value.lowerBound + 1..<value.upperBound - 1
  }
}
