import CLinux
import TinyPush

/// Reads a file line by line, in a buffer of fixed size.
struct FileLines: ~Copyable {
  private let buffer: FixedBuffer<UInt8>
  private let file: Int32
  private var offset: Int64 = 0
  /// What of the buffer is read, and what of that is at hand.
  private var bytes = 0
  private var range = 0..<0
  /// What is at hand is the beginning of a line, and its end; of a line that is longer than the buffer come the pieces.
  private(set) var isBeginning = true
  private(set) var isEnd = true

  /// - Parameter file: is read from its start, wherever it stands.
  init(_ file: Int32, capacity: Int) {
    self.file = file
    buffer = FixedBuffer(capacity: capacity)
  }

  deinit {}

  /// Where in the file the line begins.
  var place: Int64 { offset - Int64(bytes - range.lowerBound) }

  /// The line, its end included.
  var line: Span<UInt8> {
    @_lifetime(immortal) get { buffer.looseSpan(range) }
  }

  /// Goes on to the next one. Returns 1, 0 at the end, or -errno.
  @inline(never)
  mutating func next() -> Int {
    isBeginning = isEnd
    var start = range.upperBound
    var index = start
    while true {
      while index < bytes {
        index += 1
        if buffer[index - 1] == .lineFeed { return take(start..<index, isEnd: true) }
      }
      if start == 0, bytes == buffer.capacity { return take(start..<index, isEnd: false) }
      bytes -= start
      buffer.move(from: start, to: 0, count: bytes)
      (start, index, range) = (0, bytes, 0..<0)
      let count = Descriptor.read(file, buffer.room(from: bytes), at: offset)
      bytes += max(count, 0)
      offset += Int64(max(count, 0))
      guard count <= 0 else { continue }
      guard count == 0, bytes > 0 else { return count }
      // The last line gets the end that it lacks.
      buffer[bytes] = .lineFeed
      bytes += 1
      offset += 1
      return take(0..<bytes, isEnd: true)
    }
  }

  private mutating func take(_ range: Range<Int>, isEnd: Bool) -> Int {
    (self.range, self.isEnd) = (range, isEnd)
    return 1
  }
}

extension FailedLine {
  /// Room for what a line says before its notification.
  private static let headBytesMax = 16_384

  /// Reads the lines in a file of `failed/`. What is no such line is passed over.
  ///
  /// - Parameters:
  ///   - name: of the file.
  ///   - bytesMax: so far is read.
  ///   - body: is given the line, and the beginning of its text.
  /// - Returns: whether these are all.
  @discardableResult
  static func forEach(
    in file: Int32, _ name: Span<UInt8>, bytesMax: Int64 = .max,
    _ body: (FailedLine, Span<UInt8>) -> Void
  ) -> Bool {
    var lines = FileLines(file, capacity: headBytesMax)
    // Of one that failed as a whole the text is the sender's, though it may have been in failed/ before.
    let isWhole = FailedName.reasonsBase(of: name) != nil
    while true {
      let count = lines.next()
      guard count > 0 else { return count == 0 }
      guard lines.place < bytesMax else { return false }
      guard lines.isBeginning, let line = FailedLine(lines.line),
        !isWhole || line.isOfFile(FailedName.unnumbered(name), in: lines.line)
      else { continue }
      body(line, lines.line)
    }
  }
}
