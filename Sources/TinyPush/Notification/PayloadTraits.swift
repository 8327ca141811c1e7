/// The traits of a payload that must agree with its push type, and the keys that came with HTTP/2.
struct PayloadTraits {
  /// Whether the protocol is HTTP/2, whose service knows more keys.
  let isOfHTTP2: Bool
  /// The keys of `aps`, a bit each.
  var keys: UInt32 = 0
  var hasAps = false
  var lacksAps = false
  /// Whether the alert has a text, or the key of one.
  var hasText = false
  private(set) var event = Event.none
  /// The index of a relevance score that only a live activity may have; 0: none.
  private(set) var scoreAt = 0
  /// The index of a title or body that only a live activity may have, an object; 0: none.
  private(set) var textAt = 0
  private(set) var textKey = PayloadKey.title
  /// The index of a sound in the alert, where only that of a live activity has one; 0: none.
  var alertSoundAt = 0

  /// The change of a live activity.
  enum Event: UInt8 { case none, start, update, end }

  init(_ pushProtocol: PushProtocol) {
    isOfHTTP2 = pushProtocol == .http2
  }

  func has(_ key: PayloadKey) -> Bool { keys & key.bit != 0 }

  private static let visibleOrAudible =
    PayloadKey.alert.bit | PayloadKey.badge.bit | PayloadKey.sound.bit

  /// Whether `aps` has `content-available`, and no alert, badge or sound.
  var isSilent: Bool { has(.contentAvailable) && keys & Self.visibleOrAudible == 0 }

  /// Whether the device shows or plays nothing for a payload of type `alert`.
  var showsNothing: Bool { !hasText && !has(.badge) && !has(.sound) }

  var isOfLiveActivity: Bool { has(.event) && has(.contentState) }

  /// Whether the payload is valid only with some push types.
  var needsType: Bool { lacksAps || scoreAt > 0 || textAt > 0 }

  mutating func addText(_ key: PayloadKey, at place: Int) {
    if textAt == 0 { (textAt, textKey) = (place, key) }
  }

  // MARK: - Values

  /// Reads the value of a key that came with HTTP/2; the scanner is at the value.
  @inline(never)
  mutating func read(
    _ key: PayloadKey, _ text: Span<UInt8>, by scanner: inout JSONScanner,
    _ findings: inout Findings
  ) throws(JSONProblem) {
    let at = scanner.index
    try scanner.skipValue(text)
    let value = text.extracting(at..<scanner.index)
    var reason: Finding.Reason?
    var found = 0
    switch key {
    case .threadID, .targetContentID, .filterCriteria, .attributesType:
      if value[0] != .quote { reason = .notString(key) }
    case .contentState, .attributes:
      if value[0] != .openBrace { reason = .notObject(key) }
    case .mutableContent:
      if !value.equals("1") { reason = .mutableContent }
    case .interruptionLevel:
      if !Self.isInterruptionLevel(value) { reason = .interruptionLevel }
    case .relevanceScore:
      if !value.isNumber {
        reason = .relevanceScore
      } else if !value.isUpToOne {
        scoreAt = at
      }
    case .timestamp, .staleDate, .dismissalDate:
      // Milliseconds have thirteen digits.
      let isMilliseconds = value.count == 13 && value.isWhole
      if !value.isNumber || isMilliseconds { reason = .date(key) }
      if isMilliseconds { found = 13 }
    case .event:
      if value.equals("\"start\"") {
        event = .start
      } else if value.equals("\"update\"") {
        event = .update
      } else if value.equals("\"end\"") {
        event = .end
      } else {
        reason = .event
      }
    default: break
    }
    if let reason { findings.add(Finding(reason, at: at, found: found)) }
  }

  /// Source: Generating a remote notification, table 1.
  private static func isInterruptionLevel(_ value: Span<UInt8>) -> Bool {
    value.equals("\"active\"") || value.equals("\"passive\"") || value.equals("\"time-sensitive\"")
      || value.equals("\"critical\"")
  }
}

/// The sound of a critical alert, an object.
///
/// Source: Generating a remote notification, table 3.
enum CriticalSound {
  /// Reads a `sound` that is not a string; the scanner is at the value.
  @inline(never)
  static func read(
    _ text: Span<UInt8>, by scanner: inout JSONScanner, _ findings: inout Findings
  ) throws(JSONProblem) {
    let start = scanner.index
    guard text[start] == .openBrace else {
      findings.add(Finding(.sound, at: start))
      try scanner.skipValue(text)
      return
    }
    guard try scanner.openObject(text) else {
      findings.add(Finding(.sound, at: start))
      return
    }
    var seen: UInt32 = 0
    repeat {
      let range = try scanner.key(text)
      let key = PayloadKey(ofSound: text.extracting(range))
      _ = try scanner.peek(text)
      let at = scanner.index
      try scanner.skipValue(text)
      let value = text.extracting(at..<scanner.index)
      switch key {
      case .critical:
        if !value.equals("1"), !value.equals("0") { findings.add(Finding(.critical, at: at)) }
      case .soundName:
        if value[0] != .quote {
          findings.add(Finding(.notString(.soundName), at: at))
        } else {
          findings.checkSound(value, at: at)
        }
      case .volume:
        if !value.isNumber || !value.isUpToOne { findings.add(Finding(.volume, at: at)) }
      default:
        if findings.isThorough,
          let nearest = PayloadKey.nearest(toKeyOfSound: text.extracting(range))
        {
          findings.add(Finding(.strangeKey(nearest: nearest), at: range.lowerBound - 1))
        }
        continue
      }
      let bit: UInt32 = 1 << UInt32(key!.rawValue - PayloadKey.critical.rawValue)
      if seen & bit != 0 { findings.add(Finding(.duplicateKey, at: range.lowerBound - 1)) }
      seen |= bit
    } while try scanner.nextMember(text)
  }
}
