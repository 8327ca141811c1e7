/// The keys of a notification.
public enum EnvelopeKey: UInt8, BitwiseCopyable {
  case token, tokens, to, payload, priority, expiration, ttl, collapseID, notBefore, registered
  case localized, trim, topic, pushType, id, failed

  private static var names: InlineArray<16, StaticString> {
    [
      "token", "tokens", "to", "payload", "priority", "expiration", "ttl", "collapse-id",
      "not-before", "registered", "localized", "trim", "topic", "push-type", "id", "failed",
    ]
  }

  public var name: StaticString {
    let names = Self.names
    return names[Int(rawValue)]
  }

  /// The one that a JSON key spells.
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
    case 6: key.equals("tokens") ? .tokens : key.equals("failed") ? .failed : nil
    case 7: key.equals("payload") ? .payload : nil
    case 8: key.equals("priority") ? .priority : nil
    case 9: key.equals("localized") ? .localized : key.equals("push-type") ? .pushType : nil
    case 10:
      key.equals("expiration")
        ? .expiration
        : key.equals("not-before") ? .notBefore : key.equals("registered") ? .registered : nil
    case 11: key.equals("collapse-id") ? .collapseID : nil
    default: nil
    }
  }

  /// The one that was most likely meant.
  static func nearest(to key: Span<UInt8>) -> EnvelopeKey? {
    let names = Self.names
    return Nearest.index(key, among: names.span).flatMap { EnvelopeKey(rawValue: UInt8($0)) }
  }
}

/// The keys of `aps` and of `alert` that the service knows. Source: Local and Remote Notification Programming Guide, 2015-10,
/// tables 3-1 and 3-2.
public enum PayloadKey: UInt8, BitwiseCopyable {
  // of aps
  case alert, badge, sound, contentAvailable, category
  // of alert
  case title, body, titleLocKey, titleLocArgs, actionLocKey, locKey, locArgs, launchImage

  private static let apsCount = 5
  private static var names: InlineArray<13, StaticString> {
    [
      "alert", "badge", "sound", "content-available", "category", "title", "body",
      "title-loc-key", "title-loc-args", "action-loc-key", "loc-key", "loc-args", "launch-image",
    ]
  }

  public var name: StaticString {
    let names = Self.names
    return names[Int(rawValue)]
  }

  /// The one that a JSON key spells, in `aps` or in `alert`.
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

  @inline(__always)
  private static func known(_ key: Span<UInt8>, _ isInAlert: Bool) -> PayloadKey? {
    guard isInAlert else {
      return switch key.count {
      case 5:
        key.equals("alert")
          ? .alert : key.equals("badge") ? .badge : key.equals("sound") ? .sound : nil
      case 8: key.equals("category") ? .category : nil
      case 17: key.equals("content-available") ? .contentAvailable : nil
      default: nil
      }
    }
    return switch key.count {
    case 4: key.equals("body") ? .body : nil
    case 5: key.equals("title") ? .title : nil
    case 7: key.equals("loc-key") ? .locKey : nil
    case 8: key.equals("loc-args") ? .locArgs : nil
    case 12: key.equals("launch-image") ? .launchImage : nil
    case 13: key.equals("title-loc-key") ? .titleLocKey : nil
    case 14:
      key.equals("title-loc-args")
        ? .titleLocArgs : key.equals("action-loc-key") ? .actionLocKey : nil
    default: nil
    }
  }

  /// The one that was most likely meant.
  static func nearest(to key: Span<UInt8>, isInAlert: Bool) -> PayloadKey? {
    let names = Self.names
    let range = isInAlert ? apsCount..<names.count : 0..<apsCount
    return Nearest.index(key, among: names.span.extracting(range)).flatMap {
      PayloadKey(rawValue: UInt8(range.lowerBound + $0))
    }
  }
}

/// A key with its escapes undone, if it has any and is no longer than those that are known.
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
