import CLinux
import TinyPush
import TinyPushAgent

/// A file that is read in pieces, or a text that somebody has in hand, and where in it people would say something is.
struct SourceText: ~Copyable {
  let path: UnsafePointer<CChar>
  /// Whether anybody could find a place in it by line and column.
  let hasLines: Bool
  private let descriptor: Int32
  /// 0: unknown.
  private let fileBytes: UInt64
  private let input = FixedBuffer<UInt8>(capacity: 2 * NotificationReader.objectBytesMax)
  private var count = 0
  private var freshCount = 0
  private var offset: UInt64 = 0
  private(set) var isWhole = false
  /// A place in the text: of the file, its line and the characters before it there, and where that line begins in the
  /// text, or what is left of it.
  private var place = 0
  private(set) var line: Int64 = 1
  private var characters: Int64 = 0
  private(set) var lineStart = 0

  /// What is kept of a line for its excerpt when reading goes on.
  private static var keptBytes: Int { 2048 }

  /// Why it cannot be read on; then the text is whole.
  private(set) var failure: InputFile.Problem?

  /// - Parameter descriptor: is closed in the end.
  @inline(never)
  init(_ path: UnsafePointer<CChar>, _ descriptor: Int32) {
    self.path = path
    self.descriptor = descriptor
    hasLines = true
    var information = stat()
    let isRegular = fstat(descriptor, &information) == 0 && clinux_is_regular(&information) != 0
    fileBytes = isRegular ? UInt64(information.st_size) : 0
  }

  /// - Parameter path: the file it comes from; nil: it was put together here, and `path` is the command's name.
  @inline(never)
  init(_ path: UnsafePointer<CChar>?, holding text: Span<UInt8>) {
    self.path = path ?? ("tinypush send" as StaticString).cString
    hasLines = path != nil
    descriptor = -1
    fileBytes = 0
    input.store(text, at: 0)
    count = text.count
    isWhole = true
  }

  @inline(never)
  deinit { close(descriptor) }

  var text: Span<UInt8> {
    @_lifetime(immortal) get { input.looseSpan(0..<count) }
  }

  /// Reads what follows; what stood at `from` then stands at the place that it returns.
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

  /// Goes on to a place; never back.
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

  /// What was read last.
  var fresh: Span<UInt8> {
    @_lifetime(immortal) get { input.looseSpan(count - freshCount..<count) }
  }

  /// As people count.
  var column: Int64 { characters + 1 }

  /// Of the file.
  var byteOffset: UInt64 { offset + UInt64(place) }
}
