import CLinux
import TinyPush

/// A file in one of the spool's directories.
public struct QueueFile: ~Copyable {
  private let pinned = Pinned()
  /// The directory of the file.
  public let place: QueuePlace
  private let path: CString
  /// The part of the file's name that is shown.
  private let nameBytes: Int
  /// Whether the agent has taken the file, and when it came into `new/`, in UNIX nanoseconds.
  public let arrivalNs: Int64?
  /// How far everything in the file is settled, in bytes.
  let settledTo: Int64
  /// The size in bytes.
  public let size: Int64
  /// When the file came here or was last changed, in UNIX seconds of the file system's clock.
  public let changedAt: Int64
  /// Whether this is a regular file; the agent ignores others.
  public let isRegular: Bool
  /// A descriptor for reading; less than 0 if absent.
  let descriptor: Int32
  /// The errno with which the file cannot be read; 0 if it can.
  private let error: Int32

  /// How long a file that is open for writing is left alone, in seconds; then it counts as
  /// complete.
  private static var writingSeconds: Int64 { Int64(BeingWritten.patience.milliseconds / 1000) }

  /// Opens a file; nil if it does not exist.
  ///
  /// - Parameters:
  ///   - directory: a descriptor, which may be closed afterwards.
  ///   - isTaken: whether the directory is `taken/`.
  @inline(never)
  init?(_ directory: Int32, _ name: Span<UInt8>, in place: QueuePlace, isTaken: Bool = false) {
    let taken = isTaken ? TakenName(name) : nil
    path = CString(name)
    nameBytes = taken?.nameBytes ?? name.count
    arrivalNs = taken?.arrivalNs
    settledTo = taken?.offset ?? 0
    self.place = place
    var information = stat()
    guard fstatat(directory, path.pointer, &information, AT_SYMLINK_NOFOLLOW) == 0 else {
      return nil
    }
    size = Int64(information.st_size)
    changedAt = (arrivalNs ?? clinux_change_time_ns(&information)) / 1_000_000_000
    isRegular = clinux_is_regular(&information) != 0
    let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
    descriptor = isRegular ? clinux_open(directory, path.pointer, flags, 0) : -EINVAL
    error = isRegular && descriptor < 0 ? -descriptor : 0
  }

  @inline(never)
  deinit { if descriptor >= 0 { close(descriptor) } }

  /// The name of the file.
  public var name: Span<UInt8> {
    @_lifetime(borrow self) get {
      _overrideLifetime(path.span.extracting(0..<nameBytes), borrowing: self)
    }
  }

  var pointer: UnsafePointer<CChar> { path.pointer }

  /// The name of the directory that the file is in.
  var directoryName: StaticString { arrivalNs == nil ? place.name : TakenDirectory.name }

  /// Whether everything in the file was delivered, and the agent waits for more.
  var isSettled: Bool { settledTo > 0 && settledTo >= size }

  /// When the file is due, in UNIX seconds, if it is in `later/`.
  public var due: Int64? { place == .later ? LaterName(name)?.due : nil }

  /// Whether a file holds a notification of the file `name`, and waits or waited in `later/`.
  public static func isPart(
    _ part: Span<UInt8>, of name: Span<UInt8>, in place: QueuePlace
  ) -> Bool {
    switch place {
    case .new: LaterName.isReleased(part) && isSource(name, of: part)
    case .later: LaterName(part) != nil && isSource(name, of: LaterName.rest(of: part))
    case .failed: false
    }
  }

  private static func isSource(_ name: Span<UInt8>, of part: Span<UInt8>) -> Bool {
    LaterName.source(of: part).equals(
      name.extracting(0..<min(name.count, LaterName.sourceBytesMax)))
  }

  /// Whether the file is for the agent, or from it.
  public var isSpooled: Bool { isRegular && (place != .new || SpoolName.isTaken(name)) }

  /// Whether it is a whole file in `failed/`, with its reasons in another file.
  public var isWhole: Bool { place == .failed && FailedName.reasonsBase(of: name) != nil }

  /// What is known about a file without its notifications' check.
  public enum State {
    /// No problem was found.
    case good
    /// Not a regular file, which the agent ignores.
    case noFile
    /// The name says that the file is not complete, so the agent ignores it.
    case unfinishedName
    case beingWritten
    case unreadable(Int32)
    case empty
    /// The file ends within a notification.
    case unfinished
  }

  /// Returns the state of the file.
  ///
  /// - Parameters:
  ///   - count: the number of its notifications.
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

/// Counts the notifications in files, up to a limit for each file.
public struct NotificationCount: ~Copyable {
  /// The number of notifications in a file.
  public struct Result {
    /// The notifications that the agent would read, correct or not.
    public var notifications = 0
    /// Whether there are more.
    public var isMore = false
    /// Whether the file ends within the last one.
    public var isUnfinished = false
    /// The errno with which the file cannot be read; 0 if it can.
    public var error: Int32 = 0

    /// Creates an empty result.
    public init() {}
  }

  /// The most bytes of a file that are read.
  static let bytesMax: Int64 = 4 << 20

  private let input = FixedBuffer<UInt8>(capacity: 2 * NotificationReader.objectBytesMax)
  private var findings = Findings()

  /// Creates a counter with its buffer.
  public init() {}

  @inline(never)
  deinit {}

  /// Counts the notifications in a file.
  @inline(never)
  public mutating func count(_ file: borrowing QueueFile, _ rules: Rules) -> Result {
    var result = Result()
    guard file.descriptor >= 0 else { return result }
    var reader = NotificationReader()
    var bytes = 0
    var offset = file.settledTo
    var isWhole = false
    while true {
      switch reader.next(in: input, count: bytes, isWhole: isWhole, rules, &findings) {
      case .notification: result.notifications += 1
      case .refused(let refusal, _):
        result.notifications += 1
        result.isUnfinished = isWhole && refusal.reason == .json(.unexpectedEnd)
      case .end: return result
      case .more(let from):
        guard offset - file.settledTo < Self.bytesMax else {
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
  /// Calls `body` with the reasons in a file of `failed/`, and returns whether all were read.
  @inline(never)
  public func forEachFailedLine(_ body: (FailedLine, Span<UInt8>) -> Void) -> Bool {
    guard descriptor >= 0 else { return true }
    return FailedLine.forEach(in: descriptor, name, bytesMax: NotificationCount.bytesMax, body)
  }

  /// Whether the first 4 MB of the file contain `word`, in upper or lower case.
  ///
  /// - Parameter word: in lower case.
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

  /// Reads from the file; returns the number of bytes, 0 at the end, or -errno.
  public func read(_ room: UnsafeMutableBufferPointer<UInt8>, at offset: Int64) -> Int {
    descriptor < 0 ? Int(descriptor) : Descriptor.read(descriptor, room, at: offset)
  }
}
