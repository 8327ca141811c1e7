import TinyPush

/// The format of a frame for the gateway; the raw value is the command byte.
public enum FrameFormat: UInt8, Sendable, BitwiseCopyable {
  /// A frame without identifier: after an error, the gateway only closes the connection.
  ///
  /// `command:1 = 0 | tokenLength:2 | token | payloadLength:2 | payload`
  case simple = 0
  /// A frame with identifier and expiration.
  ///
  /// ```
  /// command:1 = 1 | identifier:4 | expiration:4 | tokenLength:2 | token | payloadLength:2 |
  /// payload
  /// ```
  case enhanced = 1
  /// A frame of items.
  ///
  /// `command:1 = 2 | length:4 | items…`, where an item is `id:1 | length:2 | data`
  case items = 2
}

/// An item of a command 2 frame.
///
/// Source: Local and Remote Notification Programming Guide, 2015-10, table 5-1.
public enum FrameItem: UInt8 {
  case deviceToken = 1
  case payload = 2
  case identifier = 3
  case expiration = 4
  case priority = 5
}

/// The fields of a notification on the wire, all big-endian.
public struct Frame {
  /// The number that an error response returns to name this notification.
  ///
  /// Opaque to the gateway. 0 is never used, since a response uses 0 for "unknown".
  public var identifier: UInt32
  /// UNIX seconds, UTC; 0: the gateway makes one attempt and does not store the notification.
  public var expiration: UInt32
  /// 10: deliver at once; 5: deliver when it saves the device's power.
  ///
  /// Formats 0 and 1 imply 10.
  public var priority: UInt8

  /// Makes a frame.
  public init(identifier: UInt32, expiration: UInt32, priority: UInt8) {
    self.identifier = identifier
    self.expiration = expiration
    self.priority = priority
  }

  /// The number of bytes of a token.
  public static let tokenByteCount = Rules.tokenBytesOfBinary

  /// Returns the length of a frame with a token of 32 bytes.
  @inline(__always)
  public static func byteCount(_ format: FrameFormat, payloadBytes: Int) -> Int {
    switch format {
    case .simple: 5 + tokenByteCount + payloadBytes
    case .enhanced: 13 + tokenByteCount + payloadBytes
    case .items: 5 + 5 * 3 + tokenByteCount + payloadBytes + 4 + 4 + 1
    }
  }

  /// Writes the frame at `start` and returns the place after it.
  ///
  /// - Parameters:
  ///   - payload: JSON text; its white space is left out.
  ///   - payloadBytes: the length of the payload without white space.
  public func write(
    _ format: FrameFormat, token: Span<UInt8>, payload: Span<UInt8>, payloadBytes: Int,
    to buffer: borrowing FixedBuffer<UInt8>, at start: Int
  ) -> Int {
    write(format, token: token, payloadBytes: payloadBytes, to: buffer, at: start) { place in
      buffer.store(json: payload, bytes: payloadBytes, at: place)
    }
  }

  /// Writes the frame with the payload for one device; `text` is the text of the notification.
  @inline(__always)
  package func write(
    _ format: FrameFormat, token: Span<UInt8>, _ payload: Payload, _ rendition: Rendition,
    in text: Span<UInt8>, to buffer: borrowing FixedBuffer<UInt8>, at start: Int
  ) -> Int {
    write(format, token: token, payloadBytes: rendition.bytes, to: buffer, at: start) { place in
      payload.write(rendition, in: text, to: buffer, at: place)
    }
  }

  /// Writes a frame that every gateway must refuse for the size of its token; returns its length.
  ///
  /// The token has one byte: gateways have answered a token of no bytes with identifier 0, which
  /// proves nothing.
  @inline(never)
  package static func writeRefusable(
    _ format: FrameFormat, identifier: UInt32, to buffer: borrowing FixedBuffer<UInt8>
  ) -> Int {
    let token: InlineArray<1, UInt8> = [0]
    let payload: StaticString = "{\"aps\":{}}"
    return Frame(identifier: identifier, expiration: 0, priority: 5).write(
      format, token: token.span, payload: payload.span, payloadBytes: payload.utf8CodeUnitCount,
      to: buffer, at: 0)
  }

  @inline(__always)
  private func write(
    _ format: FrameFormat, token: Span<UInt8>, payloadBytes: Int,
    to buffer: borrowing FixedBuffer<UInt8>, at start: Int, payload: (_ place: Int) -> Int
  ) -> Int {
    var place = Place(index: start)
    place.put(format.rawValue, in: buffer)
    switch format {
    case .simple:
      place.put16(token.count, in: buffer)
      place.put(token, in: buffer)
      place.put16(payloadBytes, in: buffer)
      place.index = payload(place.index)
    case .enhanced:
      place.put32(identifier, in: buffer)
      place.put32(expiration, in: buffer)
      place.put16(token.count, in: buffer)
      place.put(token, in: buffer)
      place.put16(payloadBytes, in: buffer)
      place.index = payload(place.index)
    case .items:
      place.put32(UInt32(5 * 3 + token.count + payloadBytes + 4 + 4 + 1), in: buffer)
      // The identifier is first: a gateway that stops reading at a wrong token or payload can
      // still name the notification.
      place.put(.identifier, length: 4, in: buffer)
      place.put32(identifier, in: buffer)
      place.put(.deviceToken, length: token.count, in: buffer)
      place.put(token, in: buffer)
      place.put(.payload, length: payloadBytes, in: buffer)
      place.index = payload(place.index)
      place.put(.expiration, length: 4, in: buffer)
      place.put32(expiration, in: buffer)
      place.put(.priority, length: 1, in: buffer)
      place.put(priority, in: buffer)
    }
    return place.index
  }
}

/// The index of the next byte to write.
private struct Place {
  var index: Int

  @inline(__always)
  mutating func put(_ byte: UInt8, in buffer: borrowing FixedBuffer<UInt8>) {
    buffer[index] = byte
    index += 1
  }

  @inline(__always)
  mutating func put16(_ value: Int, in buffer: borrowing FixedBuffer<UInt8>) {
    put(UInt8(truncatingIfNeeded: value >> 8), in: buffer)
    put(UInt8(truncatingIfNeeded: value), in: buffer)
  }

  @inline(__always)
  mutating func put32(_ value: UInt32, in buffer: borrowing FixedBuffer<UInt8>) {
    put(UInt8(truncatingIfNeeded: value >> 24), in: buffer)
    put(UInt8(truncatingIfNeeded: value >> 16), in: buffer)
    put(UInt8(truncatingIfNeeded: value >> 8), in: buffer)
    put(UInt8(truncatingIfNeeded: value), in: buffer)
  }

  @inline(__always)
  mutating func put(_ bytes: Span<UInt8>, in buffer: borrowing FixedBuffer<UInt8>) {
    buffer.store(bytes, at: index)
    index += bytes.count
  }

  @inline(__always)
  mutating func put(_ item: FrameItem, length: Int, in buffer: borrowing FixedBuffer<UInt8>) {
    put(item.rawValue, in: buffer)
    put16(length, in: buffer)
  }
}
