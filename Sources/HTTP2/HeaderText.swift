import CHTTP2
import TinyPush

/// The headers of one request, and the text of their values, until nghttp2 has framed them.
struct HeaderText: ~Copyable {
  private static let headersMax = 12
  /// The longest values: a token's text, two host names, a topic, and what is bounded by the service.
  private static let bytesMax = 4096

  let headers = FixedBuffer<chttp2_header>(capacity: headersMax)
  /// A payload that does not stand in its text as it goes out.
  let payload = FixedBuffer<UInt8>(capacity: 8192)
  private let text = FixedBuffer<UInt8>(capacity: bytesMax)
  private let counts = FixedBuffer<Int>(capacity: 2)

  init() {}

  var count: Int { counts[0] }

  private func begin() {
    counts[0] = 0
    counts[1] = 0
  }

  /// Writes the headers of a request. HPACK's table is for what comes with each of them.
  func write(
    _ message: borrowing Message, in source: Span<UInt8>,
    _ service: borrowing HTTP2Link.Service, _ token: borrowing Text, _ settings: Courier.Settings
  ) {
    begin()
    literal(":method", "POST")
    literal(":scheme", "https")
    put(":authority", service.authority.bytes, isIndexed: true)
    var start = counts[1]
    append("/3/device/")
    for index in message.token.bytes.indices {
      append(Self.digit(message.token.bytes[index] >> 4))
      append(Self.digit(message.token.bytes[index] & 15))
    }
    end(":path", from: start)
    if service.usesProviderToken { put("authorization", token.bytes, isIndexed: false) }
    start = counts[1]
    appendTopic(message, in: source, service)
    end("apns-topic", from: start, isIndexed: true)
    literal("apns-push-type", message.pushType.name)
    start = counts[1]
    if message.identifier.isEmpty {
      appendUUID(message.fingerprint)
    } else {
      append(source.extracting(message.identifier))
    }
    end("apns-id", from: start)
    start = counts[1]
    append(decimal: message.expiration)
    end("apns-expiration", from: start)
    if message.priority != 10 { literal("apns-priority", message.priority == 5 ? "5" : "1") }
    start = counts[1]
    if !message.collapseID.isEmpty {
      append(spelled: source.extracting(message.collapseID))
    } else if settings.repeats == .replace {
      append(hex: message.fingerprint.high)
      append(hex: message.fingerprint.low)
    } else {
      return
    }
    end("apns-collapse-id", from: start)
  }

  private func appendTopic(
    _ message: borrowing Message, in source: Span<UInt8>, _ service: borrowing HTTP2Link.Service
  ) {
    let start = counts[1]
    if message.topic.isEmpty {
      append(service.topic.bytes)
    } else {
      append(source.extracting(message.topic))
    }
    append(message.pushType.suffix(behind: text.span(start..<counts[1])))
  }

  // MARK: - Values

  private func literal(_ name: StaticString, _ value: StaticString) {
    add(name, UnsafePointer(value.utf8Start), value.utf8CodeUnitCount, isIndexed: true)
  }

  private func put(_ name: StaticString, _ value: Span<UInt8>, isIndexed: Bool) {
    let start = counts[1]
    append(value)
    end(name, from: start, isIndexed: isIndexed)
  }

  /// The value that begins at `start` is complete.
  private func end(_ name: StaticString, from start: Int, isIndexed: Bool = false) {
    add(
      name, UnsafePointer(text.room(from: start).baseAddress!), counts[1] - start,
      isIndexed: isIndexed)
  }

  private func add(
    _ name: StaticString, _ value: UnsafePointer<UInt8>, _ count: Int, isIndexed: Bool
  ) {
    headers[counts[0]] = chttp2_header(
      name: UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self), value: value,
      count: count, is_indexed: isIndexed ? 1 : 0)
    counts[0] += 1
  }

  private func append(_ byte: UInt8) {
    text[counts[1]] = byte
    counts[1] += 1
  }

  private func append(_ bytes: Span<UInt8>) {
    text.store(bytes, at: counts[1])
    counts[1] += bytes.count
  }

  private func append(_ literal: StaticString) { append(literal.span) }

  /// What a JSON string spells.
  private func append(spelled string: Span<UInt8>) {
    var reader = JSONStringReader()
    while let byte = reader.next(in: string) { append(byte) }
  }

  private func append(decimal number: UInt32) {
    var scale: UInt32 = 1
    while number / scale >= 10 { scale *= 10 }
    while scale > 0 {
      append(UInt8(ascii: "0") + UInt8(number / scale % 10))
      scale /= 10
    }
  }

  private func append(hex number: UInt64) {
    for shift in 0..<16 {
      append(Self.digit(UInt8(truncatingIfNeeded: number >> UInt64(60 - 4 * shift)) & 15))
    }
  }

  /// As a UUID of version 8 (RFC 9562): one whose bits mean what its maker likes.
  private func appendUUID(_ fingerprint: Fingerprint) {
    let high = fingerprint.high & 0xFFFF_FFFF_FFFF_0FFF | 0x8000
    let low = fingerprint.low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
    for index in 0..<16 {
      if index == 8 || index == 12 { append(UInt8(ascii: "-")) }
      append(Self.digit(UInt8(truncatingIfNeeded: high >> UInt64(60 - 4 * index)) & 15))
    }
    append(UInt8(ascii: "-"))
    for index in 0..<16 {
      if index == 4 { append(UInt8(ascii: "-")) }
      append(Self.digit(UInt8(truncatingIfNeeded: low >> UInt64(60 - 4 * index)) & 15))
    }
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + (value - 10)
  }
}
