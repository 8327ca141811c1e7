import CLinux
import TinyPush

/// The names of files in `failed/`.
///
/// The file with the reasons has the name of the notification file. Whole files have the same name
/// with a suffix.
enum FailedName {
  /// The suffix of a file that is being sent again.
  static let claimedSuffix: StaticString = ".retry"
  /// The suffix of a whole file that the agent could not read.
  static let unreadSuffix: StaticString = ".unread"
  /// The suffix of a whole file that the agent could read only in part.
  static let originalSuffix: StaticString = ".original"

  /// Returns the length of the name of the file with the reasons; nil if this is not a whole file.
  static func reasonsBase(of name: Span<UInt8>) -> Int? {
    base(of: unnumbered(name), unreadSuffix) ?? base(of: unnumbered(name), originalSuffix)
  }

  /// Returns a name without the number at its end, as in `NAME.unread.2`.
  @_lifetime(copy name)
  static func unnumbered(_ name: Span<UInt8>) -> Span<UInt8> {
    var end = name.count
    while end > 0, name[end - 1].isDigit { end -= 1 }
    let isNumbered = end > 0 && end < name.count && name[end - 1] == .dot
    return name.extracting(0..<(isNumbered ? end - 1 : name.count))
  }

  /// Returns the length of a name before its suffix; nil if it has another end.
  static func base(of name: Span<UInt8>, _ suffix: StaticString) -> Int? {
    let base = name.count - suffix.utf8CodeUnitCount
    return base > 0 && name.extracting(base..<name.count).equals(suffix) ? base : nil
  }

  /// Returns a name with a suffix, cut to the longest file name.
  @inline(never)
  static func beside(_ base: Span<UInt8>, _ suffix: StaticString) -> CString {
    var text = Text(capacity: 300)
    let room = Int(NAME_MAX) - suffix.utf8CodeUnitCount
    text.append(bytes: base.extracting(0..<min(base.count, room)))
    text.append(suffix)
    return text.cString()
  }
}
