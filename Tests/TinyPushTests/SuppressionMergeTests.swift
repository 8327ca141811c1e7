import Foundation
import Testing

@testable import Simulation
@testable import TinyPush
@testable import TinyPushAgent

/// What is known of a token.
private struct Known: Equatable {
  var time: UInt32
  var reason: SuppressionRecord.Reason

  init(_ record: SuppressionRecord) {
    time = record.time
    reason = record.reason
  }
}

private func token(_ number: Int) -> DeviceToken {
  var bytes = [UInt8](repeating: 0, count: 32)
  (bytes[0], bytes[1], bytes[31]) = (
    UInt8(number >> 16), UInt8(number >> 8 & 255), UInt8(number & 255)
  )
  return DeviceToken(bytes: bytes.span)!
}

private func number(_ token: DeviceToken) -> Int {
  Int(token.bytes[0]) << 16 | Int(token.bytes[1]) << 8 | Int(token.bytes[31])
}

private func record(
  _ number: Int, _ time: UInt32 = 1000, _ reason: SuppressionRecord.Reason = .feedback
) -> SuppressionRecord { SuppressionRecord(token: token(number), time: time, reason: reason) }

private struct Trouble: Error { var text: String }

/// A suppression list in a directory of its own, and beside it what it should hold.
private final class Store {
  let path: String
  private let directory: SuppressionDirectory
  var model: [Int: Known] = [:]
  var others: [[UInt8]: Known] = [:]
  /// What went wrong last.
  private(set) var error: Int32 = 0
  private(set) var wasDamaged = false
  private(set) var total: UInt64 = 0

  init() throws {
    var template = Array(
      URL(filePath: NSTemporaryDirectory()).appending(path: "tinypush-test.XXXXXX").path.utf8CString
    )
    guard mkdtemp(&template) != nil else { throw Trouble(text: "mkdtemp: errno \(errno)") }
    path = String(decoding: template.dropLast().map(UInt8.init), as: UTF8.self)
    directory = try Self.open(path)
  }

