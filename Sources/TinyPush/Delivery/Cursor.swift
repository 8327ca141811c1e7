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
///
/// `lines` lines end before the place `counted` in the input, and `characters` characters of the
/// next line precede it.
struct LineCount: BitwiseCopyable {
  var lines: Int64 = 0
  var characters: Int64 = 0
  var counted = 0

  /// Counts the lines and characters before `end`.
  @_optimize(speed)
  mutating func count(upTo end: Int, in input: Span<UInt8>) {
    input.withUnsafeBytes { bytes in
      while counted < end {
        if counted + 8 <= end {
          let word = bytes.loadUnaligned(fromByteOffset: counted, as: UInt64.self)
          // A byte that is 0 after this is a line feed.
          let others = word ^ 0x0A0A_0A0A_0A0A_0A0A
          if (others &- 0x0101_0101_0101_0101) & ~others & Self.highBits == 0 {
            characters += 8
            if word & Self.highBits != 0 {
              characters -= Int64((word & ~(word << 1) & Self.highBits).nonzeroBitCount)
            }
            counted += 8
            continue
          }
        }
        if bytes[counted] == .lineFeed {
          lines += 1
          characters = 0
        } else if bytes[counted] & 0xC0 != 0x80 {
          characters += 1
        }
        counted += 1
      }
    }
  }

  /// The highest bit of each byte.
  private static let highBits: UInt64 = 0x8080_8080_8080_8080

  /// Counts the lines of bytes that are discarded.
  mutating func pass(_ end: Int, in input: Span<UInt8>) {
    count(upTo: end, in: input)
    counted -= end
  }
}
