/// Something that happened in delivery and is worth a line in the log.
public enum Report {
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
  /// Nothing goes any more to the token of these first digits: the gateway calls it invalid, or says that the app is gone.
  case tokenInvalid(UInt32)
  case tokenGone(UInt32)
  /// The gateway calls one invalid that it accepted before: it is sent to all the same.
  case tokenSpared(UInt32)
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
  /// More alerts come for the token of these first digits than a limit allows; and the summary of those that it does not get is in the spool.
  case stormBegan(RateLimit, isOverall: Bool, UInt32)
  case summarized(alerts: UInt32, UInt32)
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

extension Report {
  /// Whether it says that nothing goes to a token any more.
  public var suppressesToken: Bool {
    switch self {
    case .tokenInvalid, .tokenGone: true
    default: false
    }
  }
}

/// The reports that the shell has not taken yet. When it is slow the newest are dropped: they only inform.
package struct Reports {
  private var queue: InlineArray<16, Report> = .init(repeating: .narrowed)
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
