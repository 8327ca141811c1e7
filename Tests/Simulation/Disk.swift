import TinyPush

/// Something that a file of the spool holds: a notification to one recipient, or text that is none.
struct Item {
  /// Of the notification, and so of its token; nil for text that must be refused.
  var number: Int?
  /// Where its object begins, if that is known, and which of the object's recipients it is for.
  var offset = Int.max
  var recipient = 0
  /// When the service is to forget it, in UNIX seconds, and after how many seconds.
  var expiration: Int64?
  var ttl: UInt64?
  var putAt = Instant(milliseconds: 0)
  /// Where text ends that must be refused, and the space behind it.
  var end = 0
  /// What replaces it, and what it replaces, has the same.
  var collapseID: String?

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

  init(_ bytes: [UInt8], inode: UInt64, items: [Item]) {
    self.bytes = bytes
    self.inode = inode
    changeTimeNs = Int64(inode)
    self.items = items
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
final class Disk {
  private(set) var new: [String: SpoolFile] = [:]
  private(set) var lines: [FailureLine] = []
  /// What waits in `later/`.
  private(set) var later: [String: SpoolFile] = [:]
  /// Under which name a number was put there last.
  private var laterNames: [Int: String] = [:]
  /// Names there that outlive a power cut.
  private var durableLater: Set<String> = []
  /// The recipients files.
  var lists: [String: SpoolFile] = [:]
  /// What the agent keeps of its progress, and how often it was written.
  private(set) var progress: Progress?
  private(set) var progressKept = 0
  /// It was to be kept, and that failed: nobody knows whether it was.
  private var uncertainProgress: [Progress?] = []
  /// The most that one read gives.
  var readBytesMax = Int.max
  var canScan = true
  var canRecord = true
  var canSync = true
  var canRemove = true
  var canKeepProgress = true

  private let timeline: Timeline
  private var nextInode: UInt64 = 100
  /// Names that were unlinked or moved, and will be back if the power fails before it is on disk.
  private var unlinked: [(name: String, file: SpoolFile, at: Instant)] = []
  /// How long the system may take to write down by itself that a name is gone.
  private static let writeback = Duration.seconds(30)

  init(_ timeline: Timeline) { self.timeline = timeline }

  var failures: [Failure] { lines.map(\.failure) }
  /// Names in `new/`, in the order in which a directory may hold them.
  var names: [String] { new.sorted { $0.value.inode < $1.value.inode }.map(\.key) }

  // MARK: - What others do

  func put(_ name: String, _ bytes: [UInt8], items: [Item]) {
    new[name] = SpoolFile(bytes, inode: nextInode, items: items)
    nextInode += 1
  }

  func append(_ name: String, _ bytes: [UInt8], items: [Item]) {
    guard let file = new[name] else { return }
    file.bytes += bytes
    file.changeTimeNs += 1
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

  /// Puts one notification of a file into `later/`.
  func postpone(_ bytes: [UInt8], as name: String, from source: SpoolFile?) -> Bool {
    guard canRecord else { return false }
    let text = String(decoding: bytes, as: UTF8.self)
    let items = (source?.items ?? []).filter { item in
      item.number.map { text.contains(World.token($0)) } ?? false
    }
    for item in items { laterNames[item.number!] = name }
    later[name] = SpoolFile(
      bytes, inode: nextInode,
      items: items.map { item in
        var item = item
        item.offset = .max
        return item
      })
    nextInode += 1
    return true
  }

  /// Whether a number waits in `later/`, and outlives a power cut there.
  func isPostponed(_ number: Int) -> Bool {
    laterNames[number].map(durableLater.contains) ?? false
  }

  func release(_ name: String, as target: String) -> Bool {
    guard canRemove, let file = later.removeValue(forKey: name) else { return false }
    durableLater.remove(name)
    file.changeTimeNs += 1
    new[target] = file
    return true
  }

  func cancel(_ name: String) {
    later[name] = nil
    durableLater.remove(name)
  }

  func sync() -> Bool {
    if canSync, durableLater.count < later.count { durableLater = Set(later.keys) }
    for line in lines where !line.isDurable {
      if canSync { line.isDurable = !line.isForgotten } else { line.isForgotten = true }
    }
    return canSync
  }

  func remove(_ name: String, _ identity: FileIdentity) -> Removal {
    guard let file = new[name] else { return .removed }
    guard file.identity == identity else { return .replaced }
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
    return true
  }

  // MARK: - What fails

  /// Of each change that is not on disk, it is uncertain whether it is there afterwards.
  func cutPower(_ random: inout Seeded) {
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
    for name in later.keys.sorted() where !durableLater.contains(name) && random.oneIn(2) {
      later[name] = nil
    }
    durableLater.formUnion(later.keys)
    if let uncertain = uncertainProgress.first, random.oneIn(2) { progress = uncertain }
    uncertainProgress = []
  }
}
