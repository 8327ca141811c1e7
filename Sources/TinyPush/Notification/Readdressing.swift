/// A notification's object, written anew for one alone of those whom it is for.
package enum Readdressing {
  /// - Parameters:
  ///   - recipient: the member that says who that is: `"token":"…"` or `"to":"…"`.
  ///   - alert: what the payload gets instead of its own alert, in the language of the recipient; nil: everything stays, the
  ///     other languages too.
  @inline(never)
  package static func append(
    _ notification: Notification, of text: Span<UInt8>, for recipient: Span<UInt8>, alert: Alert?,
    to output: inout Text
  ) {
    output.append("{")
    output.append(bytes: recipient)
    if notification.isBare {
      output.append(",\"payload\":")
      output.append(bytes: text.extracting(notification.object))
    } else {
      appendMembers(notification, of: text, alert: alert, to: &output)
    }
    output.append("}")
  }

  /// All but those that say whom it is for.
  private static func appendMembers(
    _ notification: Notification, of text: Span<UInt8>, alert: Alert?, to output: inout Text
  ) {
    var scanner = JSONScanner(at: notification.object.lowerBound)
    // It has been read before, so it has no problem.
    do throws(JSONProblem) {
      guard try scanner.openObject(text) else { return }
      repeat {
        let key = try scanner.key(text)
        _ = try scanner.peek(text)
        let start = scanner.index
        try scanner.skipValue(text)
        let known = EnvelopeKey(spelled: text.extracting(key))
        switch known {
        case .token, .tokens, .to: continue
        case .localized where alert != nil: continue
        default: break
        }
        output.append(",\"")
        output.append(bytes: text.extracting(key))
        output.append("\":")
        if known == .payload, let alert {
          appendPayload(notification.payload, of: text, alert, to: &output)
        } else {
          output.append(bytes: text.extracting(start..<scanner.index))
        }
      } while try scanner.nextMember(text)
    } catch {}
  }

  private static func appendPayload(
    _ payload: Payload, of text: Span<UInt8>, _ alert: Alert, to output: inout Text
  ) {
    let own = payload.alert.range
    output.append(bytes: text.extracting(payload.range.lowerBound..<own.lowerBound))
    if own.isEmpty { output.append(Rendition.key) }
    output.append(bytes: text.extracting(alert.range))
    if own.isEmpty, !payload.isApsEmpty { output.append(",") }
    output.append(bytes: text.extracting(own.upperBound..<payload.range.upperBound))
  }
}
