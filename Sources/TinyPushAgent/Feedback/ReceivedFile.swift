import CLinux
import TinyPush

/// The bytes of the feedback service that are not merged into the suppression list yet.
///
/// The file is beside the list, and survives a crash: the next pull merges it.
struct ReceivedFile: ~Copyable {
  /// The most bytes that are read at a time: those of a TLS record (RFC 8446 section 5.1).
  static let pieceBytes = 16_384
  /// The number of bytes that are reserved on disk at a time, before they are read.
  private static let reserveBytes: Int64 = 262_144

  private let file: Descriptor
  private let directory: Int32
  private var end: Int64 = 0
  private var reserved: Int64 = 0
  private let buffer = FixedBuffer<UInt8>(capacity: pieceBytes)

  /// Opens the file, which is locked as long as the value lives.
  ///
  /// - Parameter error: on failure, the errno; EWOULDBLOCK while another pull has the file.
  @inline(never)
  init?(in directory: Int32, error: inout Int32) {
    let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
    let name: StaticString = "received"
    guard let file = Descriptor(directory, name.cString, flags, 0o600, error: &error) else {
      return nil
    }
    file.belong(to: directory)
    // The entries would be lost with the name.
    error = flock(file.number, LOCK_EX | LOCK_NB) == 0 ? 0 : clinux_errno()
    if error == 0 { error = Descriptor.syncDirectory(directory) }
    guard error == 0 else { return nil }
    self.file = file
    self.directory = directory
  }

  deinit {}

  // MARK: - Receiving

  /// The buffer for the next bytes.
  var room: UnsafeMutableBufferPointer<UInt8> { buffer.room() }

  /// Reserves space on disk for the buffer; returns 0 or an errno.
  mutating func reserve() -> Int32 {
    guard end + Int64(Self.pieceBytes) > reserved else { return 0 }
    guard hasRoomToMerge() else { return ENOSPC }
    let error = -clinux_reserve(file.number, reserved, Self.reserveBytes)
    if error == 0 { reserved += Self.reserveBytes }
    return error
  }

  /// Whether the disk has space for a merge, which writes the list with all entries.
  ///
  /// Without this check the entries could fill the disk, and never be merged.
  private func hasRoomToMerge() -> Bool {
    var disk = statvfs()
    guard fstatvfs(file.number, &disk) == 0 else { return true }
    // A file system without a table of inodes has 0 of 0.
    guard disk.f_files == 0 || disk.f_favail > 0 else { return false }
    var list = stat()
    let name = SuppressionDirectory.listName.cString
    let listBytes = fstatat(directory, name, &list, 0) == 0 ? UInt64(list.st_size) : 0
    // A line of the list has 2.25 times the bytes of an entry of the service. A merge writes a new
    // list for each part that fits into memory, while the old list still exists.
    let received = UInt64(end + Self.reserveBytes)
    let wanted = Self.reserveBytes.magnitude + listBytes + 2 * (2 * received + received / 4)
    let free = UInt64(disk.f_bavail).multipliedReportingOverflow(by: UInt64(disk.f_frsize))
    return free.overflow || free.partialValue > wanted
  }

  /// Appends the first `count` bytes of the buffer; returns 0 or an errno.
  mutating func append(_ count: Int) -> Int32 {
    end += Int64(count)
    return Descriptor.writeAll(file.number, buffer.span(0..<count))
  }

  /// Syncs the file; returns 0 or an errno.
  func sync() -> Int32 { fdatasync(file.number) == 0 ? 0 : clinux_errno() }

  // MARK: - Merging

  /// Calls `body` with the bytes, piece by piece; returns their number, or -errno.
  func read(_ body: (Span<UInt8>) -> Void) -> Int {
    var place = 0
    while true {
      let count = Descriptor.read(file.number, buffer.room(), at: Int64(place))
      guard count > 0 else { return count < 0 ? count : place }
      buffer.withSpan(0..<count, body)
      place += count
    }
  }

  /// Empties the file, whose entries are merged.
  func clear() { _ = ftruncate(file.number, 0) }
}
