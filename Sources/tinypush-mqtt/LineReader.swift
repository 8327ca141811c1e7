import CLinux
import TinyPush

/// Reads a file line by line.
struct LineReader: ~Copyable {
  /// The longest line: the largest message that a broker is allowed to send.
  static let lineBytesMax = 1024 * 1024

  private let descriptor: Int32
  private let buffer = FixedBuffer<UInt8>(capacity: LineReader.lineBytesMax + 4096)
  private var start = 0
  private var end = 0
  private var isAtEnd = false
  /// The number of the last line, from 1.
  private(set) var line: Int64 = 0
  /// Why the file cannot be read further; 0: no error.
  private(set) var error: Int32 = 0
  /// Whether the last line was longer than ``lineBytesMax``; the rest of it was skipped.
  private(set) var isTooLong = false

  /// Takes an open file, and closes the descriptor at the end.
  init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// Returns the next line without its end; nil: there is none.
  ///
  /// It is valid until the next call.
  @_lifetime(immortal)
  mutating func next() -> Span<UInt8>? {
    isTooLong = false
    var place = start
    while true {
      while place < end {
        if buffer[place] == .lineFeed {
          defer { start = place + 1 }
          return found(place)
        }
        place += 1
      }
      if isAtEnd {
        defer { start = end }
        return start < end ? found(end) : nil
      }
      if place - start > Self.lineBytesMax {
        isTooLong = true
        end = start
        place = start
      }
      place -= start
      read()
    }
  }

  @_lifetime(immortal)
  private mutating func found(_ place: Int) -> Span<UInt8> {
    line += 1
    let last = place > start && buffer[place - 1] == .carriageReturn ? place - 1 : place
    return buffer.unsafeSpan(start..<last)
  }

  private mutating func read() {
    buffer.move(from: start, to: 0, count: end - start)
    end -= start
    start = 0
    let room = buffer.room(from: end)
    var count = 0
    repeat {
      count = CLinux.read(descriptor, room.baseAddress, room.count)
    } while count < 0 && clinux_errno() == EINTR
    if count < 0 { error = clinux_errno() }
    isAtEnd = count <= 0
    end += max(count, 0)
  }
}
