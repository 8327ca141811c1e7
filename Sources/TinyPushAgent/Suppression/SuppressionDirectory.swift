import CLinux
import TinyPush

/// The suppression list on disk, in the directory `state`.
///
/// Recent changes are in a second file, so that a change of one token does not rewrite the whole
/// list. A program that changes them holds the lock of the directory, and replaces a file as a
/// whole.
public struct SuppressionDirectory: ~Copyable {
  static let listName: StaticString = "suppressed.list"
  static let recentName: StaticString = "recent.list"
  static let draftName: StaticString = ".new"
  /// The names of damaged files.
  static let damagedListName: StaticString = "suppressed.list.damaged"
  static let damagedRecentName: StaticString = "recent.list.damaged"

  /// The end of a message about a damaged list.
  public static let setAside: StaticString =
    " was damaged: the lines that can be read are kept, and the tokens of the others are sent to until the service refuses them; the damaged file now ends in .damaged: suppress its other tokens again (tinypush token suppress), then remove it"

  let directory: Descriptor

  /// Opens the directory, and creates it if it is missing.
  ///
  /// - Parameters:
  ///   - isAgent: whether the program runs as the agent's user, and not as anybody.
  ///   - message: on failure, what is wrong, where, and what to do.
  @inline(never)
  public init(
    _ path: UnsafePointer<CChar>, isAgent: Bool = true, message: inout Text
  ) throws(ExitStatus) {
    var error: Int32 = 0
    if mkdir(path, 0o750) != 0 && clinux_errno() != EEXIST { error = clinux_errno() }
    guard let directory = Descriptor(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, error: &error) else {
      Self.explain(error, path, isAgent: isAgent, in: &message)
      throw error == EACCES || error == EPERM ? .noPermission : .cannotCreate
    }
    self.directory = directory
    OldSuppressionList.takeOver(self.directory.number)
  }

  deinit {}

  /// Appends why the directory cannot be written, and what to do; returns the exit status.
  @inline(never)
  @discardableResult
  public static func explain(
    _ error: Int32, _ path: UnsafePointer<CChar>, isAgent: Bool = true, in text: inout Text
  ) -> ExitStatus {
    text.append("state ", printable: CString.span(path), ": ")
    text.append(cString: clinux_error_text(error))
    switch error {
    case EACCES where !isAgent, EPERM where !isAgent:
      text.append(": run the command as root (sudo)")
    case EACCES, EPERM, EROFS:
      text.append(": make it a directory that the agent's user may write to, or set state")
    case ENOENT, ENOTDIR: text.append(": make it a directory, or set state")
    case ENOSPC, EDQUOT: text.append(": free some space there")
    case EWOULDBLOCK: text.append(": another program has locked it for 10 s: try again")
    default: break
    }
    switch error {
    case EACCES, EPERM: return .noPermission
    case EWOULDBLOCK: return .tryLater
    default: return .inputOutput
    }
  }

  /// Calls `body` with what is known about each token, in their order.
  ///
  /// - Returns: 0 or an errno, and whether the list is damaged.
  public func list(
    _ body: (SuppressionRecord) -> Void
  ) -> (error: Int32, isDamaged: Bool) {
    var error: Int32 = 0
    var lists = SuppressionLists(directory.number, error: &error)
    while let record = lists.next() { body(record) }
    return (error, lists.isDamaged)
  }
}

extension SuppressionLists {
  /// Opens both files.
  ///
  /// - Parameter error: on failure, the errno.
  init(_ directory: Int32, error: inout Int32) {
    self.init()
    refresh(directory, error: &error)
  }

  /// Opens the files that were replaced since this opened them; a missing one counts as empty.
  ///
  /// ``next(isWhole:)`` then begins with the first token.
  ///
  /// - Parameter error: on failure, the errno.
  @inline(never)
  mutating func refresh(_ directory: Int32, error: inout Int32) {
    // Recent changes are read first, so that a merge by another program in between loses nothing.
    recent.refresh(directory, SuppressionDirectory.recentName, error: &error)
    list.refresh(directory, SuppressionDirectory.listName, error: &error)
    rewind()
  }

  /// Opens the list in the directory `state` for reading only.
  ///
  /// If it cannot be read, no token counts as suppressed.
  @inline(never)
  init(state: UnsafePointer<CChar>) {
    var error: Int32 = 0
    guard let directory = Descriptor(AT_FDCWD, state, O_RDONLY | O_DIRECTORY, error: &error) else {
      self.init()
      return
    }
    self.init(directory.number, error: &error)
    extendLifetime(directory)
  }
}

extension SuppressionList {
  private final class File {
    let descriptor: Descriptor
    init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }
    deinit {}
  }

  /// Opens the file of this name, unless it is the open file.
  @inline(never)
  fileprivate mutating func refresh(
    _ directory: Int32, _ name: StaticString, error: inout Int32
  ) {
    guard identity == nil || FileIdentity(directory, name) != identity else { return }
    let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
    var result: Int32 = 0
    guard let descriptor = Descriptor(directory, name.cString, flags, error: &result) else {
      if result != ENOENT { error = result } else { self = SuppressionList() }
      return
    }
    var information = stat()
    guard fstat(descriptor.number, &information) == 0, clinux_is_regular(&information) != 0 else {
      error = EINVAL
      return
    }
    let file = File(descriptor)
    let identity = FileIdentity(&information)
    self = SuppressionList(size: identity.size, identity) { room, place in
      Descriptor.read(file.descriptor.number, room, at: place)
    }
  }
}
