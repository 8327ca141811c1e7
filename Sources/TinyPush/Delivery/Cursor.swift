/// How far a file was read, and where reading goes on.
struct Cursor: BitwiseCopyable {
  /// The offset in the file at which the input begins, or at which reading goes on.
  var offset: Int64
  var reader = NotificationReader()
  var lines = LineCount()
  /// The offset at which the last object ended.
  var objectEnd: Int64
  /// Whether no object and no mistake was found so far.
  var isAtStart: Bool
  /// Since when a file that ends within a notification has not grown.
  var waitsSince: Instant?

  // The notification whose recipients are being read; `Outbox.none`: none.
  var text = Outbox.none
  /// How many of its recipients were read.
  var recipient: UInt32 = 0
  /// Since when a program holds a lease on the recipients files, one after the other.
  var leasedSince: Instant?
  /// Its recipients file, by number, and where reading goes on there.
  var list: UInt32 = 0
  var listPlace = RecipientsReader.Place()

  init(at offset: Int64) {
    self.offset = offset
    objectEnd = offset
    isAtStart = offset == 0
  }
}

/// The line and column of a place in a file that is read from its start.
struct LineCount: BitwiseCopyable {
  /// The place in the input up to which lines are counted.
  private(set) var counted = 0
  /// How many lines end before the place.
  private(set) var lines: Int64 = 0
  /// Where the place's line begins in the input.
  private var lineStart = 0
  /// How many characters of the line were discarded from the input.
  private var discarded: Int64 = 0

  /// Counts the lines before `end`.
  @inline(never)
  @_optimize(speed)
  mutating func count(upTo end: Int, in input: Span<UInt8>) {
    guard counted < end else { return }
    input.withUnsafeBytes { input in
      let bytes = input.baseAddress!
      var place = counted
      while place &+ 8 <= end {
        let others =
          UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
          ^ 0x0A0A_0A0A_0A0A_0A0A
        // The highest bit of each byte that is a line feed.
        let found = ~((others & ~Self.highBits) &+ ~Self.highBits | others) & Self.highBits
        place &+= 8
        if found == 0 { continue }
        lines += Int64(found.nonzeroBitCount)
        begin(at: place - found.leadingZeroBitCount / 8)
      }
      while place < end {
        place += 1
        guard input[place - 1] == .lineFeed else { continue }
        lines += 1
        begin(at: place)
      }
    }
    counted = end
  }

  private mutating func begin(at start: Int) {
    lineStart = start
    discarded = 0
  }

  /// Returns how many characters of the line precede the place.
  func characters(in input: Span<UInt8>) -> Int64 {
    discarded + Self.characters(lineStart..<counted, in: input)
  }

  /// Counts the lines of bytes that are discarded.
  mutating func pass(_ end: Int, in input: Span<UInt8>) {
    count(upTo: end, in: input)
    if lineStart < end {
      discarded += Self.characters(lineStart..<end, in: input)
      lineStart = end
    }
    lineStart -= end
    counted -= end
  }

  /// Counts the bytes that do not continue a character of UTF-8.
  private static func characters(_ range: Range<Int>, in input: Span<UInt8>) -> Int64 {
    input.withUnsafeBytes { bytes in
      var count = range.count
      var place = range.lowerBound
      while place + 8 <= range.upperBound {
        let word = bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)
        if word & highBits != 0 { count -= (word & ~(word << 1) & highBits).nonzeroBitCount }
        place += 8
      }
      for index in place..<range.upperBound where bytes[index] & 0xC0 == 0x80 { count -= 1 }
      return Int64(count)
    }
  }

  /// The highest bit of each byte.
  private static var highBits: UInt64 { 0x8080_8080_8080_8080 }
}
