import TinyPush

extension Report {
  /// A line for the log, and how urgent it is.
  func describe(in text: inout Text) -> Log.Priority {
    switch self {
    case .shutdown(let resent):
      text.append("the gateway goes out of service; connecting anew")
      Self.appendResent(resent, to: &text)
      return .notice
    case .strangeAnswer(let rejection, let identifier, let uncertain):
      text.append("the gateway answered ")
      rejection.describe(in: &text)
      text.append(" for notification ")
      text.append(identifier)
      text.append(", which says nothing of what was sent")
      Self.appendUncertain(uncertain, to: &text)
      return .warning
    case .garbage(let firstByte, let uncertain):
      text.append("the gateway sent what is no answer (first byte ")
      text.append(firstByte)
      text.append("); connection closed")
      Self.appendUncertain(uncertain, to: &text)
      return .warning
    case .cut(let uncertain):
      text.append("the connection ended without an answer")
      Self.appendUncertain(uncertain, to: &text)
      return .warning
    case .forgotten(let uncertain):
      text.append(
        "nothing gets through the connection any more: a router on the way may have forgotten it; connecting anew"
      )
      Self.appendUncertain(uncertain, to: &text)
      return .notice
    case .unanswered(let uncertain):
      text.append("the gateway is silent, even to what it must refuse; connecting anew")
      Self.appendUncertain(uncertain, to: &text)
      return .warning
    case .askedAgain(let count):
      text.append(
        "the gateway has not answered a frame that it must refuse; asking on a new connection whether "
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
      text.append(": the connection was well and no refusal came for as long as settle says")
      return .warning
    case .narrowed:
      text.append(
        "connections keep ending without an answer: sending few at a time, to find out whether one of them is the cause"
      )
      return .warning
    case .troubled(let rejection):
      text.append("the service is in trouble (")
      rejection.describe(in: &text)
      text.append("); what it did not take goes again, one at a time at first")
      return .warning
    case .configurationRefused(let rejection):
      text.append("the service refuses the configuration: ")
      rejection.describe(in: &text)
      text.append("; nothing leaves the spool until this is mended")
      return .error
    case .closed(let error):
      text.append("the service closed a request with error ")
      text.append(error)
      text.append(" of HTTP/2 and without an answer; it goes again")
      return .warning
    case .timedOut(let count):
      text.append(count)
      text.append(count == 1 ? " request has" : " requests have")
      text.append(" no answer; sending again")
      return .warning
    case .leaves(let error):
      text.append("the service ends the connection with error ")
      text.append(error)
      text.append(" of HTTP/2; connecting anew")
      return .warning
    case .brokenProtocol(let uncertain):
      text.append("the other end does not keep to HTTP/2; connection closed")
      Self.appendUncertain(uncertain, to: &text)
      return .warning
    case .tokenInvalid(let digits):
      text.append("the gateway calls token ")
      Self.append(digits, to: &text)
      text.append(" invalid: nothing more is sent to it; failed/ says what to do")
      return .warning
    case .tokenGone(let digits):
      text.append("the app is gone from the device of token ")
      Self.append(digits, to: &text)
      text.append(": nothing more is sent to it until it is registered")
      return .notice
    case .tokenSpared(let digits):
      text.append("the gateway calls token ")
      Self.append(digits, to: &text)
      text.append(" invalid, which it accepted before: it is suppressed if that is said again")
      return .warning
    case .lateAnswer(let rejection, let identifier):
      text.append("the gateway refused notification ")
      text.append(identifier)
      text.append(" (")
      rejection.describe(in: &text)
      text.append(
        ") after it had counted as delivered: what followed it may be lost; set settle to more")
      return .error
    case .stormBegan(let limit, let isOverall, let token):
      text.append("there are more than ")
      limit.append(to: &text)
      text.append(
        isOverall
          ? " for this box (limit-all): those over the limit wait or go to failed/, and a summary tells of them; the first is to token "
          : " for one device token (limit): those over the limit wait or go to failed/, and a summary tells of them; the token is "
      )
      Self.append(token, to: &text)
      return .warning
    case .summarized(let alerts, let token):
      text.append("a summary tells of ")
      text.append(alerts)
      text.append(alerts == 1 ? " alert" : " alerts")
      text.append(" over the limit; the token is ")
      Self.append(token, to: &text)
      return .notice
    case .fileChanged:
      text.append("a file in new/ was removed or changed while it was being delivered")
      return .notice
    case .recipientsChanged:
      text.append(
        "a recipients file was changed while what goes to it was under way: its notifications are sent again, to all of them"
      )
      return .notice
    case .notScanned:
      text.append(
        "new/ cannot be read: is it a directory of the agent's user, and is the disk sound?")
      return .error
    case .scannable:
      text.append("new/ can be read again")
      return .notice
    case .notReleased:
      text.append(
        "a notification whose time has come cannot be moved from later/ to new/: is something else there of its name, or the disk full or read-only?"
      )
      return .error
    case .notRemoved:
      text.append(
        "delivered files cannot be removed from new/, and after a restart they would be delivered again: may the agent write there, and is the disk sound?"
      )
      return .error
    case .removable:
      text.append("delivered files can be removed again")
      return .notice
    case .notRecorded:
      text.append(
        "failed/ cannot be written to: is the disk full? Files with something to record stay in new/ until it can"
      )
      return .error
    case .recordable:
      text.append("failed/ can be written to again")
      return .notice
    }
  }

  /// What it is about.
  var topic: Log.Topic {
    switch self {
    case .shutdown, .strangeAnswer, .garbage, .cut, .forgotten, .unanswered, .askedAgain,
      .unproved, .narrowed, .troubled, .configurationRefused, .timedOut, .closed, .leaves,
      .brokenProtocol:
      .connection
    case .lateAnswer, .tokenInvalid, .tokenGone, .tokenSpared: .refusals
    case .stormBegan, .summarized: .limits
    case .fileChanged, .recipientsChanged: .files
    case .notScanned, .scannable, .notReleased: .spool
    case .notRemoved, .removable: .removals
    case .notRecorded, .recordable: .failures
    }
  }

  /// The first digits of a token.
  @inline(never)
  private static func append(_ digits: UInt32, to text: inout Text) {
    var bytes: InlineArray<4, UInt8> = .init(repeating: 0)
    for index in 0..<4 { bytes[index] = UInt8(digits >> (24 - 8 * UInt32(index)) & 255) }
    text.append(hex: bytes.span)
    text.append("...")
  }

  private static func appendResent(_ count: Int, to text: inout Text) {
    guard count > 0 else { return }
    text.append("; sending again the ")
    text.append(count)
    text.append(" after it")
  }

  @inline(never)
  private static func appendUncertain(_ count: Int, to text: inout Text) {
    guard count > 0 else { return }
    text.append("; it is uncertain whether ")
    text.append(count)
    text.append(count == 1 ? " notification arrived" : " notifications arrived")
  }
}

extension Rejection {
  func describe(in text: inout Text) {
    text.append(self.text)
    text.append(" (status ")
    text.append(code)
    text.append(")")
  }
}
