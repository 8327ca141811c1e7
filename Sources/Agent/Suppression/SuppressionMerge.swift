import CLinux
import TinyPush

/// Changes of the suppression list: gathered, sorted, and merged into it or into what has changed lately, by a rename. Its
/// memory is bounded however many there are.
public struct SuppressionMerge: ~Copyable {
  private let pinned = Pinned()
  /// What a change came to.
  public enum Outcome {
    /// The token was not suppressed, and is by now.
    case new
    /// It was suppressed before.
    case known
    /// It has been registered since, and so it is not suppressed; nor was it before.
    case registered
    /// It was suppressed, and is not any more, since it has been registered.
    case returned
    /// What was known of it is forgotten.
    case forgotten
  }

  private static let runsMax = 256
  public static let forgottenMax = 1024

  private let directory: Int32
  private let run: FixedBuffer<SuppressionRecord>
  private var runCount = 0
  /// Runs that did not fit into memory, one after the other.
  private var spill: Descriptor?
  private var spilled = 0
  private let forgotten = FixedBuffer<SuppressionRecord>(capacity: forgottenMax)
  private var forgottenCount = 0
  private var others = OtherTokens()
  /// Whether those that were known have been read.
  private var hasOthers = false
  private var hasNewOthers = false
  private var wereOthersFull = false
  /// By these changes the room for tokens of other sizes is used up.
  public var areOthersFilled: Bool { others.isFull && !wereOthersFull }
  /// The errno of what went wrong; 0: nothing.
  public private(set) var error: Int32 = 0
  private var isListDamaged = false
  private var isRecentDamaged = false
  /// Tokens that are suppressed by now, if all were looked at.
  public private(set) var total: UInt64 = 0
  /// Something on disk was damaged, and has been set aside.
  public var wasDamaged: Bool { isListDamaged || isRecentDamaged }

  /// - Parameters:
  ///   - directory: is locked, and stays open as long as this is used.
  ///   - runMax: so many changes are held in memory.
  init(_ directory: Int32, runMax: Int = 32_768) {
    self.directory = directory
    run = FixedBuffer(capacity: runMax)
  }

  @inline(never)
  deinit {}

  // MARK: - Changes

  @inline(never)
  public mutating func add(_ record: SuppressionRecord) {
    if runCount == run.capacity { spillRun() }
    guard error == 0 else { return }
    run[runCount] = record
    runCount += 1
  }

  /// Of a token of another size.
  public mutating func add(
    other token: Span<UInt8>, _ reason: SuppressionRecord.Reason, _ time: UInt32
  ) -> Outcome {
    readOthers()
    let (isKept, isNew) = others.insert(token, time: time, reason: reason)
    if isKept { hasNewOthers = true }
    return isNew ? .new : .known
  }

  /// Nothing is known of this token any more; `false` when there are too many for once.
  public mutating func forget(_ token: DeviceToken) -> Bool {
    guard forgottenCount < Self.forgottenMax else { return false }
    forgotten[forgottenCount] = SuppressionRecord(token: token, time: 0, reason: .registered)
    forgottenCount += 1
    return true
  }

  private static func sort(_ records: borrowing FixedBuffer<SuppressionRecord>, _ count: Int) {
    // A record begins with its token.
    qsort(
      UnsafeMutableRawPointer(records.room().baseAddress!), count,
      MemoryLayout<SuppressionRecord>.stride
    ) { left, right in memcmp(left!, right!, DeviceToken.byteCount) }
  }

  private mutating func spillRun() {
    guard error == 0 else { return }
    guard spilled < Self.runsMax else {
      error = EFBIG
      return
    }
    if spill == nil {
      let name: StaticString = ".run"
      unlinkat(directory, name.cString, 0)
      spill = Descriptor.make(directory, name.cString, error: &error)
      unlinkat(directory, name.cString, 0)
    }
    Self.sort(run, runCount)
    let bytes = UnsafeRawPointer(run.room().baseAddress!)
    let count = runCount * MemoryLayout<SuppressionRecord>.stride
    if error == 0, let file = spill?.number { error = Descriptor.writeAll(file, bytes, count) }
    spilled += 1
    runCount = 0
  }

