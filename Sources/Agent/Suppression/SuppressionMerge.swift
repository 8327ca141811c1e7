import CLinux
import TinyPush

/// Changes of the suppression list: gathered, sorted, and merged into it or into what has changed lately. A new file takes the
/// place of the old one by a rename, so that a power cut leaves the one or the other.
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

  /// So many changes are merged at a time: a million in four times.
  public static let changesMax = 262_144
  /// More than so many are merged into the list itself.
  static let recentMax = 1024

  private let directory: Int32
  private let changes = FixedBuffer<SuppressionRecord>(capacity: changesMax)
  private var count = 0
  private var others = OtherTokens()
  private var isForgetting = false
  /// Whether changes are made now: they hold against all that is known of less than a minute to come, which others of this
  /// second may have been given.
  public var areOfNow = false
  /// By these changes the room for tokens of other sizes is used up.
  public private(set) var areOthersFilled = false
  /// Something on disk was damaged, and has been set aside.
  public private(set) var wasDamaged = false
  /// The errno of what went wrong; 0: nothing.
  public private(set) var error: Int32 = 0
  /// Tokens that are suppressed by now, if all were looked at.
  public private(set) var total: UInt64 = 0

  /// - Parameter directory: stays open as long as this is used.
  init(_ directory: Int32) { self.directory = directory }

  /// - Parameter store: must outlive this.
  public init(_ store: borrowing SuppressionDirectory) { self.init(store.directory.number) }

  @inline(never)
  deinit {}

  // MARK: - Changes

  /// What there is must be merged before more is added.
  public var isFull: Bool { count == changes.capacity }

  @inline(never)
  public mutating func add(_ record: SuppressionRecord) {
    changes[count] = record
    count += 1
  }

  /// The feedback service tells a token of another size.
  mutating func add(other token: Span<UInt8>, at time: UInt32) {
    _ = others.insert(token, time: time)
  }

  /// Nothing is known of this token any more.
  public mutating func forget(_ token: DeviceToken) {
    isForgetting = true
    add(.forgotten(token))
  }

  // MARK: - The merge

  /// Merges all of it. `body` is told what came of each change: the token, its time by now, and the outcome; in the order of
  /// the tokens.
  ///
  /// - Parameters:
  ///   - isWhole: whether the list itself is written anew, and not only what has changed lately where that will do.
  ///   - isPatient: whether to wait while somebody else changes it.
  /// - Returns: whether it is on disk; if not, what was known before may hold or the changes may: they are to be merged again.
  @inline(never)
  public mutating func finish(
    isWhole: Bool = false, isPatient: Bool = true, _ body: (Span<UInt8>, UInt32, Outcome) -> Void
  ) -> Bool {
    error = 0
    guard let lock = Descriptor.lock(directory, isPatient: isPatient) else {
      if isPatient { error = clinux_errno() }
      return false
    }
    var lists = SuppressionLists(directory, error: &error)
    setAside(
      &lists.recent, SuppressionDirectory.recentName, SuppressionDirectory.damagedRecentName)
    setAside(&lists.list, SuppressionDirectory.listName, SuppressionDirectory.damagedListName)
    let isWhole = isWhole || isForgetting || lists.recent.count + count > Self.recentMax
    if error == 0, isWhole || count > 0 { write(&lists, isWhole: isWhole, body) }
    extendLifetime(lock)
    guard error == 0 else { return false }
    count = 0
    others.removeAll()
    isForgetting = false
    return true
  }

  /// What is damaged stays under another name, for whoever wants to look at it.
  private mutating func setAside(
    _ list: inout SuppressionList, _ name: StaticString, _ other: StaticString
  ) {
    guard error == 0, list.isDamaged else { return }
    if renameat(directory, name.cString, directory, other.cString) != 0 { error = clinux_errno() }
    if error == 0 { wasDamaged = true }
    list = SuppressionList()
  }

  @inline(never)
  private mutating func write(
    _ lists: inout SuppressionLists, isWhole: Bool, _ body: (Span<UInt8>, UInt32, Outcome) -> Void
  ) {
    let draft = SuppressionDirectory.draftName
    unlinkat(directory, draft.cString, 0)
    guard let file = Descriptor.make(directory, draft.cString, error: &error) else { return }
    let number = file.number
    var writer = ListWriter { Descriptor.writeAll(number, $0, $1) }
    merge(&lists, isWhole: isWhole, into: &writer, body)
    var known = OtherTokens()
    if isWhole {
      lists.list.readOthers(into: &known)
      merge(into: &known, body)
    }
    error = writer.finish(known)
    if error == 0, lists.isDamaged { error = EIO }
    if error == 0, fdatasync(number) != 0 { error = clinux_errno() }
    let name = isWhole ? SuppressionDirectory.listName : SuppressionDirectory.recentName
    if error == 0, renameat(directory, draft.cString, directory, name.cString) != 0 {
      error = clinux_errno()
    }
    extendLifetime(file)
    guard error == 0 else {
      unlinkat(directory, draft.cString, 0)
      return
    }
    error = Descriptor.syncDirectory(directory)
    guard isWhole, error == 0 else { return }
    // All of it is in the list by now. What is forgotten must not come back with it.
    if unlinkat(directory, SuppressionDirectory.recentName.cString, 0) == 0 {
      error = Descriptor.syncDirectory(directory)
    } else if clinux_errno() != ENOENT {
      error = clinux_errno()
    }
  }

  private mutating func merge(
    into known: inout OtherTokens, _ body: (Span<UInt8>, UInt32, Outcome) -> Void
  ) {
    let wasFull = known.isFull
    others.forEachToken { token, time in
      guard let isNew = known.insert(token, time: time) else { return }
      body(token, time, isNew ? .new : .known)
    }
    total += UInt64(known.count)
    if known.isFull, !wasFull { areOthersFilled = true }
  }

  @inline(never)
  private mutating func merge(
    _ lists: inout SuppressionLists, isWhole: Bool, into writer: inout ListWriter,
    _ body: (Span<UInt8>, UInt32, Outcome) -> Void
  ) {
    // A record begins with its token.
    qsort(
      UnsafeMutableRawPointer(changes.room().baseAddress!), count,
      MemoryLayout<SuppressionRecord>.stride
    ) { left, right in memcmp(left!, right!, DeviceToken.byteCount) }
    total = 0
    var next = 0
    var head = lists.next(isWhole: isWhole)
    while writer.error == 0, next < count || head != nil {
      var token = head?.token ?? changes[next].token
      if next < count, changes[next].token < token { token = changes[next].token }
      var known: SuppressionRecord?
      if let record = head, record.token == token {
        known = record
        head = lists.next(isWhole: isWhole)
      }
      var change: SuppressionRecord?
      while next < count, changes[next].token == token {
        change = .overriding(change, changes[next])
        next += 1
      }
      if !isWhole, change != nil { known = .overriding(known, lists.list.find(token)) }
      guard let result = change?.merged(with: known, isOfNow: areOfNow) ?? known else { continue }
      let wasSuppressed = known?.forbids() ?? false
      let isSuppressed = result.forbids()
      if result.isForgotten {
        if let known { body(token.bytes.span, known.time, .forgotten) }
        continue
      }
      if isSuppressed { total += 1 }
      if change != nil {
        body(
          token.bytes.span, result.time,
          isSuppressed
            ? wasSuppressed ? .known : .new : wasSuppressed ? .returned : .registered)
      }
      writer.add(result)
    }
  }
}

extension SuppressionRecord {
  /// What holds of a token after this change.
  fileprivate func merged(with known: Self?, isOfNow: Bool) -> Self {
    guard let known else { return self }
    var change = self
    if isOfNow, known.time >= time, known.time - time < 60 {
      change.time = known.time + (reason == .registered ? 0 : 1)
    }
    return change.overrides(known) ? change : known
  }
}
