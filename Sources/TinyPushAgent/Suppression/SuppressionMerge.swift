import CLinux
import TinyPush

/// Collects changes of the suppression list, sorts them, and merges them into the list or the
/// recent changes.
///
/// A new file replaces the old one by a rename, so that a power cut leaves one of them.
public struct SuppressionMerge: ~Copyable {
  private let pinned = Pinned()
  /// The result of a change.
  public enum Outcome {
    /// The token was not suppressed, and is now.
    case new
    /// The token was suppressed before.
    case known
    /// The token was registered later, so it is not suppressed, and was not before.
    case registered
    /// The token was suppressed, and is not any more, because it was registered.
    case returned
    /// The record of the token was removed.
    case forgotten
  }

  /// The most changes in one merge; a million takes four merges.
  public static let changesMax = 262_144
  /// The most recent changes; more are merged into the list itself.
  static let recentMax = 1024

  private let directory: Int32
  private let changes = FixedBuffer<SuppressionRecord>(capacity: changesMax)
  private var count = 0
  private var isForgetting = false
  /// Whether the changes are made now.
  ///
  /// They then also override a record that is up to a minute in the future, such as one of the same
  /// second.
  public var areMadeNow = false
  /// Whether a file on disk was damaged and set aside.
  public private(set) var wasDamaged = false
  /// The errno of the last failure; 0 if there was none.
  public private(set) var error: Int32 = 0
  /// The number of suppressed tokens, if the whole list was merged.
  public private(set) var total: UInt64 = 0
  /// How many tokens were given, each counted once.
  public private(set) var tokens: UInt64 = 0

  /// Prepares a merge.
  ///
  /// - Parameter directory: must stay open as long as this is used.
  init(_ directory: Int32) { self.directory = directory }

  /// Prepares a merge.
  ///
  /// - Parameter store: must outlive this.
  public init(_ store: borrowing SuppressionDirectory) { self.init(store.directory.number) }

  @inline(never)
  deinit {}

  // MARK: - Changes

  /// Whether the changes must be merged before another can be added.
  public var isFull: Bool { count == changes.capacity }

  /// Adds a change.
  @inline(never)
  public mutating func add(_ record: SuppressionRecord) {
    changes[count] = record
    count += 1
  }

  /// Adds the removal of a token's record.
  public mutating func forget(_ token: TokenIdentity) {
    isForgetting = true
    add(.forgotten(token))
  }

  // MARK: - The merge

  /// Merges all changes, and calls `body` with each token, its time now, and the result, in the
  /// order of the tokens.
  ///
  /// - Parameters:
  ///   - lists: the lists as this program knows them. Of the two files, those are opened that were
  ///     replaced since.
  ///   - isWhole: whether to rewrite the list itself, even if writing the recent changes is enough.
  ///   - isPatient: whether to wait for another program that has the lock; otherwise this is no
  ///     error.
  /// - Returns: whether the changes are on disk; if not, they may or may not be, and must be merged
  ///   again.
  @inline(never)
  public mutating func finish(
    _ lists: inout SuppressionLists, isWhole: Bool = false, isPatient: Bool = true,
    _ body: (Span<UInt8>, UInt32, Outcome) -> Void
  ) -> Bool {
    error = 0
    guard
      let lock = DirectoryLock(
        directory, waitMs: isPatient ? DirectoryLock.patience : 0, error: &error)
    else {
      if !isPatient, error == EWOULDBLOCK { error = 0 }
      return false
    }
    lists.refresh(directory, error: &error)
    let isWhole =
      isWhole || isForgetting || lists.isDamaged || lists.recent.count + count > Self.recentMax
    if error == 0, isWhole || count > 0 { write(&lists, isWhole: isWhole, body) }
    extendLifetime(lock)
    guard error == 0 else { return false }
    count = 0
    isForgetting = false
    return true
  }

  /// Merges all changes into lists that this program does not know yet.
  public mutating func finish(
    isWhole: Bool = false, isPatient: Bool = true, _ body: (Span<UInt8>, UInt32, Outcome) -> Void
  ) -> Bool {
    var lists = SuppressionLists()
    return finish(&lists, isWhole: isWhole, isPatient: isPatient, body)
  }

