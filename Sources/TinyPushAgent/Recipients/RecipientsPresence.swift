import CLinux
import TinyPush

extension RecipientsFile {
  /// Whether a directory has a recipients file of this name, as far as this user can see.
  @inline(never)
  package static func mayExist(_ name: Span<UInt8>, in directory: Span<UInt8>) -> Bool {
    guard isName(name) else { return false }
    var path = Text(capacity: 4200)
    path.append(bytes: directory)
    path.append("/", bytes: name)
    return path.withCString { access($0, F_OK) == 0 || clinux_errno() != ENOENT }
  }
}
