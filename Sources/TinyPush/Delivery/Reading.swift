/// A reading of a file: the first one, or another one for returned notifications.
struct Reading {
  enum Purpose: Equatable {
    /// The first reading of a file, to its end.
    case first
    /// A reading of notifications to send again.
    case again(wasSent: Bool)
    /// A reading of settled notifications, to record or report their outcome.
    case decided(Settlement.Outcome)
  }

  enum Access {
    /// The file must be opened.
    case closed
    /// The agent has the file open, and a part of it is in the input.
    case open
    /// The input holds the end of the file, and the agent has closed it.
    case atEnd
  }

  /// What the first reading has passed of a file.
  enum Beginning {
    /// Nothing was passed.
    case untouched
    /// Nothing was passed; the file looked unfinished, and the courier has waited for it.
    case waitedFor
    case passed
  }

  var claim: ClaimNumber
  var purpose: Purpose
  var access = Access.closed
  var needsInput = false
  var beginning = Beginning.untouched
  /// The offset in the file at which the input begins, and the bytes in the input.
  var inputOffset: Int64
  var inputBytes = 0
  var reader = NotificationReader()
  /// The hash of the text that the first reading has read.
  var content = ContentHash()
  /// The offset at which the last object ended, and whether garbage follows it.
  var objectEnd: Int64 = 0
  var isWithinText = false
  /// How many recipients of the next notification are done.
  var recipient: UInt32 = 0
  /// How many problems with its recipients files are recorded.
  var problems: UInt32 = 0
  /// How many notifications precede the returned ones, and how many were returned.
  var skipped: UInt32 = 0
  var remaining: UInt32 = .max
  /// The offset up to which the file was settled before the agent started.
  var passUntil: Int64 = 0
  /// The offset up to which the file was searched for collapse IDs; `.max`: all of it.
  var surveyedTo: Int64 = 0
  /// The epoch of the recipients files of this notification; 0: none was read.
  var rosterEpoch: UInt32 = 0
  var lines = LineCount()

  /// Creates the first reading of a file.
  init(first claim: ClaimNumber) {
    self.claim = claim
    purpose = .first
    inputOffset = 0
  }

  /// Creates another reading of a file, for the notifications of a stretch.
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

  /// Returns the part of the file that is in the input.
  @_lifetime(borrow input)
  func text(in input: borrowing FixedBuffer<UInt8>) -> Span<UInt8> { input.span(0..<inputBytes) }

  /// The notifications that are left of the stretch.
  var rest: Stretch {
    var rest = Stretch(
      place: FilePlace(offset: inputOffset, claim: claim, recipient: recipient), count: remaining,
      wasSent: wasSent)
    rest.skipped = skipped
    if case .decided(let outcome) = purpose { rest.outcome = outcome }
    return rest
  }
}

/// The line and column of a place in a file that is read from its start.
///
/// `lines` lines end before the place `counted` in the input, and `characters` characters of the
/// next line precede it.
struct LineCount {
  var lines: Int64 = 0
  var characters: Int64 = 0
  var counted = 0

  /// Counts the lines and characters before `end`.
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

  /// Counts the lines of bytes that are discarded.
  ///
  /// The reader has counted them itself, unless it was searching for an object.
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

/// Why a reading ends.
enum ReadingEnd {
  /// All notifications were offered to the link, or need no sending.
  case done
  /// The file is left alone until it changes or a scan finds it again.
  case putOff
  /// The file cannot be read, and is moved to `failed/`: errno.
  case unreadable(Int32)
  /// The rest of the file holds no notification.
  case noNotification
  /// The file was removed or replaced.
  case changed
  /// The recipients files changed after their recipients were counted.
  ///
  /// The whole file is delivered again, since a place in it no longer identifies a recipient.
  case recipientsChanged
}
