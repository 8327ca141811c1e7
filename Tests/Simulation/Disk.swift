import TinyPush

/// Something that a file of the spool holds: a notification to one recipient, or text that is none.
struct Item {
  /// Of the notification and its recipient; nil for text that must be refused.
  var number: Int?
  /// The recipients file in which its recipients stand; the number is that of the notification alone then.
  var list: String?
  /// Tells it from all others, wherever it goes; what is put later has a larger one.
  var identity = 0
  /// The name of the file into which it was put.
  var source = ""
  /// Where its object begins, if that is known, and which of the object's recipients it is for.
  var offset = Int.max
  var recipient = 0
  /// When the service is to forget it, in UNIX seconds, and after how many seconds.
  var expiration: Int64?
  var ttl: UInt64?
  var putAt = Instant(milliseconds: 0)
  /// Where text ends that must be refused, and the space behind it.
  var end = 0
  /// What replaces it, and what it replaces, has the same: the `collapse-id` and the recipients.
  var collapseKey: String?
  /// When it may go, in UNIX seconds.
  var notBefore: Int64 = 0
  /// When the app last registered the token, in UNIX seconds.
  var registered: UInt32 = 0
  /// No limit holds for it.
  var isUrgent = false
  /// It has an `again-after`, and may stand in the spool more than once.
  var isEcho = false

  /// Whether `other` comes behind it in the spool, and is not the same notification to somebody else.
  func isBefore(_ other: Item) -> Bool {
    if let number, let next = other.number, World.serial(of: number) > 0,
      World.serial(of: number) == World.serial(of: next)
    {
      return false
    }
    return (source, identity) < (other.source, other.identity)
  }

  /// Whether a failure at `offset` of the file is about this text.
  func isText(at offset: Int?) -> Bool {
    guard number == nil, let offset else { return false }
    return self.offset <= offset && offset <= end
  }
}

/// A file in `new/`.
final class SpoolFile {
  var bytes: [UInt8]
  let inode: UInt64
  var changeTimeNs: Int64
  var items: [Item]
  /// Why it cannot be opened.
  var failure: OpenFailure?
  /// How far it can be read; beyond is an error of the disk.
  var readableBytes = Int.max
  /// What is in `failed/` of it.
  var lines: [FailureLine] = []
  /// An agent has looked into it.
  var wasOpened = false
  /// It was moved to `failed/` as it is.
  var isSetAside = false
  /// So it was in the end, since not all of it is shown there.
  var isOriginalKept = false
  /// Something of it was put into `later/`.
  var wasPostponed = false
  /// When an agent opened it last.
  var openedAt = Instant(milliseconds: 0)
  /// Which agent looked into it last, and how many notifications that one had counted as superseded when it first did.
  var reader = (life: -1, superseded: UInt64(0))
  /// Of what waits for its time: since when, and whether something hindered that it was removed.
  var waitsSince = Instant(milliseconds: 0)
  var isExcused = false
  /// It is no file of a sender's, but the agent's summary of what a limit has kept back.
  var isSummary = false
  /// A power cut has left its name, and not what was in it.
  var isTorn = false
  /// The sync that was to put it on disk failed, and the system tells that once only.
  var isForgotten = false
  /// When it was put, written on, or released.
  var cameAt = Instant(milliseconds: 0)
  var wasReleased = false

  init(_ bytes: [UInt8], inode: UInt64, items: [Item]) {
    self.bytes = bytes
    self.inode = inode
    changeTimeNs = Int64(inode)
    self.items = items
  }

  /// It is another file now for those who know it.
  func change(_ timeline: Timeline) {
    changeTimeNs = max(timeline.fileTimeNs, changeTimeNs + 1)
    cameAt = timeline.now
  }

  func holds(_ item: Item) -> Bool { items.contains { $0.identity == item.identity } }

  /// All of it, or its end, is lost: it is shorter, or there are NULs instead.
  func tear(_ random: inout Seeded) {
    guard !isTorn else { return }
    isTorn = true
    let count = random.oneIn(2) ? 0 : random.upTo(bytes.count - 1)
    let lost = bytes.count - count
    bytes.removeLast(lost)
    if random.oneIn(2) { bytes += [UInt8](repeating: 0, count: lost) }
  }

  /// Whether it is the file that was known, and begins with what was known of it.
  func begins(as known: FileIdentity, _ content: FileContent) -> Bool {
    inode == known.inode && bytes.count >= content.bytes
      && FileContent(of: Array(bytes.prefix(Int(content.bytes))).span) == content
  }

