/// A notification as a file holds it: where its parts stand in the text, and what they say. It holds no bytes itself, so
/// that it can be looked at without a copy: the text it was read from goes with it.
///
/// ```json
/// {"token": "64 hex digits", "payload": {"aps": {"alert": "Tank low"}}, "priority": 10, "ttl": 3600}
/// ```
public struct Notification {
  /// The whole object, braces included.
  public internal(set) var object: Range<Int>
  public internal(set) var payload: Payload
  /// The device tokens that stand in it: how many, and the hex digits of the first; the others are found by
  /// ``nextString(after:in:)``.
  public internal(set) var tokens = 0
  public internal(set) var firstToken = 0
  /// The recipients files that it names besides: how many, and the first name; the others are found likewise.
  public internal(set) var lists = 0
  public internal(set) var firstList: Range<Int> = 0..<0
  /// An object with `aps` at its top: the payload itself, for the recipients ``defaultList``.
  public internal(set) var isBare = false
  /// 10 (at once), 5 (when it saves the device's power) or 1 (without waking the device).
  public internal(set) var priority: UInt8 = 10
  public internal(set) var lifetime = Lifetime.configured
  /// UNIX seconds, UTC, before which it waits; 0: none.
  public internal(set) var notBefore: UInt32 = 0
  /// UNIX seconds, UTC, of the last registration of its tokens; 0: unknown.
  public internal(set) var registered: UInt32 = 0
  /// What it shares with those that it replaces, and with those that replace it: a hash of its `collapse-id` and its
  /// recipients; 0: nothing.
  public internal(set) var collapseKey: UInt64 = 0
  /// The content of its `collapse-id`, with its escapes; empty: none.
  public internal(set) var collapseID: Range<Int> = 0..<0
  /// The content of its `topic`; empty: the configuration's.
  public internal(set) var topic: Range<Int> = 0..<0
  /// As it says itself, or as its payload shows.
  public internal(set) var pushType = PushType.alert
  /// The content of its `id`, a UUID; empty: none.
  public internal(set) var identifier: Range<Int> = 0..<0
  /// Alerts in several languages: an object, its braces included; empty: none.
  public internal(set) var localized: Range<Int> = 0..<0
  /// It was in `failed/`, and is sent again.
  public internal(set) var isRetried = false
  /// The alert's text is shortened where it must be.
  public internal(set) var isTrimmed = false
  /// No limit holds for it: it says that it is urgent, or itself has the priority 10.
  public internal(set) var isUrgent = false
  /// For so many seconds the same is not sent to the same token again; 0: it is.
  public internal(set) var againAfter: UInt32 = 0

  /// Whom a bare payload is for.
  public static let defaultList: StaticString = "default"

  /// Until when it is good: after that it is not sent, and the service keeps it no longer for a device that is offline.
  public enum Lifetime: Equatable {
    /// The configuration's `ttl`.
    case configured
    /// Seconds from when it came into the spool.
    case ttl(UInt32)
    /// UNIX seconds, UTC; 0: not at all.
    case until(UInt32)
  }

  init(at start: Int) {
    object = start..<start
    payload = Payload(at: start)
  }

  /// The topic as it goes out: its own, or else the configuration's, with the ending that its push type demands.
  public func appendTopic(
    of text: Span<UInt8>, configured: Span<UInt8>, to output: inout Text
  ) {
    if topic.isEmpty {
      pushType.appendTopic(configured, to: &output)
    } else {
      pushType.appendTopic(text.extracting(topic), to: &output)
    }
  }

  /// Of an array of strings: the content of the one behind that which ends at `end`, and must have one behind it.
  public func nextString(after end: Int, in text: Span<UInt8>) -> Range<Int> {
    var start = end + 1
    while text[start] != .quote { start += 1 }
    start += 1
    var next = start
    while text[next] != .quote { next += 1 }
    return start..<next
  }
}

/// A payload: where it stands in the text, and what of it may be another when it goes out.
public struct Payload {
  /// The object, braces included.
  public internal(set) var range: Range<Int>
  /// Its bytes as they go out: without its white space.
  public internal(set) var bytes = 0
  /// The value of `alert` in `aps`; where there is none, an empty range at the place for one, behind the brace of `aps`.
  public internal(set) var alert: Alert
  /// Nothing is in `aps`.
  public internal(set) var isApsEmpty = false
  /// It has only `content-available`: nobody is shown anything, and priority 10 is an error.
  public internal(set) var isSilent = false

  init(at start: Int) {
    range = start..<start
    alert = Alert(range: start..<start)
  }
}

/// The value of `alert`: a string or an object.
public struct Alert {
  public internal(set) var range: Range<Int>
  /// Its bytes as they go out: without its white space.
  public internal(set) var bytes = 0
  /// What stands between the quotes of its text, the string itself or `body`; empty: there is none.
  public internal(set) var text: Range<Int> = 0..<0
}
