import CLinux
import TinyPush

extension RecipientsFile {
  /// Whether a directory has a recipients file of this name, as far as this user can see.
  package static func mayExist(_ name: Span<UInt8>, in directory: Span<UInt8>) -> Bool {
    guard isName(name) else { return false }
    return look(for: name, in: directory) != ENOENT
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
