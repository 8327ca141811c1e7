import CLinux
import TinyPush

extension Report {
  /// Appends the report as a log line, and returns the priority of the line.
  func describe(in text: inout Text) -> Log.Priority {
    switch self {
    case .shutdown(let resent):
      text.append("the gateway is shutting down; reconnecting")
      Self.appendResent(resent, to: &text)
      return .notice
    case .strangeAnswer(let rejection, let identifier, let uncertain):
      text.append("the gateway answered ")
      rejection.describe(in: &text)
      text.append(" for notification ", identifier, ", which tells nothing about what was sent")
      Self.appendUncertain(uncertain, to: &text)
      return .warning
    case .garbage(let firstByte, let uncertain):
      text.append("unexpected bytes from the gateway (first byte ", firstByte)
      text.append("); connection closed")
      Self.appendUncertain(uncertain, to: &text)
      return .warning
    case .cut(let uncertain):
      text.append("the connection ended without an answer")
      Self.appendUncertain(uncertain, to: &text)
      return .warning
    case .forgotten(let uncertain):
      text.append(
        "data no longer gets through: a router may have dropped the connection; reconnecting"
      )
      Self.appendUncertain(uncertain, to: &text)
      return .notice
    case .unanswered(let uncertain):
      text.append(
        "the gateway sends no answer, not even to a frame that it must refuse; reconnecting")
      Self.appendUncertain(uncertain, to: &text)
      return .warning
    case .askedAgain(let count):
      text.append(
        "the gateway did not answer a frame that it must refuse; asking on a new connection whether "
      )
      text.append(count)
      text.append(count == 1 ? " notification arrived" : " notifications arrived")
      return .warning
    case .unproved(let count):
      text.append("the gateway does not answer frames that it must refuse, so nothing proves that ")
      text.append(count)
      text.append(
        count == 1
          ? " notification arrived; it counts as delivered"
          : " notifications arrived; they count as delivered")
      text.append(", because the connection stayed up and no refusal came within settle")
      return .warning
    case .narrowed:
      text.append(
        "connections keep ending without an answer: sending fewer notifications at a time to find one that causes this"
      )
      return .warning
    case .troubled(let rejection):
      text.append("the service has a problem (")
      rejection.describe(in: &text)
      text.append("); sending again what it did not accept, one notification at a time at first")
      return .warning
    case .refusedOnce(let rejection):
      text.append("the service refuses a notification for a reason that may concern all (")
      rejection.describe(in: &text)
      text.append("); trying others, and this one again")
      return .warning
    case .configurationRefused(let rejection):
      text.append("the service refuses the configuration: ")
      rejection.describe(in: &text)
      text.append(": ", rejection.advice, "; what it refuses waits until this is corrected")
      return .error
    case .unknownAnswer(let status, let answer):
      text.append("the service gave an answer that is not documented: status ", status)
      var count = 0
      while count < answer.count, answer[count] != 0 { count += 1 }
      if count > 0 { text.append(", ", printable: answer.span.extracting(0..<count)) }
      return .warning
    case .closed(let error):
      text.append("the service closed a request with HTTP/2 error ", error)
      text.append(" and no answer; sending it again")
      return .warning
    case .timedOut(let count):
      text.append(count)
      text.append(count == 1 ? " request has" : " requests have")
      text.append(" no answer; sending again")
      return .warning
    case .leaves(let error):
      text.append("the service ends the connection with HTTP/2 error ", error, "; reconnecting")
      return .warning
    case .brokenProtocol(let uncertain):
      text.append("the service violates HTTP/2; connection closed")
      Self.appendUncertain(uncertain, to: &text)
      return .warning
    case .tokenInvalid(let digits):
      text.append("the service refuses token ")
      Self.append(digits, to: &text)
      text.append(" as invalid: nothing more is sent to it; failed/ says what to do")
      return .warning
    case .tokenGone(let digits):
      text.append("the device or browser with token ")
      Self.append(digits, to: &text)
      text.append(" is gone: nothing more is sent to it until it is registered")
      return .notice
    case .tokenSpared(let digits):
      text.append("the service refuses token ")
      Self.append(digits, to: &text)
      text.append(" as invalid, but accepted it before: another such answer suppresses it")
      return .warning
    case .lateAnswer(let rejection, let identifier):
      text.append("the gateway refused notification ", identifier, " (")
      rejection.describe(in: &text)
      text.append(
        ") after it had counted as delivered: notifications after it may be lost; increase settle")
      return .error
    case .stormBegan(let limit, let isOverall, let token):
      text.append("more than ")
      limit.append(to: &text)
      text.append(
        isOverall
          ? " from this machine (limit-all): the rest wait or go to failed/, and a summary reports their number; the first is to token "
          : " for one device token (limit): the rest wait or go to failed/, and a summary reports their number; the token is "
      )
      Self.append(token, to: &text)
      return .warning
    case .summarized(let alerts, let token):
      text.append("one summary stands for ", alerts)
      text.append(alerts == 1 ? " alert" : " alerts")
      text.append(" over the limit; the token is ")
      Self.append(token, to: &text)
      return .notice
    case .fileChanged:
      text.append("a file in taken/ was removed while it was being delivered")
      return .notice
    case .notScanned:
      text.append(
        "new/ cannot be read: is it a directory that the agent's user can read, and is the disk healthy?"
      )
      return .error
    case .scannable:
      text.append("new/ can be read again")
      return .notice
    case .notReleased:
      text.append(
        "a notification that is due cannot be moved from later/ to taken/: is the disk full or read-only?"
      )
      return .error
    case .notRemoved:
      text.append(
        "delivered files cannot be removed from taken/, so a restart would deliver them again: may the agent write there, and is the disk healthy?"
      )
      return .error
    case .removable:
      text.append("delivered files can be removed again")
      return .notice
    case .notTaken(let error):
      text.append("files cannot be moved from new/ to taken/ (")
      text.append(cString: clinux_error_text(error))
      text.append("), so they wait: are both on one disk, is it full or read-only?")
      return .error
    case .taken:
      text.append("files can be moved from new/ to taken/ again")
      return .notice
    case .notRecorded:
      text.append(
        "failed/ cannot be written to: is the disk full or read-only, and may the agent's user write there? Files with something to record stay in taken/ until then"
      )
      return .error
    case .recordable:
      text.append("failed/ can be written to again")
      return .notice
    }
  }

