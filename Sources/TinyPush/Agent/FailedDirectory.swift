import CLinux

/// `failed/` on disk: for each file of which something was refused one of the same name; bounded, the oldest go first.
struct FailedDirectory: ~Copyable {
  private static let name: StaticString = "failed"
  private let root: Int32
  private var descriptor: Descriptor
  /// The oldest files at the last survey, as far as they have not been removed.
  private var oldest = OldestFiles()

  /// - Parameters:
  ///   - root: the spool, which stays open as long as this is used.
  ///   - error: on failure, the errno.
  init?(in root: Int32, error: inout Int32) {
    guard let descriptor = Descriptor(root, directory: Self.name, error: &error) else { return nil }
    self.descriptor = descriptor
    self.root = root
  }

  private var directory: Int32 { descriptor.number }

  /// Whether everything in it is on disk.
  func sync() -> Bool { clinux_sync(directory) == 0 }

  private static let probeName: StaticString = ".probe"

  /// Whether so many bytes could be written here.
  mutating func hasRoom(_ bytes: Int) -> Bool {
    unlinkat(directory, Self.probeName.cString, 0)
    var error: Int32 = 0
    let flags = O_WRONLY | O_CREAT | O_EXCL
    guard let probe = Descriptor(directory, Self.probeName.cString, flags, 0o640, error: &error)
    else { return error == ENOENT && reopen() }
    let isRoom = posix_fallocate(probe.number, 0, off_t(bytes)) == 0
    return unlinkat(directory, Self.probeName.cString, 0) == 0 && isRoom
  }

  /// Appends `bytes` to the file `name`, and moves the file of that name here from the directory `source`, if that is given;
  /// or does neither. When it makes more than `limit` files, the oldest go.
  mutating func append(
    _ bytes: Span<UInt8>, to name: UnsafePointer<CChar>, moving source: Int32?, limit: Int
  ) -> Bool {
    let file = openForAppending(name)
    guard file >= 0 else { return false }
    defer { close(file) }
    let end = lseek(file, 0, SEEK_END)
    let written = bytes.withUnsafeBytes { CLinux.write(file, $0.baseAddress, $0.count) }
    var isDone = Int(written) == bytes.count
    if isDone, let source { isDone = move(name, from: source, suffix: ".unread") }
    guard isDone else {
      // Half a line would spoil the one that follows it, and an empty file say nothing.
      if end > 0 { ftruncate(file, end) } else { unlinkat(directory, name, 0) }
      return false
    }
    if end == 0 { bound(to: limit) }
    return true
  }

  /// Moves a file here that is not shown whole in the file of its name.
  mutating func moveOriginal(
    _ name: UnsafePointer<CChar>, from source: Int32, limit: Int
  ) -> Bool {
    guard move(name, from: source, suffix: ".original") else { return false }
    bound(to: limit)
    return true
  }

  // MARK: - What is in the way

  /// Returns a descriptor, or -errno.
  private mutating func openForAppending(_ name: UnsafePointer<CChar>) -> Int32 {
    let file = tryToOpen(name)
    switch -file {
    case ENOENT:
      // Somebody has emptied the spool, directories and all.
      guard reopen() else { return file }
    case EISDIR, ELOOP, ENXIO, EACCES, EPERM:
      // No file of ours has this name: what has it makes room.
      guard move(name, from: directory, suffix: ".other") else { return file }
    default: return file
    }
    return tryToOpen(name)
  }

  private func tryToOpen(_ name: UnsafePointer<CChar>) -> Int32 {
    let file = clinux_open(
      directory, name, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK, 0o660)
    guard file >= 0 else { return file }
    var information = stat()
    guard fstat(file, &information) == 0, clinux_is_regular(&information) != 0 else {
      close(file)
      return -ENXIO
    }
    return file
  }

  private mutating func reopen() -> Bool {
    mkdirat(root, Self.name.cString, 0o770)
    var error: Int32 = 0
    guard let other = Descriptor(root, directory: Self.name, error: &error) else { return false }
    descriptor = other
    return true
  }

  /// Moves a file here, under its name with a suffix.
  private func move(
    _ name: UnsafePointer<CChar>, from source: Int32, suffix: StaticString
  ) -> Bool {
    let bytes = CString.span(name)
    var target = Text(capacity: 300)
    let room = Int(NAME_MAX) - suffix.utf8CodeUnitCount
    target.append(bytes: bytes.extracting(0..<min(bytes.count, room)))
    target.append(suffix)
    return target.withCString { renameat(source, name, directory, $0) } == 0
  }

  // MARK: - The limit

  /// Removes the oldest files until no more than `limit` are left, or as many as one survey finds.
  private mutating func bound(to limit: Int) {
    let buffer = FixedBuffer<UInt8>(capacity: 4096)
    var excess = -limit
    DirectoryEntry.forEach(in: directory, buffer.room()) { entry in
      if entry.mayBeFile, !entry.isHidden { excess += 1 }
    }
    guard excess > 0 else { return }
    excess = removeOldest(excess)
    guard excess > 0 else { return }
    survey(buffer)
    _ = removeOldest(excess)
  }

  /// Removes files that the last survey found. Returns how many more are to go.
  private mutating func removeOldest(_ count: Int) -> Int {
    var left = count
    while left > 0, let file = oldest.takeFirst() {
      var information = stat()
      // What has grown since is not old any more.
      guard fstatat(directory, oldest.name(file), &information, AT_SYMLINK_NOFOLLOW) == 0,
        Self.age(&information) == file.time,
        unlinkat(directory, oldest.name(file), 0) == 0
      else { continue }
      left -= 1
    }
    return left
  }

  private mutating func survey(_ buffer: borrowing FixedBuffer<UInt8>) {
    oldest.clear()
    DirectoryEntry.forEach(in: directory, buffer.room()) { entry in
      var information = stat()
      guard entry.mayBeFile, !entry.isHidden,
        fstatat(directory, entry.name, &information, AT_SYMLINK_NOFOLLOW) == 0,
        clinux_is_regular(&information) != 0
      else { return }
      oldest.insert(entry.name, time: Self.age(&information))
    }
  }

  /// What tells older from newer. What was written before the clock was set may be the newest of all, and counts so.
  private static func age(_ information: inout stat) -> Int64 {
    // A file that is moved here is new here, whenever it was written.
    let time = clinux_change_time_ns(&information)
    return time < Clock.plausibleSinceNs ? time + Int64.max / 2 : time
  }
}
