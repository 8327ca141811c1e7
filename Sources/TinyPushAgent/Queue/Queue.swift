import CLinux
import TinyPush

/// The spool's directories with notifications.
public enum QueuePlace: Int, CaseIterable {
  /// Notifications that wait to be delivered.
  case new
  /// Notifications that wait until they are due.
  case later
  /// Notifications that were refused or rejected.
  case failed

  /// The name of the directory.
  public var name: StaticString {
    switch self {
    case .new: "new"
    case .later: "later"
    case .failed: "failed"
    }
  }
}

/// The spool as its operator sees it, with its files in the order of their names.
///
/// It works beside an agent, and needs the same memory for any number of files.
public struct Queue: ~Copyable {
  private let pinned = Pinned()
  /// The most names of a directory in memory; a million names take some twenty scans.
  private static let namesMax = 65_536
  private static let nameBytesMax = 32 * namesMax

  let root: Descriptor

  /// Opens the spool.
  ///
  /// - Parameter message: on failure, what is wrong, where, and what to do.
  public init(_ spool: UnsafePointer<CChar>, message: inout Text) throws(ExitStatus) {
    var error: Int32 = 0
    guard let root = Descriptor.spool(spool, error: &error) else {
      let problem = DropBox.Problem.noSpool(error)
      if error == EACCES {
        message.append("spool ", printable: CString.span(spool), ": ")
        message.append(cString: clinux_error_text(error))
        message.append(": run the command as root (sudo), or as a member of the spool's group")
      } else {
        message.append(problem.text(spool))
      }
      throw problem.status
    }
    self.root = root
  }

  deinit {}

  /// Returns whether an agent works here; nil if this user cannot see it.
  public func isServed() -> Bool? { SpoolLock.isServed(root.number) }

  // MARK: - Files

  /// Calls `body` with each file in the order of the names.
  ///
  /// A file that comes meanwhile may be missing.
  ///
  /// - Returns: 0, or the errno that ended it early.
  @inline(never)
  public func forEach(
    in place: QueuePlace, where isWanted: (Span<UInt8>) -> Bool = { _ in true },
    _ body: (borrowing QueueFile) -> Void
  ) -> Int32 {
    let error = forEach(in: place, place.name, where: isWanted, body)
    guard error == 0, place == .new else { return error }
    // Only the agent's user and root can see what the agent has taken.
    let ofTaken = forEach(in: place, TakenDirectory.name, where: isWanted, body)
    return ofTaken == EACCES ? 0 : ofTaken
  }

  private func forEach(
    in place: QueuePlace, _ part: StaticString, where isWanted: (Span<UInt8>) -> Bool,
    _ body: (borrowing QueueFile) -> Void
  ) -> Int32 {
    var error: Int32 = 0
    let isTaken = part.span.equals(TakenDirectory.name)
    guard let directory = Descriptor(root.number, part: part, error: &error) else {
      // The agent creates later/ when the first notification has to wait, and taken/ at its start.
      return (place == .later || isTaken) && error == ENOENT ? 0 : error
    }
    var names = Backlog(namesMax: Self.namesMax, nameBytesMax: Self.nameBytesMax)
    var isFirst = true
    repeat {
      guard Self.scan(directory.number, place, isFromStart: isFirst, &names) else {
        return clinux_errno()
      }
      isFirst = false
      while !names.isEmpty {
        Self.visit(names.smallest(), in: directory.number, place, isTaken: isTaken, isWanted, body)
        names.removeSmallest()
      }
    } while !names.isComplete
    return 0
  }

  private static func visit(
    _ name: Span<UInt8>, in directory: Int32, _ place: QueuePlace, isTaken: Bool,
    _ isWanted: (Span<UInt8>) -> Bool, _ body: (borrowing QueueFile) -> Void
  ) {
    guard isWanted(isTaken ? TakenName.source(of: name) : name),
      let file = QueueFile(directory, name, in: place, isTaken: isTaken), !file.isSettled
    else { return }
    body(file)
  }

