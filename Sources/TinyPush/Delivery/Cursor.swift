/// How far a file was read, and where reading goes on.
struct Cursor: BitwiseCopyable {
  /// The offset in the file at which the input begins, or at which reading goes on.
  var offset: Int64
  var reader = NotificationReader()
  /// Whether the file was read from its start, so that its lines are known.
  private var isFromStart: Bool
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
    isFromStart = isAtStart
  }

  /// Begins where another one ended.
  init(after other: Cursor) {
    self.init(at: other.offset)
    reader = NotificationReader(lineEnds: other.reader.lineEnds)
    isFromStart = other.isFromStart
  }

  /// The line on which the notification that was read last begins, from 1 on; 0: unknown.
  var line: Int64 { isFromStart ? reader.lineEndsBefore + 1 : 0 }
}
