import TinyPush

/// Returns the bytes of a suppression list with these records, which must be sorted.
func listBytes(_ records: [SuppressionRecord]) -> [UInt8] {
  var text = Text(capacity: records.count * SuppressionRecord.lineMax)
  for record in records { record.append(to: &text) }
  return [UInt8](text.bytes)
}

extension SuppressionList {
  init(_ bytes: [UInt8]) {
    self.init(size: Int64(bytes.count)) { room, place in
      let part = bytes.dropFirst(Int(place)).prefix(room.count)
      _ = room.update(fromContentsOf: part)
      return part.count
    }
  }
}

/// A file of the suppression list, and its records by the number of the token.
final class ListFile {
  /// The records that can be read.
  private(set) var records: [Int: SuppressionRecord]
  /// The records that damage hides.
  private(set) var lost: [Int: SuppressionRecord] = [:]
  private(set) var isDamaged = false
  private(set) var bytes: [UInt8]

  init(_ records: [Int: SuppressionRecord]) {
    self.records = records
    bytes = listBytes(records.values.sorted { $0.token < $1.token })
  }

  /// Returns a copy with one damaged byte, which costs a record, or two if the byte is a line end.
  func damaged(_ random: inout Seeded) -> ListFile {
    // The list was binary once: the seeds on record replay with the same numbers.
    let bound = 40 * records.count + 20
    let drawn = random.upTo(bound - 1)
    guard !bytes.isEmpty, !isDamaged else { return self }
    let copy = ListFile(records)
    let place = drawn * bytes.count / bound
    let line = bytes[..<place].count { $0 == 0x0A }
    let order = records.values.sorted { $0.token < $1.token }.map { World.number($0.token) }
    for number in order[line...].prefix(bytes[place] == 0x0A ? 2 : 1) {
      copy.lost[number] = copy.records.removeValue(forKey: number)
    }
    copy.bytes[place] ^= 1 << 7
    copy.isDamaged = true
    return copy
  }
}

/// The directory of the suppression list, with its two files.
///
/// A change puts a new, synced file in the place of the old one.
final class ListDirectory {
  private(set) var list: ListFile?
  private(set) var recent: ListFile?
  /// The file that was unlinked, and is back if the power fails before that is on disk.
  private var unlinked: ListFile?
  /// The files before a merge that may not be on disk.
  private var uncertain: (list: ListFile?, recent: ListFile?)?
  /// Runs when a merge has synced its file.
  var onSync: () -> Void = {}
  var canWrite = true
  /// Whether the names can be synced.
  var canSync = true
  /// Whether somebody else has locked the directory.
  var isLocked = false
  /// Far smaller than in the agent, so that it overflows.
  private static let recentMax = 12

  /// Merges changes.
  ///
  /// Returns whether it did.
  func merge(_ changes: [SuppressionRecord], forget: Set<Int> = [], isWhole: Bool) -> Bool {
    guard canWrite, !isLocked else { return false }
    let before = (list, recent)
    // Damaged files are set aside, and their other records are kept.
    let isDamaged = list?.isDamaged == true || recent?.isDamaged == true
    let isSmall =
      !isWhole && forget.isEmpty && !isDamaged
      && (recent?.records.count ?? 0) + changes.count <= Self.recentMax
    if isSmall, changes.isEmpty {
      uncertain = uncertain ?? before
      return true
    }
    var records = recent?.records ?? [:]
    if !isSmall {
      records.merge(list?.records ?? [:]) { $0.overrides($1) ? $0 : $1 }
    }
    for change in changes {
      let number = World.number(change.token)
      if records[number].map({ change.overrides($0) }) ?? true { records[number] = change }
    }
    for number in forget { records[number] = nil }
    onSync()
    if isSmall {
      recent = ListFile(records)
    } else {
      list = ListFile(records)
      unlinked = recent
      recent = nil
    }
    uncertain = canSync ? nil : uncertain ?? before
    return canSync
  }

  func damage(_ random: inout Seeded) {
    if random.oneIn(3) {
      recent = recent?.damaged(&random)
    } else {
      list = list?.damaged(&random)
    }
  }

  func cutPower(_ random: inout Seeded) {
    if let uncertain, random.oneIn(2) { (list, recent) = uncertain }
    uncertain = nil
    if recent == nil, let unlinked, random.oneIn(2) { recent = unlinked }
    unlinked = nil
  }
}

