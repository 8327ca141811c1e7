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
  /// The time to wait is over.
  case pending
}

/// Waits for the outcome of a file in the spool.
///
/// It watches only the file, so that other files do not wake it.
public struct OutcomeWatch: ~Copyable {
  /// How often states are checked that inotify does not report.
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
    var text = Text(capacity: 4096 + 300)
    text.append(cString: spool)
    text.append("/new/")
    text.append(bytes: name)
    path = text.cString()
    self.name = CString(name)
    self.receipt = receipt
    self.root = root
    inotify = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
  }

  @inline(never)
  deinit { if inotify >= 0 { close(inotify) } }

  /// Waits until the outcome is known, or the time is over.
  public func outcome(within time: Duration) -> Outcome {
    let deadline = Clock.now() + time
    // The state is checked after each event, so that nothing is missed.
    let mask = UInt32(IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF)
    let isWatched = inotify >= 0 && inotify_add_watch(inotify, path.pointer, mask) >= 0
    while true {
      let now = Clock.now()
      let left = now.until(deadline)
      let isInNew = access(path.pointer, F_OK) == 0 || clinux_errno() != ENOENT
      if !isInNew, let outcome = outcomeOutside(left) { return outcome }
      guard left > .milliseconds(0) else { return .pending }
      let pause = isInNew && isWatched ? left : min(left, Self.pause)
      var event = pollfd(fd: inotify, events: Int16(POLLIN), revents: 0)
      poll(&event, 1, Int32(clamping: pause.milliseconds))
      drain()
    }
  }

  /// Returns the outcome of a file that is not in `new/`; nil if a part of it is in `new/` again,
  /// or soon will be.
  private func outcomeOutside(_ left: Duration) -> Outcome? {
    // In this order, because a due file moves from later/ to new/.
    let later = parts(in: "later", behind: LaterName.headBytes)
    let new = parts(in: "new")
    let isDueLater = later.due - Clock.wallSeconds() > Int64(left.milliseconds / 1000)
    if !isDueLater, later.count + new.count > 0 { return nil }
    return isDueLater ? .later(later.due) : .left(isComplete: receipt.isComplete(name.span))
  }

  /// Calls `body` with each line of the agent about the file's notifications.
  public func forEachSettlement(_ body: (ReceiptLine) -> Void) {
    receipt.forEachLine { line in
      if let line = ReceiptLine(line) { body(line) }
    }
  }

  /// Returns whether an agent works in the spool; nil if this user cannot see it.
  public func isServed() -> Bool? { SpoolLock.isServed(root.number) }

  // MARK: - Parts of the file

  /// Calls `body` with each file of a directory that is the file or a part of it.
  ///
  /// A part comes back from `later/` under the file's name with a dot and more.
  ///
  /// - Parameter head: the number of bytes before the file's name.
  private func forEachPart(
    in directory: StaticString, behind head: Int, _ body: (UnsafePointer<CChar>) -> Void
  ) {
    var error: Int32 = 0
    guard let descriptor = Descriptor(root.number, part: directory, error: &error) else { return }
    let buffer = FixedBuffer<UInt8>(capacity: 32_768)
    let end = head + self.name.span.count
    DirectoryEntry.forEach(in: descriptor.number, buffer.room()) { entry in
      let name = CString.span(entry.name)
      guard name.count == end || name.count > end && name[end] == .dot,
        name.extracting(head..<end).equals(self.name.span)
      else { return }
      body(entry.name)
    }
  }

  private struct Parts {
    var count = 0
    /// The due time of the last part in `later/`.
    var due: Int64 = 0
  }

  @inline(never)
  private func parts(in directory: StaticString, behind head: Int = 0) -> Parts {
    var parts = Parts()
    forEachPart(in: directory, behind: head) { name in
      parts.count += 1
      let date = CString.span(name).extracting(0..<min(head, LaterName.dueDigits))
      parts.due = max(parts.due, Int64(Config.number(date) ?? 0))
    }
    return parts
  }

  private func drain() {
    let buffer = FixedBuffer<UInt8>(capacity: 4096)
    while read(inotify, buffer.room().baseAddress, buffer.capacity) > 0 {}
  }
}