  /// In a directory that is made for it.
  init(at path: String) throws {
    self.path = path
    directory = try Self.open(path)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  private static func open(_ path: String) throws -> SuppressionDirectory {
    var message = Text()
    do { return try SuppressionDirectory(path, message: &message) } catch {
      throw Trouble(text: String(message.bytes))
    }
  }

  var number: Int32 { directory.directory.number }

  // MARK: - Changes

  /// One change, as it is told: what became of a token.
  struct Told: Equatable {
    var token: Int
    var known: Known
    var outcome: SuppressionMerge.Outcome
  }

  /// Merges changes into the list; nil: that failed. Those are told of which `body` was.
  func merge(
    _ changes: [SuppressionRecord], others: [([UInt8], Known)] = [], forget: [Int] = [],
    isWhole: Bool = false, runMax: Int = 32_768
  ) -> [Told]? {
    var merge = SuppressionMerge(number, runMax: runMax)
    for change in changes { merge.add(change) }
    for (token, known) in others { _ = merge.add(other: token.span, known.reason, known.time) }
    for number in forget { _ = merge.forget(token(number)) }
    var told: [Told] = []
    let isDone = merge.finish(isWhole: isWhole) { record, outcome in
      told.append(
        Told(token: TinyPushTests.number(record.token), known: Known(record), outcome: outcome))
    }
    error = merge.error
    wasDamaged = merge.wasDamaged
    total = merge.total
    return isDone ? told : nil
  }

  /// Does to the model what a merge should do, and says what it should tell.
  func change(
    _ changes: [SuppressionRecord], others: [([UInt8], Known)] = [], forget: [Int] = []
  ) -> [Told] {
    var told: [Told] = []
    let changes = Dictionary(grouping: changes) { TinyPushTests.number($0.token) }
    for number in Set(changes.keys).union(forget).sorted() {
      let before = model[number]
      if forget.contains(number) {
        model[number] = nil
        if let before { told.append(Told(token: number, known: before, outcome: .forgotten)) }
        continue
      }
      for change in changes[number] ?? [] {
        let held = model[number].map { record(number, $0.time, $0.reason) }
        if held.map({ change.outweighs($0) }) ?? true { model[number] = Known(change) }
      }
      let after = model[number]!
      let wasSuppressed = before.map { $0.reason != .registered } ?? false
      told.append(
        Told(
          token: number, known: after,
          outcome: after.reason == .registered
            ? wasSuppressed ? .returned : .registered : wasSuppressed ? .known : .new))
    }
    for (token, known) in others {
      if let held = self.others[token],
        !record(0, known.time, known.reason).outweighs(record(0, held.time, held.reason))
      {
        continue
      }
      self.others[token] = known
    }
    return told
  }

  // MARK: - What is there

  /// All that the files hold, as the commands read it.
  func contents() -> [Int: Known] {
    var error: Int32 = 0
    guard let (recent, list) = directory.sources(error: &error) else { return [:] }
    var found: [Int: SuppressionRecord] = [:]
    for source in [recent, list] {
      var last = -1
      while let record = source?.nextRecord() {
        let number = TinyPushTests.number(record.token)
        if number <= last { Issue.record("\(number) stands behind \(last)") }
        last = number
        if found[number].map({ record.outweighs($0) }) ?? true { found[number] = record }
      }
      if source?.isDamaged == true { Issue.record("damaged") }
    }
    return found.mapValues(Known.init)
  }

  func otherContents() -> [[UInt8]: Known] {
    var error: Int32 = 0
    guard let (_, list) = directory.sources(error: &error), let list else { return [:] }
    while list.nextRecord() != nil {}
    var found: [[UInt8]: Known] = [:]
    list.readOthers { token, reason, time in
      found[[UInt8](token)] = Known(
        SuppressionRecord(token: TinyPushTests.token(0), time: time, reason: reason))
    }
    return found
  }

  /// Whether the files hold what the model does, read from the front and looked up.
  func isRight() -> Bool {
    guard contents() == model, otherContents() == others else { return false }
    let reader = Reader(self)
    let end = (model.keys.max() ?? 0) + 2
    for number in stride(from: 0, to: end, by: end / 300 + 1)
    where reader.find(number) != model[number] {
      return false
    }
    return !reader.isDamaged
  }

  var names: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
  }

  subscript(name: String) -> [UInt8]? {
    get { FileManager.default.contents(atPath: "\(path)/\(name)").map { [UInt8]($0) } }
    set {
      let file = "\(path)/\(name)"
      unlink(file)
      guard let newValue else { return }
      if !FileManager.default.createFile(atPath: file, contents: Data(newValue)) {
        Issue.record("\(file) cannot be made")
      }
    }
  }
}

/// As the agent looks it up: where it lies.
private final class Reader {
  private let files: [Mapped]
  private var lists: [Held]

  private final class Mapped {
    let file: MappedFile
    init(_ file: consuming MappedFile) { self.file = file }
  }
  private final class Held {
    var list: SuppressionList
    init(_ bytes: UnsafeRawBufferPointer) { list = SuppressionList(bytes) }
  }

  init(_ store: Store) {
    files = [SuppressionDirectory.recentName, SuppressionDirectory.listName].map {
      var error: Int32 = 0
      let file = MappedFile.open(store.number, $0, error: &error)
      if error != 0 { Issue.record("errno \(error)") }
      return Mapped(file ?? MappedFile())
    }
    lists = files.map { Held($0.file.bytes) }
  }

  func find(_ number: Int) -> Known? {
    var found: SuppressionRecord?
    for held in lists {
      guard let record = held.list.find(token(number)) else { continue }
      if found.map({ record.outweighs($0) }) ?? true { found = record }
    }
    return found.map(Known.init)
  }

  var isDamaged: Bool { lists.contains { $0.list.isDamaged } }

  /// Whether both files are still the ones that were opened.
  func isCurrent(_ store: Store) -> Bool {
    files[0].file.isCurrent(store.number, SuppressionDirectory.recentName)
      && files[1].file.isCurrent(store.number, SuppressionDirectory.listName)
  }
}

