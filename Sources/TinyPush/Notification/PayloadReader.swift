/// Reads a payload and checks it against the service's tables.
///
/// Mistakes in valid JSON go to the findings, so that reading always reaches the end of the
/// payload.
package struct PayloadReader {
  /// Whether the payload is a whole object of a notification file, for the default recipients file.
  private let isBare: Bool
  private var payload: Payload

  /// - Parameter start: the index of the payload's opening brace.
  init(at start: Int, isBare: Bool = false) {
    self.isBare = isBare
    payload = Payload(at: start)
  }

  /// Reads the payload; the scanner is at its opening brace.
  @_optimize(speed)
  mutating func read(
    _ text: Span<UInt8>, by scanner: inout JSONScanner, _ traits: inout PayloadTraits,
    _ findings: inout Findings
  ) throws(JSONProblem) -> Payload {
    let start = scanner.index
    let spaceBytes = scanner.spaceBytes
    var apsAt: Int?
    var isEnvelope = false
    var outside: Finding?
    if try scanner.openObject(text) {
      repeat {
        let key = try scanner.key(text)
        guard Self.isAps(text.extracting(key)) else {
          if isBare {
            if Self.isOfEnvelope(text.extracting(key)) { isEnvelope = true }
            if outside == nil { outside = findings.warning(ofOutside: key, in: text) }
          }
          payload.hasOwnMembers = true
          try scanner.skipValue(text)
          continue
        }
        if apsAt != nil { findings.add(Finding(.duplicateKey, at: key.lowerBound - 1)) }
        apsAt = key.lowerBound - 1
        guard try scanner.peek(text) == .openBrace else {
          findings.add(Finding(.apsNotObject, at: scanner.index))
          try scanner.skipValue(text)
          continue
        }
        try readAps(text, by: &scanner, &traits, &findings)
      } while try scanner.nextMember(text)
    }
    if apsAt == nil {
      // Some push types need no `aps`, and the push type may follow.
      traits.lacksAps = traits.isOfHTTP2
      if !traits.lacksAps { findings.add(Finding(.missingAps, at: start)) }
    }
    if isEnvelope {
      findings.add(Finding(.apsOutside, at: apsAt ?? start))
    } else if let outside {
      findings.add(outside)
    }
    payload.range = start..<scanner.index
    let space = scanner.spaceBytes - spaceBytes
    payload.bytes = payload.range.count - space
    if findings.isThorough {
      if space > 0 { findings.add(Finding(.whiteSpace, at: start, found: space)) }
      Self.findLongEscapes(in: text, payload.range, &findings)
    }
    return payload
  }

  package static func isAps(_ key: Span<UInt8>) -> Bool {
    if key.equals("aps") { return true }
    guard let unescaped = KeyBuffer(unescaping: key) else { return false }
    return unescaped.count == 3 && unescaped.bytes[0] == UInt8(ascii: "a")
      && unescaped.bytes[1] == UInt8(ascii: "p")
      && unescaped.bytes[2] == UInt8(ascii: "s")
  }

  /// Returns whether a key shows that its object was meant as a notification with a payload inside.
  static func isOfEnvelope(_ key: Span<UInt8>) -> Bool {
    switch EnvelopeKey(spelled: key) {
    case .token, .tokens, .to, .payload: return true
    case nil: break
    default: return false
    }
    // A misspelled key must not send a notification for one device to all devices.
    switch EnvelopeKey.nearest(to: key) {
    case .token, .tokens, .payload: return true
    default: return false
    }
  }

  // MARK: - aps

  @_optimize(speed)
  private mutating func readAps(
    _ text: Span<UInt8>, by scanner: inout JSONScanner, _ traits: inout PayloadTraits,
    _ findings: inout Findings
  ) throws(JSONProblem) {
    traits.hasAps = true
    let start = scanner.index
    payload.apsStart = start + 1
    payload.alert = Alert(range: start + 1..<start + 1)
    payload.isApsEmpty = try !scanner.openObject(text)
    guard !payload.isApsEmpty else { return }
    var seen = KeysSeen(ofObjectAt: start)
    repeat {
      let range = try scanner.key(text)
      let key = PayloadKey(spelled: text.extracting(range), isInAlert: false)
      seen.insert(key, range, in: text, &findings)
      let first = try scanner.peek(text)
      let at = scanner.index
      switch key {
      case .alert:
        payload.alert = try Alert(text, by: &scanner, &traits, &findings)
        continue
      case .badge:
        if !text.extracting(at...).isNumber { findings.add(Finding(.badge, at: at)) }
      case .sound:
        if first != .quote {
          if traits.isOfHTTP2 {
            try CriticalSound.read(text, by: &scanner, &findings)
            continue
          }
          findings.add(Finding(.notString(.sound), at: at))
        }
      case .category:
        if first != .quote { findings.add(Finding(.notString(.category), at: at)) }
      case .contentAvailable: break
      case nil:
        findings.addUnknown(range, in: text, isInAlert: false)
      default:
        if traits.isOfHTTP2 {
          try traits.read(key!, text, by: &scanner, &findings)
          if key == .interruptionLevel { payload.level = at..<scanner.index }
          continue
        }
      }
      try scanner.skipValue(text)
      let value = text.extracting(at..<scanner.index)
      if key == .contentAvailable, !value.equals("1") {
        findings.add(Finding(.contentAvailable, at: at))
      } else if key == .badge, findings.isThorough, value.isNumber, !value.isWhole {
        findings.add(Finding(.badgeNotWhole, at: at))
      } else if key == .sound {
        findings.checkSound(value, at: at)
        if first == .quote { payload.sound = at + 1..<scanner.index - 1 }
        payload.isSoundDefault = value.equals("\"default\"")
      }
    } while try scanner.nextMember(text)
    traits.keys = seen.known
    payload.isSilent = traits.isSilent
  }

  // MARK: - Waste

  /// Adds a warning for escapes that take more bytes than the characters themselves.
  @inline(never)
  private static func findLongEscapes(
    in text: Span<UInt8>, _ range: Range<Int>, _ findings: inout Findings
  ) {
    var first: Int?
    var bytes = 0
    var index = range.lowerBound
    while index < range.upperBound {
      guard text[index] == .backslash else {
        index += 1
        continue
      }
      let unit = JSONUnit(in: text, at: index)
      if unit.shortest < unit.length {
        if first == nil { first = index }
        bytes += unit.length - unit.shortest
      }
      index += unit.length
    }
    if let first { findings.add(Finding(.longEscapes, at: first, found: bytes)) }
  }
}

extension Payload {
  /// Returns whether a text given as a payload is a whole notification.
  ///
  /// Such a text is an object without `aps` that has a key for the recipients or the payload.
  public static func isNotification(_ text: Span<UInt8>) -> Bool {
    var scanner = JSONScanner()
    var isNotification = false
    do throws(JSONProblem) {
      try scanner.begin(text)
      guard text[scanner.index] == .openBrace, try scanner.openObject(text) else { return false }
      repeat {
        let key = text.extracting(try scanner.key(text))
        if PayloadReader.isAps(key) { return false }
        if PayloadReader.isOfEnvelope(key) { isNotification = true }
        try scanner.skipValue(text)
      } while try scanner.nextMember(text)
    } catch {
      return false
    }
    return isNotification
  }
}
