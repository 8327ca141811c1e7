/// A key of a notification.
public enum EnvelopeKey: UInt8, BitwiseCopyable {
  case token, tokens, to, payload, priority, expiration, ttl, collapseID, notBefore, registered
  case localized, trim, topic, pushType, id, failed, urgent, againAfter

  private static var names: WordList {
    "token tokens to payload priority expiration ttl collapse-id not-before registered localized trim topic push-type id failed urgent again-after"
  }

  /// The key in JSON.
  public var name: Span<UInt8> { @_lifetime(immortal) get { Self.names[Int(rawValue)] } }

  /// Returns the key that a JSON key encodes; nil if absent.
  @inline(never)
  init?(spelled key: Span<UInt8>) {
    if let known = Self.known(key) {
      self = known
      return
    }
    guard
      let known = KeyBuffer(unescaping: key).flatMap({
        Self.known($0.bytes.span.extracting(0..<$0.count))
      })
    else { return nil }
    self = known
  }

  @inline(__always)
  private static func known(_ key: Span<UInt8>) -> EnvelopeKey? {
    switch key.count {
    case 2: key.equals("to") ? .to : key.equals("id") ? .id : nil
    case 3: key.equals("ttl") ? .ttl : nil
    case 4: key.equals("trim") ? .trim : nil
    case 5: key.equals("token") ? .token : key.equals("topic") ? .topic : nil
    case 6:
      key.equals("tokens")
        ? .tokens : key.equals("failed") ? .failed : key.equals("urgent") ? .urgent : nil
    case 7: key.equals("payload") ? .payload : nil
    case 8: key.equals("priority") ? .priority : nil
    case 9: key.equals("localized") ? .localized : key.equals("push-type") ? .pushType : nil
    case 10:
      key.equals("expiration")
        ? .expiration
        : key.equals("not-before") ? .notBefore : key.equals("registered") ? .registered : nil
    case 11:
      key.equals("collapse-id") ? .collapseID : key.equals("again-after") ? .againAfter : nil
    default: nil
    }
  }

  /// Returns whether a key names recipients, or may be meant to.
  static func mayNameRecipient(_ key: Span<UInt8>) -> Bool {
    if let known = EnvelopeKey(spelled: key) {
      return known == .token || known == .tokens || known == .to
    }
    // Other services have recipients in keys such as "ids" and "topics".
    return switch nearest(to: key) {
    case .token, .tokens, .to, .id, .topic, nil: true
    default: false
    }
  }

  /// Returns the key that is most similar to a misspelled one.
  static func nearest(to key: Span<UInt8>) -> EnvelopeKey? {
    names.nearest(to: key).flatMap { EnvelopeKey(rawValue: UInt8($0)) }
  }
}

/// A key of `aps`, `alert` or `sound` that the service knows.
///
/// Source: Local and Remote Notification Programming Guide, 2015-10, tables 3-1 and 3-2; Generating
/// a remote notification, tables 1 to 3; Updating widgets with WidgetKit push notifications.
public enum PayloadKey: UInt8, BitwiseCopyable {
  // of aps
  case alert, badge, sound, contentAvailable, category
  // of aps, since HTTP/2
  case threadID, mutableContent, interruptionLevel, relevanceScore, targetContentID, filterCriteria
  case contentChanged, timestamp, event, contentState, staleDate, dismissalDate
  case attributesType, attributes
  // of alert
  case title, body, titleLocKey, titleLocArgs, actionLocKey, locKey, locArgs, launchImage
  // of alert, since HTTP/2
  case subtitle, subtitleLocKey, subtitleLocArgs
  // of sound, since HTTP/2
  case critical, soundName, volume

  private static let apsCount = 19
  private static var apsNames: WordList {
    "alert badge sound content-available category thread-id mutable-content interruption-level relevance-score target-content-id filter-criteria content-changed timestamp event content-state stale-date dismissal-date attributes-type attributes"
  }
  private static let alertCount = 11
  private static var alertNames: WordList {
    "title body title-loc-key title-loc-args action-loc-key loc-key loc-args launch-image subtitle subtitle-loc-key subtitle-loc-args"
  }
  private static var soundNames: WordList { "critical name volume" }

  /// The key in JSON.
  public var name: Span<UInt8> {
    @_lifetime(immortal) get {
      let number = Int(rawValue) - Self.apsCount
      if number < 0 { return Self.apsNames[Int(rawValue)] }
      if number < Self.alertCount { return Self.alertNames[number] }
      return Self.soundNames[number - Self.alertCount]
    }
  }

  /// The bit of the key in a set of keys of `aps`, or of keys of `alert`.
  var bit: UInt32 { @inline(__always) get { 1 &<< UInt32(rawValue) } }

  /// Whether the key gives an alert a text.
  var isText: Bool {
    switch self {
    case .title, .body, .subtitle, .titleLocKey, .locKey, .subtitleLocKey: true
    default: false
    }
  }