  var identity: FileIdentity {
    FileIdentity(inode: inode, changeTimeNs: changeTimeNs, size: Int64(bytes.count))
  }
}

/// A line in `failed/`.
final class FailureLine {
  let failure: Failure
  /// It outlives a power cut.
  var isDurable = false
  /// The sync that was to make it durable failed, and the system tells that once only.
  var isForgotten = false

  init(_ failure: Failure) { self.failure = failure }
}

/// The spool's disk. What is done there is seen at once, and survives the agent's end; but what of it survives a power cut
/// is uncertain until it is synced. Files that others put are durable.
///
/// Where it ``isJournaled`` it is as ext4 with data=ordered and delayed allocation: whoever syncs any file has the journal
/// committed, and with it all names and sizes, but not what is in the other files. So a cut may leave a name that
/// holds nothing, and what was unlinked before the commit does not come back.
final class Disk {
  private(set) var new: [String: SpoolFile] = [:]
  private(set) var lines: [FailureLine] = []
  /// What waits in `later/`.
  private(set) var later: [String: SpoolFile] = [:]
  /// Under which name an item was put there last.
  private var laterNames: [Int: String] = [:]
  /// Names there that outlive a power cut with what they hold, and those that do so, perhaps without.
  private var durableLater: Set<String> = []
  private var namedLater: Set<String> = []
  /// The recipients files.
  var lists: [String: SpoolFile] = [:]
  /// What the agent keeps of its progress, and how often it was written.
  private(set) var progress: Progress?
  private(set) var progressKept = 0
  /// It was to be kept, and that failed: nobody knows whether it was.
  private var uncertainProgress: [Progress?] = []
  let suppression = ListDirectory()
  var isJournaled = false
  /// The most that one read gives.
  var readBytesMax = Int.max
  var canScan = true
  var canRecord = true
  var canSync = true
  var canRemove = true
  var canKeepProgress = true
  /// Whether `later/` can be read, and written.
  var canScanLater = true
  var canPostpone = true

  private let timeline: Timeline
  private var nextInode: UInt64 = 100
  /// Names that were unlinked or moved, and will be back if the power fails before it is on disk.
  private var unlinked: [(name: String, file: SpoolFile, at: Instant)] = []
  /// How long the system may take to write down by itself that a name is gone.
  private static let writeback = Duration.seconds(30)
  /// What left `later/`, and may be back there then: removed, or moved to `new/` under a name.
  private var left: [(name: String, file: SpoolFile, target: String?, at: Instant)] = []

  init(_ timeline: Timeline) {
    self.timeline = timeline
    suppression.onSync = { [unowned self] in commit() }
  }

  /// Somebody syncs a file: all names are on disk.
  private func commit() {
    guard isJournaled else { return }
    namedLater = Set(later.keys)
    unlinked = []
    left = []
  }

  var failures: [Failure] { lines.map(\.failure) }
  /// Names in `new/`, in the order in which a directory may hold them.
  var names: [String] { new.sorted { $0.value.inode < $1.value.inode }.map(\.key) }

  // MARK: - What others do

  func put(_ name: String, _ bytes: [UInt8], items: [Item]) {
    new[name] = SpoolFile(bytes, inode: nextInode, items: items)
    new[name]!.change(timeline)
    nextInode += 1
    commit()
  }

  func append(_ name: String, _ bytes: [UInt8], items: [Item]) {
    guard let file = new[name] else { return }
    file.bytes += bytes
    file.change(timeline)
    file.items += items
  }

  func delete(_ name: String) { new[name] = nil }

  // MARK: - What the agent does

  func record(_ failure: Failure, of name: String, movesFile: Bool) -> Bool {
    guard canRecord else { return false }
    let line = FailureLine(failure)
    lines.append(line)
    new[name]?.lines.append(line)
    if movesFile, let file = new[name] {
      file.isSetAside = true
      unlink(name)
    }
    return true
  }