private var reasons: [SuppressionRecord.Reason] {
  [.registered, .feedback, .invalidToken, .byHand]
}

private func changes(_ count: Int, of tokens: Int, _ random: inout Seeded) -> [SuppressionRecord] {
  (0..<count).map { _ in
    record(random.upTo(tokens), UInt32(random.upTo(50)), random.pick(reasons))
  }
}

/// One after the other: of a process's memory only a few mappings are guarded at a time.
@Suite(.serialized) struct SuppressionMergeTests {
  @Test(arguments: 1...12)
  func `a merge is what a dictionary would be`(seed: Int) throws {
    var random = Seeded(UInt64(seed))
    let store = try Store()
    let tokens = random.pick([5, 300, 5000])
    for _ in 0..<20 {
      let changes = changes(random.pick([0, 1, 3, 40, 900, 3000]), of: tokens, &random)
      var forget: [Int] = []
      if random.oneIn(4) { forget = (0..<random.upTo(40)).map { _ in random.upTo(tokens) } }
      var others: [([UInt8], Known)] = []
      if random.oneIn(4) {
        others = (0..<random.upTo(300)).map { _ in
          let bytes = [UInt8](
            repeating: UInt8(random.upTo(3)), count: random.pick([0, 1, 31, 33, 100]))
          return (bytes, Known(record(0, UInt32(random.upTo(50)), random.pick(reasons))))
        }
      }
      let expected = store.change(changes, others: others, forget: forget)
      let told = store.merge(
        changes, others: others, forget: forget, isWhole: random.oneIn(6),
        runMax: random.pick([1000, 7, 32_768].filter { $0 * 256 > changes.count }))
      #expect(told == expected)
      #expect(store.isRight() && !store.wasDamaged)
      #expect(Set(store.names).isSubset(of: ["recent", "suppressed"]), "\(store.names)")
    }
  }

  @Test func `a few changes are written beside the list, and many are merged into it`() throws {
    let store = try Store()
    _ = store.change((0..<1000).map { record($0) })
    #expect(store.merge((0..<1000).map { record($0) }) != nil)
    #expect(store.names == ["recent"])
    _ = store.change((1000..<1024).map { record($0) })
    #expect(store.merge((1000..<1024).map { record($0) }) != nil)
    #expect(store.names == ["recent"])
    _ = store.change([record(1024)])
    #expect(store.merge([record(1024)]) != nil)
    #expect(store.names == ["suppressed"] && store.isRight())
    #expect(store.total == 1025)
    let list = store["suppressed"]
    _ = store.change([record(1, 1001, .registered)])
    #expect(store.merge([record(1, 1001, .registered)]) != nil)
    #expect(store.names == ["recent", "suppressed"] && store.isRight())
    #expect(store["suppressed"] == list)
    #expect(store["recent"]?.count == 8192)
  }

