/// A notification in a file: the places of its parts in the text, and their values.
///
/// This type holds no bytes, so that no copy is needed: callers keep the text.
///
/// ```json
/// {"token": "hex digits", "payload": {"aps": {"alert": "Tank low"}}, "ttl": 3600}
/// ```
public struct Notification: BitwiseCopyable {
  /// The whole object, with its braces.
  @TextRange public internal(set) var object: Range<Int> = 0..<0
  /// The payload.
  public internal(set) var payload: Payload
  /// The number of device tokens in the object.
  public internal(set) var tokens = 0
  /// The first token's digits; ``nextString(after:in:)`` finds the other tokens.
  @TextRange public internal(set) var firstToken: Range<Int> = 0..<0
  /// The number of recipients files that the notification names.
  public internal(set) var lists = 0
  /// The first name of a recipients file; ``nextString(after:in:)`` finds the other names.
  @TextRange public internal(set) var firstList: Range<Int> = 0..<0
  /// Whether the object is only a payload, with `aps` at its top level.
  ///
  /// The recipients are then those of ``defaultList``.
  public internal(set) var isBare = false
  /// Whether the notification names no recipient, and goes to ``defaultList``.
  public internal(set) var isForDefault = false
  /// 10: deliver at once; 5: when it saves the device's power; 1: without waking the device.
  public internal(set) var priority: UInt8 = 10
  /// How long the notification is valid.
  public internal(set) var lifetime = Lifetime.configured
  /// The time before which the notification is not sent: UNIX seconds, UTC; 0: none.
  public internal(set) var notBefore: UInt32 = 0
  /// The time at which the tokens were last registered: UNIX seconds, UTC; 0: unknown.
  public internal(set) var registered: UInt32 = 0
  /// A hash of `collapse-id` and recipients; 0: the notification replaces none, and none replaces it.
  ///
  /// A notification replaces an earlier one with the same key. When a retried one first came is
  /// unknown.
  public internal(set) var collapseKey: UInt64 = 0
  /// The content of `collapse-id`, with its escapes; empty: none.
  @TextRange public internal(set) var collapseID: Range<Int> = 0..<0
  /// The content of `topic`; empty: the configured topic applies.
  @TextRange public internal(set) var topic: Range<Int> = 0..<0
  /// The push type, stated or derived from the payload.
  public internal(set) var pushType = PushType.alert
  /// The content of `id`, a UUID; empty: none.
  @TextRange public internal(set) var identifier: Range<Int> = 0..<0
  /// The object with alerts in several languages, with its braces; empty: none.
  @TextRange public internal(set) var localized: Range<Int> = 0..<0
  /// Whether the notification was in `failed/` and is sent again.
  public internal(set) var isRetried = false
  /// Whether the alert's text may be shortened to fit.
  public internal(set) var isTrimmed = false
  /// Whether no rate limit applies: `urgent` is true, or the notification states priority 10.
  public internal(set) var isUrgent = false
  /// The seconds in which the same notification is not sent to the same token again; 0: none.
  public internal(set) var againAfter: UInt32 = 0

  /// The recipients file of a bare payload.
  public static let defaultList: StaticString = "default"

  /// How long a notification is valid.
  ///
  /// Afterwards it is not sent, and the service no longer stores it for a device that is offline.
  public enum Lifetime: Equatable, BitwiseCopyable {
    /// For the configured `ttl`.
    case configured
    /// For a number of seconds after the file arrived in the spool.
    case ttl(UInt32)
    /// Until UNIX seconds, UTC; 0: for one attempt, and the service does not store it.
    case until(UInt32)
  }

  init(at start: Int) {
    object = start..<start
    payload = Payload(at: start)
  }

  /// Moves to a text that begins `distance` bytes later.
  mutating func move(by distance: Int) {
    _object.move(by: distance)
    payload.move(by: distance)
    _firstToken.move(by: distance)
    _firstList.move(by: distance)
    _collapseID.move(by: distance)
    _topic.move(by: distance)
    _identifier.move(by: distance)
    _localized.move(by: distance)
  }

  /// Returns the most bytes that the payload may have before it is encrypted, if it is.
  func payloadLimit(_ rules: Rules) -> Int {
    let limit = rules.payloadLimit(for: pushType)
    return payload.isSealed ? Bark.contentLimit(limit) : limit
  }

  /// Calls `body` with the name of each recipients file, and the place of a finding about the file.
  package func forEachList(
    in text: Span<UInt8>, _ body: (_ name: Span<UInt8>, _ place: Int) -> Void
  ) {
    guard !isForDefault else { return body(Self.defaultList.span, object.lowerBound) }
    var name = firstList
    for index in 0..<lists {
      if index > 0 { name = nextString(after: name.upperBound, in: text) }
      body(text.extracting(name), name.lowerBound - 1)
    }
  }

  /// Returns the content of the string after the one that ends at `end`, in an array of strings.
  ///
  /// Another string must follow.
  public func nextString(after end: Int, in text: Span<UInt8>) -> Range<Int> {
    var start = end + 1
    while text[start] != .quote { start += 1 }
    start += 1
    var next = start
    while text[next] != .quote { next += 1 }
    return start..<next
  }
}

/// A payload: its place in the text, and the parts that may be replaced for a device.
public struct Payload: BitwiseCopyable {
  /// The object, with its braces.
  @TextRange public internal(set) var range: Range<Int> = 0..<0
  /// The number of bytes that are sent: without white space.
  public internal(set) var bytes = 0
  /// The value of `alert` in `aps`.
  ///
  /// If there is none, an empty range after the opening brace of `aps`.
  public internal(set) var alert: Alert
  /// Whether `aps` has no members.
  public internal(set) var isApsEmpty = false
  /// The index behind the opening brace of `aps`.
  var apsStart = 0
  /// The content of the string `sound` in `aps`; empty: none.
  @TextRange var sound: Range<Int> = 0..<0
  /// What the agent adds for the app; part of ``bytes``.
  var additions = PayloadAdditions()
  /// Whether the payload is encrypted before it is sent.
  public internal(set) var isSealed = false
  /// The value of `interruption-level` in `aps`; empty: none.
  @TextRange var level: Range<Int> = 0..<0
  /// Whether there are members beside `aps`.
  var hasOwnMembers = false
  /// Whether the sound is the device's own.
  var isSoundDefault = false
  /// Whether `aps` has `content-available`, and no alert, badge or sound.
  ///
  /// The device then shows and plays nothing, and priority 10 is an error.
  public internal(set) var isSilent = false

  init(at start: Int) {
    range = start..<start
    alert = Alert(range: start..<start)
  }

  /// Moves to a text that begins `distance` bytes later.
  fileprivate mutating func move(by distance: Int) {
    _range.move(by: distance)
    _sound.move(by: distance)
    _level.move(by: distance)
    alert.move(by: distance)
    additions.move(by: distance)
    apsStart -= distance
  }
}

/// The value of `alert`: a string or an object.
public struct Alert: BitwiseCopyable {
  /// The value.
  @TextRange public internal(set) var range: Range<Int> = 0..<0
  /// The number of bytes that are sent: without white space.
  public internal(set) var bytes = 0
  /// The content of the alert's text, the string or `body`, without its quotes; empty: none.
  @TextRange public internal(set) var text: Range<Int> = 0..<0

  fileprivate mutating func move(by distance: Int) {
    _range.move(by: distance)
    _text.move(by: distance)
  }
}
