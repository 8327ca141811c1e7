import CLinux
import TinyPush

/// What has become of a file that was put into the spool.
public enum Outcome {
  /// The file has left the spool; ``OutcomeWatch/forEachSettlement(_:)`` tells how its notifications were settled.
  ///
  /// - `isComplete`: the agent has said all. Otherwise somebody has removed the file.
  case left(isComplete: Bool)
  /// It waits in `later/` for its time, a UNIX second; the last part of it, where it has several.
  case later(Int64)
  /// It has been waited for long enough.
  case pending
}

/// Awaits what becomes of a file in the spool. It looks at the file alone, so that it sleeps however much goes on around it.
public struct OutcomeWatch: ~Copyable {
  /// How often what inotify does not tell of is looked at.
  private static let pause = Duration.milliseconds(500)

  private let root: Descriptor
  private let inotify: Int32
  private let name: CString
  private let path: CString
  private let receipt: SenderReceipt

  /// - Parameter name: of the file in `new/`, which ``DropBox`` put there as one that is awaited.
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

  /// Waits until the file's outcome is known, or the time is over.
  public func outcome(within time: Duration) -> Outcome {
    let deadline = Clock.now() + time
    // What it has come to is looked at after each of these, so that nothing is missed.
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

  /// Of a file that is not in `new/`. Nil: something of it is there again, or is soon to be.
  private func outcomeOutside(_ left: Duration) -> Outcome? {
    // In this order: what is due goes from later/ to new/.
    let later = parts(in: "later", behind: LaterName.headBytes)
    let new = parts(in: "new")
    let isDueLater = later.due - Clock.wallSeconds() > Int64(left.milliseconds / 1000)
    if !isDueLater, later.count + new.count > 0 { return nil }
    return isDueLater ? .later(later.due) : .left(isComplete: receipt.isComplete(name.span))
  }

  /// Goes over what the agent has said of the file's notifications.
  public func forEachSettlement(_ body: (ReceiptLine) -> Void) {
    receipt.forEachLine { line in
      if let line = ReceiptLine(line) { body(line) }
    }
  }

  /// Whether an agent works in the spool; nil when this user may not know.
  public func isServed() -> Bool? { SpoolLock.isServed(root.number) }

  // MARK: - Its parts

  /// Goes over the files of a directory whose names are that of the file, or begin with it and a point: what has waited in
  /// `later/` comes back so.
  ///
  /// - Parameter head: how many bytes stand before all that.
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
    /// Of those in `later/`, the date of the last.
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
