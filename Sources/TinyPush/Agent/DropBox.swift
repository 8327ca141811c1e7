import CLinux

/// The writers' side of the spool: a file is written in `tmp/` and renamed into `new/`, so that the agent never sees half
/// of one. Until then it has no name where the file system can do that, and nothing is left of it however the program ends.
public struct DropBox: ~Copyable {
  private let root: Descriptor
  private let file: Descriptor
  /// Where it is, or is to be, in `tmp/`.
  private let temporary: CString
  private var hasName: Bool

  /// What could not be done, and why (errno).
  public enum Problem: Error {
    case noSpool(Int32)
    case cannotWrite(Int32)
    /// It is in `new/`.
    case cannotSync(Int32)

    public var status: ExitStatus {
      switch self {
      case .noSpool(EACCES), .cannotWrite(EACCES), .cannotWrite(EPERM): .noPermission
      case .noSpool, .cannotWrite(ENOENT): .noInput
      case .cannotWrite(ENOSPC), .cannotWrite(EDQUOT), .cannotWrite(EIO), .cannotSync: .inputOutput
      case .cannotWrite: .cannotCreate
      }
    }

    /// The errno.
    public var number: Int32 {
      switch self {
      case .noSpool(let error), .cannotWrite(let error), .cannotSync(let error): error
      }
    }

    public func text(_ spool: UnsafePointer<CChar>) -> Text {
      var text = Text()
      text.append("spool ")
      text.append(printable: CString.span(spool))
      text.append(": ")
      switch self {
      case .noSpool(EACCES), .cannotWrite(EACCES), .cannotWrite(EPERM):
        text.append("no permission to write to tmp/ and new/: ")
        var information = stat()
        if stat(spool, &information) == 0 {
          text.append("this takes a member of the group ")
          if let name = clinux_group_name(information.st_gid) {
            text.append(cString: name)
          } else {
            text.append(information.st_gid)
          }
          text.append(", which must have the right to write there")
        } else {
          text.append("are you a member of the spool's group?")
        }
      case .noSpool(let error):
        text.append(cString: clinux_error_text(error))
        text.append(": name the right one with --config FILE or -o spool=DIR")
      case .cannotWrite(let error):
        text.append("cannot write to tmp/ and new/, and nothing was queued: ")
        text.append(cString: clinux_error_text(error))
      case .cannotSync(let error):
        text.append("it is in new/, but may not outlive a power cut: ")
        text.append(cString: clinux_error_text(error))
      }
      return text
    }
  }

  /// Begins a file. The spool's group may read it whatever the umask says: the agent belongs to it.
  public init(_ spool: UnsafePointer<CChar>) throws(Problem) {
    var error: Int32 = 0
    guard let root = Descriptor(AT_FDCWD, spool, O_RDONLY | O_DIRECTORY, error: &error) else {
      throw .noSpool(error)
    }
    let temporary = Self.newName(in: "tmp/")
    let unnamed = clinux_open_unnamed(root.number, "tmp", 0o640)
    if unnamed >= 0 {
      file = Descriptor(number: unnamed)
      hasName = false
    } else {
      clinux_remove_when_ended(root.number, temporary.pointer)
      let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW
      guard
        let named = Descriptor(root.number, temporary.pointer, flags, 0o640, error: &error)
      else {
        clinux_remove_when_ended(-1, nil)
        throw .cannotWrite(error)
      }
      file = named
      hasName = true
    }
    var information = stat()
    if fstat(root.number, &information) == 0 {
      fchown(file.number, uid_t.max, information.st_gid)
    }
    fchmod(file.number, 0o640)
    self.root = root
    self.temporary = temporary
  }

  @inline(never)
  deinit {
    if hasName { unlinkat(root.number, temporary.pointer, 0) }
    clinux_remove_when_ended(-1, nil)
  }

  /// Goes on with the file.
  public func write(_ bytes: Span<UInt8>) throws(Problem) {
    var place = 0
    while place < bytes.count {
      let written = bytes.withUnsafeBytes {
        CLinux.write(file.number, $0.baseAddress! + place, $0.count - place)
      }
      if written < 0 && clinux_errno() == EINTR { continue }
      guard written > 0 else { throw .cannotWrite(written < 0 ? clinux_errno() : ENOSPC) }
      place += Int(written)
    }
  }

  /// Reads in what was written. Returns the bytes read, 0 at the end, or -errno.
  func read(_ room: UnsafeMutableBufferPointer<UInt8>, at offset: Int64) -> Int {
    Descriptor.read(file.number, room, at: offset)
  }

  /// Gives it the owner and the rights of another file, as far as this user can.
  func belong(to other: stat) {
    fchown(file.number, other.st_uid, other.st_gid)
    fchmod(file.number, other.st_mode & 0o777)
  }

  /// Puts the file into `new/`, and returns its name there. Names sort by time, to the nanosecond; with the process's number
  /// they are unique.
  public mutating func drop(isSynced: Bool) throws(Problem) -> CString {
    try name(isSynced: isSynced)
    let final = Self.newName(in: "new/")
    guard renameat(root.number, temporary.pointer, root.number, final.pointer) == 0 else {
      throw .cannotWrite(clinux_errno())
    }
    hasName = false
    if isSynced { try sync("new") }
    return CString(final.span.extracting(4..<final.span.count))
  }

  /// Puts the file, on disk, into a directory of the spool under a name of its own.
  ///
  /// - Returns: whether it is there; else another one has the name, and this one is gone.
  mutating func drop(in directory: StaticString, as name: Span<UInt8>) throws(Problem) -> Bool {
    try self.name(isSynced: true)
    var text = Text(capacity: 300)
    text.append(directory)
    text.append("/")
    text.append(bytes: name)
    let target = text.cString()
    let error = -clinux_rename_new(root.number, temporary.pointer, root.number, target.pointer)
    guard error != EEXIST else { return false }
    guard error == 0 else { throw .cannotWrite(error) }
    hasName = false
    try sync(directory)
    return true
  }

  /// Has it in `tmp/`, whole.
  private mutating func name(isSynced: Bool) throws(Problem) {
    if isSynced, fdatasync(file.number) != 0 { throw .cannotWrite(clinux_errno()) }
    guard !hasName else { return }
    var path = Text(capacity: 32)
    path.append("/proc/self/fd/")
    path.append(file.number)
    let source = path.cString()
    guard
      linkat(AT_FDCWD, source.pointer, root.number, temporary.pointer, AT_SYMLINK_FOLLOW) == 0
    else { throw .cannotWrite(clinux_errno()) }
    hasName = true
  }

  /// What is in a directory is on disk once the directory is, or the whole file system where a directory cannot be synced.
  private func sync(_ name: StaticString) throws(Problem) {
    var error: Int32 = 0
    if let directory = Descriptor(root.number, directory: name, error: &error) {
      if fsync(directory.number) == 0 { return }
      error = clinux_errno()
      guard error == EINVAL else { throw .cannotSync(error) }
    }
    error = -clinux_sync(root.number)
    guard error == 0 else { throw .cannotSync(error) }
  }

  private static func newName(in directory: StaticString) -> CString {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    var name = Text(capacity: 64)
    name.append(directory)
    name.append(Int64(time.tv_sec), digits: 10)
    name.append(".")
    name.append(Int64(time.tv_nsec), digits: 9)
    name.append(".")
    name.append(getpid())
    return name.cString()
  }
}
