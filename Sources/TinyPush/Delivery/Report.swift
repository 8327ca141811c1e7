/// Something that happened in delivery and is worth a line in the log.
public enum Report {
  /// The gateway refused a notification; what followed it on the connection goes again.
  case refused(Rejection, resent: Int)
  /// The gateway goes out of service; what it had not accepted goes again.
  case shutdown(resent: Int)
  /// An answer that names nothing that is under way, or says nothing known.
  case strangeAnswer(Rejection, identifier: UInt32, uncertain: Int)
  /// Bytes that are no answer.
  case garbage(firstByte: UInt8, uncertain: Int)
  /// The connection ended without an answer while notifications were under way.
  case cut(uncertain: Int)
  /// Nothing of what was sent is acknowledged.
  case forgotten(uncertain: Int)
  /// A barrier did not get through.
  case unanswered(uncertain: Int)
  /// The gateway took a barrier and did not answer it; so many notifications came before.
  case askedAgain(Int)
  /// The gateway answers no barriers: so many notifications count as delivered, and nothing proves it.
  case unproved(Int)
  /// Connections keep dying: fewer notifications are sent at a time, to find the one at which they do.
  case narrowed
  /// That one is found.
  case deadly
  /// A notification was refused before it was sent.
  case failedCheck
  /// A file cannot be read.
  case unreadable
  /// The gateway refused a notification that already counted as settled: its answer came later than `settle`.
  case lateAnswer(Rejection, identifier: UInt32)
  /// The service is in trouble, or has too much to do: what it did not take goes again.
  case troubled(Rejection)
  /// The service refuses our configuration: nothing is sent until somebody mends it.
  case configurationRefused(Rejection)
  /// The service closed a request with an error of HTTP/2, and without an answer.
  case closed(error: UInt32)
  /// So many requests had no answer in time.
  case timedOut(Int)
  /// The service ends the connection, with an error of HTTP/2.
  case leaves(error: UInt32)
  /// The other end does not keep to HTTP/2.
  case brokenProtocol(uncertain: Int)
  /// More alerts come for a token than a limit allows; and the summary of those that it does not get is in the spool.
  case stormBegan(RateLimit, isOverall: Bool, TokenDigits)
  case summarized(alerts: UInt32, TokenDigits)
  /// A notification was left out: the same went to the same token so long ago.
  case duplicate(Duration, TokenDigits)
  /// A file under way was removed or replaced by somebody else.
  case fileChanged
  /// A recipients file was changed while what goes to it was under way: that goes again, to all.
  case recipientsChanged
  /// `new/` cannot be read; and it can again.
  case notScanned
  case scannable
  /// A notification whose time has come cannot be moved from `later/` to `new/`.
  case notReleased
  /// Delivered files cannot be removed; and they can again.
  case notRemoved
  case removable
  /// Failures cannot be written, and their files stay where they are; and they can again.
  case notRecorded
  case recordable
}

/// The first digits of a device token, by which people tell it from others.
public struct TokenDigits: BitwiseCopyable, Sendable {
  private var bytes: InlineArray<4, UInt8>

  init(_ token: DeviceToken) {
    bytes = [token.bytes[0], token.bytes[1], token.bytes[2], token.bytes[3]]
  }

  public func append(to text: inout Text) {
    text.append(hex: bytes.span)
    text.append("…")
  }
}

/// The reports that the shell has not taken yet. When it is slow the newest are dropped: they only inform.
package struct Reports {
  private var queue: InlineArray<16, Report> = .init(repeating: .failedCheck)
  private var count = 0

  package init() {}

  package mutating func add(_ report: Report) {
    guard count < 16 else { return }
    queue[count] = report
    count += 1
  }

  package mutating func take() -> Report? {
    guard count > 0 else { return nil }
    let report = queue[0]
    for index in 1..<max(count, 1) { queue[index - 1] = queue[index] }
    count -= 1
    return report
  }
}
