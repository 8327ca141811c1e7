import CLinux
import TinyPush

extension RecipientsFile {
  /// Whether a directory has a recipients file of this name, as far as this user can see.
  package static func mayExist(_ name: Span<UInt8>, in directory: Span<UInt8>) -> Bool {
    guard isName(name) else { return false }
    return look(for: name, in: directory) != ENOENT
  }

  /// Returns a finding for the first recipients file of a notification that is missing, as far as
  /// this user can see; nil: none is.
  package static func missing(
    _ notification: Notification, of text: Span<UInt8>, in directory: Span<UInt8>
  ) -> Finding? {
    guard !notification.isForDefault else {
      guard !mayExist(Notification.defaultList.span, in: directory) else { return nil }
      return Finding(.listMissingDefault, at: notification.object.lowerBound)
    }
    var name = notification.firstList
    for index in 0..<notification.lists {
      if index > 0 { name = notification.nextString(after: name.upperBound, in: text) }
      guard mayExist(text.extracting(name), in: directory) else {
        return Finding(.listMissing, at: name.lowerBound - 1)
      }
    }
    return nil
  }

  /// Whether this user sees a recipients file of this name in a directory.
  package static func exists(_ name: Span<UInt8>, in directory: Span<UInt8>) -> Bool {
    isName(name) && look(for: name, in: directory) == 0
  }

  /// Returns 0 if there is a file of this name, or the errno.
  @inline(never)
  private static func look(for name: Span<UInt8>, in directory: Span<UInt8>) -> Int32 {
    var path = Text(capacity: 4200)
    path.append(bytes: directory)
    path.append("/", bytes: name)
    var file = stat()
    guard path.withCString({ stat($0, &file) }) == 0 else { return clinux_errno() }
    return clinux_is_regular(&file) != 0 ? 0 : ENOENT
  }
}
