import CLinux
import TinyPush

/// The outcome of a file that was put into the spool.
public enum Outcome {
  /// The file left the spool; ``OutcomeWatch/forEachSettlement(_:)`` tells how its notifications
  /// were settled.
  ///
  /// - `isComplete`: whether the agent reported everything. Otherwise the file was removed by
  ///   someone else.
  case left(isComplete: Bool)
  /// The file waits in `later/` until a UNIX time; that of the last part if it has several.
  case later(Int64)
  /// The time to wait is over, or a signal has ended it.
  case pending
}

/// Waits for the outcome of a file in the spool.
///
/// The agent's receipt tells the outcome. The directories tell which notifications are put off, and
/// whether somebody has removed the file.
public struct OutcomeWatch: ~Copyable {
  /// How often the directories are read.
  private static let pause = Duration.milliseconds(500)

  private let root: Descriptor
  private let inotify: Int32
  private let name: CString
  private let path: CString
  private let receipt: SenderReceipt

  /// Starts to watch a file.
  ///
  /// - Parameter name: the name of the file in `new/`, which ``DropBox`` put there as awaited.
  public init(_ spool: UnsafePointer<CChar>, name: Span<UInt8>) throws(DropBox.Problem) {
    var error: Int32 = 0
    guard let root = Descriptor.spool(spool, error: &error) else { throw .noSpool(error) }
    guard let receipt = SenderReceipt(for: name, in: root.number, error: &error) else {
      throw .noReceipt(error)
    }
    var text = Text(capacity: 300)
    text.append("new/", bytes: name)
    path = text.cString()
    self.name = CString(name)
    inotify = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    receipt.watch(inotify)
    self.receipt = receipt
    self.root = root
  }

  @inline(never)
  deinit { if inotify >= 0 { close(inotify) } }

  /// Waits until the outcome is known, the time is over, or a signal comes.
  ///
  /// - Parameter signals: a descriptor from which a signal can be read; -1: none.
  public func outcome(within time: Duration, orSignalOf signals: Int32 = -1) -> Outcome {
    let deadline = Clock.now() + time
    // A file that moves while the directories are read may be missed, but not twice.
    var missing = 0
    while true {
      let left = Clock.now().until(deadline)
      if receipt.isComplete(name.span) { return .left(isComplete: true) }
      let later = laterParts()
      if later.due - Clock.wallSeconds() > Int64(left.milliseconds / 1000) {
        return .later(later.due)
      }
      missing = later.count > 0 || isQueued() ? 0 : missing + 1
      if missing > 1 { return .left(isComplete: false) }
      guard left > .milliseconds(0) else { return .pending }
      var events: InlineArray<2, pollfd> = [
        pollfd(fd: inotify, events: Int16(POLLIN), revents: 0),
        pollfd(fd: signals, events: Int16(POLLIN), revents: 0),
      ]
      let wait = Int32(clamping: min(left, Self.pause).milliseconds)
      var span = events.mutableSpan
      _ = span.withUnsafeMutableBufferPointer { poll($0.baseAddress, 2, wait) }
      if events[1].revents != 0 {
        return receipt.isComplete(name.span) ? .left(isComplete: true) : .pending
      }
      drain()
    }
  }

  /// Calls `body` with each line of the agent about the file's notifications.
  public func forEachSettlement(_ body: (ReceiptLine) -> Void) {
    receipt.forEachLine { line in
      if let line = ReceiptLine(line) { body(line) }
    }
  }

  // MARK: - Parts of the file

  /// Whether the file or a part of it is in `new/` or `taken/`, or may be there.
  private func isQueued() -> Bool {
    if faccessat(root.number, path.pointer, F_OK, 0) == 0 { return true }
    if clinux_errno() != ENOENT { return true }
    var isFound = false
    let isRead = forEachName(in: "taken") { name in
      if isPart(TakenName.source(of: name)) { isFound = true }
    }
    // Only the agent's user and root can read taken/.
    return isFound || !isRead
  }

  private struct Parts {
    var count = 0
    /// The due time of the last part.
    var due: Int64 = 0
  }

  /// The parts of the file that wait in `later/`.
  private func laterParts() -> Parts {
    var parts = Parts()
    _ = forEachName(in: "later") { name in
      guard isPart(LaterName.rest(of: name)) else { return }
      parts.count += 1
      let date = name.extracting(0..<min(name.count, LaterName.dueDigits))
      parts.due = max(parts.due, Int64(Config.number(date) ?? 0))
    }
    return parts
  }

  /// Whether a name is the file's; a part of the file has this name with a dot and more.
  private func isPart(_ name: Span<UInt8>) -> Bool {
    let end = self.name.span.count
    guard name.count == end || name.count > end && name[end] == .dot else { return false }
    return name.extracting(0..<end).equals(self.name.span)
  }

  /// Calls `body` with each name in a directory of the spool; returns whether it could be read.
  @inline(never)
  private func forEachName(in directory: StaticString, _ body: (Span<UInt8>) -> Void) -> Bool {
    var error: Int32 = 0
    guard let descriptor = Descriptor(root.number, part: directory, error: &error) else {
      return error == ENOENT
    }
    let buffer = FixedBuffer<UInt8>(capacity: 32_768)
    return DirectoryEntry.forEach(in: descriptor.number, buffer.room()) { entry in
      body(CString.span(entry.name))
    }
  }

  private func drain() {
    let buffer = FixedBuffer<UInt8>(capacity: 4096)
    while read(inotify, buffer.room().baseAddress, buffer.capacity) > 0 {}
  }
}
