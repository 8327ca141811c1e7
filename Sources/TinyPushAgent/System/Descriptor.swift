import CLinux

/// An open file descriptor, which is closed with its owner.
struct Descriptor: ~Copyable {
  let number: Int32

  deinit { close(number) }

  /// Takes ownership of an open descriptor.
  init(number: Int32) {
    self.number = number
  }

  /// Opens a file.
  ///
  /// - Parameter error: on failure, the errno.
  init?(
    _ directory: Int32, _ path: UnsafePointer<CChar>, _ flags: Int32, _ mode: UInt32 = 0,
    error: inout Int32
  ) {
    let number = clinux_open(directory, path, flags, mode)
    guard number >= 0 else {
      error = -number
      return nil
    }
    self.number = number
  }

  /// Opens a directory, but not through a link.
  init?(_ directory: Int32, directory name: StaticString, error: inout Int32) {
    self.init(
      directory, name.cString, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, error: &error)
  }

  /// Opens the spool; root then acts as the spool's owner.
  ///
  /// Otherwise a member of the spool's group could make root read or write what the member may not.
  ///
  /// - Parameter error: on failure, the errno.
  static func spool(_ path: UnsafePointer<CChar>, error: inout Int32) -> Descriptor? {
    guard let root = Descriptor(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, error: &error) else {
      return nil
    }
    var owner = stat()
    guard fstat(root.number, &owner) == 0 else {
      error = clinux_errno()
      return nil
    }
    guard geteuid() == 0, owner.st_uid != 0 else { return root }
    error = -clinux_become(owner.st_uid, owner.st_gid)
    guard error == 0 else { return nil }
    return root
  }

  /// Opens a directory of the spool `root`: no link, and owned by the spool's owner, by root or by
  /// this user.
  ///
  /// Fails with EPERM if another user owns the directory, because that user could change it at any
  /// time.
  init?(_ root: Int32, part name: StaticString, error: inout Int32) {
    guard let part = Descriptor(root, directory: name, error: &error) else { return nil }
    var owner = stat()
    var information = stat()
    guard fstat(root, &owner) == 0, fstat(part.number, &information) == 0 else {
      error = clinux_errno()
      return nil
    }
    let user = information.st_uid
    guard user == owner.st_uid || user == 0 || user == geteuid() else {
      error = EPERM
      return nil
    }
    self = part
  }

  /// Creates a file.
  ///
  /// - Parameters:
  ///   - isOwned: whether the file belongs to the directory's owner, even if root creates it.
  ///   - error: on failure, the errno.
  static func make(
    _ directory: Int32, _ name: UnsafePointer<CChar>, mode: mode_t = 0o640, isOwned: Bool = true,
    error: inout Int32
  ) -> Descriptor? {
    let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW
    guard let file = Descriptor(directory, name, flags, mode, error: &error) else { return nil }
    if isOwned { file.belong(to: directory) }
    return file
  }

  /// Gives a new file to the directory's owner, as far as this user can.
  func belong(to directory: Int32) {
    var owner = stat()
    if fstat(directory, &owner) == 0 { _ = fchown(number, owner.st_uid, owner.st_gid) }
  }

  /// Restricts a directory that others may write to, and returns whether that changed its mode.
  ///
  /// - Parameters:
  ///   - rights: the mode bits to remove.
  ///   - restriction: the mode bits to add.
  @inline(never)
  func withhold(_ rights: UInt32, _ restriction: UInt32) -> Bool {
    var information = stat()
    guard fstat(number, &information) == 0, information.st_mode & 0o022 != 0,
      information.st_uid == geteuid() || geteuid() == 0
    else { return false }
    let mode = information.st_mode & 0o7777
    let wanted = mode & ~mode_t(rights) | mode_t(restriction)
    return wanted != mode && fchmod(number, wanted) == 0
  }

  /// Syncs the names in a directory; returns 0 or an errno.
  @inline(never)
  static func syncDirectory(_ directory: Int32) -> Int32 {
    if fsync(directory) == 0 { return 0 }
    let error = clinux_errno()
    // Some file systems cannot sync a directory, only the whole file system.
    return error == EINVAL ? -clinux_sync(directory) : error
  }

  /// Reads at `offset` into a buffer; returns the number of bytes, 0 at the end, or -errno.
  static func read(
    _ descriptor: Int32, _ room: UnsafeMutableBufferPointer<UInt8>, at offset: Int64
  ) -> Int {
    while true {
      let count = pread(descriptor, room.baseAddress, room.count, off_t(offset))
      if count >= 0 { return Int(count) }
      if clinux_errno() != EINTR { return -Int(clinux_errno()) }
    }
  }

  /// Writes all bytes; returns 0 or an errno.
  @inline(never)
  static func writeAll(_ descriptor: Int32, _ bytes: Span<UInt8>) -> Int32 {
    var done = 0
    while done < bytes.count {
      let written = bytes.withUnsafeBytes {
        CLinux.write(descriptor, $0.baseAddress! + done, $0.count - done)
      }
      if written < 0 && clinux_errno() == EINTR { continue }
      if written < 0, clinux_errno() == EAGAIN, descriptor == STDOUT_FILENO {
        // The program that opened standard output does not want to wait, but this one does.
        var event = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&event, 1, -1)
        continue
      }
      guard written > 0 else { return written == 0 ? ENOSPC : clinux_errno() }
      done += Int(written)
    }
    return 0
  }
}
