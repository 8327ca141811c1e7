/// The number of a claim.
///
/// A number is reused only long after its file has left.
public struct ClaimNumber: Equatable, BitwiseCopyable, Sendable {
  var rawValue: UInt32

  init(_ rawValue: UInt32) { self.rawValue = rawValue }
}

/// A file that the courier holds: something in it must still be read, sent or settled.
struct Claim: BitwiseCopyable {
  /// What happens to the file when everything in it is settled.
  ///
  /// A later case overrides an earlier one.
  enum Fate: UInt8 {
    /// The file leaves `new/`.
    case leaves
    /// The file moves to `failed/`, since the lines there do not show all its mistakes.
    case movesToFailed
    /// The file stays in `new/`: it is recorded in `failed/` already.
    case stays
    /// Another file has taken its place; the spool is scanned for it.
    case changed
    /// A failure could not be recorded; the file stays in `new/` and is delivered again.
    case unrecorded
  }

  var identity: FileIdentity
  /// When the file was created, in UNIX nanoseconds.
  var birth: Int64 = 0
  /// When the file arrived in the spool, or else was first seen: `ttl` counts from here.
  ///
  /// In milliseconds of the monotonic clock.
  var cameAt: Int64
  /// The number of files claimed before this one; the claim number holds its low 16 bits.
  var age: UInt32
  /// The content, once the file was read to its end.
  var content = FileContent(bytes: 0, hash: 0)
  /// Whether the file ended with text that is not an object, which appended text may continue.
  var endsWithinText = false
  /// Whether the file was renamed into `new/`, so that nobody writes to it there.
  var cameWhole: Bool
  /// Whether the sender waits for the outcome.
  var isAwaited: Bool
  var fate = Fate.leaves
  /// Whether a line about this file in `failed/` is not synced, so that a power cut may lose it.
  var hasUnsyncedRecord = false
  /// Whether everything in the file has been offered to the link or needs no sending.
  var isRead = false
  /// The number of notifications that were offered to the link and are not settled.
  var open: UInt32 = 0
  /// The number of notifications that failed the check.
  var refusals: UInt32 = 0
  /// The epoch of the recipients files that were used; 0: none was used.
  var rosterEpoch: UInt32 = 0
  /// The recipients files that were used, a bit each.
  var rosters: UInt32 = 0

  // The place of the name, and the neighbours in the list of all claims and in that of the settled.
  var nameAt: UInt32
  var nameBytes: UInt8
  var older = Claims.none
  var newer = Claims.none
  var nextSettled = Claims.none

  /// Whether the file stays in `new/` after everything is settled.
  var isKept: Bool { fate.rawValue >= Fate.stays.rawValue }
}
