/// The members that become header fields: `collapse-id`, `topic`, `push-type` and `id`.
extension Envelope {
  /// The longest `collapse-id`, in bytes.
  ///
  /// Source: APNs Provider API, 2015-12 and later, `apns-collapse-id`.
  static let collapseIDBytesMax = 64
  /// The longest `topic`, in bytes.
  ///
  /// Inferred: far longer than any bundle ID.
  package static let topicBytesMax = 255

  @inline(never)
  mutating func readCollapseID(
    _ text: Span<UInt8>, by scanner: inout JSONScanner, _ findings: inout Findings
  ) throws(JSONProblem) {
    let at = scanner.index
    guard let range = try string(.collapseID, text, by: &scanner, &findings) else { return }
    notification.collapseID = range
    var reader = JSONStringReader()
    var bytes = 0
    // An HTTP field must have no control characters and no space at either end (RFC 9113 section
    // 8.2.1).
    var isFit = true
    var last: UInt8 = .space
    let value = text.extracting(range)
    while let byte = reader.next(in: value) {
      if byte < .space || byte == .delete || bytes == 0 && byte == .space { isFit = false }
      bytes += 1
      last = byte
    }
    if bytes == 0 || bytes > Self.collapseIDBytesMax {
      findings.add(Finding(.collapseID, at: at, found: bytes, limit: Self.collapseIDBytesMax))
    } else if traits.isOfHTTP2, !isFit || last == .space {
      findings.add(Finding(.collapseIDCharacters, at: at))
    }
  }

  /// Reads `topic`, `push-type` or `id`, which the binary protocol does not have.
  @inline(never)
  mutating func readString(
    _ key: EnvelopeKey, _ text: Span<UInt8>, by scanner: inout JSONScanner,
    _ findings: inout Findings
  ) throws(JSONProblem) {
    let at = scanner.index
    guard let range = try string(key, text, by: &scanner, &findings) else { return }
    let value = text.extracting(range)
    var reason: Finding.Reason?
    switch key {
    case .topic:
      if Self.isTopic(value) { notification.topic = range } else { reason = .topic }
    case .id:
      if Self.isUUID(value) { notification.identifier = range } else { reason = .identifier }
    default:
      if let type = PushType(name: value) {
        notification.pushType = type
        pushTypeAt = at
      } else {
        reason = .pushType(nearest: .nearest(to: value))
      }
    }
    if traits.isOfHTTP2, let reason {
      findings.add(Finding(reason, at: at, limit: Self.topicBytesMax))
    }
  }

  private func string(
    _ key: EnvelopeKey, _ text: Span<UInt8>, by scanner: inout JSONScanner,
    _ findings: inout Findings
  ) throws(JSONProblem) -> Range<Int>? {
    if text[scanner.index] == .quote { return try scanner.string(text) }
    findings.add(Finding(.mustBeString(key), at: scanner.index))
    try scanner.skipValue(text)
    return nil
  }

  /// Returns whether a string can be a topic.
  ///
  /// A backslash is not allowed: the escape would be sent unchanged.
  private static func isTopic(_ value: Span<UInt8>) -> Bool {
    for index in value.indices {
      let byte = value[index]
      guard byte > .space, byte < .delete, byte != .backslash else { return false }
    }
    return value.count > 0 && value.count <= topicBytesMax
  }

  private static func isUUID(_ value: Span<UInt8>) -> Bool {
    guard value.count == 36 else { return false }
    for index in value.indices {
      switch index {
      case 8, 13, 18, 23: guard value[index] == .hyphen else { return false }
      default: guard DeviceToken.hexValue(value[index]) != nil else { return false }
      }
    }
    return true
  }

  // MARK: - Contradictions

  /// Checks that the push type agrees with the topic and the payload.
  ///
  /// Source: Sending notification requests to APNs, Pushing background updates to your App,
  /// Starting and updating Live Activities with ActivityKit push notifications.
  ///
  /// - Parameter isSilent: Whether the notification shows and plays nothing.
  @inline(never)
  func checkPushType(_ isSilent: Bool, _ text: Span<UInt8>, _ findings: inout Findings) {
    let type = notification.pushType
    checkTopic(type, text, &findings)
    let payloadAt = notification.payload.range.lowerBound
    if traits.lacksAps, type.needsAps || !notification.localized.isEmpty {
      findings.add(Finding(.missingAps, at: payloadAt))
    }
    if type != .liveactivity {
      if traits.scoreAt > 0 { findings.add(Finding(.relevanceScore, at: traits.scoreAt)) }
      if traits.textAt > 0 {
        findings.add(Finding(.notString(traits.textKey), at: traits.textAt))
      }
    }
    guard traits.hasAps else { return }
    let at = pushTypeAt > 0 ? pushTypeAt : payloadAt
    switch type {
    case .alert where isSilent: findings.add(Finding(.pushTypeAlert, at: at))
    case .background where !isSilent: findings.add(Finding(.pushTypeBackground, at: at))
    case .liveactivity:
      if !traits.has(.timestamp) || !traits.has(.event)
        || traits.event != .end && !traits.has(.contentState)
      {
        findings.add(Finding(.liveActivity, at: at))
      } else if traits.event == .start, !traits.has(.attributesType) || !traits.has(.attributes) {
        findings.add(Finding(.liveActivityStart, at: at))
      }
    default: break
    }
  }

  private func checkTopic(_ type: PushType, _ text: Span<UInt8>, _ findings: inout Findings) {
    let topic = notification.topic
    guard let other = PushType(ofTopic: text.extracting(topic)), other != type else { return }
    if !other.hasCommonSuffix {
      findings.add(Finding(.topicSuffix(other), at: topic.lowerBound - 1))
    } else if findings.isThorough {
      findings.add(Finding(.topicEnding(other), at: topic.lowerBound - 1))
    }
  }
}
