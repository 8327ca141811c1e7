import CLinux

/// A file in memory, to be read where it lies.
struct MappedFile: ~Copyable {
  /// All of it; empty where there is no file.
  let bytes: UnsafeRawBufferPointer
  private let isMapped: Bool
  /// What tells the file from one that takes its name.
  private let inode: UInt64
  private let changeTimeNs: Int64

  /// None.
  init() {
    bytes = UnsafeRawBufferPointer(start: nil, count: 0)
    isMapped = false
    inode = 0
    changeTimeNs = 0
  }

  private init(
    _ bytes: UnsafeRawBufferPointer, isMapped: Bool, _ information: UnsafePointer<stat>
  ) {
    self.bytes = bytes
    self.isMapped = isMapped
    inode = UInt64(information.pointee.st_ino)
    changeTimeNs = clinux_modify_time_ns(information)
  }

  /// The file of this name, or none where there is none.
  ///
  /// - Parameter error: on failure, the errno.
  @inline(never)
  static func open(_ directory: Int32, _ name: StaticString, error: inout Int32) -> MappedFile? {
    let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
    guard let file = Descriptor(directory, name.cString, flags, error: &error) else {
      guard error == ENOENT else { return nil }
      error = 0
      return MappedFile()
    }
    var information = stat()
    guard fstat(file.number, &information) == 0, clinux_is_regular(&information) != 0,
      information.st_size <= Int.max
    else {
      error = EINVAL
      return nil
    }
    let size = Int(information.st_size)
    guard size > 0 else {
      // A file that was cut to nothing is not the same as none: less than a page of it is left. Nothing can be mapped of it, so
      // the NUL of a literal stands for that.
      let remnant = UnsafeRawBufferPointer(start: ("" as StaticString).utf8Start, count: 1)
      return MappedFile(remnant, isMapped: false, &information)
    }
    guard let start = mmap(nil, size, PROT_READ, MAP_SHARED, file.number, 0),
      start != UnsafeMutableRawPointer(bitPattern: -1)
    else {
      error = clinux_errno()
      return nil
    }
    guard clinux_guard_mapping(start, size) == 0 else {
      munmap(start, size)
      error = ENOMEM
      return nil
    }
    // Looked up here and there: what stands beside it is of no use.
    madvise(start, size, MADV_RANDOM)
    return MappedFile(
      UnsafeRawBufferPointer(start: start, count: size), isMapped: true, &information)
  }

  deinit {
    guard isMapped, let start = bytes.baseAddress else { return }
    clinux_unguard_mapping(start)
    munmap(UnsafeMutableRawPointer(mutating: start), bytes.count)
  }

  /// Whether it is still the file of that name.
  func isCurrent(_ directory: Int32, _ name: StaticString) -> Bool {
    var information = stat()
    guard fstatat(directory, name.cString, &information, AT_SYMLINK_NOFOLLOW) == 0 else {
      return inode == 0 && clinux_errno() == ENOENT
    }
    return inode == UInt64(information.st_ino)
      && changeTimeNs == clinux_modify_time_ns(&information)
  }
}