  /// The topic of a log line about the report.
  var topic: Log.Topic {
    switch self {
    case .shutdown, .strangeAnswer, .garbage, .cut, .forgotten, .unanswered, .askedAgain,
      .unproved, .narrowed, .troubled, .refusedOnce, .configurationRefused, .unknownAnswer,
      .timedOut, .closed,
      .leaves, .brokenProtocol:
      .connection
    case .lateAnswer, .tokenInvalid, .tokenGone, .tokenSpared: .refusals
    case .stormBegan, .summarized: .limits
    case .fileChanged: .files
    case .notScanned, .scannable, .notReleased, .notTaken, .taken: .spool
    case .notRemoved, .removable: .removals
    case .notRecorded, .recordable: .failures
    }
  }

  /// Appends the first digits of a token.
  @inline(never)
  private static func append(_ digits: UInt32, to text: inout Text) {
    var bytes: InlineArray<4, UInt8> = .init(repeating: 0)
    for index in 0..<4 { bytes[index] = UInt8(digits >> (24 - 8 * UInt32(index)) & 255) }
    text.append(hex: bytes.span)
    text.append("...")
  }

  private static func appendResent(_ count: Int, to text: inout Text) {
    guard count > 0 else { return }
    text.append("; sending again ", count, " that it did not accept")
  }

  @inline(never)
  private static func appendUncertain(_ count: Int, to text: inout Text) {
    guard count > 0 else { return }
    text.append("; it is uncertain whether ", count)
    text.append(count == 1 ? " notification arrived" : " notifications arrived")
  }
}

extension Rejection {
  func describe(in text: inout Text) {
    appendText(to: &text)
    text.append(" (status ", code, ")")
  }
}
