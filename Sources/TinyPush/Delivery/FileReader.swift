/// The file that is being read: a part of its text, and the notification that was read last.
struct FileReader: ~Copyable {
  let input = FixedBuffer<UInt8>(capacity: 2 * NotificationReader.objectBytesMax)
  /// The file whose turn it is.
  var file: FileNumber?
  /// The file whose text is in the input, from its cursor on.
  private(set) var loaded: FileNumber?
  /// The bytes in the input, and whether they end the file.
  private(set) var count = 0
  private(set) var isWhole = false
  /// How far the file is read at this place.
  var cursor = Cursor(at: 0)
  /// The notification whose recipients are being read, in its text in the outbox.
  var notification = Notification(at: 0) { didSet { hasNotification = true } }
  private(set) var hasNotification = false
  /// The subscription of the recipient that was read last, as one word.
  var address = Text(capacity: Subscription.wordBytesMax)
  /// Whether more of the file is needed.
  var needsInput = false
  /// The messages and mistakes that were read in this turn, and the times that the disk was read.
  var turn = 0
  /// The bytes that were read of all files.
  var bytesRead: UInt64 = 0
  var recipientsReader = RecipientsReader()
  /// The file, the text and the number of the recipients file that the recipientsReader reads.
  var recipientsFile: FileNumber?
  var recipientsText = Outbox.none
  var recipientsList: UInt32 = 0
  /// The problems of the notification that is being read.
  var findings = Findings()
  /// The instant before which no file is opened, since the machine is short of a resource.
  private(set) var pausedUntil: Instant?

  /// The most of them for a file in one turn.
  static let turnMax = 32
  private static let pause = Duration.seconds(2)

  init() {}

  /// Pauses reading, since the machine is short of a resource.
  mutating func pause(at now: Instant) { pausedUntil = now + Self.pause }

  func isPaused(at now: Instant) -> Bool { pausedUntil.map { now < $0 } ?? false }

  // MARK: - Turns

  /// Begins the turn of a file.
  mutating func begin(_ file: FileNumber, _ cursor: Cursor) {
    self.file = file
    turn = 0
    // The text is still there if no other file was read since.
    guard loaded != file else { return }
    loaded = file
    recipientsFile = nil
    recipientsText = Outbox.none
    self.cursor = cursor
    count = 0
    isWhole = false
    forgetNotification()
    needsInput = cursor.text == Outbox.none
  }

  mutating func forgetNotification() { hasNotification = false }

  /// Ends the turn of a file; its text stays in the input as long as no other file is read.
  mutating func end() { file = nil }

  /// Ends the reading of a file.
  mutating func close() {
    file = nil
    loaded = nil
    forgetNotification()
  }

  /// Returns how far the file is read, for a turn that begins without the text.
  func cursorToKeep() -> Cursor {
    var kept = cursor
    // While the reader searches for an object, one byte is kept: it recognizes the object by the
    // line end before it.
    let margin = kept.reader.isSkipping && kept.reader.index > 0 ? 1 : 0
    let passed = min(kept.reader.index - margin, count)
    kept.offset += Int64(passed)
    kept.reader.resume(at: 0)
    if recipientsText == kept.text, recipientsList == kept.list {
      kept.listPlace = recipientsReader.present
    }
    return kept
  }

  // MARK: - Input

  /// The part of the file that is in the input.
  @_lifetime(borrow self)
  func text() -> Span<UInt8> { input.span(0..<count) }

  /// Where in the file to read on.
  var readOffset: Int64 { cursor.offset + Int64(count) }

  /// Adds the bytes that the agent has read to the input.
  mutating func take(_ bytes: Int, isWhole: Bool) {
    bytesRead &+= UInt64(bytes)
    count += bytes
    self.isWhole = isWhole
    needsInput = false
  }

  /// Discards bytes at the front of the input.
  mutating func discard(upTo end: Int) {
    input.move(from: end, to: 0, count: count - end)
    cursor.offset += Int64(end)
    count -= end
    cursor.reader.resume(at: 0)
  }

  /// Returns the line of a place in the object that was read last; 0: unknown.
  func line(at place: Int, in object: Range<Int>) -> Int64 {
    var line = cursor.line
    guard line > 0, object.lowerBound < place else { return line }
    for index in object.lowerBound..<place where input[index] == .lineFeed { line += 1 }
    return line
  }

  /// Reads the next notification.
  mutating func next(_ rules: Rules) -> NotificationReader.Reading {
    cursor.reader.next(in: input, count: count, isWhole: isWhole, rules, &findings)
  }
}
