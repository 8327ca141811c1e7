/// The members of a notification's object, as they are read.
///
/// Mistakes in valid JSON go to the findings, so that reading always reaches the end of the object.
package struct Envelope {
  var notification: Notification
  private var seen: UInt32 = 0
  /// Whether the text is where other services take it.
  private var hasTextOutside = false
  /// The index of the value of `priority`.
  private var priorityAt = 0
  /// The index of the value of `push-type`; 0: the notification has no known push type.
  var pushTypeAt = 0
  private(set) var traits: PayloadTraits
  /// The size of the member `failed`, which the agent adds and which counts towards no limit.
  private(set) var failedBytes = 0

  /// The longest name of a recipients file.
  ///
  /// Inferred: people choose these names.
  package static let listNameBytesMax = 64
  /// The most recipients files that one notification may name.
  ///
  /// Inferred: a sender with more can merge them.
  package static let listsMax = 16
  /// The earliest plausible date, 2001-09-09.
  static let dateMin: UInt64 = 1_000_000_000

  @inline(__always)
  init(at start: Int, _ pushProtocol: PushProtocol) {
    notification = Notification(at: start)
    traits = PayloadTraits(pushProtocol)
  }

  /// Reads the object; the scanner is at its opening brace.
  @_optimize(speed)
  mutating func read(
    _ text: Span<UInt8>, by scanner: inout JSONScanner, _ findings: inout Findings
  ) throws(JSONProblem) {
    let before = scanner
    guard try scanner.openObject(text) else { return }
    repeat {
      let range = try scanner.key(text)
      let keyAt = range.lowerBound - 1
      guard let key = EnvelopeKey(spelled: text.extracting(range)) else {
        if PayloadReader.isAps(text.extracting(range)) {
          findings.clear()
          scanner = before
          try readBare(text, by: &scanner, &findings)
          return
        }
        let reason = Self.unknown(text.extracting(range))
        if case .textOutside = reason { hasTextOutside = true }
        findings.add(Finding(reason, at: keyAt))
        try scanner.skipValue(text)
        continue
      }
      if isSeen(key) { findings.add(Finding(.duplicateKey, at: keyAt)) }
      seen |= 1 << key.rawValue
      let first = try scanner.peek(text)
      let at = scanner.index
      switch key {
      case .token:
        if isSeen(.tokens) { findings.add(Finding(.tokenTwice, at: keyAt)) }
        try readToken(text, by: &scanner, &findings)
      case .tokens:
        if isSeen(.token) { findings.add(Finding(.tokenTwice, at: keyAt)) }
        guard first == .openBracket else {
          findings.add(Finding(.tokensNotArray, at: at))
          try scanner.skipValue(text)
          continue
        }
        guard try scanner.openArray(text) else {
          findings.add(Finding(.tokensEmpty, at: at))
          continue
        }
        repeat { try readToken(text, by: &scanner, &findings) } while try scanner.nextElement(text)
      case .to: try readTo(text, by: &scanner, &findings)
      case .payload:
        guard first == .openBrace else {
          findings.add(Finding(.payloadNotObject, at: at))
          try scanner.skipValue(text)
          continue
        }
        var reader = PayloadReader(at: at)
        notification.payload = try reader.read(text, by: &scanner, &traits, &findings)
      case .priority:
        priorityAt = at
        let number = try wholeNumber(text, by: &scanner)
        guard let number, number == 10 || number == 5 || number == 1 && traits.isOfHTTP2 else {
          let reason: Finding.Reason =
            traits.isOfHTTP2 ? .priorityOfHTTP2 : number == 1 ? .priorityOne : .priority
          findings.add(Finding(reason, at: at))
          continue
        }
        notification.priority = UInt8(number)
      case .expiration:
        if isSeen(.ttl) { findings.add(Finding(.expirationAndTtl, at: keyAt)) }
        guard let date = try date(.expiration, .expirationPast, text, by: &scanner, &findings)
        else { continue }
        notification.lifetime = .until(date)
      case .ttl:
        if isSeen(.expiration) { findings.add(Finding(.expirationAndTtl, at: keyAt)) }
        guard let number = try wholeNumber(text, by: &scanner), number <= UInt64(UInt32.max) else {
          findings.add(Finding(.ttl, at: at))
          continue
        }
        notification.lifetime = .ttl(UInt32(number))
      case .notBefore:
        guard let date = try date(.notBefore, .notBeforePast, text, by: &scanner, &findings) else {
          continue
        }
        notification.notBefore = date
      case .registered:
        guard let date = try date(.registered, .registered, text, by: &scanner, &findings) else {
          continue
        }
        notification.registered = date
      case .collapseID: try readCollapseID(text, by: &scanner, &findings)
      case .trim: notification.isTrimmed = try flag(.trim, text, by: &scanner, &findings)
      case .urgent: notification.isUrgent = try flag(.urgent, text, by: &scanner, &findings)
      case .againAfter:
        guard let number = try wholeNumber(text, by: &scanner), number <= UInt64(UInt32.max) else {
          findings.add(Finding(.againAfter, at: at))
          continue
        }
        notification.againAfter = UInt32(number)
      case .localized: try readLocalized(text, by: &scanner, &findings)
      case .failed:
        if first != 0x7B { findings.add(Finding(.failedNotObject, at: at)) }
        notification.isRetried = true
        try scanner.skipValue(text)
        // Subtract `failed` only while the object is within the limit: a reader that gets the text
        // in pieces gives up at this size.
        if scanner.index - before.index <= NotificationReader.objectBytesMax {
          failedBytes += scanner.index - keyAt
        }
      case .topic, .pushType, .id: try readString(key, text, by: &scanner, &findings)
      }
    } while try scanner.nextMember(text)
    notification.object = before.index..<scanner.index
  }

  @inline(never)
  private static func unknown(_ key: Span<UInt8>) -> Finding.Reason {
    if let number = Finding.textKeys.index(of: key) { return .textOutside(UInt8(number)) }
    return .unknownKey(nearest: .nearest(to: key))
  }

  /// Reads an object with `aps` at its top level.
  @inline(never)
  private mutating func readBare(
    _ text: Span<UInt8>, by scanner: inout JSONScanner, _ findings: inout Findings
  ) throws(JSONProblem) {
    let start = scanner.index
    self = Envelope(at: start, traits.isOfHTTP2 ? .http2 : .binary)
    var reader = PayloadReader(at: start, isBare: true)
    notification.payload = try reader.read(text, by: &scanner, &traits, &findings)
    notification.object = notification.payload.range
    notification.isBare = true
    seen = 1 << EnvelopeKey.payload.rawValue
  }

  /// Runs the checks that need the whole object.
  @inline(__always)
  @_optimize(speed)
  mutating func finish(_ text: Span<UInt8>, _ rules: Rules, _ findings: inout Findings) {
    let start = notification.object.lowerBound
    if !isSeen(.payload), !hasTextOutside { findings.add(Finding(.missingPayload, at: start)) }
    let recipients: UInt32 =
      1 << EnvelopeKey.token.rawValue | 1 << EnvelopeKey.tokens.rawValue
      | 1 << EnvelopeKey.to.rawValue
    if seen & recipients == 0 {
      // A notification that was refused for a wrong recipient must not go to all.
      if isSeen(.failed) { findings.add(Finding(.missingRecipient, at: start)) }
      notification.isForDefault = true
      notification.lists = 1
    }
    let isSilent = notification.payload.isSilent && notification.localized.isEmpty
    if pushTypeAt == 0 {
      notification.pushType =
        isSilent ? .background : traits.isOfLiveActivity ? .liveactivity : .alert
    }
    let type = notification.pushType
    if traits.isOfHTTP2 {
      let mayContradict =
        pushTypeAt > 0 || traits.needsType || type == .liveactivity || !notification.topic.isEmpty
      if mayContradict { checkPushType(isSilent, text, &findings) }
    }
    if rules.app == .bark, type == .alert { adaptForBark(text, rules) }
    let payload = notification.payload
    let limit = notification.payloadLimit(rules)
    if !notification.localized.isEmpty {
      checkLocalized(text, limit, rules.defaultLanguage, &findings)
    } else if payload.isApsEmpty, !traits.isOfHTTP2 || type.needsAps {
      findings.add(Finding(.apsIsEmpty, at: payload.alert.range.lowerBound - 1))
    }
    if traits.isOfHTTP2 ? type == .background : isSilent {
      if !isSeen(.priority) {
        notification.priority = 5
      } else if notification.priority == 10 {
        findings.add(Finding(.prioritySilent, at: priorityAt))
      }
    }
    if findings.isThorough, findings.refusals == 0 { warn(rules, &findings) }
    if payload.bytes > limit {
      checkSize(Rendition(payload), at: payload.range.lowerBound, text, limit, &findings)
    }
    if isSeen(.priority), notification.priority == 10 { notification.isUrgent = true }
    if !notification.collapseID.isEmpty, !notification.isRetried, findings.refusals == 0 {
      notification.collapseKey = collapseKey(text)
    }
  }

  /// Notes that a payload for Bark is encrypted, or else what the payload lacks.
  @inline(never)
  private mutating func adaptForBark(_ text: Span<UInt8>, _ rules: Rules) {
    let isForBark =
      notification.topic.isEmpty || text.extracting(notification.topic).equals(Bark.topic)
    guard isForBark else { return }
    let payload = notification.payload
    let hasAlert = !payload.alert.range.isEmpty || !notification.localized.isEmpty
    // A badge or a sound alone tells nothing, and a word in its place would be shown as an alert.
    notification.payload.isSealed = rules.isEncrypted && (hasAlert || payload.hasOwnMembers)
    let hasMembers = !payload.isApsEmpty || !notification.localized.isEmpty
    guard !notification.payload.isSealed, hasMembers else { return }
    let additions = PayloadAdditions(ofBark: traits, sound: notification.payload.sound, in: text)
    notification.payload.additions = additions
    notification.payload.bytes += additions.bytes
  }

  /// Adds the warnings that need the whole object.
  @inline(never)
  private func warn(_ rules: Rules, _ findings: inout Findings) {
    if notification.pushType == .alert, traits.hasAps, traits.showsNothing {
      let alert = notification.payload.alert.range
      findings.add(
        Finding(.showsNothing, at: alert.isEmpty ? alert.lowerBound - 1 : alert.lowerBound))
    }
    if notification.pushType == .alert, traits.alertSoundAt > 0 {
      findings.add(Finding(.belongsInAps(.sound), at: traits.alertSoundAt))
    }
    if rules.isOfOldFrames, isSeen(.priority), notification.priority == 5 {
      findings.add(Finding(.priorityNotSent, at: priorityAt))
    }
  }

  // MARK: - Languages

  @inline(never)
  private mutating func readLocalized(
    _ text: Span<UInt8>, by scanner: inout JSONScanner, _ findings: inout Findings
  ) throws(JSONProblem) {
    let start = scanner.index
    guard text[start] == .openBrace else {
      findings.add(Finding(.localized, at: start))
      try scanner.skipValue(text)
      return
    }
    guard try scanner.openObject(text) else {
      findings.add(Finding(.localizedEmpty, at: start))
      return
    }
    var languages = KeysSeen(ofObjectAt: start)
    repeat {
      let range = try scanner.key(text)
      languages.insert(nil, range, in: text, &findings)
      if LanguageTag(text.extracting(range)) == nil {
        findings.add(Finding(.localizedLanguage, at: range.lowerBound - 1))
      }
      _ = try Alert(text, by: &scanner, &traits, &findings)
    } while try scanner.nextMember(text)
    notification.localized = start..<scanner.index
  }

  @inline(never)
  private func checkLocalized(
    _ text: Span<UInt8>, _ limit: Int, _ defaultLanguage: LanguageTag, _ findings: inout Findings
  ) {
    let payload = notification.payload
    guard isSeen(.payload) else { return }
    let localized = notification.localized
    if payload.alert.range.isEmpty,
      Localization.alert(for: defaultLanguage, in: localized, of: text) == nil
    {
      findings.add(Finding(.localizedNoDefault, at: localized.lowerBound))
    }
    Localization.forEach(in: localized, of: text) { _, alert in
      let rendition = Rendition(payload, alert)
      if rendition.bytes > limit {
        checkSize(rendition, at: alert.range.lowerBound, text, limit, &findings)
      }
    }
  }

  /// Adds a finding if the payload is too large and cannot be trimmed.
  @inline(never)
  private func checkSize(
    _ rendition: Rendition, at offset: Int, _ text: Span<UInt8>, _ limit: Int,
    _ findings: inout Findings
  ) {
    var trimmed = rendition
    if notification.isTrimmed, trimmed.trim(to: limit, in: text) { return }
    findings.add(
      Finding(
        notification.isTrimmed ? .trimTooLarge : .payloadTooLarge, at: offset,
        found: rendition.bytes, limit: limit))
  }

  // MARK: - Parts

  /// Returns a hash of the `collapse-id` and the recipients; never 0.
  @inline(never)
  private func collapseKey(_ text: Span<UInt8>) -> UInt64 {
    var hash = Hash(spelled: text.extracting(notification.collapseID))
    var token = notification.firstToken
    for index in 0..<notification.tokens {
      if index > 0 { token = notification.nextString(after: token.upperBound, in: text) }
      hash.add(0 as UInt8)
      let printed = text.extracting(token)
      if DeviceToken.firstNonDigit(printed) != nil, let token = DeviceToken(printed: printed) {
        for byte in token.bytes.indices {
          hash.add(Text.hexDigit(token.bytes[byte] >> 4))
          hash.add(Text.hexDigit(token.bytes[byte] & 15))
        }
      } else {
        // Upper and lower case mean the same token.
        for digit in token { hash.add(text[digit] | 0x20) }
      }
    }
    var list = notification.firstList
    for index in 0..<notification.lists {
      if index > 0 { list = notification.nextString(after: list.upperBound, in: text) }
      hash.add(1 as UInt8)
      hash.add(notification.isForDefault ? Notification.defaultList.span : text.extracting(list))
    }
    return max(hash.value, 1)
  }

  /// Reads UNIX seconds; adds a finding and returns nil for any other value.
  @inline(never)
  private func date(
    _ reason: Finding.Reason, _ pastReason: Finding.Reason, _ text: Span<UInt8>,
    by scanner: inout JSONScanner, _ findings: inout Findings
  ) throws(JSONProblem) -> UInt32? {
    let at = scanner.index
    guard let number = try wholeNumber(text, by: &scanner), number <= UInt64(UInt32.max) else {
      // Milliseconds have thirteen digits.
      let isMilliseconds = text[at] != .quote && scanner.index - at == 13
      findings.add(Finding(reason, at: at, found: isMilliseconds ? 13 : 0))
      return nil
    }
    guard number == 0 || number >= Self.dateMin else {
      findings.add(Finding(pastReason, at: at))
      return nil
    }
    return UInt32(number)
  }

  /// Reads true or false; adds a finding and returns false for any other value.
  @inline(never)
  private func flag(
    _ reason: Finding.Reason, _ text: Span<UInt8>, by scanner: inout JSONScanner,
    _ findings: inout Findings
  ) throws(JSONProblem) -> Bool {
    let at = scanner.index
    try scanner.skipValue(text)
    let value = text.extracting(at..<scanner.index)
    if value.equals("true") { return true }
    if !value.equals("false") { findings.add(Finding(reason, at: at)) }
    return false
  }

  private func wholeNumber(
    _ text: Span<UInt8>, by scanner: inout JSONScanner
  ) throws(JSONProblem) -> UInt64? {
    let first = text[scanner.index]
    guard first == .hyphen || first.isDigit else {
      try scanner.skipValue(text)
      return nil
    }
    return try scanner.wholeNumber(text)
  }

  private func isSeen(_ key: EnvelopeKey) -> Bool { seen & (1 << key.rawValue) != 0 }
}
