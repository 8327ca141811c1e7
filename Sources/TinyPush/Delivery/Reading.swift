/// A file that is being read: for the first time, or again for a stretch that must be sent again.
struct Reading {
  enum State {
    case opening
    case wantsInput
    case ready
  }

  var state = State.opening
  var claim: UInt32
  /// For the first time: to its end, and claimed just now.
  var isFresh: Bool
  /// Whether nothing of the file has been passed yet.
  var isAtStart: Bool
  /// It looked unfinished, and has been waited for long enough.
  var isWaitedFor = false
  /// The shell holds it open.
  var isOpen = false
  /// Where in the file the input begins, how much of it there is, and whether the file ends with it.
  var inputOffset: Int64
  var inputBytes = 0
  var isWhole = false
  var reader: NotificationReader
  /// Of what was read of a fresh file.
  var content = ContentHash()
  /// Where in the file the last object ended that was one; and whether text that is none was met behind it.
  var objectEnd: Int64 = 0
  var isWithinText = false
  /// Recipients of the next notification that have been passed.
  var recipient: UInt32
  /// What was wrong with its recipients files and is on record.
  var problems: UInt32 = 0
  /// Of a stretch: notifications that are left, and whether the file ends behind it.
  var remaining: UInt32 = .max
  var endsFile = false
  var wasSent = false
  /// Up to here it was settled before the agent started.
  var passUntil: Int64 = 0
  /// It has been looked through for `collapse-id`s up to here; `.max`: to its end.
  var surveyedTo: Int64 = 0
  /// Which recipients files hold for the present notification; 0: none has been looked at.
  var rosterEpoch: UInt32 = 0
  /// They are others by now, so that nobody can tell to whom it was sent.
  var isGivenUp = false
  /// The present notification has recipients left to look at.
  var recipientIsLeft = false
  /// For places in the file as people count them, only while it is read from its start: so many lines end, and so many
  /// characters of the next one stand, before `counted` in the input.
  var lines: Int64 = 0
  var lineCharacters: Int64 = 0
  var counted = 0
}

/// What an answer said of the first notifications of a stretch that goes again: so many are accepted, and perhaps the
/// next one is refused.
struct Trim {
  var accepted: UInt32 = 0
  var verdict: Verdict?

  var isEmpty: Bool { accepted == 0 && verdict == nil }
}

/// Why a notification that was sent is not sent again.
enum Verdict: Equatable {
  case refused(Status)
  /// Connections die at it.
  case deadly
}
