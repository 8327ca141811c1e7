import CLinux
import TinyPush

/// Reads a file line by line with a buffer of fixed size.
public struct FileLines: ~Copyable {
  private let buffer: FixedBuffer<UInt8>
  private let file: Int32
  private var offset: Int64 = 0
  /// The number of bytes in the buffer, and the range of the current line.
  private var bytes = 0
  private var range = 0..<0
  /// Whether the current text is the beginning of a line.
  public private(set) var isBeginning = true
  /// Whether the current text is the end of a line.
  public private(set) var isEnd = true

  /// Starts at the beginning of a file.
  ///
  /// - Parameters:
  ///   - file: a descriptor, whose position is ignored.
  ///   - capacity: the size of the buffer; a longer line is read in pieces.
  public init(_ file: Int32, capacity: Int) {
    self.file = file
    buffer = FixedBuffer(capacity: capacity)
  }

  deinit {}

  /// The offset of the line in the file.
  var place: Int64 { offset - Int64(bytes - range.lowerBound) }

  /// The line with its line feed.
  public var line: Span<UInt8> {
    @_lifetime(immortal) get { buffer.unsafeSpan(range) }
  }

  /// Reads the next line; returns 1, 0 at the end, or -errno.
  @inline(never)
  public mutating func next() -> Int {
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
      // Adds the missing line feed to the last line.
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
  /// The size of the part of a line before its notification.
  private static let headBytesMax = 16_384

  /// Calls `body` with each line of a file in `failed/` that the agent wrote.
  ///
  /// - Parameters:
  ///   - name: the name of the file.
  ///   - bytesMax: the most bytes to read.
  ///   - body: takes the line, and the beginning of its text.
  /// - Returns: whether all lines were read.
  @discardableResult
  static func forEach(
    in file: Int32, _ name: Span<UInt8>, bytesMax: Int64 = .max,
    _ body: (FailedLine, Span<UInt8>) -> Void
  ) -> Bool {
    var lines = FileLines(file, capacity: headBytesMax)
    // A whole file is the sender's text, which may look like lines of failed/.
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
