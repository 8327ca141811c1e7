import CLinux
import TinyPush

/// The senders' side of the spool: a file is written in `tmp/` and renamed into `new/`.
///
/// So the agent never sees half of a file. If the file system supports it, the file has no name
/// until it is complete, and disappears if the program ends before.
public struct DropBox: ~Copyable {
  private let tmp: Descriptor
  private let new: Descriptor
  private let file: Descriptor
  /// The file's name in `tmp/`, which it may not have yet.
  private let temporary: CString
  private var hasName: Bool

  /// What failed, with the errno.
  public enum Problem: Error {
    case noSpool(Int32)
    case cannotWrite(Int32)
    /// The file is in `new/`.
    case cannotSync(Int32)
    /// The file is in `new/`, but its receipt cannot be read.
    case noReceipt(Int32)

    /// The exit status for the problem.
    public var status: ExitStatus {
      switch self {
      case .noSpool(EACCES), .cannotWrite(EACCES), .cannotWrite(EPERM): .noPermission
      case .noSpool, .cannotWrite(ENOENT): .noInput
      case .cannotWrite(ENOSPC), .cannotWrite(EDQUOT), .cannotWrite(EIO), .cannotSync, .noReceipt:
        .inputOutput
      case .cannotWrite: .cannotCreate
      }
    }

    /// The errno.
    public var number: Int32 {
      switch self {
      case .noSpool(let error), .cannotWrite(let error), .cannotSync(let error),
        .noReceipt(let error):
        error
      }
    }

    /// Returns the message for the user.
    @inline(never)
    public func text(_ spool: UnsafePointer<CChar>) -> Text {
      var text = Text()
      text.append("spool ", printable: CString.span(spool), ": ")
      switch self {
      case .noSpool(EACCES), .cannotWrite(EACCES), .cannotWrite(EPERM):
        text.append("no permission to write to tmp/ and new/: ")
        var information = stat()
        if stat(spool, &information) == 0 {
          text.append("you must be a member of the group ")
          if let name = clinux_group_name(information.st_gid) {
            text.append(cString: name)
            text.append(" (adduser USER ", cString: name)
            text.append(", and log in again)")
          } else {
            text.append(information.st_gid)
          }
          text.append(", and the group must have write permission")
        } else {
          text.append("are you a member of the spool's group?")
        }
      case .noSpool(let error):
        text.append(cString: clinux_error_text(error))
        text.append(": name the right spool with --config FILE or -o spool=DIR")
      case .cannotWrite(let error):
        text.append("cannot write to tmp/ and new/, and nothing was queued: ")
        text.append(cString: clinux_error_text(error))
      case .cannotSync(let error):
        text.append("the file is in new/, but may not survive a power cut: ")
        text.append(cString: clinux_error_text(error))
      case .noReceipt(let error):
        text.append("the file is in new/, but its receipt in tmp/ cannot be read: ")
        text.append(cString: clinux_error_text(error))
      }
      return text
    }
  }

  /// Creates a file in `tmp/`.
  ///
  /// The spool's group may read it whatever the umask is, because the agent belongs to the group.
  public init(_ spool: UnsafePointer<CChar>) throws(Problem) {
    var error: Int32 = 0
    guard let root = Descriptor.spool(spool, error: &error) else { throw .noSpool(error) }
    try self.init(in: root.number)
  }

  /// Creates a file in `tmp/` of an open spool.
  ///
  /// - Parameter root: the spool.
  init(in root: Int32) throws(Problem) {
    var error: Int32 = 0
    guard let tmp = Descriptor(root, part: "tmp", error: &error),
      let new = Descriptor(root, part: "new", error: &error)
    else { throw .cannotWrite(error) }
    let temporary = Self.newName()
    let unnamed = clinux_open_unnamed(tmp.number, ".", 0o640)
    if unnamed >= 0 {
      file = Descriptor(number: unnamed)
      hasName = false
    } else {
      clinux_remove_when_ended(tmp.number, temporary.pointer)
      let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW
      guard let named = Descriptor(tmp.number, temporary.pointer, flags, 0o640, error: &error)
      else {
        clinux_remove_when_ended(-1, nil)
        throw .cannotWrite(error)
      }
      file = named
      hasName = true
    }
    var information = stat()
    if fstat(root, &information) == 0 { fchown(file.number, uid_t.max, information.st_gid) }
    fchmod(file.number, 0o640)
    self.tmp = tmp
    self.new = new
    self.temporary = temporary
  }

