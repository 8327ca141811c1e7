import TinyPush

/// The bytes of a suppression list that holds these, which are sorted.
func listBytes(_ records: [SuppressionRecord]) -> [UInt8] {
  nonisolated(unsafe) var bytes: [UInt8] = []
  var writer = ListWriter { part, count in
    bytes += UnsafeRawBufferPointer(start: part, count: count)
    return 0
  }
  for record in records { writer.add(record) }
  _ = writer.finish(OtherTokens())
  return bytes
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

/// A file of the suppression list, and what it holds by the number of the token.
final class ListFile {
  /// What it holds, and what it held before it was damaged.
  private(set) var records: [Int: SuppressionRecord]
  private(set) var lost: [Int: SuppressionRecord] = [:]
  private(set) var isDamaged = false
  private(set) var bytes: [UInt8]

  init(_ records: [Int: SuppressionRecord]) {
    self.records = records
    bytes = listBytes(records.keys.sorted().map { records[$0]! })
  }

  /// Another file in its place, which is not as it was written.
  func damaged(_ random: inout Seeded) -> ListFile {
    let copy = ListFile(records)
    copy.bytes[random.upTo(copy.bytes.count - 1)] ^= 1 << 5
    (copy.records, copy.lost, copy.isDamaged) = ([:], isDamaged ? lost : records, true)
    return copy
  }
}

/// The directory of the suppression list: the list, and what has changed lately. Whoever changes it puts a new file, which is
/// synced, in the place of the old one.
final class ListDirectory {
  private(set) var list: ListFile?
  private(set) var recent: ListFile?
  /// What was unlinked, and is back if the power fails before that is on disk.
  private var unlinked: ListFile?
  /// What was there before a merge of which nobody knows whether it is on disk.
  private var uncertain: (list: ListFile?, recent: ListFile?)?
  /// Done when a merge has synced its file.
  var onSync: () -> Void = {}
  var canWrite = true
  /// Whether the names can be had on disk.
  var canSync = true
  /// Somebody else is at it.
  var isLocked = false
  /// Far fewer than there are outside, so that it overflows.
  private static let recentMax = 12

  /// Merges changes, and says whether it did.
  func merge(_ changes: [SuppressionRecord], forget: Set<Int> = [], isWhole: Bool) -> Bool {
    guard canWrite, !isLocked else { return false }
    let before = (list, recent)
    // What is damaged is set aside.
    if recent?.isDamaged == true { recent = nil }
    if list?.isDamaged == true { list = nil }
    let isSmall =
      !isWhole && forget.isEmpty && (recent?.records.count ?? 0) + changes.count <= Self.recentMax
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
    let digits = token(number).bytes
    return DeviceToken(hex: digits.span)!
  }

  /// The number of a token, which its last bytes are.
  static func number(_ token: DeviceToken) -> Int {
    (28..<32).reduce(0) { $0 << 8 | Int(token.bytes[$1]) }
  }

  static func record(
    _ number: Int, _ time: UInt32, _ reason: SuppressionRecord.Reason
  ) -> SuppressionRecord {
    SuppressionRecord(token: deviceToken(number), time: time, reason: reason)
  }

  // MARK: - What the shell does

  /// Takes up what has changed.
  func noticeSuppression() {
    let (list, recent) = (disk.suppression.list, disk.suppression.recent)
    guard held?.list !== list || held?.recent !== recent else { return }
    if held?.recent !== recent {
      courier.suppress(recent: recent.map { SuppressionList($0.bytes) } ?? SuppressionList())
    }
    if held?.list !== list {
      courier.suppress(list: list.map { SuppressionList($0.bytes) } ?? SuppressionList())
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
    courier.keptLearned(isKept)
    ledger.kept(isKept, learned, self.learned(isKeepable: true))
    ledger.holds(held?.list, held?.recent, self.learned)
  }

  /// What the courier has learned of tokens and could not put on disk yet, by number.
  var learned: [Int: SuppressionRecord] { learned(isKeepable: false) }

  private func learned(isKeepable: Bool) -> [Int: SuppressionRecord] {
    var learned: [Int: SuppressionRecord] = [:]
    courier.forEachLearned(isKeepable: isKeepable) { learned[World.number($0.token)] = $0 }
    return learned
  }

  // MARK: - What somebody else does

  /// The suppression list changes beside the agent, which may be told.
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
