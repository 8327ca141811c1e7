import CLinux
import TinyPush

/// The limits of the directory `failed/`.
public struct FailedLimits {
  /// The most files.
  public var files = 1000
  /// The most bytes of all files.
  public var bytes: Int64 = 16 << 20

  /// Creates the default limits.
  public init() {}

  /// The number of bytes to free at once, so that not every record needs a survey of the sizes.
  fileprivate var slack: Int64 { bytes / 16 }
  /// The size of a file at which a new one begins, so that the old one can be removed as a whole.
  fileprivate var bytesOfFile: Int64 { bytes / 4 }
}

/// The directory `failed/`: a file for each file of which a notification was refused or rejected.
///
/// Its size is limited. The oldest files are removed first, and the last written file never.
struct FailedDirectory: ~Copyable {
  private static let name: StaticString = "failed"
  private let root: Int32
  private var descriptor: Descriptor
  /// The oldest files at the last survey that are not removed yet.
  private var oldest = OldestFiles(isUsed: false)
  /// The bytes of all files, or more if others removed some since the last survey; `.max` before a
  /// survey.
  private var bytes = Int64.max
  /// The inode of the file that was moved here last, until the limits were applied.
  private var movedInode: UInt64 = 0

  /// Opens the directory.
  ///
  /// - Parameters:
  ///   - root: the spool, which must stay open as long as this is used.
  ///   - error: on failure, the errno.
  init?(in root: Int32, error: inout Int32) {
    guard let descriptor = Descriptor(root, part: Self.name, error: &error) else { return nil }
    self.descriptor = descriptor
    self.root = root
  }

  private var directory: Int32 { descriptor.number }

  /// Removes the write permission of users other than the owner, and returns whether they had it.
  func closeToOthers() -> Bool { descriptor.withhold(0o022, 0) }

  /// Syncs the file system with the directory, and returns whether that succeeded.
  func sync() -> Bool { clinux_sync(directory) == 0 }

  private static let probeName: StaticString = ".probe"

  /// Whether a number of bytes can be written here.
  mutating func hasRoom(_ bytes: Int) -> Bool {
    unlinkat(directory, Self.probeName.cString, 0)
    var error: Int32 = 0
    let flags = O_WRONLY | O_CREAT | O_EXCL
    guard let probe = Descriptor(directory, Self.probeName.cString, flags, 0o640, error: &error)
    else { return error == ENOENT && reopen() }
    let isRoom = posix_fallocate(probe.number, 0, off_t(bytes)) == 0
    return unlinkat(directory, Self.probeName.cString, 0) == 0 && isRoom
  }

  /// Appends `bytes` to the file `name`, or nothing of them on failure.
  mutating func append(
    _ bytes: Span<UInt8>, to name: UnsafePointer<CChar>, _ limits: FailedLimits
  ) -> Bool {
    var file = openForAppending(name)
    guard file >= 0 else { return false }
    defer { close(file) }
    // A retry may be writing the half line: the next file begins.
    var repaired = LineEnd.repair(file, in: directory)
    if repaired == nil, move(name, from: directory, as: name, suffix: ".other", limits) {
      let next = tryToOpen(name)
      guard next >= 0 else { return false }
      close(file)
      (file, repaired) = (next, 0)
    }
    guard var end = repaired else { return false }
    if end > limits.bytesOfFile, move(name, from: directory, as: name, suffix: "", limits) {
      let next = tryToOpen(name)
      guard next >= 0 else { return false }
      close(file)
      (file, end) = (next, 0)
    }
    let written = bytes.withUnsafeBytes { CLinux.write(file, $0.baseAddress, $0.count) }
    guard Int(written) == bytes.count else {
      undo(file, name, from: end, to: end + Int64(max(written, 0)))
      return false
    }
    count(Int64(bytes.count))
    bound(to: limits, isNew: end == 0, besides: name)
    return true
  }

  /// Removes what was appended to a file, unless another program is changing the file.
  ///
  /// If it stays, half a record is cut off by the next append, and a whole one is written once more.
  private func undo(
    _ file: Int32, _ name: UnsafePointer<CChar>, from start: Int64, to end: Int64
  ) {
    var error: Int32 = 0
    guard let lock = DirectoryLock(directory, error: &error) else { return }
    defer { extendLifetime(lock) }
    var information = stat()
    guard fstat(file, &information) == 0, Int64(information.st_size) == end,
      inode(name) == UInt64(information.st_ino)
    else { return }
    // An empty file would mean nothing.
    if start > 0 { _ = ftruncate(file, off_t(start)) } else { unlinkat(directory, name, 0) }
  }

  /// Moves a whole file here.
  ///
  /// - Parameters:
  ///   - path: the file's name in the directory `source`.
  ///   - name: the name that it had in `new/`.
  mutating func moveWhole(
    _ path: UnsafePointer<CChar>, from source: Int32, as name: UnsafePointer<CChar>,
    _ suffix: StaticString, _ limits: FailedLimits
  ) -> Bool {
    guard move(path, from: source, as: name, suffix: suffix, limits) else { return false }
    bound(to: limits, isNew: true, besides: name)
    return true
  }

  // MARK: - Other files in the way

  /// Returns a descriptor, or -errno.
  private mutating func openForAppending(_ name: UnsafePointer<CChar>) -> Int32 {
    let file = tryToOpen(name)
    switch -file {
    case ENOENT:
      // Someone may have removed the spool's directories.
      guard reopen() else { return file }
    case EISDIR, ELOOP, ENXIO, EACCES, EPERM:
      // Another file has the name: it is renamed.
      guard move(name, from: directory, as: name, suffix: ".other", FailedLimits()) else {
        return file
      }
    default: return file
    }
    return tryToOpen(name)
  }

