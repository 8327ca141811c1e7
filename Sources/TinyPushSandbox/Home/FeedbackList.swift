import CLinux
import TinyPush

/// The devices that are gone, as a file says: a line each, `UNIXSECONDS HEXTOKEN`; `#` begins a comment.
struct FeedbackList: ~Copyable {
  static let name: StaticString = "/feedback"
  private static let lineBytesMax = 4096

  private let home: Home
  private let descriptor: Int32
  private let buffer = FixedBuffer<UInt8>(capacity: lineBytesMax)
  private var start = 0
  private var end = 0
  private var isAtEnd = false
  /// The line that was read last, and how many were left out since they are not what they should be.
  private(set) var line: Int64 = 0
  private(set) var malformedLines: Int64 = 0
  private(set) var firstMalformed: Int64 = 0

  /// An empty list, where there is no file.
  init(in home: Home) {
    self.home = home
    descriptor = home.withPath(Self.name) { path in
      clinux_open(AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0)
    }
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// The next device; nil at the end of the file.
  mutating func next() -> FeedbackTuple? {
    while true {
      guard let range = nextLine() else { return nil }
      line += 1
      switch Self.read(buffer.span(range)) {
      case .nothing: continue
      case .tuple(let tuple): return tuple
      case .malformed:
        malformedLines += 1
        if firstMalformed == 0 { firstMalformed = line }
      }
    }
  }

  /// Forgets what has been read: the file is replaced by what has come to it since. `false` when it could not be, or
  /// when somebody else has replaced it.
  mutating func clear() -> Bool {
    guard descriptor >= 0 else { return true }
    var mine = stat()
    var present = stat()
    let isThere = home.withPath(Self.name) { path in stat(path, &present) == 0 }
    guard isThere, fstat(descriptor, &mine) == 0, mine.st_ino == present.st_ino,
      mine.st_dev == present.st_dev
    else { return false }
    var rest = Text(capacity: 65_536)
    while true {
      let room = buffer.room(from: 0)
      let got = CLinux.read(descriptor, room.baseAddress, room.count)
      guard got > 0 else { break }
      rest.append(bytes: buffer.span(0..<got))
    }
    guard !rest.isCut else { return false }
    return home.replace(Self.name, beside: "/.feedback.new", by: rest) == 0
  }

  // MARK: - Lines

  /// A line that does not fit is cut, and so malformed.
  private mutating func nextLine() -> Range<Int>? {
    guard descriptor >= 0 else { return nil }
    while true {
      var index = start
      while index < end && buffer[index] != 0x0A { index += 1 }
      if index < end {
        let range = start..<index
        start = index + 1
        return range
      }
      if isAtEnd || end - start == buffer.capacity {
        guard end > start else { return nil }
        let range = start..<end
        start = end
        return range
      }
      buffer.move(from: start, to: 0, count: end - start)
      end -= start
      start = 0
      let room = buffer.room(from: end)
      let got = CLinux.read(descriptor, room.baseAddress, room.count)
      if got > 0 { end += got } else { isAtEnd = true }
    }
  }

  private enum Line {
    case nothing
    case tuple(FeedbackTuple)
    case malformed
  }

  private static func read(_ line: Span<UInt8>) -> Line {
    var start = 0
    var end = 0
    while end < line.count && line[end] != 0x23 { end += 1 }
    while end > start && line[end - 1] <= 0x20 { end -= 1 }
    while start < end && line[start] <= 0x20 { start += 1 }
    guard start < end else { return .nothing }
    guard let tuple = tuple(line.extracting(start..<end)) else { return .malformed }
    return .tuple(tuple)
  }

  private static func tuple(_ text: Span<UInt8>) -> FeedbackTuple? {
    var seconds: UInt64 = 0
    var index = 0
    while index < text.count && index < 11 && text[index] >= 0x30 && text[index] <= 0x39 {
      seconds = seconds * 10 + UInt64(text[index] - 0x30)
      index += 1
    }
    guard index > 0, seconds <= UInt64(UInt32.max) else { return nil }
    let digits = index
    while index < text.count && (text[index] == 0x20 || text[index] == 0x09) { index += 1 }
    guard index > digits, let token = DeviceToken(hex: text.extracting(index..<text.count)) else {
      return nil
    }
    return FeedbackTuple(timestamp: UInt32(seconds), token: token)
  }
}
