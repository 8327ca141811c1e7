import Foundation
import Testing

@testable import Simulation
@testable import TinyPush
@testable import TinyPushAgent

/// The time and reason of a record.
private struct Known: Equatable {
  var time: UInt32
  var reason: SuppressionRecord.Reason

  init(_ record: SuppressionRecord) {
    time = record.time
    reason = record.reason
  }
}

private func token(_ number: Int) -> TokenIdentity { .numbered(number) }

private func record(
  _ number: Int, _ time: UInt32 = 1000, _ reason: SuppressionRecord.Reason = .feedback
) -> SuppressionRecord { SuppressionRecord(token: token(number), time: time, reason: reason) }

private struct Trouble: Error { var text: String }

/// A suppression list in a temporary directory, and a model of its contents.
private final class Store {
  let path: String
  private let directory: SuppressionDirectory
  var model: [Int: Known] = [:]
  /// The last error.
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

  /// Opens the directory once more, as another program does.
  func open() throws { _ = try Self.open(path) }

  /// Opens a list in a new directory.
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

  /// The reported outcome for a token.
  struct Told: Equatable {
    var token: Int
    var time: UInt32
    var outcome: SuppressionMerge.Outcome
  }

  /// Merges changes into the list, and returns the reported outcomes, or nil on failure.
  func merge(
    _ changes: [SuppressionRecord], forget: [Int] = [],
    isWhole: Bool = false, areMadeNow: Bool = false
  ) -> [Told]? {
    var merge = SuppressionMerge(directory)
    merge.areMadeNow = areMadeNow
    for change in changes { merge.add(change) }
    for number in forget { merge.forget(token(number)) }
    var told: [Told] = []
    let isDone = merge.finish(isWhole: isWhole) { bytes, time, outcome in
      told.append(Told(token: TokenIdentity(of: bytes).number, time: time, outcome: outcome))
    }
    error = merge.error
    wasDamaged = merge.wasDamaged
    total = merge.total
    return isDone ? told : nil
  }

  /// Applies changes to the model, and returns the outcomes that a merge should report.
  func change(
    _ changes: [SuppressionRecord], forget: [Int] = []
  ) -> [Told] {
    var told: [Told] = []
    let changes = Dictionary(grouping: changes) { $0.token.number }
    for number in Set(changes.keys).union(forget).sorted() {
      let before = model[number]
      if forget.contains(number) {
        model[number] = nil
        if let before { told.append(Told(token: number, time: before.time, outcome: .forgotten)) }
        continue
      }
      for change in changes[number] ?? [] {
        let held = model[number].map { record(number, $0.time, $0.reason) }
        if held.map({ change.overrides($0) }) ?? true { model[number] = Known(change) }
      }
      let after = model[number]!
      let wasSuppressed = before.map { $0.reason != .registered } ?? false
      told.append(
        Told(
          token: number, time: after.time,
          outcome: after.reason == .registered
            ? wasSuppressed ? .returned : .registered : wasSuppressed ? .known : .new))
    }
    return told
  }

  // MARK: - Contents

  /// Whether the files agree with the model, both read in order and by lookup.
  func isRight() -> Bool {
    var held: [Int: Known] = [:]
    var last = -1
    let listing = directory.list { record in
      let number = record.token.number
      if number <= last { Issue.record("\(number) stands behind \(last)") }
      last = number
      held[last] = Known(record)
    }
    guard listing.error == 0, !listing.isDamaged, held == model else { return false }
    var lists = SuppressionLists(state: path)
    let end = (model.keys.max() ?? 0) + 2
    for number in stride(from: 0, to: end, by: end / 300 + 1)
    where lists.find(token(number)).map(Known.init) != model[number] {
      return false
    }
    return !lists.isDamaged
  }

  var names: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [])
      .filter { $0 != ".lock" }.sorted()
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

private var reasons: [SuppressionRecord.Reason] {
  [.registered, .feedback, .invalidToken, .byHand]
}

private func changes(_ count: Int, of tokens: Int, _ random: inout Seeded) -> [SuppressionRecord] {
  (0..<count).map { _ in
    record(random.upTo(tokens), UInt32(random.upTo(50)), random.pick(reasons))
  }
}

@Suite struct SuppressionMergeTests {
  @Test(arguments: 1...3)
  func `merges give the same result as a dictionary`(seed: Int) throws {
    var random = Seeded(UInt64(seed))
    let store = try Store()
    let tokens = random.pick([5, 300, 5000])
    for _ in 0..<20 {
      let changes = changes(random.pick([0, 1, 3, 40, 900, 3000]), of: tokens, &random)
      var forget: [Int] = []
      if random.oneIn(4) { forget = (0..<random.upTo(40)).map { _ in random.upTo(tokens) } }
      let expected = store.change(changes, forget: forget)
      let told = store.merge(changes, forget: forget, isWhole: random.oneIn(6))
      #expect(told == expected)
      #expect(store.isRight() && !store.wasDamaged)
      #expect(Set(store.names).isSubset(of: ["recent.list", "suppressed.list"]), "\(store.names)")
    }
  }