  /// Puts one notification of a file into `later/`: for all of its recipients, or for one.
  func postpone(_ bytes: [UInt8], as name: String, from source: SpoolFile?) -> Bool {
    let text = String(decoding: bytes, as: UTF8.self)
    let serial = World.serial(in: text)
    let isForOne = text.hasPrefix(#"{"token":""#)
    let items = (source?.items ?? []).filter { item in
      guard let number = item.number else { return false }
      if serial > 0, World.serial(of: number) != serial { return false }
      return serial > 0 && !isForOne || text.contains(World.token(number))
    }
    return keepForLater(bytes, as: name, items)
  }

  /// Puts a file into `later/`.
  func keepForLater(_ bytes: [UInt8], as name: String, _ items: [Item]) -> Bool {
    guard canRecord, canPostpone else { return false }
    let file = SpoolFile(bytes, inode: nextInode, items: items)
    for index in items.indices {
      file.items[index].offset = 0
      laterNames[items[index].identity] = name
    }
    file.waitsSince = timeline.now
    later[name] = file
    durableLater.remove(name)
    namedLater.remove(name)
    nextInode += 1
    return true
  }

  /// Whether an item waits somewhere, and outlives a power cut there.
  func holds(_ item: Item, besides file: SpoolFile? = nil) -> Bool {
    if let name = laterNames[item.identity], durableLater.contains(name), later[name]!.holds(item) {
      return true
    }
    return new.values.contains { $0 !== file && $0.holds(item) }
      || durableLater.contains { later[$0]!.holds(item) }
  }

  /// Whether what waits in a file of `later/` outlives a power cut there, as far as the agent can know.
  func isSynced(_ name: String) -> Bool {
    durableLater.contains(name) || later[name]?.isForgotten == true
  }

  func release(_ name: String, as target: String) -> Bool {
    guard canRemove, canPostpone, let file = later.removeValue(forKey: name) else { return false }
    durableLater.remove(name)
    file.change(timeline)
    file.wasReleased = true
    if let old = new[target] { unlinked.append((target, old, timeline.now)) }
    new[target] = file
    left.append((name, file, target, timeline.now))
    return true
  }

  func cancel(_ name: String) -> Bool {
    guard canRemove, canPostpone, let file = later[name] else { return false }
    later[name] = nil
    durableLater.remove(name)
    left.append((name, file, nil, timeline.now))
    return true
  }

  func sync() -> Bool {
    if canSync {
      if durableLater.count < later.count {
        durableLater.formUnion(later.filter { !$0.value.isTorn && !$0.value.isForgotten }.keys)
      }
      commit()
    } else {
      for name in later.keys where !durableLater.contains(name) { later[name]!.isForgotten = true }
    }
    for line in lines where !line.isDurable {
      if canSync { line.isDurable = !line.isForgotten } else { line.isForgotten = true }
    }
    return canSync
  }

  func remove(_ name: String, _ identity: FileIdentity, _ content: FileContent) -> Removal {
    guard let file = new[name] else { return .moved }
    guard file.identity == identity else {
      guard file.begins(as: identity, content) else { return .replaced }
      return file.bytes.count > content.bytes ? .grown : .replaced
    }
    guard canRemove else { return .failed }
    unlink(name)
    return .removed
  }

  private func unlink(_ name: String) {
    guard let file = new.removeValue(forKey: name) else { return }
    unlinked.removeAll { $0.at + Self.writeback < timeline.now }
    unlinked.append((name, file, timeline.now))
  }

  /// By a rename that is synced: either all of it is there, or what was there before.
  func keep(_ progress: Progress?) -> Bool {
    guard canKeepProgress else {
      uncertainProgress = [progress]
      return false
    }
    uncertainProgress = []
    self.progress = progress
    progressKept += 1
    commit()
    return true
  }

  // MARK: - What fails

  /// Of each change that is not on disk, it is uncertain whether it is there afterwards.
  func cutPower(_ random: inout Seeded) {
    suppression.cutPower(&random)
    for line in lines where !line.isDurable && !random.oneIn(2) { line.isForgotten = true }
    let lost = { (line: FailureLine) in !line.isDurable && line.isForgotten }
    for (_, file, _) in unlinked { file.lines.removeAll(where: lost) }
    for name in names { new[name]!.lines.removeAll(where: lost) }
    lines.removeAll(where: lost)
    for line in lines { line.isDurable = true }
    for (name, file, at) in unlinked
    where at + Self.writeback >= timeline.now && random.oneIn(2) && new[name] == nil {
      new[name] = file
      file.isSetAside = false
    }
    unlinked = []
    for (name, file, target, at) in left
    where at + Self.writeback >= timeline.now && random.oneIn(2) && later[name] == nil {
      if let target {
        guard new[target] === file else { continue }
        new[target] = nil
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
    namedLater = Set(later.keys)
    if let uncertain = uncertainProgress.first, random.oneIn(2) { progress = uncertain }
    uncertainProgress = []
  }
}
