import CLinux
import TinyPush

/// The suppression list as the agent uses it: looked up where it lies, and changed by what the agent learns. Without it
/// delivery goes on, and what is learned lasts as long as the agent.
struct SuppressionFiles: ~Copyable {
  private var store: SuppressionDirectory?
  private var list = MappedFile()
  private var recent = MappedFile()
  /// What was said last of what is wrong; 0: nothing is.
  private(set) var error: Int32 = 0

  init() {}

  /// Opens the directory if it is not open, and takes up what somebody has put there in the place of what was.
  @inline(never)
  mutating func refresh(_ path: UnsafePointer<CChar>, _ courier: inout Courier) {
    error = 0
    if store?.isCurrent(path) != true { open(path) }
    guard let directory = store?.directory.number else { return }
    guard
      !list.isCurrent(directory, SuppressionDirectory.listName)
        || !recent.isCurrent(directory, SuppressionDirectory.recentName)
    else { return }
    // What changed lately comes first: a merge that comes between takes nothing away.
    guard
      let recent = MappedFile.open(
        directory, SuppressionDirectory.recentName, error: &error),
      let list = MappedFile.open(
        directory, SuppressionDirectory.listName, error: &error)
    else { return }
    courier.suppress(list: list.bytes, recent: recent.bytes)
    self.recent = recent
    self.list = list
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

  /// Puts what the courier has learned on disk, and mends what is damaged there. Whether it did, and whether something was
  /// damaged.
  @inline(never)
  mutating func keep(
    _ path: UnsafePointer<CChar>, _ courier: inout Courier
  ) -> (isKept: Bool, wasDamaged: Bool) {
    refresh(path, &courier)
    guard error == 0, let directory = store?.directory.number,
      let lock = Descriptor.lock(directory, isPatient: false)
    else { return (false, false) }
    var merge = SuppressionMerge(directory)
    courier.forEachLearned { merge.add($0) }
    let isKept = merge.finish(isWhole: courier.isSuppressionDamaged) { _, _ in }
    error = merge.error
    let wasDamaged = merge.wasDamaged
    extendLifetime(lock)
    if isKept { refresh(path, &courier) }
    return (isKept && error == 0, wasDamaged)
  }
}
