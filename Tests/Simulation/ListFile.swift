import TinyPush

/// A file of the suppression list as the agent maps it, and what it holds by the number of the token.
final class ListFile {
  /// What it holds, and what it held before it was damaged.
  private(set) var records: [Int: SuppressionRecord]
  private(set) var lost: [Int: SuppressionRecord] = [:]
  private(set) var isDamaged = false
  private let memory: UnsafeMutableRawBufferPointer
  private static let pageBytes = 4096
  private static let recordsOfPage = 101

  init(_ records: [Int: SuppressionRecord]) {
    nonisolated(unsafe) var bytes: [UInt8] = []
    var writer = ListWriter { page, count in
      bytes += UnsafeRawBufferPointer(start: page, count: count)
      return 0
    }
    for number in records.keys.sorted() { writer.add(records[number]!) }
    _ = writer.finish()
    self.records = records
    memory = .allocate(byteCount: bytes.count, alignment: 8)
    memory.copyBytes(from: bytes)
  }

  private init(copy other: ListFile) {
    records = other.records
    lost = other.lost
    isDamaged = other.isDamaged
    memory = .allocate(byteCount: other.memory.count, alignment: 8)
    memory.copyMemory(from: UnsafeRawBufferPointer(other.memory))
  }

  deinit { memory.deallocate() }

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(memory) }
  private var pages: Int { memory.count / Self.pageBytes }

  /// Another file in its place, of which some pages are not as they were written.
  func damaged(_ random: inout Seeded) -> ListFile {
    let copy = ListFile(copy: self)
    for _ in 0...random.upTo(2) {
      let page = random.upTo(pages - 1)
      copy.memory[page * Self.pageBytes + random.upTo(Self.pageBytes - 1)] ^= 1 << 5
      copy.lose(page..<page + 1)
    }
    return copy
  }

  /// Somebody cuts it short where it lies: whoever has it mapped sees zeros from there on.
  func cut(_ random: inout Seeded) {
    let page = random.upTo(pages - 1)
    UnsafeMutableRawBufferPointer(rebasing: memory[(page * Self.pageBytes)...])
      .initializeMemory(as: UInt8.self, repeating: 0)
    lose(page..<pages)
  }

  private func lose(_ damaged: Range<Int>) {
    isDamaged = true
    let numbers = (Array(records.keys) + lost.keys).sorted()
    for page in damaged {
      for number in numbers.dropFirst(page * Self.recordsOfPage).prefix(Self.recordsOfPage) {
        lost[number] = records.removeValue(forKey: number) ?? lost[number]
      }
    }
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
    let isSmall =
      !isWhole && forget.isEmpty && recent?.isDamaged != true
      && (recent?.records.count ?? 0) + changes.count <= Self.recentMax
    var records = recent?.records ?? [:]
    if !isSmall {
      records.merge(list?.records ?? [:]) { $0.outweighs($1) ? $0 : $1 }
    }
    for change in changes {
      let number = World.number(change.token)
      if records[number].map({ change.outweighs($0) }) ?? true { records[number] = change }
    }
    for number in forget { records[number] = nil }
    let before = (list, recent)
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

  /// Something that cannot be read becomes of it.
  func damage(_ random: inout Seeded) {
    if random.oneIn(3) {
      recent = recent?.damaged(&random)
    } else if random.oneIn(2) {
      list = list?.damaged(&random)
    } else if let old = list {
      // The agent has it mapped, and finds a file of another size when it looks again.
      old.cut(&random)
      list = old.damaged(&random)
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
    guard held?.list !== disk.suppression.list || held?.recent !== disk.suppression.recent else {
      return
    }
    held = (disk.suppression.list, disk.suppression.recent)
    let none = UnsafeRawBufferPointer(start: nil, count: 0)
    courier.suppress(list: held?.list?.bytes ?? none, recent: held?.recent?.bytes ?? none)
    trace.note(
      "list", at: timeline.elapsed, held?.list?.records.count ?? 0, held?.recent?.records.count ?? 0
    )
    ledger.holds(held?.list, held?.recent, learned)
  }

  func keepLearned() {
    let learned = learned(isKeepable: true)
    ledger.keeps(learned, of: self.learned)
    noticeSuppression()
    let isKept = disk.suppression.merge(
      Array(learned.values), isWhole: courier.isSuppressionDamaged)
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
