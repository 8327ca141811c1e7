/// Properties of a file in `new/` that its name shows.
package enum SpoolName {
  /// The ending of the name of a file whose sender waits for the outcome.
  package static let awaited: StaticString = ".wait"

  /// Returns whether the sender of a file with this name waits for the outcome.
  package static func isAwaited(_ name: Span<UInt8>) -> Bool {
    LaterName.source(of: name).ends(with: awaited)
  }

  /// Returns whether `tinypush send` gave the name.
  ///
  /// Such a name is `SECONDS.NANOSECONDS.PROCESS`, with `.wait` appended if the sender waits. These
  /// files are complete when they appear.
  package static func isFromSend(_ name: Span<UInt8>) -> Bool {
    let dot = UInt8.dot
    let end = name.count - (name.ends(with: awaited) ? awaited.utf8CodeUnitCount : 0)
    let name = name.extracting(0..<end)
    guard name.count > 21, name[10] == dot, name[20] == dot else { return false }
    for index in name.indices where index != 10 && index != 20 {
      guard name[index].isDigit else { return false }
    }
    return true
  }

  /// Returns whether a file with this name is read.
  ///
  /// Names that programs give to unfinished files are skipped.
  @inline(never)
  package static func isTaken(_ name: Span<UInt8>) -> Bool {
    guard name.count > 0, name[0] != .dot, name[name.count - 1] != UInt8(ascii: "~")
    else { return false }
    return !name.ends(with: ".tmp") && !name.ends(with: ".part")
  }
}