  private func tryToOpen(_ name: UnsafePointer<CChar>) -> Int32 {
    let file = clinux_open(
      directory, name, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK, 0o640)
    guard file >= 0 else { return file }
    var information = stat()
    guard fstat(file, &information) == 0, clinux_is_regular(&information) != 0 else {
      close(file)
      return -ENXIO
    }
    // The owner of another user's file could change or lock the records.
    guard information.st_uid == geteuid() else {
      close(file)
      return -EPERM
    }
    return file
  }

  private mutating func reopen() -> Bool {
    mkdirat(root, Self.name.cString, 0o750)
    var error: Int32 = 0
    guard let other = Descriptor(root, part: Self.name, error: &error) else { return false }
    descriptor = other
    return true
  }

  /// Moves a file here under a name with a suffix, and a number if that name exists.
  private mutating func move(
    _ path: UnsafePointer<CChar>, from source: Int32, as name: UnsafePointer<CChar>,
    suffix: StaticString, _ limits: FailedLimits
  ) -> Bool {
    for number in 1...limits.files + 1 {
      // The names of taken files leave room for a suffix.
      var target = Text(capacity: 300)
      target.append(cString: name)
      target.append(suffix)
      if number > 1 { target.append(".", number) }
      let error = target.withCString { -clinux_rename_new(source, path, directory, $0) }
      if error == EEXIST { continue }
      guard error == 0 else { return false }
      if source != directory {
        var information = stat()
        _ = target.withCString { fstatat(directory, $0, &information, AT_SYMLINK_NOFOLLOW) }
        movedInode = UInt64(information.st_ino)
        count(Self.bytes(&information))
      }
      return true
    }
    return false
  }

  private func inode(_ name: UnsafePointer<CChar>) -> UInt64 {
    var information = stat()
    guard fstatat(directory, name, &information, AT_SYMLINK_NOFOLLOW) == 0 else { return 0 }
    return UInt64(information.st_ino)
  }

  // MARK: - The limits

  private mutating func count(_ more: Int64) {
    if bytes < .max { bytes += more }
  }

  /// Removes the oldest files until the limits are met, but never the last written one.
  ///
  /// - Parameter isNew: whether a file was added.
  private mutating func bound(
    to limits: FailedLimits, isNew: Bool, besides name: UnsafePointer<CChar>
  ) {
    guard isNew || bytes > limits.bytes else { return }
    let spared = (inode(name), movedInode)
    movedInode = 0
    let buffer = FixedBuffer<UInt8>(capacity: 4096)
    var excess = -limits.files
    if bytes > limits.bytes {
      excess += survey(buffer, besides: spared)
    } else {
      DirectoryEntry.forEach(in: directory, buffer.room()) { entry in
        if entry.mayBeFile, !entry.isHidden { excess += 1 }
      }
    }
    let bytesMax = bytes > limits.bytes ? limits.bytes - limits.slack : limits.bytes
    var isSurveyed = false
    while excess > 0 || bytes > bytesMax {
      guard let file = oldest.takeFirst() else {
        guard !isSurveyed else { return }
        excess = survey(buffer, besides: spared) - limits.files
        isSurveyed = true
        continue
      }
      guard remove(file, besides: spared) else { continue }
      isSurveyed = false
      excess -= 1
    }
  }

  /// Removes a file of the last survey, unless it was changed since.
  private mutating func remove(_ file: OldestFiles.File, besides spared: (UInt64, UInt64)) -> Bool {
    var information = stat()
    guard fstatat(directory, oldest.name(file), &information, AT_SYMLINK_NOFOLLOW) == 0,
      Self.age(&information) == file.time, information.st_ino != spared.0,
      information.st_ino != spared.1, unlinkat(directory, oldest.name(file), 0) == 0
    else { return false }
    bytes -= file.size
    return true
  }

  /// Counts the bytes, finds the oldest files, and returns the number of files.
  private mutating func survey(
    _ buffer: borrowing FixedBuffer<UInt8>, besides spared: (UInt64, UInt64)
  ) -> Int {
    oldest = OldestFiles()
    bytes = 0
    var files = 0
    DirectoryEntry.forEach(in: directory, buffer.room()) { entry in
      var information = stat()
      guard entry.mayBeFile, !entry.isHidden,
        fstatat(directory, entry.name, &information, AT_SYMLINK_NOFOLLOW) == 0,
        clinux_is_regular(&information) != 0
      else { return }
      files += 1
      bytes += Self.bytes(&information)
      guard information.st_ino != spared.0, information.st_ino != spared.1 else { return }
      oldest.insert(
        entry.name, time: Self.age(&information), size: Self.bytes(&information))
    }
    return files
  }

  /// Returns the space of a file, which is less than its size if it has holes.
  private static func bytes(_ information: inout stat) -> Int64 {
    min(Int64(information.st_size), 512 * Int64(information.st_blocks))
  }

  /// Returns the time by which files are ordered.
  ///
  /// A file from before the clock was set may be the newest of all, so it counts as new.
  private static func age(_ information: inout stat) -> Int64 {
    // The change time, because a file that is moved here is new here, whenever it was written.
    let time = clinux_change_time_ns(&information)
    return time < Clock.plausibleSinceNs ? time + Int64.max / 2 : time
  }
}
