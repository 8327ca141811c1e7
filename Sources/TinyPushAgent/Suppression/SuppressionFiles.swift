import CLinux
import TinyPush

/// The suppression list as the agent uses it: read from disk, and changed by the service's answers.
///
/// If it cannot be written, delivery goes on, and the changes last as long as the agent.
struct SuppressionFiles: ~Copyable {
  /// The files that the courier has loaded.
  private var list: FileIdentity?
  private var recent: FileIdentity?
  /// The errno of the last reading and of the last writing; 0: no error.
  private var readError: Int32 = 0
  private var writeError: Int32 = 0
  /// The last error; 0 if absent.
  var error: Int32 { writeError != 0 ? writeError : readError }

  init() {}

  /// Loads the files that another program has replaced.
  @inline(never)
  mutating func refresh(_ path: UnsafePointer<CChar>, _ courier: inout Courier) {
    guard let store = open(path) else { return }
    // Recent changes are read first, so that a merge by another program in between loses nothing.
    if let changed = Self.changed(store, SuppressionDirectory.recentName, &recent, &readError) {
      courier.suppress(recent: changed)
    }
    if let changed = Self.changed(store, SuppressionDirectory.listName, &list, &readError) {
      courier.suppress(list: changed)
    }
  }

  private mutating func open(_ path: UnsafePointer<CChar>) -> SuppressionDirectory? {
    readError = 0
    var message = Text()
    do throws(ExitStatus) {
      return try SuppressionDirectory(path, message: &message)
    } catch {
      readError = clinux_errno() == 0 ? EIO : clinux_errno()
      return nil
    }
  }

  /// Opens the file of this name if it was replaced.
  @inline(never)
  private static func changed(
    _ store: borrowing SuppressionDirectory, _ name: StaticString, _ known: inout FileIdentity?,
    _ error: inout Int32
  ) -> SuppressionList? {
    let directory = store.directory.number
    let present = FileIdentity(directory, name)
    guard present != known else { return nil }
    var result: Int32 = 0
    let list = SuppressionList.open(directory, name, error: &result)
    guard result == 0 else {
      error = result
      return nil
    }
    known = present
    return list
  }

  /// Writes the courier's changes to disk, and sets damaged files aside.
  ///
  /// - Returns: whether that succeeded, and whether a file was damaged.
  @inline(never)
  mutating func keep(
    _ path: UnsafePointer<CChar>, _ courier: inout Courier
  ) -> (isKept: Bool, wasDamaged: Bool) {
    refresh(path, &courier)
    guard readError == 0, let store = open(path) else { return (false, false) }
    var merge = SuppressionMerge(store)
    courier.forEachLearned { merge.add($0) }
    let isKept = merge.finish(isPatient: false) { _, _, _ in }
    extendLifetime(store)
    if isKept || merge.error != 0 { writeError = merge.error }
    if isKept { refresh(path, &courier) }
    return (isKept && error == 0, merge.wasDamaged)
  }
}
