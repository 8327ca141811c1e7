import CLinux
import TinyPush

/// The suppression list as the agent uses it: looked up where it lies, and changed by what the agent learns. Without it
/// delivery goes on, and what is learned lasts as long as the agent.
struct SuppressionFiles: ~Copyable {
  private var store: SuppressionDirectory?
  /// The files that the courier has.
  private var list: FileIdentity?
  private var recent: FileIdentity?
  /// What was said last of what is wrong; 0: nothing is.
  private(set) var error: Int32 = 0

  init() {}

  /// Opens the directory if it is not open, and takes up what somebody has put there in the place of what was.
  @inline(never)
  mutating func refresh(_ path: UnsafePointer<CChar>, _ courier: inout Courier) {
    error = 0
    if store?.isCurrent(path) != true { open(path) }
    guard let directory = store?.directory.number else { return }
    // What changed lately comes first: a merge that comes between takes nothing away.
    if let changed = Self.changed(directory, SuppressionDirectory.recentName, &recent, &error) {
      courier.suppress(recent: changed)
    }
    if let changed = Self.changed(directory, SuppressionDirectory.listName, &list, &error) {
      courier.suppress(list: changed)
    }
  }

  /// The file of this name, if it is another one than was known.
  @inline(never)
  private static func changed(
    _ directory: Int32, _ name: StaticString, _ known: inout FileIdentity?, _ error: inout Int32
  ) -> SuppressionList? {
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

  private mutating func open(_ path: UnsafePointer<CChar>) {
    store = nil
    var message = Text()
    do throws(ExitStatus) {
      store = try SuppressionDirectory(path, message: &message)
    } catch {
      self.error = clinux_errno()
      if self.error == 0 { self.error = EIO }
    }
  }

  /// Puts what the courier has learned on disk, and sets aside what is damaged there. Whether it did, and whether something
  /// was damaged.
  @inline(never)
  mutating func keep(
    _ path: UnsafePointer<CChar>, _ courier: inout Courier
  ) -> (isKept: Bool, wasDamaged: Bool) {
    refresh(path, &courier)
    guard error == 0, let directory = store?.directory.number else { return (false, false) }
    var merge = SuppressionMerge(directory)
    courier.forEachLearned { merge.add($0) }
    let isKept = merge.finish(isPatient: false) { _, _, _ in }
    error = merge.error
    if isKept { refresh(path, &courier) }
    return (isKept && error == 0, merge.wasDamaged)
  }
}
