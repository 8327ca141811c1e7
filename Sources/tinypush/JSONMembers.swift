import TinyPush

/// The members of a JSON object, or the elements of an array, as they come.
struct JSONMembers: ~Copyable {
  /// What is longer than a notification may be is cut, and found to be too long.
  var text = Text(capacity: NotificationReader.objectBytesMax + 1)

  var isEmpty: Bool { text.count == 0 }

  /// A key, for its value to follow.
  @inline(never)
  mutating func add(_ key: StaticString) {
    add(element: key.span)
    text.append(":")
  }

  @inline(never)
  mutating func add(_ key: StaticString, string value: Span<UInt8>) {
    add(key)
    text.append(json: value)
  }

  @inline(never)
  mutating func add(_ key: StaticString, number: UInt64) {
    add(key)
    text.append(number)
  }

  /// A value as it stands.
  @inline(never)
  mutating func add(_ key: StaticString, bare value: Span<UInt8>) {
    add(key)
    text.append(bytes: value)
  }

  /// The same, between two texts.
  @inline(never)
  mutating func add(
    _ key: StaticString, _ open: StaticString, _ value: borrowing Text,
    _ close: StaticString
  ) {
    add(key)
    text.append(open)
    text.append(bytes: value.bytes)
    text.append(close)
  }

  /// A string.
  @inline(never)
  mutating func add(element value: Span<UInt8>) {
    if text.count > 0 { text.append(",") }
    text.append(json: value)
  }
}
