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
      let lock = SuppressionDirectory.lock(directory, isPatient: false)
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

extension Agent {
  /// Takes up a suppression list that somebody else has changed.
  mutating func noticeSuppression() {
    let before = suppression.error
    suppression.refresh(config.state.pointer, &courier)
    watch.watchState(config.state.pointer)
    saySuppression(before)
  }

  mutating func keepLearned() {
    let before = suppression.error
    let (isKept, wasDamaged) = suppression.keep(config.state.pointer, &courier)
    courier.keptLearned(isKept)
    saySuppression(before)
    guard wasDamaged else { return }
    var text = Text()
    text.append("the suppression list in ")
    text.append(printable: config.state.span)
    text.append(
      isKept ? SuppressionDirectory.mended : " is damaged, and cannot be made anew")
    say(.error, text, about: .suppression)
  }

  private mutating func saySuppression(_ before: Int32) {
    guard suppression.error != before else { return }
    var text = Text()
    if suppression.error == 0 {
      text.append("the suppression list can be kept again")
    } else {
      SuppressionDirectory.explain(suppression.error, config.state.pointer, in: &text)
      text.append("; until then what is learned of device tokens lasts only as long as this agent")
    }
    say(suppression.error == 0 ? .notice : .warning, text, about: .suppression)
  }
}
