import CLinux
import TinyPush

/// The suppression list as the agent uses it: read from disk, and changed by the service's answers.
///
/// If it cannot be written, delivery goes on, and the changes last as long as the agent.
struct SuppressionFiles: ~Copyable {
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
    courier.suppression.lists.refresh(store.directory.number, error: &readError)
    extendLifetime(store)
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
    courier.suppression.learned.forEach { merge.add($0) }
    let isKept = merge.finish(&courier.suppression.lists, isPatient: false) { _, _, _ in }
    extendLifetime(store)
    if isKept || merge.error != 0 { writeError = merge.error }
    if isKept { refresh(path, &courier) }
    return (isKept && error == 0, merge.wasDamaged)
  }
}