  @Test func `a few changes are written beside the list, and many are merged into the list`() throws
  {
    let store = try Store()
    func merge(_ changes: [SuppressionRecord]) {
      #expect(store.merge(changes) == store.change(changes) && store.isRight())
    }
    merge((0..<1000).map { record($0) })
    #expect(store.names == ["recent.list"])
    merge((1000..<1024).map { record($0) })
    #expect(store.names == ["recent.list"])
    merge([record(1024)])
    #expect(store.names == ["suppressed.list"] && store.total == 1025)
    let list = store["suppressed.list"]
    merge([record(1, 1001, .registered)])
    #expect(store.names == ["recent.list", "suppressed.list"])
    #expect(store["suppressed.list"] == list && store["recent.list"]?.count == 81)
  }

  @Test func `reported outcomes take the main list into account`() throws {
    let store = try Store()
    #expect(
      store.merge([record(1), record(2), record(3, 1000, .registered)], isWhole: true) != nil)
    let told = store.merge([
      record(1, 1001), record(2, 999, .registered), record(3, 999), record(4),
    ])
    #expect(told?.map(\.outcome) == [.known, .known, .registered, .new])
    #expect(told?.map(\.time) == [1001, 1000, 1000, 1000])
  }

  @Test func `a change without a time wins over changes of the same minute`() throws {
    let store = try Store()
    #expect(store.merge([record(1, 1030), record(2, 1030), record(3, 1060)]) != nil)
    let changes = [
      record(1, 1000, .registered), record(2, 1000, .byHand), record(3, 1000, .registered),
    ]
    let told = store.merge(changes, areMadeNow: true)
    #expect(told?.map(\.outcome) == [.returned, .known, .known])
    #expect(told?.map(\.time) == [1030, 1031, 1060])
  }

  // MARK: - Damage

  /// Returns a list of twelve pages and three recent changes.
  private func filled() throws -> Store {
    let store = try Store()
    let changes = (0..<1200).map { record(2 * $0) }
    _ = store.change(changes)
    #expect(store.merge(changes, isWhole: true) != nil)
    let recent = [record(1, 1001), record(2, 1001, .registered), record(4, 1001)]
    _ = store.change(recent)
    #expect(store.merge(recent) != nil && store.isRight())
    return store
  }

  /// Returns what the lines of a file say, read in another way.
  private func records(_ bytes: [UInt8]) -> [SuppressionRecord] {
    let form = #/([0-9a-f]{64}) ([0-9]+) (registered|feedback|invalid token|by hand|gone)/#
    var (records, last): ([SuppressionRecord], String) = ([], "")
    for line in String(decoding: bytes, as: UTF8.self)
      .split(separator: "\n", omittingEmptySubsequences: false).dropLast()
    {
      guard let match = line.wholeMatch(of: form), last < String(match.1),
        let time = UInt32(match.2),
        let reason = (reasons + [.gone]).first(where: { "\($0.text)" == match.3 }),
        let token = DeviceToken(hex: Array(match.1.utf8).span)
      else { continue }
      last = String(match.1)
      records.append(SuppressionRecord(token: token.identity, time: time, reason: reason))
    }
    return records
  }

  @Test(arguments: ["suppressed.list", "recent.list"])
  func `a damaged file is set aside, and its other lines stay in use`(name: String) throws {
    let whole = try #require(filled()[name])
    var damages: [[UInt8]] = [Array("an older version wrote this".utf8), Array(whole.dropFirst(3))]
    for place in [0, 39, 50, 78, 100, 7000, 48_000, 52_000] where place < whole.count {
      var bytes = whole
      // The line end at 78 would make a whole list.
      if place != 78 { damages.append(Array(bytes.prefix(place + 1))) }
      bytes[place] ^= 64
      damages.append(bytes)
      bytes.insert(contentsOf: [UInt8](repeating: 0, count: 5000), at: place)
      damages.append(bytes)
    }
    damages.append(whole + Array(whole.prefix(79)))
    for bytes in damages {
      let store = try filled()
      store[name] = bytes
      store.model = [:]
      for file in ["suppressed.list", "recent.list"] {
        _ = store.change(records(try #require(store[file])))
      }
      var lists = SuppressionLists(state: store.path)
      let found = (0..<2400).filter { lists.find(token($0)).map(Known.init) == store.model[$0] }
      #expect(found.count == 2400)
      let isDamaged = lists.isDamaged
      #expect(isDamaged)
      #expect(store.merge([]) == [] && store.wasDamaged && store.isRight())
      #expect(store[name + ".damaged"] == bytes)
      #expect(store.names == ["suppressed.list", name + ".damaged"].sorted())
      let change = [record(9, 7)]
      #expect(store.merge(change) == store.change(change))
      #expect(!store.wasDamaged && store.isRight())
    }
  }

  @Test func `the binary lists of 0.2.0 are taken over`() throws {
    let store = try Store()
    func old(_ records: [SuppressionRecord]) -> [UInt8] {
      var bytes: [UInt8] = []
      for record in records {
        bytes += (0..<32).map { record.token.bytes[$0] }
        bytes += (0..<4).map { UInt8(truncatingIfNeeded: record.time >> (24 - 8 * $0)) }
        bytes += [record.reason.rawValue, 0, 0, 0]
      }
      bytes += Array("TPS2".utf8) + [0, 0, 0, UInt8(records.count), 0, 0, 0, 0]
      let sum = bytes.reduce(0xCBF2_9CE4_8422_2325 as UInt64) {
        ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3
      }
      return bytes + (0..<8).map { UInt8(truncatingIfNeeded: sum >> (56 - 8 * $0)) }
    }
    let list = (0..<200).map { record(2 * $0, 1000, reasons[$0 % 4]) }
    let recent = [record(2, 1001, .registered), record(3, 1001, .gone)]
    store["suppressed"] = old(list)
    store["recent"] = old(recent)
    _ = store.change(list + recent)
    try store.open()
    #expect(store.isRight())
    #expect(store.names == ["suppressed.list"])

    // A list of 0.2.0 that is written again is merged, also if a record is damaged.
    var bytes = old([record(1000, 1002, .gone), record(1001, 1002, .gone)])
    bytes[36] = 99
    store["recent"] = bytes
    _ = store.change([record(1001, 1002, .gone)])
    try store.open()
    #expect(store.isRight())
    #expect(store.names == ["suppressed.list"])

    // A file of another kind stays.
    store["suppressed"] = Array("something else".utf8)
    try store.open()
    #expect(store.isRight())
    #expect(store.names == ["suppressed", "suppressed.list"])
  }

  // MARK: - Failures

  @Test func `a disk that is full at any page leaves the list unchanged`() throws {
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
      // Four pages are taken.
      let filler = Data(count: max(pages - 4 - free, 0) * 4096)
      try filler.write(to: URL(filePath: store.path + "/filler"))
      guard inside.merge(changes, isWhole: true) == nil else {
        _ = inside.change(changes)
        break
      }
      failures += 1
      #expect(inside.error == ENOSPC && inside.isRight())
      #expect(inside.names == ["recent.list", "suppressed.list"])
    }
    #expect(failures >= 4 && inside.isRight())
    #expect(inside.names == ["suppressed.list"])
  }

  /// Starts from the files that a power cut may leave at each step of a merge.
  @Test func `the next merge completes one that was interrupted`() throws {
    let store = try filled()
    let before = Dictionary(uniqueKeysWithValues: store.names.map { ($0, store[$0]!) })
    let changes = (1000..<1600).map { record(2 * $0 + 1) }
    _ = store.change(changes)
    #expect(store.merge(changes, isWhole: true) != nil && store.isRight())
    let after = store["suppressed.list"]!
    var states: [[String: [UInt8]]] = []
    for bytes in [0, 1, 4096, 9 * 4096 + 17, after.count] {
      states.append(before.merging([".new": Array(after.prefix(bytes))]) { $1 })
    }
    states.append(before.merging(["suppressed.list": after]) { $1 })
    states.append(["suppressed.list": after])
    states.append(before.merging([".new": after, "suppressed.list.damaged": after]) { $1 })
    for state in states {
      for isWhole in [true, false] {
        for name in store.names { store[name] = nil }
        for (name, bytes) in state { store[name] = bytes }
        #expect(store.merge(changes, isWhole: isWhole) != nil)
        #expect(store.isRight() && !store.wasDamaged)
        #expect(
          Set(store.names).isSubset(of: [
            "recent.list", "suppressed.list", "suppressed.list.damaged",
          ]))
      }
    }
  }

  @Test func `a lock keeps two merges from changing the list at once`() throws {
    let store = try Store()
    var error: Int32 = 0
    func isFree() -> Bool { DirectoryLock(store.number, error: &error) != nil }
    let lock = DirectoryLock(store.number, error: &error)
    #expect(!isFree())
    var merge = SuppressionMerge(store.number)
    merge.add(record(1))
    let isDone = merge.finish(isPatient: false) { _, _, _ in }
    #expect(!isDone && merge.error == 0 && store.names == [])
    if lock == nil { Issue.record("there is no lock") }
    _ = consume lock
    #expect(isFree())
    let isDoneNow = merge.finish(isPatient: false) { _, _, _ in }
    #expect(isDoneNow && store.names == ["recent.list"])
  }
}