  // MARK: - The merge

  /// Merges all of it. `body` is told what came of each change, in the order of the tokens.
  ///
  /// - Parameter isWhole: whether the list itself is made anew, and not only what has changed lately where that will do.
  /// - Returns: whether it is on disk; if not, ``error`` says why, and what was known before may hold or the changes may: they
  ///   are to be merged again.
  @inline(never)
  public mutating func finish(
    isWhole: Bool, _ body: (SuppressionRecord, Outcome) -> Void
  ) -> Bool {
    guard error == 0 else { return false }
    var recent: RecordSource?
    guard open(SuppressionDirectory.recentName, &recent) else { return false }
    var recentCount = 0
    while recent?.nextRecord() != nil { recentCount += 1 }
    recent?.readOthers { _, _, _ in }
    isRecentDamaged = recent?.isDamaged ?? false
    recent = nil
    guard open(SuppressionDirectory.recentName, &recent) else { return false }
    let fits = spilled == 0 && recentCount + runCount <= SuppressionDirectory.recentMax
    let isSmall =
      !isWhole && fits && forgottenCount == 0 && !hasNewOthers && !isRecentDamaged
    if isSmall { lookForDamage() }
    return isSmall && !isListDamaged
      ? write(SuppressionDirectory.recentName, recent, nil, body)
      : writeList(recent, body)
  }

  /// Looks the changes up in the list, which is not read otherwise: damage that is come upon is mended.
  private mutating func lookForDamage() {
    var ignored: Int32 = 0
    guard
      let mapped = MappedFile.open(directory, SuppressionDirectory.listName, error: &ignored)
    else { return }
    var list = SuppressionList(mapped.bytes)
    for index in 0..<runCount { _ = list.find(run[index].token) }
    if list.isDamaged { isListDamaged = true }
    extendLifetime(mapped)
  }

  /// Whether not much more should be added.
  var isNearlyFull: Bool { spilled >= 32 }

  /// Opens one of the lists, where there is one.
  private mutating func open(_ name: StaticString, _ source: inout RecordSource?) -> Bool {
    source = RecordSource(directory, name, error: &error)
    guard source == nil else { return true }
    guard error == ENOENT else { return false }
    error = 0
    return true
  }

  private mutating func writeList(
    _ recent: RecordSource?, _ body: (SuppressionRecord, Outcome) -> Void
  ) -> Bool {
    readOthers()
    var list: RecordSource?
    guard open(SuppressionDirectory.listName, &list),
      write(SuppressionDirectory.listName, recent, list, body)
    else { return false }
    total += others.suppressed
    // All of it is in the list by now. What is forgotten must not come back with it.
    if unlinkat(directory, SuppressionDirectory.recentName.cString, 0) != 0,
      clinux_errno() != ENOENT
    {
      error = clinux_errno()
    }
    if error == 0 { error = Descriptor.syncDirectory(directory) }
    return error == 0
  }

  @inline(never)
  private mutating func readOthers() {
    guard !hasOthers else { return }
    hasOthers = true
    var missing: Int32 = 0
    guard let list = RecordSource(directory, SuppressionDirectory.listName, error: &missing) else {
      return
    }
    while list.nextRecord() != nil {}
    list.readOthers { token, reason, time in _ = others.insert(token, time: time, reason: reason) }
    if list.isDamaged { isListDamaged = true }
    wereOthersFull = others.isFull
  }

