import TinyPush

/// A part of a spool file: a notification to one recipient, or invalid text.
struct Item {
  /// The number of the notification and its recipient; nil for text that must be refused.
  var number: Int?
  /// The recipients file of the notification; `number` is then that of the notification only.
  var list: String?
  /// A unique number, which grows with each item that is put.
  var identity = 0
  /// The name of the file that it was put into.
  var source = ""
  /// Where its JSON object begins, if that is known.
  var offset = Int.max
  /// Its place among the object's recipients.
  var recipient = 0
  /// When the notification expires, in UNIX seconds.
  var expiration: Int64?
  /// After how many seconds the notification expires.
  var ttl: UInt64?
  var putAt = Instant(milliseconds: 0)
  /// Where invalid text ends, with the space after it.
  var end = 0
  /// The `collapse-id` and the recipients, which items that replace each other share.
  var collapseKey: String?
  /// Whether its file came back from `later/`.
  var hasWaited = false
  /// When it may be sent, in UNIX seconds.
  var notBefore: Int64 = 0
  /// When the app last registered the token, in UNIX seconds.
  var registered: UInt32 = 0
  /// Whether no limit holds it back.
  var isUrgent = false
  /// Whether it has an `again-after` and may be in the spool several times.
  var isEcho = false

  /// The distance between the identities of items that are put, which leaves room for members.
  static let identities = 100_000

  /// The notification to one member of the recipients file.
  func member(_ token: Int) -> Item {
    var member = self
    member.number = number! + token
    member.list = nil
    member.identity += 1 + token % 50_000
    return member
  }

  /// Whether this is the notification to one member of a recipients file.
  var isMember: Bool { identity % Self.identities > 0 }

  /// The notification to the recipients file of which this is one to a member.
  var whole: Item {
    var item = self
    item.identity -= identity % Self.identities
    return item
  }

  /// The number of the file that it was put into.
  var file: Int { identity / Self.identities / SpoolFile.itemsMax }

  /// The `collapse-id` with this recipient alone.
  var keyOfPart: String? {
    let id = collapseKey?.prefix { $0 != " " }
    return id.map { "\($0) [\(number! % World.tokensMax)] []" }
  }

  /// Whether a failure at `offset` of the file is about this text.
  func isText(at offset: Int?) -> Bool {
    guard number == nil, let offset else { return false }
    return self.offset <= offset && offset <= end
  }
}

/// A file in `new/`, `taken/` or `later/`.
final class SpoolFile {
  var bytes: [UInt8]
  let inode: UInt64
  var changeTimeNs: Int64
  var items: [Item]
  /// Its number in the order in which files were put, and how many items were put into it.
  var number = 0
  var itemsPut = 0
  /// More items than a file has.
  static let itemsMax = 10_000
  /// Why it cannot be opened, if it cannot.
  var failure: OpenFailure?
  /// The bytes that can be read; reading further is a disk error.
  var readableBytes = Int.max
  /// Its lines in `failed/`.
  var lines: [FailureLine] = []
  /// Whether an agent has opened it.
  var wasOpened = false
  /// Whether it was moved to `failed/`.
  var isSetAside = false
  /// Whether a program that wrote it may still have it open, as far as the agent can know.
  var mayGrow = false
  /// Whether a program has the file open for writing.
  var isBeingWritten = false
  /// When it came into `new/`, as its name in `taken/` says, and its first name there.
  var arrivalNs: Int64 = 0
  /// The name that it had in `new/`.
  var name = ""
  /// Whether it was moved there after everything was settled, because the lines do not show it all.
  var isOriginalKept = false
  /// Whether something of it was put into `later/`.
  var wasPostponed = false
  /// The file that it was put aside from, whose writer had not ended, so that it had no items.
  weak var unfinished: SpoolFile?
  /// When an agent opened it last.
  var openedAt = Instant(milliseconds: 0)
  /// The agent that opened it last, and that agent's count of superseded notifications at first.
  var reader = (life: -1, superseded: UInt64(0))
  /// To where everything that an agent called settled was checked.
  var checked = (life: -1, offset: Int64(0))
  /// Since when it waits in `later/`.
  var waitsSince = Instant(milliseconds: 0)
  /// Whether it was put aside from a file that had come from `later/`.
  var waitsAgain = false
  /// Whether a fault may have kept the agent from removing it.
  var isExcused = false
  /// Whether it is the agent's summary of alerts over a limit, not a sender's file.
  var isSummary = false
  /// Whether a power cut left its name and damaged its contents.
  var isTorn = false
  /// Whether the sync that should make it durable failed.
  ///
  /// The system reports such a failure once.
  var isForgotten = false
  /// When it was put, changed or released.
  var cameAt = Instant(milliseconds: 0)
  var wasReleased = false
  /// Whether it took the place of a file with the same notification.
  var hasReplaced = false

