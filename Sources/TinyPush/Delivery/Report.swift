/// An event of delivery for the log.
public enum Report {
  /// The gateway shuts down; notifications that it had not accepted are sent again.
  case shutdown(resent: Int)
  /// An answer names no notification that was sent, or has an undocumented status.
  case strangeAnswer(Rejection, identifier: UInt32, uncertain: Int)
  /// The gateway sent unexpected bytes.
  case garbage(firstByte: UInt8, uncertain: Int)
  /// The connection ended without an answer while notifications were in flight.
  case cut(uncertain: Int)
  /// The peer acknowledges nothing any more.
  case forgotten(uncertain: Int)
  /// A barrier did not arrive.
  case unanswered(uncertain: Int)
  /// The gateway did not answer a barrier; the value is the number of notifications before it.
  case askedAgain(Int)
  /// The gateway answers no barriers: this number of notifications counts as delivered unproved.
  case unproved(Int)
  /// Connections keep dying, so fewer notifications are sent at a time to find the cause.
  case narrowed
  /// The service calls a token invalid, which is now suppressed; the value is its first digits.
  case tokenInvalid(UInt32)
  /// The app is gone from a token's device; the token is now suppressed. The value is its first
  /// digits.
  case tokenGone(UInt32)
  /// The service calls a token invalid that it accepted before; it is not suppressed yet. The value
  /// is its first digits.
  case tokenSpared(UInt32)
  /// The gateway refused a notification that had counted as settled: `settle` is too short.
  case lateAnswer(Rejection, identifier: UInt32)
  /// The service is in trouble or overloaded; notifications that it did not take are sent again.
  case troubled(Rejection)
  /// The service refuses a notification for a reason that may concern all others.
  case refusedOnce(Rejection)
  /// The service refuses the configuration; nothing is sent until that is fixed.
  case configurationRefused(Rejection)
  /// The service gave an answer that is not documented: its status and the start of its text.
  case unknownAnswer(status: UInt16, UnknownText)
  /// The service closed a request with an HTTP/2 error and without an answer.
  case closed(error: UInt32)
  /// Requests had no answer in time; the value is their number.
  case timedOut(Int)
  /// The service ends the connection with an HTTP/2 error.
  case leaves(error: UInt32)
  /// The service violates HTTP/2.
  case brokenProtocol(uncertain: Int)
  /// More alerts come for a token than a limit allows; the value is its first digits.
  case stormBegan(RateLimit, isOverall: Bool, UInt32)
  /// The summary of a storm is in the spool: the number of its alerts, and the token's first digits.
  case summarized(alerts: UInt32, UInt32)
  /// Another program removed a file under way from `taken/`.
  case fileChanged
  /// `new/` cannot be read.
  case notScanned
  /// `new/` can be read again.
  case scannable
  /// A notification that is due cannot be moved from `later/` to `taken/`.
  case notReleased
  /// Delivered files cannot be removed.
  case notRemoved
  /// Delivered files can be removed again.
  case removable
  /// Files in `new/` cannot be moved to `taken/`: the errno.
  case notTaken(Int32)
  /// Files can be moved to `taken/` again.
  case taken
  /// Failures cannot be written, so their files stay in `taken/`.
  case notRecorded
  /// Failures can be written again.
  case recordable
}

extension Report {
  /// Whether the event puts a token on the suppression list.
  public var suppressesToken: Bool {
    switch self {
    case .tokenInvalid, .tokenGone: true
    default: false
    }
  }
}

/// The start of an answer that is not documented; zeros follow a shorter one.
public typealias UnknownText = InlineArray<24, UInt8>

/// The events that the agent has not logged yet.
///
/// If there are too many, the newest are dropped: they only inform.
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