  /// Gives a damaged file another name, so that its other lines can still be recovered.
  ///
  /// The file keeps the old name until another takes that, if the file system has links.
  private mutating func setAside(_ name: StaticString, as other: StaticString) {
    unlinkat(directory, other.cString, 0)
    guard
      linkat(directory, name.cString, directory, other.cString, 0) == 0
        || renameat(directory, name.cString, directory, other.cString) == 0
    else {
      error = clinux_errno()
      return
    }
    wasDamaged = true
  }

  @inline(never)
  private mutating func write(
    _ lists: inout SuppressionLists, isWhole: Bool, _ body: (Span<UInt8>, UInt32, Outcome) -> Void
  ) {
    let name = isWhole ? SuppressionDirectory.listName : SuppressionDirectory.recentName
    let draft = SuppressionDirectory.draftName
    let (isListDamaged, isRecentDamaged) = (lists.list.isDamaged, lists.recent.isDamaged)
    error = Replacement.make(directory, name.cString, draft.cString, mode: 0o640) { file in
      var writer = LineWriter(file)
      merge(&lists, isWhole: isWhole, into: &writer, body)
      error = writer.finish()
      // Damage since the list was opened: the next merge sets the file aside.
      if lists.list.isDamaged != isListDamaged || lists.recent.isDamaged != isRecentDamaged {
        error = error == 0 ? EIO : error
      }
      guard error == 0, isListDamaged else { return error }
      // Until the new list is on disk, the damaged one is the only one.
      guard fsync(file) == 0 else { return clinux_errno() }
      setAside(SuppressionDirectory.listName, as: SuppressionDirectory.damagedListName)
      return error
    }
    guard isWhole, error == 0 else { return }
    // The list now contains all recent changes. A removed record must not come back with them.
    if isRecentDamaged {
      setAside(SuppressionDirectory.recentName, as: SuppressionDirectory.damagedRecentName)
    }
    if unlinkat(directory, SuppressionDirectory.recentName.cString, 0) != 0,
      clinux_errno() != ENOENT
    {
      error = clinux_errno()
    }
    if error == 0 { error = Descriptor.syncDirectory(directory) }
  }

  @inline(never)
  private mutating func merge(
    _ lists: inout SuppressionLists, isWhole: Bool, into writer: inout LineWriter,
    _ body: (Span<UInt8>, UInt32, Outcome) -> Void
  ) {
    // The comparison works because a record begins with its token.
    qsort(
      UnsafeMutableRawPointer(changes.room().baseAddress!), count,
      MemoryLayout<SuppressionRecord>.stride
    ) { left, right in memcmp(left!, right!, TokenIdentity.byteCount) }
    total = 0
    tokens = 0
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
      if next < count, changes[next].token == token { tokens += 1 }
      var change: SuppressionRecord?
      while next < count, changes[next].token == token {
        change = .overriding(change, changes[next])
        next += 1
      }
      if !isWhole, change != nil { known = .overriding(known, lists.list.find(token)) }
      guard let result = change?.merged(with: known, isMadeNow: areMadeNow) ?? known else {
        continue
      }
      let wasSuppressed = known?.forbids() ?? false
      let isSuppressed = result.forbids()
      if result.isForgotten {
        if let known { body(token.bytes, known.time, .forgotten) }
        continue
      }
      if isSuppressed { total += 1 }
      if change != nil {
        body(
          token.bytes, result.time,
          isSuppressed
            ? wasSuppressed ? .known : .new : wasSuppressed ? .returned : .registered)
      }
      writer.add(result)
    }
  }
}

extension SuppressionRecord {
  /// Returns the record of a token after this change.
  fileprivate func merged(with known: Self?, isMadeNow: Bool) -> Self {
    guard let known else { return self }
    var change = self
    if isMadeNow, known.time >= time, known.time - time < 60 {
      change.time = known.time &+ (reason == .registered || known.time == .max ? 0 : 1)
    }
    return change.overrides(known) ? change : known
  }
}