  init(_ bytes: [UInt8], inode: UInt64, items: [Item]) {
    self.bytes = bytes
    self.inode = inode
    changeTimeNs = Int64(inode)
    self.items = items
  }

  /// Changes its identity.
  func change(_ timeline: Timeline) {
    changeTimeNs = timeline.fileTimeNs
    cameAt = timeline.now
  }

  var identity: FileIdentity {
    FileIdentity(inode: inode, changeTimeNs: changeTimeNs, size: Int64(bytes.count))
  }

  /// Whether it cannot be opened for a while.
  var isBusy: Bool {
    switch failure {
    case .shortage, .busy: true
    default: false
    }
  }

  func holds(_ item: Item) -> Bool { items.contains { $0.identity == item.identity } }

  /// Whether it holds something that was put aside from another file.
  func comes(from other: SpoolFile) -> Bool {
    items.contains { item in other.items.contains { $0.identity == item.identity } }
  }

  /// Damages its end or all of it: the file becomes shorter, or NULs replace the contents.
  func tear(_ random: inout Seeded) {
    guard !isTorn else { return }
    isTorn = true
    let count = random.oneIn(2) ? 0 : random.upTo(bytes.count - 1)
    let lost = bytes.count - count
    bytes.removeLast(lost)
    if random.oneIn(2) { bytes += [UInt8](repeating: 0, count: lost) }
  }
}

/// A line in `failed/`.
final class FailureLine {
  let failure: Failure
  /// Whether it survives a power cut.
  var isDurable = false
  /// Whether the sync that should make it durable failed.
  ///
  /// The system reports such a failure once.
  var isForgotten = false

  init(_ failure: Failure) { self.failure = failure }
}

/// The spool's disk.
///
/// Changes are visible at once and survive the agent's end. Until they are synced, it is uncertain
/// whether they survive a power cut. Files that others put are durable.
///
/// If it ``isJournaled``, it behaves like ext4 with data=ordered and delayed allocation: syncing
/// any file commits the journal, with all names and sizes but not the contents of other files. So a
/// power cut may leave a name without contents, and what was unlinked before the commit stays gone.
final class Disk {
  private(set) var new: [String: SpoolFile] = [:]
  /// The files in `taken/`.
  private(set) var taken: [String: SpoolFile] = [:]
  private(set) var lines: [FailureLine] = []
  /// The files that were moved to `failed/`: what was read of them before is still delivered.
  private(set) var setAside: [String: SpoolFile] = [:]
  /// The files in `later/`.
  private(set) var later: [String: SpoolFile] = [:]
  /// The last name of each item in `later/`, by identity.
  private var laterNames: [Int: String] = [:]
  /// Whether there was a power cut, which brings back files that were removed from `later/`: then
  /// nobody knows which of two is the newer one.
  private(set) var hadPowerCut = false
  /// Names in `later/` that survive a power cut with their contents.
  private var durableLater: Set<String> = []
  /// The files that came into `later/` since the last sync.
  private var newLater: [String] = []
  /// Names in `later/` that survive a power cut, perhaps without their contents.
  private var namedLater: Set<String> = []
  /// The recipients files.
  var lists: [String: SpoolFile] = [:]
  let suppression = ListDirectory()
  var isJournaled = false
  /// The most bytes that one read returns.
  var readBytesMax = Int.max
  var canScan = true
  var canRecord = true
  /// Whether the failures of a file, by its name in `new/`, can be recorded.
  var canRecordOf: (String) -> Bool = { _ in true }
  var canSync = true
  var canRemove = true
  /// Whether files can be moved to `taken/`, and renamed there.
  var canTake = true
  /// Whether a file of this name in `new/` can be taken.
  var canTakeOf: (String) -> Bool = { _ in true }
  /// Whether `later/` can be read.
  var canScanLater = true
  /// Whether `later/` can be written.
  var canPostpone = true

