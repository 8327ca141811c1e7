/// The number of a taken file.
///
/// A number is used again only long after its file has left.
struct FileNumber: Equatable, BitwiseCopyable, Sendable {
  var rawValue: UInt32

  init(_ rawValue: UInt32) { self.rawValue = rawValue }
}

/// A file that the agent has taken: something in it must still be read, sent or settled.
///
/// Nobody else finds the file by its name, so what was read of it never changes.
struct TakenFile: BitwiseCopyable {
  /// What happens to the file when everything in it is settled.
  ///
  /// A later case overrides an earlier one.
  enum Fate: UInt8 {
    /// The file is removed, or moves to `failed/`.
    case leaves
    /// The file cannot be read: all of it moves to `failed/`.
    case isUnreadable
    /// A failure could not be recorded: the file stays, and is delivered again later.
    case unrecorded
    /// The file has left already: somebody has removed it.
    case isGone
  }

  /// When the file came into `new/`, in UNIX nanoseconds, as its name says.
  var arrivalNs: Int64
  /// When what is read next of it came: a program may have appended to the file, and what came back
  /// from `later/` came in another file.
  var origin: Origin
  /// When the file came, or else was first seen: `ttl` counts from here.
  ///
  /// In milliseconds of the monotonic clock.
  var cameAt: Int64
  /// How far everything was settled when the file got its present name.
  var settledTo: Int64
  /// The size at the last reading.
  var size: Int64 = 0
  /// The number of files taken before this one; the file's number holds its low 16 bits.
  var age: UInt32
  /// Whether the sender waits for the outcome.
  var isAwaited: Bool
  /// Whether a program may still have the file open and append to it.
  var mayGrow: Bool
  var fate = Fate.leaves
  /// Whether the file moves to `failed/`, since the lines there do not show all its mistakes, and
  /// whether its name says so.
  var movesToFailed: Bool
  var isMarked: Bool
  /// Whether a line about this file in `failed/` is not synced, so that a power cut may lose it.
  var hasUnsyncedRecord = false
  /// Whether a program has written to the file since the last reading, or closed it.
  var hasChanged = false
  /// Whether everything in the file was read.
  var isRead = false
  /// Whether the file waits for the rest of a notification, or for a recipients file.
  var isWaiting = false
  /// Whether somebody has removed the file to have nothing more of it sent.
  var isDropped = false
  /// Whether the disk refused to remove the file.
  var isStuck = false
  /// The notifications that failed the check.
  var refusals: UInt32 = 0
  /// The place of the first notification that could not be recorded.
  var unrecordedFrom = Int64.max
  /// The place of the last notification of which something is settled.
  var settledEnd: Int64 = -1
  /// The messages of the file that are not settled.
  var open: UInt32 = 0
  /// The lane of the message that was read last.
  var lane = Lane.devices
  /// How far the file was read.
  var cursor: Cursor
  /// The hash of the name and the arrival, from which its notifications have their identities.
  var hash: Hash

  // The place of the name, and the next file of those that are to be read on or removed.
  var nameAt: UInt32
  var nameBytes: UInt8
  var next = TakenFiles.none

  /// The size of a large file in bytes: its name tells how far it is settled, every few seconds.
  ///
  /// To repeat a smaller one costs less than to rename it.
  static let largeMin: Int64 = 65_536

  /// Whether the file came from `later/`.
  var isReleased: Bool { origin.hasWaited }
}
