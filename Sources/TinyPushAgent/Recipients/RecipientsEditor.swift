import CLinux
import TinyPush

/// Changes a recipients file by replacing it with a new one.
///
/// So readers see the old or the new file, even after a power cut.
public struct RecipientsEditor: ~Copyable {
  /// The longest line that can be changed.
  private static let lineBytesMax = 4096
  private static let writtenBytesMax = 16_384
  /// Hidden, because otherwise it would be a recipients file.
  private static let draftName: StaticString = ".new"

  private let path: CString
  private let name: CString
  private let directory: Descriptor
  private let pinned = Pinned()

  /// Opens the directory.
  ///
  /// - Parameters:
  ///   - path: the directory of the recipients files.
  ///   - name: the name of the file, which must satisfy ``RecipientsFile/isName(_:)``.
  ///   - message: on failure, what is wrong, where, and what to do.
  @inline(never)
  public init(_ path: Span<UInt8>, _ name: Span<UInt8>, message: inout Text) throws(ExitStatus) {
    self.path = CString(path)
    self.name = CString(name)
    var error: Int32 = 0
    guard
      let directory = Descriptor(
        AT_FDCWD, self.path.pointer, O_RDONLY | O_DIRECTORY, error: &error)
    else { throw Self.explain(error, path, nil, in: &message) }
    self.directory = directory
  }

  @inline(never)
  deinit {}

  /// Makes the change, and stores its result in `change`.
  @inline(never)
  public borrowing func make(
    _ change: inout RecipientChange, message: inout Text
  ) throws(ExitStatus) {
    var error: Int32 = 0
    guard let lock = DirectoryLock(directory.number, waitMs: DirectoryLock.patience, error: &error)
    else {
      guard error == EWOULDBLOCK else { throw Self.explain(error, path.span, nil, in: &message) }
      message.append("another program has locked ", printable: path.span)
      message.append(" for 10 s: try again, or end that program")
      throw .tryLater
    }
    error = edit(&change)
    extendLifetime(lock)
    guard error != 0 else { return }
    throw Self.explain(error, path.span, name.span, in: &message)
  }

  /// Replaces the file; returns 0 or an errno.
  private borrowing func edit(_ change: inout RecipientChange) -> Int32 {
    var error: Int32 = 0
    let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
    let file = Descriptor(directory.number, name.pointer, flags, error: &error)
    guard file != nil || error == ENOENT && change.outcome != .absent else { return error }
    var information = stat()
    let number = Self.number(file)
    if let number {
      guard fstat(number, &information) == 0 else { return clinux_errno() }
      guard clinux_is_regular(&information) != 0 else { return EINVAL }
      // A user who may not write to the file may not replace it either, even if the directory
      // allows it.
      guard faccessat(directory.number, name.pointer, W_OK, AT_EACCESS) == 0 else {
        return clinux_errno()
      }
    } else {
      guard fstat(directory.number, &information) == 0 else { return clinux_errno() }
      information.st_mode &= 0o666
    }
    error = Replacement.make(
      directory.number, name.pointer, Self.draftName.cString, mode: 0o600
    ) { draft in
      var error = Self.copy(number, to: draft, &change)
      guard error == 0 else { return error }
      switch change.outcome {
      case .unchanged, .absent, .ambiguous: return ECANCELED
      case .added, .updated, .registered, .removed: break
      }
      error = Self.give(draft, information)
      guard error == 0 else { return error }
      guard fsync(draft) == 0 else { return clinux_errno() }
      // Text editors do not use the lock.
      return isCurrent(number, information) ? 0 : ESTALE
    }
    extendLifetime(file)
    return error == ECANCELED ? 0 : error
  }

  private static func number(_ file: borrowing Descriptor?) -> Int32? {
    switch file {
    case .some(let descriptor): descriptor.number
    case .none: nil
    }
  }

  /// Writes the changed file to the draft; returns 0 or an errno.
  private static func copy(
    _ file: Int32?, to draft: Int32, _ change: inout RecipientChange
  ) -> Int32 {
    var text = Text(capacity: writtenBytesMax + 2 * lineBytesMax)
    if let file {
      var lines = FileLines(file, capacity: lineBytesMax)
      while true {
        let count = lines.next()
        guard count >= 0 else { return Int32(-count) }
        guard count > 0 else { break }
        if lines.isBeginning, lines.isEnd {
          change.take(lines.line, to: &text)
        } else {
          text.append(bytes: lines.line)
        }
        let error = text.count > writtenBytesMax ? flush(&text, to: draft) : 0
        guard error == 0 else { return error }
      }
    }
    change.finish(&text)
    return flush(&text, to: draft)
  }

  private static func flush(_ text: inout Text, to draft: Int32) -> Int32 {
    let error = Descriptor.writeAll(draft, text.bytes)
    text.clear()
    return error
  }

  /// Gives the draft the owner, group and mode of the file, or of the directory if the file is new.
  ///
  /// Only root can change the owner; otherwise the file belongs to this user now. Returns 0 or an
  /// errno.
  private static func give(_ draft: Int32, _ model: stat) -> Int32 {
    if fchown(draft, model.st_uid, model.st_gid) != 0 {
      // A file in a directory with the bit setgid has the group already, of which a service of
      // systemd may know no number.
      var information = stat()
      guard fstat(draft, &information) == 0 else { return clinux_errno() }
      let keep = uid_t.max
      guard information.st_gid == model.st_gid || fchown(draft, keep, model.st_gid) == 0 else {
        return clinux_errno()
      }
    }
    return fchmod(draft, model.st_mode & 0o7777) == 0 ? 0 : clinux_errno()
  }

  /// Whether the file is still the one that was read.
  private borrowing func isCurrent(_ file: Int32?, _ known: stat) -> Bool {
    var present = stat()
    let result = fstatat(directory.number, name.pointer, &present, AT_SYMLINK_NOFOLLOW)
    guard file != nil else { return result != 0 && clinux_errno() == ENOENT }
    var known = known
    return result == 0 && FileIdentity(&present) == FileIdentity(&known)
  }

  /// Appends why a file or the directory cannot be read or changed, and returns the exit status.
  @inline(never)
  public static func explain(
    _ error: Int32, _ directory: Span<UInt8>, _ name: Span<UInt8>?, in message: inout Text
  ) -> ExitStatus {
    message.append("recipients ", printable: directory)
    if let name {
      message.append("/", printable: name)
    }
    message.append(": ")
    switch error {
    case ELOOP:
      message.append("is a symbolic link: change the file that it leads to")
      return .cannotCreate
    case EINVAL:
      message.append("is not a regular file: remove it")
      return .cannotCreate
    case ESTALE:
      message.append("was changed meanwhile, so nothing was done: try again")
      return .tryLater
    default: message.append(cString: clinux_error_text(error))
    }
    switch error {
    case ENOENT where name == nil, ENOTDIR:
      message.append(": create the directory, or set recipients")
      return .noInput
    case ENOENT:
      message.append(": tinypush recipient list prints the files that exist")
      return .noInput
    case EACCES, EPERM:
      message.append(
        ": run the command as root, or let the group write to the directory, which must not be sticky, and to the file (man tinypush-recipient)"
      )
      return .noPermission
    case EROFS:
      message.append(": mount it writable, or set recipients")
      return .cannotCreate
    case ENOSPC, EDQUOT:
      message.append(": free some space there; nothing has changed")
      return .inputOutput
    default: return .inputOutput
    }
  }
}
