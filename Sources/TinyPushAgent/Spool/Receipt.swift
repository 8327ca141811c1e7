import CLinux
import TinyPush

/// The receipt for a sender who waits: the file `tmp/NAME.receipt`.
///
/// The sender creates it before the file comes into `new/`, and removes it at the end. The agent
/// appends a line for each settled notification:
///
///     OUTCOME LINE TOKEN WORDS    how the notification was settled
///     ~ NAME                      it waits in `later/`, and comes back under this name
///     = NAME                      the file of this name leaves; all lines about it stand above
///
/// OUTCOME is the name of a ``ReceiptLine/Outcome``. LINE is 0 if the line was not counted, and TOKEN
/// is `*` if the line applies to all recipients.
enum Receipt {
  private static let suffix: StaticString = ".receipt"

  /// Returns the name of the receipt for a file in `new/`.
  static func name(for file: Span<UInt8>) -> CString {
    var text = Text(capacity: 300)
    text.append(bytes: LaterName.source(of: file))
    text.append(suffix)
    return text.cString()
  }

  /// Appends a line, or removes the receipt if that fails, so that it contains only complete lines.
  ///
  /// - Parameters:
  ///   - name: the name of the file in `new/`.
  ///   - root: the spool.
  @inline(never)
  static func append(_ line: borrowing Text, for name: Span<UInt8>, in root: Int32) {
    var error: Int32 = 0
    let path = self.name(for: name)
    defer { extendLifetime(path) }
    let flags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
    guard let tmp = Descriptor(root, part: "tmp", error: &error),
      let file = Descriptor(tmp.number, path.pointer, flags, error: &error)
    else {
      if error != ENOENT { remove(path, in: root) }
      return
    }
    var information = stat()
    // A second link could be another file's.
    guard fstat(file.number, &information) == 0, clinux_is_regular(&information) != 0,
      information.st_nlink == 1
    else { return }
    if Descriptor.writeAll(file.number, line.bytes) != 0 { remove(path, in: root) }
  }

  private static func remove(_ receipt: borrowing CString, in root: Int32) {
    var path = Text(capacity: 300)
    path.append("tmp/", bytes: receipt.span)
    path.withCString { _ = unlinkat(root, $0, 0) }
  }

  /// Appends the line of a settled notification.
  ///
  /// - Parameter failure: the line of ``Courier/failure()``; empty if absent.
  @inline(never)
  static func appendLine(_ settlement: Settlement, failure: Span<UInt8>, to text: inout Text) {
    text.append(bytes: ReceiptLine.Outcome(settlement.outcome).name)
    text.append(" ", settlement.line, " ")
    if let token = settlement.token { text.append(hex: token.bytes) } else { text.append("*") }
    text.append(" ")
    settlement.describe(failure: failure, to: &text)
    text.append("\n")
  }

  /// Records that the file leaves.
  static func end(_ name: Span<UInt8>, in root: Int32) {
    var text = Text(capacity: 300)
    text.append("= ", bytes: name, "\n")
    append(text, for: name, in: root)
  }

  /// Records that a file in `later/` was replaced.
  static func endReplaced(_ later: Span<UInt8>, in root: Int32) {
    guard let name = LaterName(later) else { return }
    var released = Text(capacity: 300)
    name.appendReleased(later, to: &released)
    guard SpoolName.isAwaited(released.bytes) else { return }
    var text = Text(capacity: 300)
    appendLine(Settlement(outcome: .superseded), failure: Span(), to: &text)
    append(text, for: released.bytes, in: root)
    end(released.bytes, in: root)
  }
}
