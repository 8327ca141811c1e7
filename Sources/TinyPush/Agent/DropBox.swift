import CLinux

/// The writers' side of the spool: a file is written in `tmp/` and renamed into `new/`, so that the agent never sees half
/// of one.
public struct DropBox: ~Copyable {
  private let root: Int32

  /// What could not be done, and why (errno).
  public enum Problem: Error {
    case noSpool(Int32)
    case cannotWrite(Int32)

    public var status: ExitStatus {
      switch self {
      case .noSpool(EACCES), .cannotWrite(EACCES), .cannotWrite(EPERM): .noPermission
      case .noSpool: .noInput
      case .cannotWrite(ENOSPC), .cannotWrite(EDQUOT): .inputOutput
      case .cannotWrite: .cannotCreate
      }
    }

    public func text(_ spool: UnsafePointer<CChar>) -> Text {
      var text = Text()
      text.append("spool ")
      text.append(printable: CString.span(spool))
      text.append(": ")
      switch self {
      case .noSpool(let error):
        text.append(cString: clinux_error_text(error))
        text.append(": name the right one with --config FILE or -o spool=DIR")
      case .cannotWrite(EACCES), .cannotWrite(EPERM):
        text.append(
          "no permission to write to tmp/ and new/: are you a member of the spool's group?")
      case .cannotWrite(let error):
        text.append("cannot write to tmp/ and new/: ")
        text.append(cString: clinux_error_text(error))
      }
      return text
    }
  }

  public init(_ spool: UnsafePointer<CChar>) throws(Problem) {
    root = clinux_open(AT_FDCWD, spool, O_RDONLY | O_DIRECTORY, 0)
    guard root >= 0 else { throw .noSpool(-root) }
  }

  deinit { close(root) }

  /// Puts a file into the spool, and returns its name. Names sort by time, to the nanosecond; with the process's number
  /// they are unique.
  public func drop(_ bytes: Span<UInt8>, isSynced: Bool) throws(Problem) -> CString {
    var name = Text(capacity: 64)
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    name.append(Int64(time.tv_sec), digits: 10)
    name.append(".")
    name.append(Int64(time.tv_nsec), digits: 9)
    name.append(".")
    name.append(getpid())
    var temporary = Text(capacity: 80)
    temporary.append("tmp/")
    temporary.append(bytes: name.bytes)
    var final = Text(capacity: 80)
    final.append("new/")
    final.append(bytes: name.bytes)
    let source = temporary.cString()
    // Readable for the group: the agent belongs to it.
    let descriptor = clinux_open(
      root, source.pointer, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o640)
    guard descriptor >= 0 else { throw .cannotWrite(-descriptor) }
    var error: Int32 = 0
    let written = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    if Int(written) != bytes.count { error = written < 0 ? clinux_errno() : ENOSPC }
    if error == 0, isSynced, fdatasync(descriptor) != 0 { error = clinux_errno() }
    close(descriptor)
    if error == 0, final.withCString({ renameat(root, source.pointer, root, $0) }) != 0 {
      error = clinux_errno()
    }
    guard error == 0 else {
      unlinkat(root, source.pointer, 0)
      throw .cannotWrite(error)
    }
    if isSynced {
      let directory = clinux_open(root, "new", O_RDONLY | O_DIRECTORY, 0)
      if directory >= 0 {
        fsync(directory)
        close(directory)
      }
    }
    return name.cString()
  }
}
