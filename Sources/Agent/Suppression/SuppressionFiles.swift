import CLinux
import TinyPush

/// The suppression list as the agent uses it: looked up where it lies, and changed by what the agent learns. Without it
/// delivery goes on, and what is learned lasts as long as the agent.
struct SuppressionFiles: ~Copyable {
  /// The files that the courier has.
  private var list: FileIdentity?
  private var recent: FileIdentity?
  /// What was said last of what is wrong; 0: nothing is.
  private(set) var error: Int32 = 0

  init() {}

  /// Takes up what somebody has put on disk in the place of what was.
  @inline(never)
  mutating func refresh(_ path: UnsafePointer<CChar>, _ courier: inout Courier) {
    guard let store = open(path) else { return }
    // What changed lately comes first: a merge that comes between takes nothing away.
    if let changed = Self.changed(store, SuppressionDirectory.recentName, &recent, &error) {
      courier.suppress(recent: changed)
    }
    if let changed = Self.changed(store, SuppressionDirectory.listName, &list, &error) {
      courier.suppress(list: changed)
    }
  }

  private mutating func open(_ path: UnsafePointer<CChar>) -> SuppressionDirectory? {
    error = 0
    var message = Text()
    do throws(ExitStatus) {
      return try SuppressionDirectory(path, message: &message)
    } catch {
      self.error = clinux_errno() == 0 ? EIO : clinux_errno()
      return nil
    }
  }

  /// The file of this name, if it is another one than was known.
  @inline(never)
  private static func changed(
    _ store: borrowing SuppressionDirectory, _ name: StaticString, _ known: inout FileIdentity?,
    _ error: inout Int32
  ) -> SuppressionList? {
    let directory = store.directory.number
    var information = stat()
    let isThere = fstatat(directory, name.cString, &information, AT_SYMLINK_NOFOLLOW) == 0
    let present = isThere ? FileIdentity(&information) : nil
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

  /// Puts what the courier has learned on disk, and sets aside what is damaged there. Whether it did, and whether something
  /// was damaged.
  @inline(never)
  mutating func keep(
    _ path: UnsafePointer<CChar>, _ courier: inout Courier
  ) -> (isKept: Bool, wasDamaged: Bool) {
    refresh(path, &courier)
    guard error == 0, let store = open(path) else { return (false, false) }
    var merge = SuppressionMerge(store)
    courier.forEachLearned { merge.add($0) }
    let isKept = merge.finish(isPatient: false) { _, _, _ in }
    extendLifetime(store)
    if isKept { refresh(path, &courier) }
    if merge.error != 0 { error = merge.error }
    return (isKept && error == 0, merge.wasDamaged)
  }
}
