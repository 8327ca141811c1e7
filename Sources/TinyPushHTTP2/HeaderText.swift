import CHTTP2
import TinyPush

/// The headers of one request and their values' text, until nghttp2 has framed them.
struct HeaderText: ~Copyable {
  private static let headersMax = 12
  /// Room for the longest values: a provider token, two host names, a device token, a topic, and IDs.
  private static let bytesMax = 4096
  private static let decimalDigitsMax = 10

  let headers = FixedBuffer<chttp2_header>(capacity: headersMax)
  var count = 0
  /// The payload, if it differs from the text of its file.
  let payload: FixedBuffer<UInt8>
  let text = FixedBuffer<UInt8>(capacity: bytesMax)
  var textEnd = 0

  init(isOfBrowsers: Bool = false) {
    payload = FixedBuffer(capacity: isOfBrowsers ? BrowserRoom.end : 8192)
  }

  /// Writes the headers of a request.
  ///
  /// Values that recur in each request are indexed in HPACK's table (RFC 7541).
  mutating func write(
    _ message: borrowing Message, in source: Span<UInt8>,
    _ service: borrowing HTTP2Link.Service, _ token: borrowing Text, _ settings: Courier.Settings
  ) {
    count = 0
    textEnd = 0
    literal(":method", "POST")
    literal(":scheme", "https")
    put(":authority", service.authority.bytes, isIndexed: true)
    var start = textEnd
    append("/3/device/")
    append(hex: message.token)
    end(":path", from: start)
    if service.usesProviderToken { put("authorization", token.bytes, isIndexed: false) }
    start = textEnd
    appendTopic(message, in: source, service)
    end("apns-topic", from: start, isIndexed: true)
    literal("apns-push-type", message.pushType.name)
    start = textEnd
    if message.identifier.isEmpty {
      appendUUID(message.fingerprint)
    } else {
      append(source.extracting(message.identifier))
    }
    end("apns-id", from: start)
    put("apns-expiration", message.expiration)
    if message.priority != 10 { literal("apns-priority", message.priority == 5 ? "5" : "1") }
    start = textEnd
    if !message.collapseID.isEmpty {
      append(spelled: source.extracting(message.collapseID))
    } else if settings.repeats == .replace {
      // For one device, half of the fingerprint is enough.
      append(hex: message.fingerprint.low)
    } else {
      return
    }
    end("apns-collapse-id", from: start)
  }

  private mutating func appendTopic(
    _ message: borrowing Message, in source: Span<UInt8>, _ service: borrowing HTTP2Link.Service
  ) {
    let start = textEnd
    if message.topic.isEmpty {
      append(service.topic.bytes)
    } else {
      append(source.extracting(message.topic))
    }
    append(message.pushType.suffix(behind: text.span(start..<textEnd)))
  }

  // MARK: - Values

  mutating func literal(_ name: StaticString, _ value: StaticString) {
    add(name, UnsafePointer(value.utf8Start), value.utf8CodeUnitCount, isIndexed: true)
  }

  mutating func put(_ name: StaticString, _ value: Span<UInt8>, isIndexed: Bool) {
    let start = textEnd
    append(value)
    end(name, from: start, isIndexed: isIndexed)
  }

  mutating func put(_ name: StaticString, _ number: UInt32) {
    textEnd += Self.decimalDigitsMax
    var start = textEnd
    var rest = number
    repeat {
      start -= 1
      text[start] = UInt8(ascii: "0") + UInt8(rest % 10)
      rest /= 10
    } while rest > 0
    end(name, from: start)
  }

  /// Adds a header whose value has been appended from `start` on.
  mutating func end(_ name: StaticString, from start: Int, isIndexed: Bool = false) {
    add(
      name, UnsafePointer(text.room(from: start).baseAddress!), textEnd - start,
      isIndexed: isIndexed)
  }

  private mutating func add(
    _ name: StaticString, _ value: UnsafePointer<UInt8>, _ count: Int, isIndexed: Bool
  ) {
    headers[self.count] = chttp2_header(
      name: name.utf8Start, name_count: name.utf8CodeUnitCount, value: value, count: count,
      is_indexed: isIndexed ? 1 : 0)
    self.count += 1
  }

  mutating func append(_ byte: UInt8) {
    text[textEnd] = byte
    textEnd += 1
  }

  mutating func append(_ bytes: Span<UInt8>) {
    text.store(bytes, at: textEnd)
    textEnd += bytes.count
  }

  private mutating func append(_ literal: StaticString) { append(literal.span) }

  /// Appends the decoded text of a JSON string.
  mutating func append(spelled string: Span<UInt8>) {
    var reader = JSONStringReader()
    while let byte = reader.next(in: string) { append(byte) }
  }

  /// Appends a device token as hexadecimal digits.
  private mutating func append(hex token: DeviceToken) {
    token.bytes.withUnsafeBytes { bytes in
      var place = 0
      while place + 4 <= bytes.count {
        let four = bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self)
        append(hex: UInt32(bigEndian: four))
        place += 4
      }
      for index in place..<bytes.count { append(hex: UInt32(bytes[index]) << 24, digits: 2) }
    }
  }

  mutating func append(hex number: UInt64) {
    append(hex: UInt32(truncatingIfNeeded: number >> 32))
    append(hex: UInt32(truncatingIfNeeded: number))
  }

  /// Appends a fingerprint as a UUID of version 8, whose bits an application defines (RFC 9562).
  private mutating func appendUUID(_ fingerprint: Fingerprint) {
    let high = fingerprint.high & 0xFFFF_FFFF_FFFF_0FFF | 0x8000
    let low = fingerprint.low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
    append(hex: UInt32(truncatingIfNeeded: high >> 32))
    append(group: high)
    append(group: high << 16)
    append(group: low >> 32)
    append(group: low >> 16)
    append(hex: UInt32(truncatingIfNeeded: low))
  }

  /// Appends a hyphen and the four digits of the bits 16 to 31.
  private mutating func append(group number: UInt64) {
    append(UInt8.hyphen)
    append(hex: UInt32(truncatingIfNeeded: number), digits: 4)
  }

  /// Appends the first of eight digits, computed together: each in one byte, the first in the lowest.
  @inline(__always)
  private mutating func append(hex number: UInt32, digits count: Int = 8) {
    var digits = UInt64(number.byteSwapped)
    digits = (digits | digits << 16) & 0x0000_FFFF_0000_FFFF
    digits = (digits | digits << 8) & 0x00FF_00FF_00FF_00FF
    digits = (digits >> 4 | digits << 8) & 0x0F0F_0F0F_0F0F_0F0F
    let letters = (digits + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
    text.store(digits + 0x3030_3030_3030_3030 + letters * 0x27, at: textEnd)
    textEnd += count
  }
}
