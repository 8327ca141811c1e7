import CLinux
import TinyPush

/// A file with entries of the feedback service that are not merged yet.
///
/// It is in the directory of the suppression list, and survives a crash. The next merge by any
/// program takes it.
final class ReceivedFile {
  static let filesMax = 64
  /// The number of bytes that are reserved on disk at a time, before entries are read.
  private static let reserveBytes: Int64 = 262_144

  private let file: Descriptor
  private let directory: Int32
  private let name: CString
  private var end: Int64 = 0
  private var reserved: Int64 = 0
  private let buffer = FixedBuffer<UInt8>(
    capacity: ReceivedChunk.headByteCount + ReceivedChunk.bytesMax)

  /// Creates a file, which is locked as long as the object lives.
  ///
  /// - Parameter error: on failure, the errno.
  @inline(never)
  static func make(in directory: Int32, error: inout Int32) -> ReceivedFile? {
    for number in 0..<filesMax {
      let name = fileName(number)
      error = 0
      guard let file = Descriptor.make(directory, name.pointer, mode: 0o600, error: &error) else {
        if error == EEXIST { continue }
        return nil
      }
      // A merge by another program may have removed the file meanwhile.
      if flock(file.number, LOCK_EX | LOCK_NB) == 0, isLinked(file.number) {
        // The entries would be lost with the name.
        error = Descriptor.syncDirectory(directory)
        if error == 0 { return ReceivedFile(file: file, in: directory, name) }
        unlinkat(directory, name.pointer, 0)
        return nil
      }
    }
    error = EEXIST
    return nil
  }

  /// Opens the file of this number that another program left behind; nil if absent, or it is
  /// locked.
  @inline(never)
  static func left(_ number: Int, in directory: Int32) -> ReceivedFile? {
    let name = fileName(number)
    var error: Int32 = 0
    let flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
    guard let file = Descriptor(directory, name.pointer, flags, error: &error),
      flock(file.number, LOCK_EX | LOCK_NB) == 0, isLinked(file.number)
    else { return nil }
    return ReceivedFile(file: file, in: directory, name)
  }

  private init(file: consuming Descriptor, in directory: Int32, _ name: consuming CString) {
    self.file = file
    self.directory = directory
    self.name = name
  }

  deinit {}

  private static func fileName(_ number: Int) -> CString {
    var text = Text(capacity: 32)
    text.append("received.", number)
    return text.cString()
  }

  private static func isLinked(_ file: Int32) -> Bool {
    var information = stat()
    return fstat(file, &information) == 0 && clinux_is_regular(&information) != 0
      && information.st_nlink > 0
  }

  /// Whether the file contains nothing.
  var isEmpty: Bool {
    var information = stat()
    return fstat(file.number, &information) == 0 && information.st_size == 0
  }

  // MARK: - Receiving

  /// The buffer for the next entries.
  var room: UnsafeMutableBufferPointer<UInt8> { buffer.room(from: ReceivedChunk.headByteCount) }

  /// Reserves space on disk for the buffer; returns 0 or an errno.
  func reserve() -> Int32 {
    guard end + Int64(buffer.capacity) > reserved else { return 0 }
    guard hasRoomToMerge() else { return ENOSPC }
    let error = posix_fallocate(file.number, off_t(reserved), off_t(Self.reserveBytes))
    if error == 0 { reserved += Self.reserveBytes }
    return error
  }