  /// Returns the key that a JSON key in `aps` or `alert` encodes; nil if absent.
  @inline(never)
  public init?(spelled key: Span<UInt8>, isInAlert: Bool) {
    if let known = Self.known(key, isInAlert) {
      self = known
      return
    }
    guard
      let known = KeyBuffer(unescaping: key).flatMap({
        Self.known($0.bytes.span.extracting(0..<$0.count), isInAlert)
      })
    else { return nil }
    self = known
  }

  /// Returns the key that a JSON key in `sound` encodes; nil if absent.
  init?(ofSound key: Span<UInt8>) {
    guard let number = Self.soundNames.index(of: key) else { return nil }
    self.init(rawValue: Self.critical.rawValue + UInt8(number))
  }

  @inline(__always)
  private static func known(_ key: Span<UInt8>, _ isInAlert: Bool) -> PayloadKey? {
    isInAlert ? ofAlert(key) : ofAps(key)
  }

  @inline(__always)
  private static func ofAps(_ key: Span<UInt8>) -> PayloadKey? {
    switch key.count {
    case 5 where key.equals("alert"): .alert
    case 5 where key.equals("badge"): .badge
    case 5 where key.equals("sound"): .sound
    case 8: key.equals("category") ? .category : nil
    case 17 where key.equals("content-available"): .contentAvailable
    default: newerOfAps(key)
    }
  }

  /// Returns a key of `aps` that came with HTTP/2.
  @inline(never)
  private static func newerOfAps(_ key: Span<UInt8>) -> PayloadKey? {
    switch key.count {
    case 5: key.equals("event") ? .event : nil
    case 9: key.equals("thread-id") ? .threadID : key.equals("timestamp") ? .timestamp : nil
    case 10: key.equals("stale-date") ? .staleDate : key.equals("attributes") ? .attributes : nil
    case 13: key.equals("content-state") ? .contentState : nil
    case 14: key.equals("dismissal-date") ? .dismissalDate : nil
    case 15:
      switch key[0] {
      case UInt8(ascii: "m"): key.equals("mutable-content") ? .mutableContent : nil
      case UInt8(ascii: "r"): key.equals("relevance-score") ? .relevanceScore : nil
      case UInt8(ascii: "f"): key.equals("filter-criteria") ? .filterCriteria : nil
      case UInt8(ascii: "a"): key.equals("attributes-type") ? .attributesType : nil
      default: key.equals("content-changed") ? .contentChanged : nil
      }
    case 17: key.equals("target-content-id") ? .targetContentID : nil
    case 18: key.equals("interruption-level") ? .interruptionLevel : nil
    default: nil
    }
  }

  @inline(__always)
  private static func ofAlert(_ key: Span<UInt8>) -> PayloadKey? {
    switch key.count {
    case 4: key.equals("body") ? .body : nil
    case 5: key.equals("title") ? .title : nil
    case 7: key.equals("loc-key") ? .locKey : nil
    case 8: key.equals("loc-args") ? .locArgs : key.equals("subtitle") ? .subtitle : nil
    case 12: key.equals("launch-image") ? .launchImage : nil
    case 13: key.equals("title-loc-key") ? .titleLocKey : nil
    case 14:
      key.equals("title-loc-args")
        ? .titleLocArgs : key.equals("action-loc-key") ? .actionLocKey : nil
    case 16: key.equals("subtitle-loc-key") ? .subtitleLocKey : nil
    case 17: key.equals("subtitle-loc-args") ? .subtitleLocArgs : nil
    default: nil
    }
  }

  /// Returns the key of `aps` or `alert` that is most similar to a misspelled one.
  static func nearest(to key: Span<UInt8>, isInAlert: Bool) -> PayloadKey? {
    nearest(to: key, isInAlert ? alertNames : apsNames, from: isInAlert ? apsCount : 0)
  }

  static func nearest(toKeyOfSound key: Span<UInt8>) -> PayloadKey? {
    nearest(to: key, soundNames, from: apsCount + alertCount)
  }

  private static func nearest(
    to key: Span<UInt8>, _ names: WordList, from first: Int
  ) -> PayloadKey? {
    names.nearest(to: key).flatMap { PayloadKey(rawValue: UInt8(first + $0)) }
  }
}

/// A decoded key that has escapes and is not longer than the longest known key.
struct KeyBuffer {
  private(set) var bytes: InlineArray<20, UInt8> = .init(repeating: 0)
  private(set) var count = 0

  init?(unescaping key: Span<UInt8>) {
    var hasEscape = false
    for index in key.indices where key[index] == .backslash { hasEscape = true }
    guard hasEscape else { return nil }
    var reader = JSONStringReader()
    while let byte = reader.next(in: key) {
      guard count < bytes.count else { return nil }
      bytes[count] = byte
      count += 1
    }
  }
}
