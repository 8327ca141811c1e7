import CLinux

/// The spool on disk: `new/`, `failed/` and `tmp/`, the lock that makes this the only agent there, and the progress in a
/// large file.
public struct SpoolDirectory: ~Copyable {
  let new: Int32
  let failed: Int32
  private let root: Int32
  private let lock: Int32
  /// The file that is being read, while it does not fit the buffer.
  private var file: Int32 = -1

  /// - Parameter message: on failure, what is wrong, where, and what to do.
  public init(_ path: UnsafePointer<CChar>, message: inout Text) throws(ExitStatus) {
    let root = clinux_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0)
    guard root >= 0 else {
      throw Self.explain(
        -root, path, "", "make it with new/, failed/ and tmp/ in it, or set spool", &message)
    }
    let lock = clinux_open(root, ".lock", O_RDWR | O_CREAT | O_NOFOLLOW, 0o640)
    guard lock >= 0 else {
      CLinux.close(root)
      throw Self.explain(
        -lock, path, "/.lock", "give the agent's user the right to write there", &message)
    }
    guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
      CLinux.close(root)
      CLinux.close(lock)
      message.append(cString: path)
      message.append(": another agent works here already: stop it, or use another spool")
      throw .tryLater
    }
    let new = clinux_open(root, "new", O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0)
    let failed = clinux_open(root, "failed", O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0)
    guard new >= 0, failed >= 0 else {
      CLinux.close(root)
      CLinux.close(lock)
      if new >= 0 { CLinux.close(new) }
      if failed >= 0 { CLinux.close(failed) }
      throw Self.explain(
        new < 0 ? -new : -failed, path, new < 0 ? "/new" : "/failed",
        "make it a directory that the agent's user may write to", &message)
    }
    guard faccessat(new, ".", W_OK | X_OK, AT_EACCESS) == 0 else {
      let error = clinux_errno()
      CLinux.close(root)
      CLinux.close(lock)
      CLinux.close(new)
      CLinux.close(failed)
      throw Self.explain(
        error, path, "/new", "the agent's user must be able to remove files there", &message)
    }
    self.root = root
    self.new = new
    self.failed = failed
    self.lock = lock
  }

  deinit {
    if file >= 0 { CLinux.close(file) }
    CLinux.close(new)
    CLinux.close(failed)
    CLinux.close(root)
    CLinux.close(lock)
  }

  private static func explain(
    _ error: Int32, _ path: UnsafePointer<CChar>, _ part: StaticString, _ advice: StaticString,
    _ message: inout Text
  ) -> ExitStatus {
    message.append("spool ")
    message.append(cString: path)
    message.append(part)
    message.append(": ")
    message.append(cString: clinux_error_text(error))
    message.append(": ")
    message.append(advice)
    switch error {
    case EACCES, EPERM: return .noPermission
    case ENOENT, ENOTDIR: return .noInput
    default: return .inputOutput
    }
  }

  // MARK: - Steps

  /// Offers every name in `new/`. Returns how many there were.
  func scan(_ courier: inout Courier) -> Int {
    let room = courier.inputRoom
    var names = 0
    Self.forEachEntry(of: new, room) { name, inode, kind in
      guard kind == UInt32(DT_REG) || kind == UInt32(DT_UNKNOWN) else { return }
      courier.offer(CString.span(name), inode: inode)
      names += 1
    }
    return names
  }

  /// Whether a file that has just appeared in `new/` was not linked there whole, but is being written there, as far as
  /// can be known.
  func isBeingWritten(_ name: UnsafePointer<CChar>) -> Bool {
    let descriptor = clinux_open(new, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0)
    guard descriptor >= 0 else { return true }
    defer { CLinux.close(descriptor) }
    switch clinux_is_being_written(descriptor) {
    case 0: return false
    case 1: return true
    default:
      var information = stat()
      return fstat(descriptor, &information) != 0 || information.st_nlink == 1
    }
  }

  /// Opens the courier's file and reads the first of it.
  mutating func open(_ courier: inout Courier) {
    let descriptor = courier.fileName().withUnsafeBufferPointer { name in
      // The name is followed by a NUL. Neither a link nor a pipe holds us up.
      clinux_open(
        new, UnsafeRawPointer(name.baseAddress!).assumingMemoryBound(to: CChar.self),
        O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0)
    }
    guard descriptor >= 0 else {
      switch -descriptor {
      case ENOENT: courier.couldNotOpen(.vanished)
      case ELOOP, ENXIO, ENODEV: courier.couldNotOpen(.notRegular)
      case EMFILE, ENFILE, ENOMEM, EAGAIN: courier.couldNotOpen(.later)
      default: courier.couldNotOpen(.unreadable(-descriptor))
      }
      return
    }
    var information = stat()
    guard fstat(descriptor, &information) == 0, clinux_is_regular(&information) != 0 else {
      CLinux.close(descriptor)
      courier.couldNotOpen(.notRegular)
      return
    }
    let identity = Self.identity(&information)
    let size = Int64(information.st_size)
    let offset = courier.readOffset
    let room = courier.inputRoom
    let count = Self.read(descriptor, room, at: offset)
    guard count >= 0 else {
      CLinux.close(descriptor)
      courier.couldNotOpen(.unreadable(Int32(-count)))
      return
    }
    let isWhole = offset + Int64(count) >= size
    if isWhole {
      CLinux.close(descriptor)
    } else {
      file = descriptor
    }
    let lastByte = isWhole || offset > 0 ? 0x7D : Self.lastByte(descriptor, size)
    courier.opened(identity, bytes: count, isWhole: isWhole, lastByte: lastByte)
  }

  /// The last byte that is not white space, of the last few.
  private static func lastByte(_ descriptor: Int32, _ size: Int64) -> UInt8 {
    var bytes: InlineArray<16, UInt8> = .init(repeating: 0x20)
    var span = bytes.mutableSpan
    let from = max(size - 16, 0)
    _ = span.withUnsafeMutableBufferPointer { read(descriptor, $0, at: from) }
    for index in 0..<16 where bytes[15 - index] > 0x20 { return bytes[15 - index] }
    return 0
  }

  /// Reads on in the open file.
  mutating func read(_ courier: inout Courier) {
    let count = Self.read(file, courier.inputRoom, at: courier.readOffset)
    if count <= 0 { closeFile() }
    if count < 0 {
      courier.couldNotRead(Int32(-count))
    } else {
      courier.filled(bytes: count, isWhole: count == 0)
    }
  }

  mutating func closeFile() {
    guard file >= 0 else { return }
    CLinux.close(file)
    file = -1
  }

  private static func identity(_ information: inout stat) -> FileIdentity {
    FileIdentity(
      inode: UInt64(information.st_ino), changeTimeNs: clinux_change_time_ns(&information),
      size: Int64(information.st_size))
  }

  /// Bytes read, or -errno.
  private static func read(
    _ descriptor: Int32, _ room: UnsafeMutableBufferPointer<UInt8>, at offset: Int64
  ) -> Int {
    while true {
      let count = pread(descriptor, room.baseAddress, room.count, off_t(offset))
      if count >= 0 { return Int(count) }
      if clinux_errno() != EINTR { return -Int(clinux_errno()) }
    }
  }

  /// Unlinks the settled file, unless it is another one by now.
  mutating func remove(_ courier: inout Courier) -> Removal {
    let identity = courier.settledIdentity
    return courier.settledName().withUnsafeBufferPointer { name in
      let path = UnsafeRawPointer(name.baseAddress!).assumingMemoryBound(to: CChar.self)
      var information = stat()
      guard fstatat(new, path, &information, AT_SYMLINK_NOFOLLOW) == 0 else {
        return clinux_errno() == ENOENT ? .removed : .failed
      }
      let present = Self.identity(&information)
      guard present == identity else { return .replaced }
      return unlinkat(new, path, 0) == 0 || clinux_errno() == ENOENT ? .removed : .failed
    }
  }

  /// Appends the failure to the file of its name in `failed/`. When that makes one file more than `limit`, the oldest go.
  mutating func record(_ courier: inout Courier, limit: Int) -> Bool {
    var isNew = false
    let movesFile = courier.failureMovesFile
    let isWritten = courier.failureName().withUnsafeBufferPointer { name in
      let path = UnsafeRawPointer(name.baseAddress!).assumingMemoryBound(to: CChar.self)
      let descriptor = clinux_open(
        failed, path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK, 0o660)
      guard descriptor >= 0 else { return false }
      defer { CLinux.close(descriptor) }
      isNew = lseek(descriptor, 0, SEEK_END) == 0
      let bytes = courier.failure.bytes
      let written = bytes.withUnsafeBytes { CLinux.write(descriptor, $0.baseAddress, $0.count) }
      guard Int(written) == bytes.count else { return false }
      guard movesFile else { return true }
      var target = Text(capacity: 300)
      target.append(cString: path)
      target.append(".unread")
      return target.withCString { renameat(new, path, failed, $0) } == 0
    }
    guard isWritten else { return false }
    if isNew { boundFailed(to: limit) }
    return true
  }

  private static let probeName: StaticString = ".probe"

  /// Whether a failure could be recorded.
  func hasRoom() -> Bool {
    let file = clinux_open(
      failed, Self.probeName.cString, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK,
      0o640)
    guard file >= 0 else { return false }
    var bytes: InlineArray<4096, UInt8> = .init(repeating: 0x20)
    let room = bytes.mutableSpan
    let written = room.withUnsafeBytes { CLinux.write(file, $0.baseAddress, $0.count) }
    CLinux.close(file)
    return unlinkat(failed, Self.probeName.cString, 0) == 0 && written == 4096
  }

  /// Whether everything in `failed/` is on disk.
  func sync() -> Bool { clinux_sync(failed) == 0 }

  // MARK: - Progress

  private static let progressName: StaticString = ".progress"
  private static let progressDraft: StaticString = ".progress.new"

  /// What an agent before this one kept.
  func progress() -> Progress? {
    let file = clinux_open(root, Self.progressName.cString, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0)
    guard file >= 0 else { return nil }
    defer { CLinux.close(file) }
    var bytes: InlineArray<64, UInt8> = .init(repeating: 0)
    var room = bytes.mutableSpan
    let count = room.withUnsafeMutableBufferPointer { Self.read(file, $0, at: 0) }
    return Progress(bytes.span.extracting(0..<max(count, 0)))
  }

  /// Keeps the progress instead of what was kept before; whether it did.
  func keep(_ progress: Progress?) -> Bool {
    guard let progress else {
      return unlinkat(root, Self.progressName.cString, 0) == 0 || clinux_errno() == ENOENT
    }
    let file = clinux_open(
      root, Self.progressDraft.cString, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK,
      0o640)
    guard file >= 0 else { return false }
    defer { CLinux.close(file) }
    let bytes = progress.bytes
    let written = bytes.span.withUnsafeBytes { CLinux.write(file, $0.baseAddress, $0.count) }
    return written == Progress.byteCount && fdatasync(file) == 0
      && renameat(root, Self.progressDraft.cString, root, Self.progressName.cString) == 0
  }

  // MARK: - failed/

  /// Removes the oldest files from `failed/` until no more than `limit` are left.
  private func boundFailed(to limit: Int) {
    let buffer = FixedBuffer<UInt8>(capacity: 4096)
    var oldest = Text(capacity: 256)
    while survey(buffer, oldest: &oldest) > limit {
      guard oldest.withCString({ unlinkat(failed, $0, 0) }) == 0 else { return }
    }
  }

  /// How many files are in `failed/`, and the name of the one that was written to longest ago.
  private func survey(_ buffer: borrowing FixedBuffer<UInt8>, oldest oldestName: inout Text) -> Int
  {
    var names = 0
    var oldest: Int64 = .max
    let failed = failed
    Self.forEachEntry(of: failed, buffer.room()) { name, _, _ in
      var information = stat()
      guard name.pointee != 0x2E,
        fstatat(failed, name, &information, AT_SYMLINK_NOFOLLOW) == 0,
        clinux_is_regular(&information) != 0
      else { return }
      names += 1
      let time = clinux_modify_time_ns(&information)
      if time < oldest {
        oldest = time
        oldestName.clear()
        oldestName.append(cString: name)
      }
    }
    return names
  }

  /// Goes over a directory's entries: name, inode, kind (DT_*). What is removed meanwhile may or may not be among them.
  private static func forEachEntry(
    of directory: Int32, _ room: UnsafeMutableBufferPointer<UInt8>,
    _ body: (UnsafePointer<CChar>, UInt64, UInt32) -> Void
  ) {
    var restart: Int32 = 1
    while true {
      let count = clinux_read_directory(directory, room.baseAddress, room.count, restart)
      restart = 0
      guard count > 0 else { return }
      var place = 0
      while place < count {
        var inode: UInt64 = 0
        var kind: UInt32 = 0
        guard let name = clinux_next_entry(room.baseAddress, &place, &inode, &kind) else { return }
        body(name, inode, kind)
      }
    }
  }
}
