/// When the notifications of a file came into `new/`, by which the newer one of two is known.
struct Origin: BitwiseCopyable {
  /// When the last of them came, in UNIX nanoseconds; 0: before this version.
  let arrivalNs: Int64
  /// Whether the notification waits in `later/`, or has waited there.
  let hasWaited: Bool

  /// Returns whether a notification came before one of another file; nil: nobody knows.
  ///
  /// The names tell only which of two came first that came at the same moment. Both arrivals are
  /// converted now: the conversion changes with the wall clock.
  ///
  /// - Parameters:
  ///   - name: the name that its file had in `new/`.
  ///   - otherName: the name that the other file had there.
  func comes(
    _ name: Span<UInt8>, before other: Origin, _ otherName: Span<UInt8>,
    _ arrivals: ArrivalClock, _ time: Time
  ) -> Bool? {
    if arrivalNs == other.arrivalNs, name.equals(otherName) {
      // Of one file, what has waited is the older part.
      return hasWaited == other.hasWaited ? nil : hasWaited
    }
    guard let came = cameAt(arrivals, time), let otherCame = other.cameAt(arrivals, time) else {
      return nil
    }
    if came == otherCame, arrivalNs == other.arrivalNs { return name.sorts(before: otherName) }
    return (came, arrivalNs) < (otherCame, other.arrivalNs)
  }

  /// Returns the arrival in milliseconds of the monotonic clock; nil: unknown.
  private func cameAt(_ arrivals: ArrivalClock, _ time: Time) -> Int64? {
    arrivalNs == 0 ? .min : arrivals.arrival(changeTimeNs: arrivalNs, time)
  }
}
