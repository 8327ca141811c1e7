import CLinux
import TinyPush

extension RecipientsFile {
  /// What a user sees of a recipients file.
  package enum Presence {
    case missing
    /// The file has no recipient.
    case empty
    /// The file may have recipients.
    case present
  }

  /// Looks for a recipients file of this name in a directory.
  @inline(never)
  package static func presence(of name: Span<UInt8>, in directory: Span<UInt8>) -> Presence {
    let found = RecipientsFiles(directory, .http2).look(into: name)
    switch found.error {
    case 0: return found.hasRecipients ? .present : .empty
    case ENOENT, EINVAL, EISDIR: return .missing
    default: return .present
    }
  }

  /// Returns a finding for the first recipients file of a notification that is missing or empty, as
  /// far as this user can see; nil: there is no such file.
  @inline(never)
  package static func missing(
    _ notification: Notification, of text: Span<UInt8>, in directory: Span<UInt8>
  ) -> Finding? {
    var finding: Finding?
    notification.forEachList(in: text) { name, place in
      guard finding == nil else { return }
      switch presence(of: name, in: directory) {
      case .missing:
        let reason: Finding.Reason = notification.isForDefault ? .listMissingDefault : .listMissing
        finding = Finding(reason, at: place)
      case .empty: finding = Finding(.listEmpty, at: place)
      case .present: break
      }
    }
    return finding
  }

  /// Whether this user sees a recipients file of this name in a directory.
  package static func exists(_ name: Span<UInt8>, in directory: Span<UInt8>) -> Bool {
    isName(name) && look(for: name, in: directory) == 0
  }

  /// Whether a directory may have a recipients file of this name, as far as this user can see.
  package static func mayExist(_ name: Span<UInt8>, in directory: Span<UInt8>) -> Bool {
    isName(name) && look(for: name, in: directory) != ENOENT
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
