import CLinux
import TinyPush

/// A file in one of the spool's directories.
public struct QueueFile: ~Copyable {
  private let pinned = Pinned()
  public let place: QueuePlace
  private let nameCopy: CString
  /// Bytes.
  public let size: Int64
  /// UNIX seconds, by the file system's clock, at which it came there or was last changed.
  public let changedAt: Int64
  public let inode: UInt64
  private let isRegular: Bool
  /// Open for reading, or less than 0.
  let descriptor: Int32
  /// Why it may not be read (errno); 0: it may.
  private let error: Int32

  /// So long a file that somebody has open is left alone; then it counts as it is.
  private static var writingSeconds: Int64 { Int64(BeingWritten.patience.milliseconds / 1000) }

  /// Nil: it is not there.
  ///
  /// - Parameter directory: may be closed afterwards.
  @inline(never)
  init?(_ directory: Int32, _ name: Span<UInt8>, in place: QueuePlace) {
    nameCopy = CString(name)
    self.place = place
    var information = stat()
    guard fstatat(directory, nameCopy.pointer, &information, AT_SYMLINK_NOFOLLOW) == 0 else {
      return nil
    }
    size = Int64(information.st_size)
    changedAt = clinux_change_time_s(&information)
    inode = UInt64(information.st_ino)
    isRegular = clinux_is_regular(&information) != 0
    let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
    descriptor = isRegular ? clinux_open(directory, nameCopy.pointer, flags, 0) : -EINVAL
    error = isRegular && descriptor < 0 ? -descriptor : 0
  }

  @inline(never)
  deinit { if descriptor >= 0 { close(descriptor) } }

  public var name: Span<UInt8> {
    @_lifetime(borrow self) get { _overrideLifetime(nameCopy.span, borrowing: self) }
  }

  var pointer: UnsafePointer<CChar> { nameCopy.pointer }

  /// The UNIX second at which it is due, if it waits for its time.
  public var due: Int64? { place == .later ? LaterName(name)?.due : nil }

  /// Whether it is there for the agent, or from it.
  public var isSpooled: Bool { isRegular && (place != .new || SpoolName.isTaken(name)) }

  /// Whether it lies in `failed/` as a whole, and another one says why.
  public var isWhole: Bool { place == .failed && FailedName.reasonsBase(of: name) != nil }

  /// What can be told of it by itself.
  public enum State {
    /// Nothing speaks against it.
    case good
    /// No file, or one whose name says that it is not finished: the agent leaves it alone.
    case noFile
    case unfinishedName
    case beingWritten
    case unreadable(Int32)
    case empty
    /// It ends within a notification.
    case unfinished
  }

  /// - Parameters:
  ///   - count: what was found in it.
  ///   - now: UNIX seconds.
  public func state(_ count: NotificationCount.Result, now: Int64) -> State {
    guard isRegular else { return .noFile }
    if place == .new {
      guard SpoolName.isTaken(name) else { return .unfinishedName }
      if descriptor >= 0, now - changedAt < Self.writingSeconds,
        clinux_is_being_written(descriptor) == 1
      {
        return .beingWritten
      }
    }
    if error != 0 { return .unreadable(error) }
    if count.error != 0 { return .unreadable(count.error) }
    if size == 0 { return .empty }
    return count.isUnfinished ? .unfinished : .good
  }
}

/// Counts the notifications in files, each as far as it is quick to.
public struct NotificationCount: ~Copyable {
  public struct Result {
    /// As they would be read, right or wrong.
    public var notifications = 0
    /// There are more than that.
    public var isMore = false
    /// It ends within the last.
    public var isUnfinished = false
    /// Why it cannot be read (errno).
    public var error: Int32 = 0

    public init() {}
  }

  /// So much of a file is looked at.
  static let bytesMax: Int64 = 4 << 20

  private let input = FixedBuffer<UInt8>(capacity: 2 * NotificationReader.objectBytesMax)
  private var findings = Findings()

  public init() {}

  @inline(never)
  deinit {}

  @inline(never)
  public mutating func count(_ file: borrowing QueueFile, _ rules: Rules) -> Result {
    var result = Result()
    guard file.descriptor >= 0 else { return result }
    var reader = NotificationReader()
    var bytes = 0
    var offset: Int64 = 0
    var isWhole = false
    while true {
      switch reader.next(in: input, count: bytes, isWhole: isWhole, rules, &findings) {
      case .notification: result.notifications += 1
      case .refused(let refusal, _):
        result.notifications += 1
        result.isUnfinished = isWhole && refusal.reason == .json(.unexpectedEnd)
      case .end: return result
      case .more(let from):
        guard offset < Self.bytesMax else {
          result.isMore = offset < file.size
          return result
        }
        bytes -= from
        input.move(from: from, to: 0, count: bytes)
        reader.resume(at: 0)
        let count = file.read(input.room(from: bytes), at: offset)
        guard count >= 0 else {
          result.error = Int32(-count)
          return result
        }
        bytes += count
        offset += Int64(count)
        isWhole = count == 0 || offset >= file.size
      }
    }
  }
}

extension QueueFile {
  /// Goes over the reasons in a file of `failed/`, as far as it is quick to. Returns whether these are all.
  @inline(never)
  public func forEachFailedLine(_ body: (FailedLine, Span<UInt8>) -> Void) -> Bool {
    guard descriptor >= 0 else { return true }
    return FailedLine.forEach(in: descriptor, name, bytesMax: NotificationCount.bytesMax, body)
  }

  /// Whether some of its text, as far as that is quick to look through, is `word`, in small letters or large.
  @inline(never)
  public func contains(_ word: Span<UInt8>) -> Bool {
    contains(word, FixedBuffer<UInt8>(capacity: 65_536))
  }

  private func contains(_ word: Span<UInt8>, _ buffer: borrowing FixedBuffer<UInt8>) -> Bool {
    var (offset, kept): (Int64, Int) = (0, 0)
    while offset < NotificationCount.bytesMax {
      let count = read(buffer.room(from: kept), at: offset)
      guard count > 0 else { return false }
      offset += Int64(count)
      let end = kept + count
      for index in kept..<end {
        let byte = buffer[index]
        if byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") { buffer[index] = byte | 0x20 }
      }
      for start in 0..<max(end - word.count + 1, 0)
      where buffer.span(start..<start + word.count).equals(word) {
        return true
      }
      kept = min(end, word.count - 1)
      buffer.move(from: end - kept, to: 0, count: kept)
    }
    return false
  }

  /// Reads on in it. Returns the bytes read, 0 at the end, or -errno.
  public func read(_ room: UnsafeMutableBufferPointer<UInt8>, at offset: Int64) -> Int {
    descriptor < 0 ? Int(descriptor) : Descriptor.read(descriptor, room, at: offset)
  }
}
