import TinyPush

extension Settlement {
  /// Appends the place of the notification for the log: `NAME:LINE to TOKEN`, as far as it is
  /// known.
  ///
  /// - Parameters:
  ///   - name: the name of the file.
  ///   - line: the line of the file, from 1 on; line 1 is not shown.
  func describePlace(in name: Span<UInt8>, line: Int64, to text: inout Text) {
    text.append(printable: name)
    if line > 1 {
      text.append(":", line)
    }
    guard let token else { return }
    text.append(" to ")
    text.append(hex: token.bytes.extracting(0..<min(token.count, 4)))
  }

  /// Appends how the notification was settled.
  ///
  /// - Parameter failure: the line of ``Courier/failure()``; empty if absent.
  @inline(never)
  func describe(failure: Span<UInt8>, to text: inout Text) {
    switch outcome {
    case .accepted(let isProved):
      text.append(isProved ? "delivered" : "delivered: no refusal came in time")
    case .rejected(let rejection):
      // The reason of a rejection by the agent itself begins with "not sent: ".
      if !rejection.reason.isOfAgent { text.append("not delivered: ") }
      if let line = FailedLine(failure) { return line.appendReason(of: failure, to: &text) }
      text.append(
        rejection.reason == .subscriptionEnded
          ? "the subscription has ended" : "the app is no longer on the device")
      if rejection.since > 0 {
        text.append(", since ")
        text.append(utc: rejection.since)
      }
      text.append(
        rejection.reason == .subscriptionEnded
          ? "; the browser needs a new invitation: tinypush recipient invite NAME"
          : "; nothing more is sent to the token: tinypush recipient remove NAME TOKEN, or register it again"
      )
    case .failedCheck, .limited:
      text.append("not sent: ")
      FailedLine(failure)?.appendReason(of: failure, to: &text)
    case .duplicate:
      text.append("not sent: the same alert went to this token within its again-after")
    case .superseded:
      text.append("not sent: a newer notification with the same collapse-id replaces it")
    case .expired: text.append("not sent: it expired before it could be sent")
    case .suppressed(let reason, let since):
      text.append(isBrowser ? "not sent: the browser" : "not sent: the token")
      text.append(" has been suppressed since ")
      text.append(utc: since)
      text.append(" (", reason.text)
      text.append(
        reason.needsInvitation(isBrowser: isBrowser)
          ? "); the browser needs a new invitation: tinypush recipient invite NAME"
          : "); if it is valid again, run tinypush token register TOKEN")
    case .dropped:
      text.append("not known whether it arrived; not sent again because uncertain = drop")
    case .postponed: text.append("waits in later/ until it is due")
    }
  }

  /// The priority of a log line about it.
  var priority: Log.Priority {
    switch outcome {
    case .accepted, .superseded, .postponed, .limited: .info
    case .suppressed, .expired, .duplicate: .notice
    case .rejected(let rejection) where rejection.isGone: .notice
    case .rejected, .failedCheck, .dropped: .warning
    }
  }

  /// The topic of a log line about it.
  var topic: Log.Topic {
    switch outcome {
    case .rejected: .refusals
    case .failedCheck: .mistakes
    case .duplicate: .limits
    default: .unsent
    }
  }
}
