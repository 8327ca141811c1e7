import CLinux
import TinyPush

/// The directory `later/`, where notifications wait until they are due.
///
/// It is created for the first of them.
struct LaterDirectory: ~Copyable {
  private static let name: StaticString = "later"
  /// The name of a file that is not complete yet.
  private static let partName: StaticString = ".part"

  /// The spool.
  private let root: Int32

  /// Creates the directory's object.
  ///
  /// - Parameter root: the spool, which must stay open as long as this is used.
  init(in root: Int32) {
    self.root = root
  }

  private func open(isMade: Bool, error: inout Int32) -> Descriptor? {
    if let directory = Descriptor(root, part: Self.name, error: &error) { return directory }
    guard isMade, error == ENOENT, mkdirat(root, Self.name.cString, 0o750) == 0 else { return nil }
    guard let made = Descriptor(root, part: Self.name, error: &error) else { return nil }
    made.belong(to: root)
    return made
  }

  /// Writes a complete file, or none.
  ///
  /// It survives a power cut once the file system is synced.
  func write(_ bytes: Span<UInt8>, as name: borrowing CString) -> Bool {
    var error: Int32 = 0
    guard let directory = open(isMade: true, error: &error) else { return false }
    unlinkat(directory.number, Self.partName.cString, 0)
    let flags = O_WRONLY | O_CREAT | O_EXCL
    do {
      guard
        let file = Descriptor(directory.number, Self.partName.cString, flags, 0o640, error: &error)
      else { return false }
      guard Descriptor.writeAll(file.number, bytes) == 0 else {
        unlinkat(directory.number, Self.partName.cString, 0)
        return false
      }
    }
    return renameat(directory.number, Self.partName.cString, directory.number, name.pointer) == 0
  }

  /// Offers all names to the courier, and removes the files that a notification replaces.
  ///
  /// - Parameter replaced: receives the original name of each removed file, with a NUL behind it, as far
  ///   as there is room.
  func scan(_ courier: inout Courier, replaced: inout Text) {
    var error: Int32 = 0
    guard let directory = open(isMade: false, error: &error) else {
      return courier.scanned(.later, isComplete: error == ENOENT)
    }
    let buffer = FixedBuffer<UInt8>(capacity: 32_768)
    var count = 0
    let isComplete = DirectoryEntry.forEach(in: directory.number, buffer.room()) { entry in
      guard entry.mayBeFile else { return }
      let name = CString.span(entry.name)
      guard courier.isReplaced(name) else { return courier.offer(name, in: .later) }
      guard unlinkat(directory.number, entry.name, 0) == 0 else { return }
      count += 1
      replaced.append(bytes: LaterName.source(of: LaterName.rest(of: name)))
      replaced.append(byte: 0)
      Receipt.endReplaced(name, in: root)
    }
    courier.cancelled(count)
    courier.scanned(.later, isComplete: isComplete)
  }

  /// Moves the due file into `taken/`.
  func release(
    _ courier: borrowing Courier, to taken: borrowing TakenDirectory, _ new: Int32
  ) -> Courier.ReleaseResult {
    var error: Int32 = 0
    guard let directory = open(isMade: false, error: &error) else {
      return error == ENOENT ? .isGone : .failed
    }
    let name = CString(courier.stepName())
    if Self.isTorn(name, in: directory.number),
      LaterName.isOfSummary(name.span) || isSource(of: name, in: taken, new)
    {
      // A power cut left an incomplete file. Its source is still in the spool and is read again, and
      // the alerts of a summary are in `failed/`.
      return unlinkat(directory.number, name.pointer, 0) == 0 ? .isGone : .failed
    }
    let target = CString(courier.stepTarget())
    if renameat(directory.number, name.pointer, taken.number, target.pointer) == 0 {
      return .released
    }
    return faccessat(directory.number, name.pointer, F_OK, 0) == 0 ? .failed : .isGone
  }

  /// Whether a power cut left the file empty, truncated or with NUL bytes.
  private static func isTorn(_ name: borrowing CString, in directory: Int32) -> Bool {
    var error: Int32 = 0
    let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
    guard let file = Descriptor(directory, name.pointer, flags, error: &error) else { return false }
    let buffer = FixedBuffer<UInt8>(capacity: 4096)
    var offset: Int64 = 0
    var last: UInt8 = 0
    while true {
      let count = Descriptor.read(file.number, buffer.room(), at: offset)
      guard count > 0 else { return count == 0 && last != .lineFeed && last != .closeBrace }
      for index in 0..<count where buffer[index] == 0 { return true }
      last = buffer[count - 1]
      offset += Int64(count)
    }
  }

  /// Whether the spool contains the file that the notification was taken from.
  private func isSource(
    of name: borrowing CString, in taken: borrowing TakenDirectory, _ new: Int32
  ) -> Bool {
    guard let range = LaterName.sourceRange(in: name.span) else { return false }
    let source = CString(name.span.extracting(range))
    return faccessat(new, source.pointer, F_OK, AT_SYMLINK_NOFOLLOW) == 0
      || taken.hasFile(named: source.span)
  }
}