extension World {
  static func deviceToken(_ number: Int) -> DeviceToken {
    if isBrowser(number) {
      let digest = SHA256.digest(endpoint(number).bytes.span)
      return DeviceToken(bytes: digest.span)!
    }
    let digits = token(number).bytes
    return DeviceToken(hex: digits.span)!
  }

  /// The number in a token's last bytes, or that of the subscription for which the token stands.
  static func number(_ token: DeviceToken) -> Int {
    hasBrowsers ? number(token.identity) : number(endOf: token.bytes)
  }

  private static func number(endOf bytes: Span<UInt8>) -> Int {
    (bytes.count - 4..<bytes.count).reduce(0) { $0 << 8 | Int(bytes[$1]) }
  }

  /// The number of the token with this identity.
  static func number(_ identity: TokenIdentity) -> Int {
    guard hasSeveralLengths || hasBrowsers, identity.bytes.bigEndian32(at: 0) != 0 else {
      return number(endOf: identity.bytes)
    }
    return hasBrowsers ? browsers[identity.hash]! : hashed[identity.hash]!
  }

  /// The numbers of the tokens whose identity is a digest, by its hash.
  private static let hashed: [UInt64: Int] = $hasSeveralLengths.withValue(true) {
    numbers { digitCount($0) != 64 }
  }
  /// The numbers of the subscriptions, by the hash of what stands for each.
  private static let browsers: [UInt64: Int] = $hasBrowsers.withValue(true) { numbers(isBrowser) }

  private static func numbers(_ isHashed: (Int) -> Bool) -> [UInt64: Int] {
    var numbers: [UInt64: Int] = [:]
    var ranges = [1..<20_000, fillers.lowerBound..<fillers.lowerBound + 1000]
    // The tokens of the recipients files.
    for list in 0..<26 { ranges.append(900_000 + 1000 * list..<900_100 + 1000 * list) }
    for range in ranges {
      for number in range where isHashed(number) {
        numbers[deviceToken(number).identity.hash] = number
      }
    }
    return numbers
  }

  static func record(
    _ number: Int, _ time: UInt32, _ reason: SuppressionRecord.Reason
  ) -> SuppressionRecord {
    SuppressionRecord(token: deviceToken(number).identity, time: time, reason: reason)
  }

  // MARK: - The agent

  /// Opens the files that have changed.
  func noticeSuppression() {
    let (list, recent) = (disk.suppression.list, disk.suppression.recent)
    guard held?.list !== list || held?.recent !== recent else { return }
    if held?.recent !== recent {
      courier.suppression.lists.recent = SuppressionList(recent?.bytes ?? [])
    }
    if held?.list !== list {
      courier.suppression.lists.list = SuppressionList(list?.bytes ?? [])
    }
    held = (list, recent)
    trace.note(
      "list", at: timeline.elapsed, held?.list?.records.count ?? 0, held?.recent?.records.count ?? 0
    )
    ledger.holds(held?.list, held?.recent, learned)
  }

  func keepLearned() {
    let learned = learned(isKeepable: true)
    ledger.keeps(learned, of: self.learned)
    noticeSuppression()
    let isKept = disk.suppression.merge(Array(learned.values), isWhole: false)
    trace.note("learned", at: timeline.elapsed, learned.count, isKept ? 1 : 0)
    if isKept { noticeSuppression() }
    courier.suppression.kept(isKept)
    ledger.kept(isKept, learned, self.learned(isKeepable: true))
    ledger.holds(held?.list, held?.recent, self.learned)
  }

  /// The courier's records that are not on disk yet, by number.
  var learned: [Int: SuppressionRecord] { learned(isKeepable: false) }

  private func learned(isKeepable: Bool) -> [Int: SuppressionRecord] {
    var learned: [Int: SuppressionRecord] = [:]
    courier.suppression.learned.forEach(isKeepable: isKeepable) {
      learned[World.number($0.token)] = $0
    }
    return learned
  }

  // MARK: - Others

  /// Changes the suppression list beside the agent, and with `tells` notifies it.
  func suppress(
    _ changes: [SuppressionRecord], forget: Set<Int> = [], isWhole: Bool = true, tells: Bool = true
  ) {
    ledger.suppressedElsewhere(changes)
    guard disk.suppression.merge(changes, forget: forget, isWhole: isWhole) else { return }
    for change in changes {
      trace.say("  \(World.number(change.token)) \(change.reason.text) \(change.time)")
    }
    if tells { notices.append(.suppressed) }
  }
}
