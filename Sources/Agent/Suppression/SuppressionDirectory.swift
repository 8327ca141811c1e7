import CLinux
import TinyPush

/// The suppression list on disk, in the directory of the setting `state`: the list, and beside it what has changed lately, so
/// that a change of one token does not write all of them anew. Whoever changes them holds the lock of the directory, and puts a
/// new file in the place of the old one.
public struct SuppressionDirectory: ~Copyable {
  static let listName: StaticString = "suppressed"
  static let recentName: StaticString = "recent"
  static let draftName: StaticString = ".new"
  /// More than so many changes are merged into the list.
  static let recentMax = 1024

  /// Said of a list that was damaged.
  public static let mended: StaticString =
    " was damaged: it is made anew from what could be read, and the old file has .damaged behind its name"

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
  static func explain(_ error: Int32, _ path: UnsafePointer<CChar>, in text: inout Text) {
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
  }

  /// Whether it is still the directory at `path`.
  func isCurrent(_ path: UnsafePointer<CChar>) -> Bool {
    var known = stat()
    var present = stat()
    return fstat(directory.number, &known) == 0 && stat(path, &present) == 0
      && known.st_ino == present.st_ino && known.st_dev == present.st_dev
  }

  /// Both files, what changed first: a merge that comes between takes nothing away.
  func sources(error: inout Int32) -> (recent: RecordSource?, list: RecordSource?)? {
    error = 0
    let recent = RecordSource(directory.number, Self.recentName, error: &error)
    guard recent != nil || error == ENOENT else { return nil }
    let list = RecordSource(directory.number, Self.listName, error: &error)
    guard list != nil || error == ENOENT else { return nil }
    error = 0
    return (recent, list)
  }
}
