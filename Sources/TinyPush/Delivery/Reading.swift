/// A file that is being read: for the first time, or again for notifications that the link gave back.
struct Reading {
  enum Purpose: Equatable {
    /// For the first time, to its end.
    case first
    /// For notifications that go again.
    case again(wasSent: Bool)
    /// For notifications that are settled, of which that is to be recorded or told.
    case decided(Settlement.Outcome)
  }

  enum Access {
    /// The file is to be opened.
    case closed
    /// The shell has the file open, and some of it is in the input.
    case open
    /// The input holds the end of the file, and the shell has closed it.
    case atEnd
  }

  /// How much of a file is passed that is read for the first time.
  enum Beginning {
    /// Nothing of the file has been passed.
    case untouched
    /// The same; and the file looked unfinished, and has been waited for.
    case waitedFor
    case passed
  }

  var claim: ClaimNumber
  var purpose: Purpose
  var access = Access.closed
  var needsInput = false
  var beginning = Beginning.untouched
  /// Where in the file the input begins, and how much of the file is there.
  var inputOffset: Int64
  var inputBytes = 0
  var reader = NotificationReader()
  /// Of the text that was read for the first time.
  var content = ContentHash()
  /// Where in the file the last object ended; and whether text that is no object was met behind it.
  var objectEnd: Int64 = 0
  var isWithinText = false
  /// Recipients of the next notification that have been passed.
  var recipient: UInt32 = 0
  /// Problems with its recipients files that are on record.
  var problems: UInt32 = 0
  /// Notifications that come before those that were given back, and how many these are.
  var skipped: UInt32 = 0
  var remaining: UInt32 = .max
  /// Up to here the file was settled before the agent started.
  var passUntil: Int64 = 0
  /// The file has been looked through for `collapse-id`s up to here; `.max`: to its end.
  var surveyedTo: Int64 = 0
  /// In which state the recipients files are for the present notification; 0: none has been looked at.
  var rosterEpoch: UInt32 = 0
  var lines = LineCount()

  /// A file that is read for the first time.
  init(first claim: ClaimNumber) {
    self.claim = claim
    purpose = .first
    inputOffset = 0
  }

  /// A file of which some notifications are read again.
  init(again stretch: Stretch) {
    claim = stretch.place.claim
    purpose = stretch.outcome.map { .decided($0) } ?? .again(wasSent: stretch.wasSent)
    beginning = .passed
    inputOffset = stretch.place.offset
    recipient = stretch.place.recipient
    skipped = stretch.skipped
    remaining = stretch.count
  }

  var isFirst: Bool { purpose == .first }
  var isDecided: Bool { if case .decided = purpose { true } else { false } }
  var isAtStart: Bool { beginning != .passed }
  var isWhole: Bool { access == .atEnd }
  var wasSent: Bool { purpose == .again(wasSent: true) }

  /// What the input holds of the file.
  @_lifetime(borrow input)
  func text(in input: borrowing FixedBuffer<UInt8>) -> Span<UInt8> { input.span(0..<inputBytes) }

  /// What is left to be read again.
  var rest: Stretch {
    var rest = Stretch(
      place: FilePlace(offset: inputOffset, claim: claim, recipient: recipient), count: remaining,
      wasSent: wasSent)
    rest.skipped = skipped
    if case .decided(let outcome) = purpose { rest.outcome = outcome }
    return rest
  }
}

/// A place in a file as people count: so many lines end, and so many characters of the next one stand, before `counted` in
/// the input. Counted only while a file is read from its start.
struct LineCount {
  var lines: Int64 = 0
  var characters: Int64 = 0
  var counted = 0

  /// Counts on the lines that end in the input, and the characters of the line that goes on behind.
  mutating func count(upTo end: Int, in input: Span<UInt8>) {
    while counted < end {
      if input[counted] == .lineFeed {
        lines += 1
        characters = 0
      } else if input[counted] & 0xC0 != 0x80 {
        characters += 1
      }
      counted += 1
    }
  }

  /// Counts the lines of what is let go of the input, which the reader has counted unless it was looking for an object.
  mutating func pass(_ end: Int, in input: Span<UInt8>, _ reader: NotificationReader) {
    if counted == 0, reader.lineEnds > 0, !reader.isSkipping {
      lines += Int64(reader.lineEnds)
      characters = 0
      counted = min(reader.lineStart, end)
    }
    count(upTo: end, in: input)
    counted -= end
  }
}

/// Why a file, or a stretch of it, is not read on.
enum ReadingEnd {
  /// Everything of it was offered to the link, or needs no sending.
  case done
  /// The file is not taken now, and is left alone until it changes or a scan finds it again.
  case putOff
  /// The file cannot be read, and is moved to `failed/`.
  case unreadable(Int32)
  /// The rest of the file holds no notification.
  case noNotification
  /// The file was removed, or another one is in its place.
  case changed
  /// The recipients are others by now than those that were counted: the whole file is delivered again, since a place in it
  /// does not say any more to whom.
  case recipientsChanged
}
