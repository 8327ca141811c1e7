/// How far a file was read, and where reading goes on.
struct Cursor: BitwiseCopyable {
  /// The offset in the file at which the input begins, or at which reading goes on.
  var offset: Int64
  var reader = NotificationReader()
  var lines: LineCount
  /// The offset at which the last object ended.
  var objectEnd: Int64
  /// Whether no object and no mistake was found so far.
  var isAtStart: Bool
  /// Since when a file that ends within a notification has not grown.
  var waitsSince: Instant?

  // The notification whose recipients are being read; `Outbox.none`: none.
  var text = Outbox.none
  /// How many of its recipients were read, and where in the text the last one ends; 0: none.
  var recipient: UInt32 = 0
  var recipientEnd = 0
  /// Since when a program holds a lease on the recipients files, one after the other.
  var leasedSince: Instant?
  /// Its recipients file, by number, and where reading goes on there.
  var list: UInt32 = 0
  var listPlace = RecipientsReader.Place()

  init(at offset: Int64) {
    self.offset = offset
    objectEnd = offset
    isAtStart = offset == 0
    lines = LineCount(isFromStart: isAtStart)
  }
}

/// The number of a line in a file that is read from its start.
struct LineCount: BitwiseCopyable {
  /// The place in the input up to which lines are counted.
  private var counted = 0
  /// How many lines end before the place; negative: unknown.
  private var ends: Int64

  /// - Parameter isFromStart: whether the input begins where the file does.
  init(isFromStart: Bool) { ends = isFromStart ? 0 : .min }

  /// The line of the place, from 1 on; 0: unknown.
  var line: Int64 { ends < 0 ? 0 : ends + 1 }

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
        if found != 0 { ends &+= Int64(found.nonzeroBitCount) }
      }
      while place < end {
        if input[place] == .lineFeed { ends &+= 1 }
        place &+= 1
      }
    }
    counted = end
  }

  /// Counts the lines of bytes that are discarded.
  mutating func pass(_ end: Int, in input: Span<UInt8>) {
    count(upTo: end, in: input)
    counted -= end
  }

  /// The highest bit of each byte.
  private static var highBits: UInt64 { 0x8080_8080_8080_8080 }
}
