import CLinux
import TinyPush

/// The suppression list on disk, in the directory of the setting `state`: the list, and beside it what has changed lately, so
/// that a change of one token does not write all of them anew. Whoever changes them holds the lock of the directory, and puts a
/// new file in the place of the old one.
public struct SuppressionDirectory: ~Copyable {
  static let listName: StaticString = "suppressed"
  static let recentName: StaticString = "recent"
  static let draftName: StaticString = ".new"
  /// Files that were not as they were written.
  static let damagedListName: StaticString = "suppressed.damaged"
  static let damagedRecentName: StaticString = "recent.damaged"

  /// Said of a list that is not as it was written.
  public static let setAside: StaticString =
    " was damaged, or written by another version: the file has .damaged behind its name now, and the tokens in it are sent to again until the service refuses them: put a copy of the list in its place, or remove the file"

  let directory: Descriptor

  /// Opens the directory, which is made if it is not there.
  ///
  /// - Parameter message: on failure, what is wrong, where, and what to do.
  @inline(never)
  public init(_ path: UnsafePointer<CChar>, message: inout Text) throws(ExitStatus) {
    var error: Int32 = 0
    if mkdir(path, 0o750) != 0 && clinux_errno() != EEXIST { error = clinux_errno() }
    guard let directory = Descriptor(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, error: &error) else {
      Self.explain(error, path, in: &message)
      throw error == EACCES || error == EPERM ? .noPermission : .cannotCreate
    }
    self.directory = directory
  }

  deinit {}

  /// Says why nothing can be kept there.
  @inline(never)
  @discardableResult
  public static func explain(
    _ error: Int32, _ path: UnsafePointer<CChar>, in text: inout Text
  ) -> ExitStatus {
    text.append("state ")
    text.append(printable: CString.span(path))
    text.append(": ")
    text.append(cString: clinux_error_text(error))
    switch error {
    case EACCES, EPERM, EROFS:
      text.append(": make it a directory that the agent's user may write to, or set state")
    case ENOENT, ENOTDIR: text.append(": make it a directory, or set state")
    case ENOSPC, EDQUOT: text.append(": make room there")
    default: break
    }
    return error == EACCES || error == EPERM ? .noPermission : .inputOutput
  }

  /// Everything that is known: tokens of the usual size in their order, and then the others.
  ///
  /// - Returns: 0, or an errno; and whether the list is not as it was written.
  public func list(
    _ body: (Span<UInt8>, SuppressionRecord.Reason, UInt32) -> Void
  ) -> (error: Int32, isDamaged: Bool) {
    var error: Int32 = 0
    var lists = SuppressionLists(directory.number, error: &error)
    var others = OtherTokens()
    while let record = lists.next() { body(record.token.bytes.span, record.reason, record.time) }
    lists.list.readOthers(into: &others)
    others.forEachToken { token, time in body(token, .feedback, time) }
    return (error, lists.isDamaged)
  }
}

extension SuppressionLists {
  /// Both as they are on disk; empty where there are none.
  ///
  /// - Parameter error: on failure, the errno.
  init(_ directory: Int32, error: inout Int32) {
    self.init()
    // What changed lately comes first: a merge that comes between takes nothing away.
    recent = .open(directory, SuppressionDirectory.recentName, error: &error)
    list = .open(directory, SuppressionDirectory.listName, error: &error)
  }

  /// Those in the directory `state`, for somebody who changes nothing there. Where they cannot be read, nothing is known of
  /// any token.
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

  /// The file of this name; empty where there is none.
  ///
  /// - Parameter error: on failure, the errno.
  @inline(never)
  static func open(
    _ directory: Int32, _ name: StaticString, error: inout Int32
  ) -> SuppressionList {
    let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
    var result: Int32 = 0
    guard let descriptor = Descriptor(directory, name.cString, flags, error: &result) else {
      if result != ENOENT { error = result }
      return SuppressionList()
    }
    var information = stat()
    guard fstat(descriptor.number, &information) == 0, clinux_is_regular(&information) != 0 else {
      error = EINVAL
      return SuppressionList()
    }
    let file = File(descriptor)
    return SuppressionList(size: Int64(information.st_size)) { room, place in
      Descriptor.read(file.descriptor.number, room, at: place)
    }
  }
}
