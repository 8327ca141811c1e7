/// The number of a file under way. A number is used again long after its file has left.
public struct ClaimNumber: Equatable, BitwiseCopyable, Sendable {
  var rawValue: UInt32

  init(_ rawValue: UInt32) { self.rawValue = rawValue }
}

/// A file under way: it was taken from `new/`, and something of it is still to be read, sent or settled.
struct Claim: BitwiseCopyable {
  /// What becomes of the file when everything in it is settled; the later cases outweigh the earlier ones.
  enum Fate: UInt8 {
    /// The file leaves `new/`.
    case leaves
    /// The file itself moves to `failed/`, since `failed/` does not show all that is wrong with it.
    case movesToFailed
    /// The file is not touched: it is in `failed/` already.
    case stays
    /// Another file is in its place by now: that one is looked for.
    case changed
    /// A failure in it could not be recorded: the file stays, and is delivered again.
    case unrecorded
  }

  var identity: FileIdentity
  /// When the file was made, in UNIX nanoseconds.
  var birth: Int64 = 0
  /// When the file came into the spool, or else was first seen, in milliseconds by the clock that never jumps: what `ttl`
  /// counts from.
  var cameAt: Int64
  /// How many files were taken before this one: its number holds the last 16 bits.
  var age: UInt32
  /// The text that was read, once the file was read to its end.
  var content = FileContent(bytes: 0, hash: 0)
  /// The file ended with text that is no object: text that is appended may belong to it.
  var endsWithinText = false
  /// The file was renamed into `new/`, so that nobody writes to it there.
  var cameWhole: Bool
  /// The file's sender waits to know what becomes of it.
  var isAwaited: Bool
  var fate = Fate.leaves
  /// A record of this file in `failed/` would not outlive a power cut.
  var hasUnsyncedRecord = false
  /// Everything in the file has been offered to the link, or needs no sending.
  var isRead = false
  /// Notifications of this file that were offered to the link and are not settled.
  var open: UInt32 = 0
  /// Notifications in the file that failed the check.
  var refusals: UInt32 = 0
  /// In which state the recipients files were used; 0: none was used. And which files those are: a bit for each.
  var rosterEpoch: UInt32 = 0
  var rosters: UInt32 = 0

  // Where the name stands, and the neighbours in the list of all claims and in the list of the settled ones.
  var nameAt: UInt32
  var nameBytes: UInt8
  var older = Claims.none
  var newer = Claims.none
  var nextSettled = Claims.none

  /// Whether the file stays in `new/` whatever is settled.
  var isKept: Bool { fate.rawValue >= Fate.stays.rawValue }
}
