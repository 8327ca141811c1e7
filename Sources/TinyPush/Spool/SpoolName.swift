/// What a file's name in `new/` says of the file.
package enum SpoolName {
  /// At the end of the name of a file whose sender waits to know what becomes of it.
  package static let awaited: StaticString = ".wait"

  /// Whether the sender of a file with this name waits to know what becomes of it.
  package static func isAwaited(_ name: Span<UInt8>) -> Bool {
    LaterName.source(of: name).ends(with: awaited)
  }

  /// Whether a name is one that `tinypush send` gives: SECONDS.NANOSECONDS.PROCESS, and `.wait` where it waits. Its files come
  /// whole.
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

  /// Names that writers use for what is not finished are left alone.
  package static func isTaken(_ name: Span<UInt8>) -> Bool {
    guard name.count > 0, name[0] != .dot, name[name.count - 1] != UInt8(ascii: "~")
    else { return false }
    return !name.ends(with: ".tmp") && !name.ends(with: ".part")
  }
}

extension Span<UInt8> {
  /// Whether something stands before `suffix`, with which these bytes end.
  fileprivate func ends(with suffix: StaticString) -> Bool {
    let length = suffix.utf8CodeUnitCount
    return count > length && extracting((count - length)..<count).equals(suffix)
  }
}