  /// Reads the next names, and returns whether the directory was read to its end.
  @inline(never)
  private static func scan(
    _ directory: Int32, _ place: QueuePlace, isFromStart: Bool, _ names: inout Backlog
  ) -> Bool {
    let room = FixedBuffer<UInt8>(capacity: 32_768)
    names.startScan(isFromStart: isFromStart)
    let isWhole = DirectoryEntry.forEach(in: directory, room.room()) { entry in
      guard !entry.isHidden, place == .new || entry.mayBeFile else { return }
      names.offer(CString.span(entry.name))
    }
    names.putInOrder()
    return isWhole
  }

  /// Returns the name of the directory, or `taken/` for that of waiting files, that this user may not
  /// read; nil: there is none.
  public func unreadable(_ place: QueuePlace) -> StaticString? {
    if isUnreadable(place.name) { return place.name }
    return place == .new && isUnreadable(TakenDirectory.name) ? TakenDirectory.name : nil
  }

  private func isUnreadable(_ part: StaticString) -> Bool {
    var error: Int32 = 0
    return Descriptor(root.number, part: part, error: &error) == nil && error != ENOENT
  }

  /// Calls `body` with each file of this name; returns whether there is one.
  ///
  /// The agent may have taken several that had the same name in `new/`, one after the other.
  @inline(never)
  public func forEach(
    named name: Span<UInt8>, in place: QueuePlace, _ body: (borrowing QueueFile) -> Void
  ) -> Bool {
    var error: Int32 = 0
    guard Self.isName(name),
      let directory = Descriptor(root.number, part: place.name, error: &error)
    else { return false }
    var isFound = false
    if let file = QueueFile(directory.number, name, in: place) {
      isFound = true
      body(file)
    }
    guard place == .new,
      let taken = Descriptor(root.number, part: TakenDirectory.name, error: &error)
    else { return isFound }
    let room = FixedBuffer<UInt8>(capacity: 32_768)
    DirectoryEntry.forEach(in: taken.number, room.room()) { entry in
      let path = CString.span(entry.name)
      guard TakenName.source(of: path).equals(name),
        let file = QueueFile(taken.number, path, in: .new, isTaken: true), !file.isSettled
      else { return }
      isFound = true
      body(file)
    }
    return isFound
  }

  /// Whether a file may have this name: no path, and no name that the agent uses itself.
  public static func isName(_ name: Span<UInt8>) -> Bool {
    guard name.count > 0, name.count <= Int(NAME_MAX), name[0] != .dot else { return false }
    for index in name.indices where name[index] == .slash || name[index] == 0 { return false }
    return true
  }

  /// Removes a file; returns 0 or an errno.
  @inline(never)
  public func remove(_ file: borrowing QueueFile) -> Int32 {
    var error: Int32 = 0
    guard let directory = Descriptor(root.number, part: file.directoryName, error: &error) else {
      return error
    }
    return unlinkat(directory.number, file.pointer, 0) == 0 ? 0 : clinux_errno()
  }

  /// Tells a running agent that files which it has taken were removed.
  public func tellOfRemovals() {
    var error: Int32 = 0
    guard let taken = Descriptor(root.number, part: TakenDirectory.name, error: &error) else {
      return
    }
    let name = TakenDirectory.dropMark.cString
    unlinkat(taken.number, name, 0)
    _ = Descriptor(
      taken.number, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600, error: &error)
    unlinkat(taken.number, name, 0)
  }

  /// Syncs the removals in a directory; returns 0 or an errno.
  public func sync(_ place: QueuePlace) -> Int32 {
    let error = sync(place.name)
    guard error == 0, place == .new else { return error }
    let errorOfTaken = sync(TakenDirectory.name)
    // A user who may not enter the directory has removed nothing there.
    return errorOfTaken == EACCES ? 0 : errorOfTaken
  }

  private func sync(_ part: StaticString) -> Int32 {
    var error: Int32 = 0
    guard let directory = Descriptor(root.number, part: part, error: &error) else {
      return error == ENOENT ? 0 : error
    }
    return Descriptor.syncDirectory(directory.number)
  }
}
