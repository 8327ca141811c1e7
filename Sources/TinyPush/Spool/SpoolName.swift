/// What a file's name in `new/` says of the file.
package enum SpoolName {
  /// Whether a name is one that `tinypush send` gives: SECONDS.NANOSECONDS.PROCESS. Its files come whole.
  static func isFromSend(_ name: Span<UInt8>) -> Bool {
    let dot = UInt8.dot
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