  @Test func `what changes are told is weighed against the list, too`() throws {
    let store = try Store()
    #expect(
      store.merge([record(1), record(2), record(3, 1000, .registered)], isWhole: true) != nil)
    let told = store.merge([
      record(1, 1001), record(2, 999, .registered), record(3, 999), record(4),
    ])
    #expect(told?.map(\.outcome) == [.known, .known, .registered, .new])
    #expect(told?.map(\.known.time) == [1001, 1000, 1000, 1000])
  }

  @Test func `of more changes than there is room for nothing is done`() throws {
    let store = try Store()
    _ = store.change([record(1)])
    #expect(store.merge([record(1)]) != nil)
    #expect(store.merge((0...2 * 257).map { record($0) }, runMax: 2) == nil)
    #expect(store.error == EFBIG)
    #expect(store.isRight() && store.names == ["recent"])
  }

  // MARK: - Damage

  /// A list of twelve pages, with tokens of other sizes on two more, and three that changed lately.
  private func filled() throws -> Store {
    let store = try Store()
    let changes = (0..<1200).map { record(2 * $0) }
    let others = (0..<60).map { ([UInt8](repeating: 7, count: 50 + $0), Known(record(0))) }
    _ = store.change(changes, others: others)
    #expect(store.merge(changes, others: others) != nil)
    let recent = [record(1, 1001), record(2, 1001, .registered), record(4, 1001)]
    _ = store.change(recent)
    #expect(store.merge(recent) != nil)
    #expect(store["suppressed"]?.count == 14 * 4096 && store["recent"]?.count == 2 * 4096)
    return store
  }

  @Test(arguments: 0..<14)
  func `of a list with a damaged page the rest is kept, and the old one is set aside`(page: Int)
    throws
  {
    var random = Seeded(UInt64(page))
    for others in [0, 3] {
      let store = try filled()
      var list = store["suppressed"]!
      var pages: Set = [page]
      for _ in 0..<others { pages.insert(random.upTo(13)) }
      for page in pages { list[page * 4096 + random.upTo(4095)] ^= 1 << UInt8(random.upTo(7)) }
      store["suppressed"] = list
      for index in 0..<1200 where pages.contains(index / 101) && index > 2 {
        store.model[2 * index] = nil
      }
      // What changed lately is there twice.
      if pages.contains(0) { store.model[0] = nil }
      if pages.contains(12) {
        store.others = [:]
      } else if pages.contains(13) {
        store.others = store.others.filter { $0.key.count < 50 + 49 }
      }
      let reader = Reader(store)
      let right = stride(from: 0, to: 2402, by: 5).count { reader.find($0) == store.model[$0] }
      #expect(right == 481)
      if page < 12 { #expect(reader.isDamaged) }
      #expect(store.merge([], isWhole: true) != nil)
      #expect(store.wasDamaged && store.isRight())
      #expect(store.names == ["suppressed", "suppressed.damaged"])
      #expect(store["suppressed.damaged"] == list)
      #expect(store.merge([], isWhole: true) != nil && !store.wasDamaged)
    }
  }

  @Test(arguments: [0, 1, 40, 4095, 4096, 4097, 5 * 4096, 12 * 4096, 13 * 4096, 14 * 4096 - 1])
  func `of a list that is cut short the rest is kept`(bytes: Int) throws {
    let store = try filled()
    let list = Array(store["suppressed"]!.prefix(bytes))
    store["suppressed"] = list
    for index in 0..<1200 where index / 101 >= bytes / 4096 && index > 2 {
      store.model[2 * index] = nil
    }
    if bytes < 4096 { store.model[0] = nil }
    if bytes < 13 * 4096 {
      store.others = [:]
    } else {
      store.others = store.others.filter { $0.key.count < 50 + 49 }
    }
    #expect(Reader(store).isDamaged)
    #expect(store.merge([], isWhole: true) != nil)
    #expect(store.wasDamaged && store.isRight())
    #expect(store["suppressed.damaged"] == list)
  }

  @Test(arguments: [0, 1, 4095, 4096, 8191])
  func `what changed lately may be damaged, too`(bytes: Int) throws {
    for isCut in [true, false] {
      let store = try filled()
      var recent = store["recent"]!
      if isCut { recent.removeLast(8192 - bytes) } else { recent[bytes] ^= 64 }
      store["recent"] = recent
      if bytes < 4096 {
        store.model[1] = nil
        store.model[2] = Known(record(2))
        store.model[4] = Known(record(4))
      }
      let change = [record(9, 7)]
      _ = store.change(change)
      #expect(store.merge(change) != nil)
      #expect(store.wasDamaged && store.isRight())
      #expect(store.names == ["recent.damaged", "suppressed"])
      #expect(store["recent.damaged"] == recent)
    }
  }

  @Test func `a list that is cut short while it is looked up is noticed, and the rest holds`()
    throws
  {
    for bytes in [0, 4096, 5 * 4096, 11 * 4096 + 1] {
      for isSeen in [true, false] {
        let store = try filled()
        let reader = Reader(store)
        if isSeen {
          for number in 0..<2400 where reader.find(number) != store.model[number] {
            Issue.record("\(number)")
          }
        }
        #expect(truncate(store.path + "/suppressed", off_t(bytes)) == 0)
        // What follows the cut on its page looks like zeros.
        for index in 3..<1200 where index / 101 != bytes / 4096 {
          if (reader.find(2 * index) != nil) != (index / 101 < bytes / 4096) {
            Issue.record("\(index)")
          }
        }
        #expect(reader.isDamaged && !reader.isCurrent(store))
      }
    }
  }

  @Test func `a list that somebody else puts there is noticed`() throws {
    let store = try filled()
    for _ in 0..<3 {
      let reader = Reader(store)
      #expect(reader.isCurrent(store))
      #expect(store.merge([record(1, 2000)]) != nil)
      #expect(!reader.isCurrent(store))
    }
    let reader = Reader(store)
    #expect(store.merge([], isWhole: true) != nil)
    #expect(!reader.isCurrent(store))
    let last = Reader(store)
    store["suppressed"] = nil
    #expect(!last.isCurrent(store))
    #expect(Reader(store).isCurrent(store))
  }

  // MARK: - Failures

  /// A merge that writes five pages, and one that spills runs besides.
  @Test(arguments: [32_768, 100])
  func `a disk that is full at any page leaves everything as it was`(runMax: Int) throws {
    let store = try Store()
    let pages = 24
    guard mount("tinypush", store.path, "tmpfs", 0, "size=\(pages * 4096)") == 0 else {
      throw Trouble(text: "mount: errno \(errno); this test is run as root")
    }
    defer { umount2(store.path, Int32(MNT_DETACH)) }
    let inside = try Store(at: store.path + "/state")
    _ = inside.change((0..<150).map { record($0) })
    #expect(inside.merge((0..<150).map { record($0) }, isWhole: true) != nil)
    _ = inside.change([record(7, 1001)])
    #expect(inside.merge([record(7, 1001)]) != nil)
    let changes = (0..<400).map { record($0, 1002) }
    var failures = 0
    for free in 0..<pages {
      unlink(store.path + "/filler")
      // Five pages are taken.
      let filler = Data(count: max(pages - 5 - free, 0) * 4096)
      try filler.write(to: URL(filePath: store.path + "/filler"))
      guard inside.merge(changes, isWhole: true, runMax: runMax) == nil else {
        _ = inside.change(changes)
        break
      }
      failures += 1
      #expect(inside.error == ENOSPC && inside.isRight())
      #expect(inside.names == ["recent", "suppressed"])
    }
    #expect(failures >= 5 && inside.isRight())
    #expect(inside.names == ["suppressed"])
  }

  /// What a power cut may leave behind at each step of a merge.
  @Test func `a merge that was broken off is made good by the next one`() throws {
    let store = try filled()
    let before = Dictionary(uniqueKeysWithValues: store.names.map { ($0, store[$0]!) })
    let changes = (1000..<1600).map { record(2 * $0 + 1) }
    _ = store.change(changes)
    #expect(store.merge(changes, isWhole: true) != nil && store.isRight())
    let after = store["suppressed"]!
    var states: [[String: [UInt8]]] = []
    for bytes in [0, 1, 4096, 9 * 4096 + 17, after.count] {
      states.append(before.merging([".new": Array(after.prefix(bytes))]) { $1 })
      states.append(before.merging([".run": Array(after.prefix(bytes))]) { $1 })
    }
    states.append(before.merging(["suppressed": after]) { $1 })
    states.append(["suppressed": after])
    for state in states {
      for isWhole in [true, false] {
        for name in store.names { store[name] = nil }
        for (name, bytes) in state { store[name] = bytes }
        #expect(store.merge(changes, isWhole: isWhole, runMax: 100) != nil)
        #expect(store.isRight() && !store.wasDamaged)
        #expect(Set(store.names).isSubset(of: ["recent", "suppressed"]))
      }
    }
  }

  @Test func `two do not change the list at once`() throws {
    let store = try Store()
    func isFree() -> Bool { Descriptor.lock(store.number, isPatient: false) != nil }
    let lock = Descriptor.lock(store.number, isPatient: false)
    #expect(!isFree())
    if lock == nil { Issue.record("there is no lock") }
    _ = consume lock
    #expect(isFree())
  }
}
