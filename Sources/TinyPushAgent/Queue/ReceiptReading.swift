import CLinux
import TinyPush

/// The line of a receipt that tells how a notification was settled.
public struct ReceiptLine: ~Escapable {
  /// How a notification was settled, apart from its details.
  public enum Outcome: Int, BitwiseCopyable {
    /// The service has the notification.
    case accepted
    /// The notification is wrong, or the service refused it.
    case refused
    /// The token is suppressed.
    case suppressed
    /// The notification expired before it could be sent.
    case expired
    /// A newer notification replaces this one.
    case superseded
    /// The notification was over a limit.
    case limited
    /// The token got the same notification a while ago.
    case duplicate
    /// Nobody knows whether the notification arrived, and it is not sent again.
    case uncertain

    private static var names: WordList {
      "accepted refused suppressed expired superseded limited duplicate uncertain"
    }

    /// The word for the outcome.
    public var name: Span<UInt8> { @_lifetime(immortal) get { Self.names[rawValue] } }

    init?(name: Span<UInt8>) {
      guard let number = Self.names.index(of: name) else { return nil }
      self.init(rawValue: number)
    }

    /// The outcome of a settlement that is not postponed.
    init(_ outcome: Settlement.Outcome) {
      self =
        switch outcome {
        case .accepted: .accepted
        case .rejected, .failedCheck: .refused
        case .suppressed: .suppressed
        case .expired: .expired
        case .superseded: .superseded
        case .limited: .limited
        case .duplicate: .duplicate
        case .dropped, .postponed: .uncertain
        }
    }
  }

  /// How the notification was settled.
  public let outcome: Outcome
  /// The line of the file; 0 if it was not counted.
  public let line: UInt64
  /// The device token in hex digits; empty if the line applies to all recipients.
  public let token: Span<UInt8>
  /// The reason, or how it was delivered.
  public let words: Span<UInt8>

  /// Reads a line; nil if it is not about a notification.
  @_lifetime(copy text)
  init?(_ text: Span<UInt8>) {
    var ends = InlineArray<3, Int>(repeating: text.count)
    var (index, found) = (0, 0)
    while index < text.count, found < 3 {
      if text[index] == .space {
        ends[found] = index
        found += 1
      }
      index += 1
    }
    guard found == 3, let outcome = Outcome(name: text.extracting(0..<ends[0])) else { return nil }
    self.outcome = outcome
    line = Config.number(text.extracting(ends[0] + 1..<ends[1])) ?? 0
    let token = text.extracting(ends[1] + 1..<ends[2])
    self.token = DeviceToken(hex: token) != nil ? token : token.extracting(0..<0)
    words = text.extracting(ends[2] + 1..<text.count)
  }
}

/// A receipt as its sender reads it, which is removed at the end.
struct SenderReceipt: ~Copyable {
  private let tmp: Descriptor
  private let path: CString
  private let file: Descriptor
  /// The longest line.
  private static let lineBytesMax = 8192

  /// Opens the receipt that the sender created.
  ///
  /// - Parameter error: on failure, the errno.
  init?(for name: Span<UInt8>, in root: Int32, error: inout Int32) {
    guard let tmp = Descriptor(root, part: "tmp", error: &error) else { return nil }
    let path = Receipt.name(for: name)
    let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK
    guard let file = Descriptor(tmp.number, path.pointer, flags, error: &error) else { return nil }
    clinux_remove_when_ended(tmp.number, path.pointer)
    self.tmp = tmp
    self.path = path
    self.file = file
  }

  @inline(never)
  deinit {
    unlinkat(tmp.number, path.pointer, 0)
    clinux_remove_when_ended(-1, nil)
  }

  /// Creates an empty receipt that the agent can write to; returns 0 or an errno.
  static func make(for name: Span<UInt8>, in tmp: Int32, group: gid_t) -> Int32 {
    let path = Receipt.name(for: name)
    defer { extendLifetime(path) }
    var error: Int32 = 0
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW
    guard let file = Descriptor(tmp, path.pointer, flags, 0o660, error: &error) else {
      return error
    }
    fchown(file.number, uid_t.max, group)
    return fchmod(file.number, 0o660) == 0 ? 0 : clinux_errno()
  }

  /// Removes the receipt of a file that did not come into `new/`.
  static func remove(for name: Span<UInt8>, in tmp: Int32) {
    let path = Receipt.name(for: name)
    unlinkat(tmp, path.pointer, 0)
    extendLifetime(path)
  }

  /// Asks for an event when the agent writes to the receipt.
  func watch(_ inotify: Int32) {
    var path = Text(capacity: 40)
    path.append("/proc/self/fd/", file.number)
    path.withCString { _ = inotify_add_watch(inotify, $0, UInt32(IN_MODIFY)) }
  }

  func forEachLine(_ body: (Span<UInt8>) -> Void) {
    var lines = FileLines(file.number, capacity: Self.lineBytesMax)
    while lines.next() > 0 { body(lines.line.extracting(0..<lines.line.count - 1)) }
  }

  /// Whether the receipt is complete, for the file and for its parts in `later/`.
  func isComplete(_ name: Span<UInt8>) -> Bool {
    guard hasLeft(name) else { return false }
    var isComplete = true
    forEachLine { line in
      guard isComplete, line.count > 2, line[0] == UInt8(ascii: "~") else { return }
      if !hasLeft(line.extracting(2..<line.count)) { isComplete = false }
    }
    return isComplete
  }

  /// Whether the agent recorded that the file of this name left.
  private func hasLeft(_ name: Span<UInt8>) -> Bool {
    var hasLeft = false
    forEachLine { line in
      guard line.count > 2, line[0] == .equals else { return }
      if line.extracting(2..<line.count).equals(name) { hasLeft = true }
    }
    return hasLeft
  }
}
