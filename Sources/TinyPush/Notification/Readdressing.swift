/// Copies the members of a notification to a line of `failed/`, with other recipients.
///
/// Each member is written after a comma. The member `failed` is left out, since the line already
/// has one.
enum Readdressing {
  /// Appends all members except those that name the recipients.
  ///
  /// - Parameter alert: replaces the payload's alert, in the language of the recipient; nil: the
  ///   payload and the alerts in other languages are kept.
  @inline(never)
  static func append(
    _ notification: Notification, of text: Span<UInt8>, alert: Alert?, to output: inout Text
  ) {
    if notification.isBare {
      output.append(",\"payload\":", bytes: text.extracting(notification.object))
      return
    }
    forEachMember(of: text, at: notification.object.lowerBound) { known, key, value in
      switch known {
      case .failed, .token, .tokens, .to: return
      case .localized where alert != nil: return
      default: break
      }
      append(key, of: text, to: &output)
      if known == .payload, let alert {
        appendPayload(notification.payload, of: text, alert, to: &output)
      } else {
        output.append(bytes: text.extracting(value))
      }
    }
  }

  /// Appends all members of an object that was refused.
  ///
  /// A payload without recipients becomes a notification to the default list, so that the line can be
  /// sent once its mistake is corrected. A notification for one device must not go to all: a bare payload
  /// has no members of a notification beside its `aps`, and no key may be meant to name a recipient.
  @inline(never)
  static func append(_ object: Span<UInt8>, to output: inout Text) {
    var (hasAps, isMixed, hasPayload, mayName) = (false, false, false, false)
    forEachMember(of: object, at: 0) { known, key, _ in
      let key = object.extracting(key)
      hasAps = hasAps || PayloadReader.isAps(key)
      isMixed = isMixed || PayloadReader.isOfEnvelope(key)
      hasPayload = hasPayload || known == .payload
      mayName = mayName || known == .failed || EnvelopeKey.mayNameRecipient(key)
    }
    if hasAps, !isMixed {
      output.append(",\"to\":\"", Notification.defaultList, "\",\"payload\":")
      output.append(bytes: object)
      return
    }
    if hasPayload, !hasAps, !mayName {
      output.append(",\"to\":\"", Notification.defaultList, "\"")
    }
    forEachMember(of: object, at: 0) { known, key, value in
      guard known != .failed else { return }
      append(key, of: object, to: &output)
      output.append(bytes: object.extracting(value))
    }
  }

  /// Calls `body` for each member of an object that was read before, and so is valid JSON.
  private static func forEachMember(
    of text: Span<UInt8>, at start: Int,
    _ body: (_ known: EnvelopeKey?, _ key: Range<Int>, _ value: Range<Int>) -> Void
  ) {
    var members = JSONMembers(text, at: start)
    while let member = members.next(text) {
      body(EnvelopeKey(spelled: text.extracting(member.key)), member.key, member.value)
    }
  }

  private static func append(_ key: Range<Int>, of text: Span<UInt8>, to output: inout Text) {
    output.append(",\"", bytes: text.extracting(key), "\":")
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