  private let timeline: Timeline
  private var nextInode: UInt64 = 100
  /// Unlinked names, which are back in `taken/` if the power fails before that is on disk.
  private var unlinked: [(name: String, file: SpoolFile, at: Instant)] = []
  /// Renamed files: their former names, in `new/` or `taken/`, and the present ones in `taken/`.
  private var renamed: [(file: SpoolFile, isNew: Bool, from: String, to: String, at: Instant)] = []
  /// How long the system takes at most to write an unlinked name to disk by itself.
  private static let writeback = Duration.seconds(30)
  /// Files that left `later/`, removed or moved to `new/`, and may be back after a power cut.
  private var left: [(name: String, file: SpoolFile, target: String?, at: Instant)] = []

  init(_ timeline: Timeline) {
    self.timeline = timeline
    suppression.onSync = { [unowned self] in commit() }
  }

  /// Commits the journal, since somebody syncs a file: all names are on disk.
  private func commit() {
    guard isJournaled else { return }
    namedLater = Set(later.keys)
    unlinked = []
    renamed = []
    left = []
  }

  var failures: [Failure] { lines.map(\.failure) }
  /// The names in `new/`, in the order of a directory.
  var names: [String] { new.sorted { $0.value.inode < $1.value.inode }.map(\.key) }
  /// The files in `new/` and `taken/`.
  var waiting: [SpoolFile] {
    (Array(new.values) + Array(taken.values)).sorted { $0.inode < $1.inode }
  }

  // MARK: - Others

  func put(_ name: String, _ bytes: [UInt8], items: [Item]) {
    new[name] = SpoolFile(bytes, inode: nextInode, items: items)
    new[name]!.change(timeline)
    new[name]!.name = name
    nextInode += 1
    commit()
  }

  func append(_ file: SpoolFile, _ bytes: [UInt8], items: [Item]) {
    file.bytes += bytes
    file.change(timeline)
    file.items += items
    for other in waiting + later.values where other.unfinished === file {
      other.unfinished = nil
      other.items = parts(of: file, in: other.bytes)
    }
    for (name, other) in later {
      for item in other.items { laterNames[item.identity] = name }
    }
  }

  func delete(_ name: String) { new[name] = nil }

  // MARK: - The agent

  /// Moves a file from `new/` to `taken/`, and returns its name there.
  func take(_ name: String) -> String? {
    guard canTake, canTakeOf(name), let file = new[name] else { return nil }
    file.arrivalNs = file.changeTimeNs
    while taken.values.contains(where: { $0.name == name && $0.arrivalNs == file.arrivalNs }) {
      file.arrivalNs += 1
    }
    let target = "\(name)@\(file.arrivalNs).0"
    new[name] = nil
    taken[target] = file
    renamed.append((file, true, name, target, timeline.now))
    return target
  }

  func rename(_ name: String, to target: String) -> Bool {
    guard canTake, let file = taken.removeValue(forKey: name) else { return false }
    taken[target] = file
    renamed.append((file, false, name, target, timeline.now))
    return true
  }