  @inline(never)
  deinit {
    if hasName { unlinkat(tmp.number, temporary.pointer, 0) }
    clinux_remove_when_ended(-1, nil)
  }

  /// Appends bytes to the file.
  public func write(_ bytes: Span<UInt8>) throws(Problem) {
    let error = Descriptor.writeAll(file.number, bytes)
    guard error == 0 else { throw .cannotWrite(error) }
  }

  /// Moves the file into `new/`, and returns its name there.
  ///
  /// Names sort by time, to the nanosecond. The process ID makes them unique.
  ///
  /// - Parameters:
  ///   - isSynced: whether the file is on disk afterwards.
  ///   - isAwaited: whether the sender waits for the outcome, see ``OutcomeWatch``.
  public mutating func drop(isSynced: Bool, isAwaited: Bool = false) throws(Problem) -> CString {
    try name(isSynced: isSynced)
    while true {
      let final = Self.newName(isAwaited: isAwaited)
      let error = move(to: final, isAwaited: isAwaited)
      // The clock of this machine is too coarse for two names.
      if error == EEXIST { continue }
      guard error == 0 else { throw .cannotWrite(error) }
      if isSynced { try Self.sync(new.number) }
      return final
    }
  }

  /// Moves the file into `new/`, after making its receipt; returns 0 or an errno.
  private mutating func move(to name: borrowing CString, isAwaited: Bool = false) -> Int32 {
    var information = stat()
    fstat(file.number, &information)
    if isAwaited {
      let error = SenderReceipt.make(for: name.span, in: tmp.number, group: information.st_gid)
      guard error == 0 else { return error }
    }
    let error = -clinux_rename_new(tmp.number, temporary.pointer, new.number, name.pointer)
    if error == 0 {
      hasName = false
    } else if isAwaited {
      SenderReceipt.remove(for: name.span, in: tmp.number)
    }
    return error
  }

  /// Moves the file into `new/` under a given name, and syncs it.
  ///
  /// An earlier call, which was interrupted, may have done so already.
  mutating func drop(as name: Span<UInt8>) throws(Problem) {
    try self.name(isSynced: true)
    let target = CString(name)
    let error = move(to: target)
    guard error == 0 || error == EEXIST && isSame(target) else { throw .cannotWrite(error) }
    try Self.sync(new.number)
  }

  /// Whether a file in `new/` is probably an earlier copy of this one.
  ///
  /// Another member of the group could have put something else there.
  private func isSame(_ name: borrowing CString) -> Bool {
    var (own, other) = (stat(), stat())
    return fstat(file.number, &own) == 0
      && fstatat(new.number, name.pointer, &other, AT_SYMLINK_NOFOLLOW) == 0
      && clinux_is_regular(&other) != 0 && other.st_uid == own.st_uid
      && other.st_size == own.st_size
  }

  /// Gives the complete file its name in `tmp/`.
  private mutating func name(isSynced: Bool) throws(Problem) {
    if isSynced, fdatasync(file.number) != 0 { throw .cannotWrite(clinux_errno()) }
    guard !hasName else { return }
    var path = Text(capacity: 32)
    path.append("/proc/self/fd/", file.number)
    let source = path.cString()
    guard linkat(AT_FDCWD, source.pointer, tmp.number, temporary.pointer, AT_SYMLINK_FOLLOW) == 0
    else { throw .cannotWrite(clinux_errno()) }
    hasName = true
  }

  /// Syncs a directory, or the whole file system if it cannot sync a directory.
  private static func sync(_ directory: Int32) throws(Problem) {
    let error = Descriptor.syncDirectory(directory)
    guard error == 0 else { throw .cannotSync(error) }
  }

  private static func newName(isAwaited: Bool = false) -> CString {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    var name = Text(capacity: 64)
    name.append(Int64(time.tv_sec), digits: 10)
    name.append(".")
    name.append(Int64(time.tv_nsec), digits: 9)
    name.append(".", getpid())
    if isAwaited { name.append(SpoolName.awaited) }
    return name.cString()
  }
}
