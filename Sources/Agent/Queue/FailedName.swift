import CLinux
import TinyPush

/// The names of files in `failed/`: a file with reasons bears the name of the file that it came from, and whole files lie
/// beside it.
enum FailedName {
  /// Behind the name of a file that is being sent again.
  static let claimedSuffix: StaticString = ".retry"
  /// Behind the names of whole files: one that the agent could not read, and one that it could read in part.
  static let unreadSuffix: StaticString = ".unread"
  static let originalSuffix: StaticString = ".original"

  /// How much of the name is that of the file with the reasons; nil: it is no whole file.
  static func reasonsBase(of name: Span<UInt8>) -> Int? {
    base(of: unnumbered(name), unreadSuffix) ?? base(of: unnumbered(name), originalSuffix)
  }

  /// A name without the number that may stand behind it: that of `NAME.unread.2`.
  @_lifetime(copy name)
  static func unnumbered(_ name: Span<UInt8>) -> Span<UInt8> {
    var end = name.count
    while end > 0, name[end - 1].isDigit { end -= 1 }
    let isNumbered = end > 0 && end < name.count && name[end - 1] == .dot
    return name.extracting(0..<(isNumbered ? end - 1 : name.count))
  }

  /// How much of a name stands before the suffix; nil: it ends otherwise.
  static func base(of name: Span<UInt8>, _ suffix: StaticString) -> Int? {
    let base = name.count - suffix.utf8CodeUnitCount
    return base > 0 && name.extracting(base..<name.count).equals(suffix) ? base : nil
  }

  /// The name of the file beside another one; what is too long is cut, as the agent does.
  @inline(never)
  static func beside(_ base: Span<UInt8>, _ suffix: StaticString) -> CString {
    var text = Text(capacity: 300)
    let room = Int(NAME_MAX) - suffix.utf8CodeUnitCount
    text.append(bytes: base.extracting(0..<min(base.count, room)))
    text.append(suffix)
    return text.cString()
  }
}
