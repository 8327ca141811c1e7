/// Which file has the next turn, and how it came.
struct Turns {
  /// Whether the next turn belongs to a file that was read in part.
  var isOfUnread = false
  /// Whether the file in `new/` that is to be taken was renamed there.
  var isNewWhole = false
  /// Whether the last file that was taken up came from `later/`.
  var wasReleased = false
  /// When files that wait for the rest of a notification, or for a recipients file, go on.
  var waitsUntil: Instant?
}