  /// Records a failure of a file.
  func record(_ failure: Failure, of file: SpoolFile?) -> Bool {
    guard canRecord, canRecordOf(failure.file) else { return false }
    let line = FailureLine(failure)
    lines.append(line)
    file?.lines.append(line)
    return true
  }

  /// Puts one notification of a file into `later/`, for all of its recipients or for one.
  func postpone(_ bytes: [UInt8], as name: String, from source: SpoolFile?) -> Bool {
    guard keepForLater(bytes, as: name, source.map { parts(of: $0, in: bytes) } ?? []) else {
      return false
    }
    later[name]!.isExcused = source.map { $0.isExcused || $0.isSetAside } ?? false
    later[name]!.waitsAgain = source?.wasReleased ?? false
    if let source, source.items.isEmpty {
      later[name]!.unfinished = source.unfinished ?? source
    }
    return true
  }

  /// Returns the items of a file that a notification holds that was put aside from there.
  private func parts(of source: SpoolFile, in bytes: [UInt8]) -> [Item] {
    let text = String(decoding: bytes, as: UTF8.self)
    let serial = World.serial(in: text)
    let start = #"{"token":""#
    let token: Int? =
      text.hasPrefix(start)
      ? World.number(printed: String(text.dropFirst(start.count).prefix { $0 != "\"" })) : nil
    return source.items.compactMap { item -> Item? in
      guard var part = part(of: item) else { return nil }
      part.offset = 0
      return part
    }

    func part(of item: Item) -> Item? {
      guard let number = item.number,
        World.serial(of: number) == serial || serial == 0 && token == nil
      else { return nil }
      guard let token else {
        return serial > 0 || text.contains("\"\(World.token(number))\"") ? item : nil
      }
      if let list = item.list {
        return token / 1000 == World.firstMember(of: list) / 1000 ? item.member(token) : nil
      }
      return number % World.tokensMax == token ? item : nil
    }
  }

  /// Puts a file into `later/`.
  func keepForLater(_ bytes: [UInt8], as name: String, _ items: [Item]) -> Bool {
    guard canRecord, canPostpone else { return false }
    let file = SpoolFile(bytes, inode: nextInode, items: items)
    for item in items { laterNames[item.identity] = name }
    file.waitsSince = timeline.now
    later[name] = file
    durableLater.remove(name)
    newLater.append(name)
    namedLater.remove(name)
    nextInode += 1
    return true
  }

  /// Whether an item is somewhere where it survives a power cut.
  func holds(_ item: Item, besides file: SpoolFile? = nil) -> Bool {
    if let name = laterNames[item.identity], durableLater.contains(name), later[name]!.holds(item) {
      return true
    }
    return waiting.contains { $0 !== file && $0.holds(item) }
      || durableLater.contains { later[$0]!.holds(item) }
  }

  /// Whether a notification to a member of a recipients file is in a file of its own.
  func holdsMember(_ number: Int, besides file: SpoolFile) -> Bool {
    func holds(_ file: SpoolFile) -> Bool {
      file.items.contains { $0.number == number && $0.isMember }
    }
    return waiting.contains { $0 !== file && holds($0) }
      || durableLater.contains { holds(later[$0]!) }
  }

  /// Whether a file in `later/` survives a power cut, as far as the agent can know.
  func isSynced(_ name: String) -> Bool {
    durableLater.contains(name) || later[name]?.isForgotten == true
  }

  func release(_ name: String, as target: String) -> Bool {
    guard canRemove, canPostpone, let file = later.removeValue(forKey: name) else { return false }
    durableLater.remove(name)
    file.change(timeline)
    file.wasReleased = true
    file.arrivalNs = Int64(target.split(separator: "+").last!.split(separator: ".").first!)!
    file.name = String(target[..<target.lastIndex(of: "+")!])
    // The same notification was put aside twice. The second file replaces the first one, and the
    // agent reads on in the second file.
    if let first = taken[target] {
      file.lines += first.lines
      file.hasReplaced = true
    }
    taken[target] = file
    leave(name, file, target)
    return true
  }