  @inline(never)
  private mutating func write(
    _ name: StaticString, _ recent: RecordSource?, _ list: RecordSource?,
    _ body: (SuppressionRecord, Outcome) -> Void
  ) -> Bool {
    let draft = SuppressionDirectory.draftName
    unlinkat(directory, draft.cString, 0)
    guard
      let file = Descriptor.make(directory, draft.cString, error: &error)
    else { return false }
    // Where the list itself stays, what it says of the changed tokens is looked up.
    var mapped = MappedFile()
    if list == nil {
      guard
        let found = MappedFile.open(directory, SuppressionDirectory.listName, error: &error)
      else { return false }
      mapped = found
    }
    var untouched = SuppressionList(mapped.bytes)
    let number = file.number
    var writer = ListWriter { Descriptor.writeAll(number, $0, $1) }
    mergeAll(recent, list, &untouched, into: &writer, body)
    extendLifetime(mapped)
    if error == 0 {
      error = list == nil && !hasNewOthers ? writer.finish(OtherTokens()) : writer.finish(others)
    }
    if error == 0, fdatasync(file.number) != 0 { error = clinux_errno() }
    if recent?.isDamaged == true { isRecentDamaged = true }
    if list?.isDamaged == true { isListDamaged = true }
    if error == 0, isRecentDamaged { setAside(SuppressionDirectory.recentName) }
    if error == 0, isListDamaged { setAside(SuppressionDirectory.listName) }
    if error == 0, renameat(directory, draft.cString, directory, name.cString) != 0 {
      error = clinux_errno()
    }
    guard error == 0 else {
      unlinkat(directory, draft.cString, 0)
      return false
    }
    error = Descriptor.syncDirectory(directory)
    return error == 0
  }

  /// What is damaged stays, for whoever wants to look at it.
  private func setAside(_ name: StaticString) {
    var text = Text(capacity: 64)
    text.append(name)
    text.append(".damaged")
    text.withCString { aside in
      unlinkat(directory, aside, 0)
      linkat(directory, name.cString, directory, aside, 0)
    }
  }

  @inline(never)
  private mutating func mergeAll(
    _ recent: RecordSource?, _ list: RecordSource?, _ untouched: inout SuppressionList,
    into writer: inout ListWriter,
    _ body: (SuppressionRecord, Outcome) -> Void
  ) {
    Self.sort(run, runCount)
    Self.sort(forgotten, forgottenCount)
    // The changes come first: a source of a higher number is what was known.
    let runBytes = Int64(run.capacity * MemoryLayout<SuppressionRecord>.stride)
    var sources: [RecordSource] = []
    for index in 0..<spilled {
      sources.append(
        RecordSource(
          run: spill?.number ?? -1, at: Int64(index) * runBytes, count: run.capacity))
    }
    sources.append(RecordSource(UnsafeBufferPointer(rebasing: run.room()[..<runCount])))
    let changes = sources.count
    if let recent { sources.append(recent) }
    if let list { sources.append(list) }
    var queue = MergeQueue(sources: sources.count)
    for index in 0..<sources.count {
      if let record = sources[index].nextRecord() { queue.add(record, from: index) }
    }
    var nextForgotten = 0
    while error == 0, let first = queue.head {
      var change: SuppressionRecord?
      var known: SuppressionRecord?
      while let head = queue.head, head.record.token == first.record.token {
        let record = head.record
        if head.source < changes {
          if change.map({ record.outweighs($0) }) ?? true { change = record }
        } else if known.map({ record.outweighs($0) }) ?? true {
          known = record
        }
        queue.replaceHead(sources[head.source].nextRecord())
      }
      while nextForgotten < forgottenCount, forgotten[nextForgotten].token < first.record.token {
        nextForgotten += 1
      }
      if nextForgotten < forgottenCount, forgotten[nextForgotten].token == first.record.token {
        if let known { body(known, .forgotten) }
        continue
      }
      if change != nil, let other = untouched.find(first.record.token),
        known.map({ other.outweighs($0) }) ?? true
      {
        known = other
      }
      var result = first.record
      if let change, let known {
        result = change.outweighs(known) ? change : known
      } else if let one = change ?? known {
        result = one
      }
      if result.forbids() { total += 1 }
      if change != nil {
        let wasSuppressed = known?.forbids() ?? false
        if result.forbids() {
          body(result, wasSuppressed ? .known : .new)
        } else {
          body(result, wasSuppressed ? .returned : .registered)
        }
      }
      writer.add(result)
      error = writer.error
    }
    for index in 0..<changes where sources[index].isDamaged { error = EIO }
  }
}
