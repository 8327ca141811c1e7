import CLinux
import TinyPush

/// The directories of the spool in which notifications lie.
public enum QueuePlace: Int {
  /// They wait to be delivered.
  case new
  /// They wait for their time.
  case later
  /// They were refused.
  case failed

  public var name: StaticString {
    switch self {
    case .new: "new"
    case .later: "later"
    case .failed: "failed"
    }
  }
}

/// The spool as its operator sees it: what lies in it, in the order of names. It works beside an agent, and its memory is
/// the same however much there is.
public struct Queue: ~Copyable {
  private let pinned = Pinned()
  /// What is kept of a directory's names at a time: a million names take some twenty scans, and no more than this.
  private static let namesMax = 65_536
  private static let nameBytesMax = 32 * namesMax

  let root: Descriptor

  /// - Parameter message: on failure, what is wrong, where, and what to do.
  public init(_ spool: UnsafePointer<CChar>, message: inout Text) throws(ExitStatus) {
    var error: Int32 = 0
    guard let root = Descriptor.spool(spool, error: &error) else {
      let problem = DropBox.Problem.noSpool(error)
      if error == EACCES {
        message.append("spool ")
        message.append(printable: CString.span(spool))
        message.append(": ")
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

  /// Whether an agent works here; nil when this user may not know.
  public func isServed() -> Bool? { SpoolLock.isServed(root.number) }

  // MARK: - Files

  /// Calls `body` with each file, the smallest name first. What comes meanwhile may or may not be among them.
  ///
  /// - Returns: 0, or the errno for which it did not come to the end.
  @inline(never)
  public func forEach(
    in place: QueuePlace, _ body: (borrowing QueueFile) -> Void
  ) -> Int32 {
    var error: Int32 = 0
    guard let directory = Descriptor(root.number, part: place.name, error: &error) else {
      // It is made when something comes that waits.
      return place == .later && error == ENOENT ? 0 : error
    }
    var names = Backlog(namesMax: Self.namesMax, nameBytesMax: Self.nameBytesMax)
    var isFirst = true
    repeat {
      guard Self.scan(directory.number, place, isFromStart: isFirst, &names) else {
        return clinux_errno()
      }
      isFirst = false
      while !names.isEmpty {
        if let file = QueueFile(directory.number, names.smallest(), in: place) { body(file) }
        names.removeSmallest()
      }
    } while !names.isComplete
    return 0
  }

  /// Looks for the next names. Whether it came to the end of the directory.
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

  /// Why this user may not look into a directory (errno); 0: nothing hinders it, or the directory is not there.
  public func errorOfOpening(_ place: QueuePlace) -> Int32 {
    var error: Int32 = 0
    guard Descriptor(root.number, part: place.name, error: &error) == nil else { return 0 }
    return error == ENOENT ? 0 : error
  }

  /// The file of this name; nil: there is none.
  @inline(never)
  public func file(named name: Span<UInt8>, in place: QueuePlace) -> QueueFile? {
    var error: Int32 = 0
    guard Self.isName(name),
      let directory = Descriptor(root.number, part: place.name, error: &error)
    else { return nil }
    return QueueFile(directory.number, name, in: place)
  }

  /// Whether a file may have this name: nothing that leads elsewhere, and nothing that the agent keeps for itself.
  public static func isName(_ name: Span<UInt8>) -> Bool {
    guard name.count > 0, name.count <= Int(NAME_MAX), name[0] != .dot else { return false }
    for index in name.indices where name[index] == .slash || name[index] == 0 { return false }
    return true
  }

  /// Removes a file. Returns 0 or the errno.
  @inline(never)
  public func remove(_ file: borrowing QueueFile) -> Int32 {
    var error: Int32 = 0
    guard let directory = Descriptor(root.number, part: file.place.name, error: &error) else {
      return error
    }
    return unlinkat(directory.number, file.pointer, 0) == 0 ? 0 : clinux_errno()
  }

  /// Has what was removed gone from the disk. Returns 0 or the errno.
  public func sync(_ place: QueuePlace) -> Int32 {
    var error: Int32 = 0
    guard let directory = Descriptor(root.number, part: place.name, error: &error) else {
      return error == ENOENT ? 0 : error
    }
    return Descriptor.syncDirectory(directory.number)
  }
}