  func cancel(_ name: String) -> Bool {
    guard canRemove, canPostpone, let file = later[name] else { return false }
    later[name] = nil
    durableLater.remove(name)
    leave(name, file, nil)
    return true
  }

  private func leave(_ name: String, _ file: SpoolFile, _ target: String?) {
    left.removeAll { $0.at + Self.writeback < timeline.now }
    left.append((name, file, target, timeline.now))
  }

  func sync() -> Bool {
    if canSync {
      if !newLater.isEmpty {
        for name in newLater {
          guard let file = later[name], !file.isTorn, !file.isForgotten else { continue }
          durableLater.insert(name)
        }
        newLater = []
        // The name is that of the new file now, so no older file of the name comes back.
        left.removeAll { durableLater.contains($0.name) }
      }
      commit()
    } else {
      for name in newLater { later[name]?.isForgotten = !durableLater.contains(name) }
      newLater = []
    }
    for line in lines where !line.isDurable {
      if canSync { line.isDurable = !line.isForgotten } else { line.isForgotten = true }
    }
    return canSync
  }

  func remove(_ name: String, bytes: Int64) -> Courier.RemovalResult {
    guard canRemove else { return .failed }
    if let file = taken[name], Int64(file.bytes.count) > bytes { return .grown }
    unlink(name)
    return .removed
  }

  /// Moves a file from `taken/` to `failed/`.
  func setAside(_ name: String) -> Courier.RemovalResult {
    guard canRemove else { return .failed }
    if let file = taken[name] {
      file.isSetAside = true
      setAside[name] = file
    }
    unlink(name)
    return .removed
  }

  private func unlink(_ name: String) {
    guard let file = taken.removeValue(forKey: name) else { return }
    unlinked.removeAll { $0.at + Self.writeback < timeline.now }
    unlinked.append((name, file, timeline.now))
  }

  // MARK: - Power cuts

  /// Cuts the power: each change that is not on disk may be lost.
  func cutPower(_ random: inout Seeded) {
    hadPowerCut = true
    suppression.cutPower(&random)
    for line in lines where !line.isDurable && !random.oneIn(2) { line.isForgotten = true }
    let lost = { (line: FailureLine) in !line.isDurable && line.isForgotten }
    for (_, file, _) in unlinked { file.lines.removeAll(where: lost) }
    for file in waiting { file.lines.removeAll(where: lost) }
    lines.removeAll(where: lost)
    for line in lines { line.isDurable = true }
    for (name, file, at) in unlinked
    where at + Self.writeback >= timeline.now && random.oneIn(2) {
      taken[name] = file
      file.isSetAside = false
      file.isOriginalKept = TakenName(name.bytes.span)!.movesToFailed
    }
    unlinked = []
    for (file, isNew, from, to, at) in renamed.reversed()
    where at + Self.writeback >= timeline.now && random.oneIn(2) && taken[to] === file {
      if isNew, new[from] != nil { continue }
      taken[to] = nil
      if isNew { new[from] = file } else { taken[from] = file }
      file.isOriginalKept = TakenName(from.bytes.span)?.movesToFailed ?? false
    }
    renamed = []
    for (name, file, target, at) in left
    where at + Self.writeback >= timeline.now && random.oneIn(2) && later[name] == nil {
      if let target {
        guard taken[target] === file else { continue }
        taken[target] = nil
      }
      later[name] = file
      durableLater.insert(name)
      file.waitsSince = timeline.now
    }
    left = []
    for name in later.keys.sorted() where !durableLater.contains(name) {
      let file = later[name]!
      if random.oneIn(2) {
        file.tear(&random)
      } else if !namedLater.contains(name), random.oneIn(2) {
        later[name] = nil
      }
    }
    durableLater = Set(later.filter { !$0.value.isTorn }.keys)
    newLater = []
    namedLater = Set(later.keys)
  }
}
