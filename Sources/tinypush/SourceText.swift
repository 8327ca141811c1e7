import CLinux
import TinyPush
import TinyPushAgent

/// A file that is read in pieces, or a text in memory, with the line and column of a place in it.
struct SourceText: ~Copyable {
  let path: UnsafePointer<CChar>
  /// Whether the user can look up a line and column in the text, as opposed to a composed text.
  let hasLines: Bool
  private let descriptor: Int32
  /// The size of the file; 0: unknown.
  private let fileBytes: UInt64
  private let input = FixedBuffer<UInt8>(capacity: 2 * NotificationReader.objectBytesMax)
  private var count = 0
  private var freshCount = 0
  private var offset: UInt64 = 0
  private(set) var isWhole = false
  /// The index in the text of the place whose line and column are known.
  private var place = 0
  /// The line of the place in the file, from 1.
  private(set) var line: Int64 = 1
  /// The characters before the place in its line.
  private var characters: Int64 = 0
  /// The index in the text at which the line of the place begins, or the rest that is kept of it.
  private(set) var lineStart = 0

  /// The most bytes of a line that are kept for its excerpt when more is read.
  private static var keptBytes: Int { 2048 }

  /// Why the file cannot be read further; the text then counts as whole.
  private(set) var failure: InputFile.Problem?

  /// Creates the text of an open file, and closes the descriptor at the end.
  @inline(never)
  init(_ path: UnsafePointer<CChar>, _ descriptor: Int32) {
    self.path = path
    self.descriptor = descriptor
    hasLines = true
    var information = stat()
    let isRegular = fstat(descriptor, &information) == 0 && clinux_is_regular(&information) != 0
    fileBytes = isRegular ? UInt64(information.st_size) : 0
  }

  /// Creates a text in memory.
  ///
  /// - Parameter path: the file that the text comes from; nil: the text was composed from options,
  ///   and messages begin with the command's name.
  @inline(never)
  init(_ path: UnsafePointer<CChar>?, holding text: Span<UInt8>) {
    self.path = path ?? ("tinypush send" as StaticString).cString
    hasLines = path != nil
    descriptor = -1
    fileBytes = 0
    count = min(text.count, input.capacity)
    input.store(text.extracting(0..<count), at: 0)
    isWhole = true
  }

  @inline(never)
  deinit { close(descriptor) }

  var text: Span<UInt8> {
    @_lifetime(immortal) get { input.unsafeSpan(0..<count) }
  }

  /// Reads more of the file, and returns the new index of the byte that was at `from`.
  @inline(never)
  mutating func readOn(from: Int, _ report: inout CheckReport) -> Int {
    report.flush()
    go(to: from)
    let start = max(lineStart, from - Self.keptBytes)
    input.move(from: start, to: 0, count: count - start)
    count -= start
    offset += UInt64(start)
    place -= start
    lineStart = max(lineStart - start, 0)
    let room = input.room(from: count)
    var result: Int
    repeat {
      result = read(descriptor, room.baseAddress, room.count)
    } while result < 0
      && clinux_errno() == EINTR
    if result < 0 { failure = .cannotRead(clinux_errno()) }
    isWhole = result <= 0
    freshCount = max(result, 0)
    count += freshCount
    if fileBytes > 0 { report.progress.show(bytes: offset + UInt64(count), of: fileBytes) }
    return from - start
  }

  /// Reads the start of the file, and returns whether that is a text; then reads all of the text, and
  /// keeps what a notification may hold of the text.
  ///
  /// A notification begins with `{`. An empty file counts as notifications.
  @inline(never)
  mutating func readText() -> Bool {
    var report = CheckReport(to: STDERR_FILENO)
    while !isWhole, firstCharacter == nil, count < NotificationReader.objectBytesMax {
      _ = readOn(from: 0, &report)
    }
    guard let first = firstCharacter, first != .openBrace else { return false }
    while !isWhole, count < NotificationReader.objectBytesMax { _ = readOn(from: 0, &report) }
    // A program that writes more must not fail.
    var rest = InlineArray<4096, UInt8>(repeating: 0)
    while !isWhole, read(descriptor, &rest, 4096) > 0 {}
    return true
  }

  /// Whether the text was read to its end, and has only white space.
  var isBlank: Bool { isWhole && firstCharacter == nil }

  /// The first byte that is neither white space nor part of a byte order mark.
  private var firstCharacter: UInt8? {
    for index in 0..<count {
      switch input[index] {
      case .space, .tab, .lineFeed, .carriageReturn, 0xEF, 0xBB, 0xBF: continue
      default: return input[index]
      }
    }
    return nil
  }

  /// Moves the place forward to an index, and counts lines and characters; never moves back.
  @inline(never)
  mutating func go(to end: Int) {
    while place < end {
      let byte = input[place]
      place += 1
      if byte == .lineFeed {
        line += 1
        characters = 0
        lineStart = place
      } else if byte & 0xC0 != 0x80 {
        characters += 1
      }
    }
  }

  /// The bytes of the last read.
  var fresh: Span<UInt8> {
    @_lifetime(immortal) get { input.unsafeSpan(count - freshCount..<count) }
  }

  /// The column of the place, in characters from 1.
  var column: Int64 { characters + 1 }

  /// The offset of the place in the file.
  var byteOffset: UInt64 { offset + UInt64(place) }
}