  /// Whether the disk has space for a merge, which writes the list with all entries.
  ///
  /// Without this check the entries could fill the disk, and never be merged.
  private func hasRoomToMerge() -> Bool {
    var disk = statvfs()
    guard fstatvfs(file.number, &disk) == 0 else { return true }
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

  /// Gives unused space back; if that fails, zeros stay at the end, and are ignored.
  func trim() { _ = ftruncate(file.number, off_t(end)) }

  /// Appends the first `count` bytes of the buffer; returns 0 or an errno.
  @inline(never)
  func append(_ count: Int) -> Int32 {
    ReceivedChunk.seal(buffer, count: count)
    var done = 0
    let total = ReceivedChunk.headByteCount + count
    while done < total {
      let place = off_t(end + Int64(done))
      let written = pwrite(
        file.number, buffer.room(from: done).baseAddress!, total - done, place)
      if written < 0 && clinux_errno() == EINTR { continue }
      guard written > 0 else { return written == 0 ? ENOSPC : clinux_errno() }
      done += Int(written)
    }
    end += Int64(total)
    return 0
  }

  /// Syncs the file; returns 0 or an errno.
  func sync() -> Int32 { fdatasync(file.number) == 0 ? 0 : clinux_errno() }

  // MARK: - Merging

  /// Whether the file contains data after a damaged chunk.
  private(set) var isDamaged = false

  /// Calls `body` with each chunk, up to the first incomplete one.
  ///
  /// If only the writing of the last chunk was cut short, only reserved zeros follow it.
  func readChunks(_ body: (Span<UInt8>) -> Void) {
    // Where data after the damaged chunk would begin.
    var behind = buffer.capacity
    var place: Int64 = 0
    while Self.read(file.number, buffer, from: 0, ReceivedChunk.headByteCount, at: place),
      let head = buffer.withSpan(0..<ReceivedChunk.headByteCount, { ReceivedChunk(head: $0) }),
      Self.read(
        file.number, buffer, from: ReceivedChunk.headByteCount, head.count,
        at: place + Int64(ReceivedChunk.headByteCount))
    {
      let start = ReceivedChunk.headByteCount
      let isWhole = buffer.withSpan(start..<start + head.count) { bytes in
        guard head.holds(bytes) else { return false }
        body(bytes)
        return true
      }
      guard isWhole else {
        behind = start + head.count
        break
      }
      place += Int64(start + head.count)
    }
    let count = Descriptor.read(
      file.number, buffer.room(), at: place + Int64(behind))
    isDamaged = count < 0
    for index in 0..<max(count, 0) where buffer[index] != 0 { isDamaged = true }
  }

  private static func read(
    _ file: Int32, _ buffer: borrowing FixedBuffer<UInt8>, from start: Int, _ count: Int,
    at place: Int64
  ) -> Bool {
    let room = UnsafeMutableBufferPointer(rebasing: buffer.room(from: start)[..<count])
    return Descriptor.read(file, room, at: place) == count
  }

  /// Removes the file, which is empty or merged.
  func remove() { unlinkat(directory, name.pointer, 0) }

  private static let asideName: StaticString = "unmerged."
  /// The most damaged files that are kept; the oldest are removed.
  private static let asideMax = 16

  /// Renames a damaged file, so that it is kept and not merged again.
  func keepAside() {
    for number in 0..<Self.filesMax {
      var text = Text(capacity: 64)
      text.append(Self.asideName)
      text.append(Clock.wallSeconds(), digits: 10)
      text.append(".")
      text.append(number, digits: 2)
      let isKept = text.withCString { aside in
        clinux_rename_new(directory, name.pointer, directory, aside) == 0
      }
      if isKept { break }
    }
    while let oldest = oldestAside() {
      if unlinkat(directory, oldest.pointer, 0) != 0 { break }
    }
  }

  /// Returns the oldest renamed file, if there are too many.
  private func oldestAside() -> CString? {
    let room = FixedBuffer<UInt8>(capacity: 4096)
    var oldest = Text(capacity: 256)
    var count = 0
    DirectoryEntry.forEach(in: directory, room.room()) { entry in
      let name = CString.span(entry.name)
      guard name.begins(with: Self.asideName.span) else { return }
      count += 1
      guard oldest.count == 0 || name.sorts(before: oldest.bytes) else { return }
      oldest.clear()
      oldest.append(bytes: name)
    }
    return count > Self.asideMax ? oldest.cString() : nil
  }
}
