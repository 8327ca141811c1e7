import TinyPush

/// Takes a broker's stream apart into MQTT packets, however the stream is cut into pieces.
///
/// Bytes go in by ``makeRoom()`` and ``take(_:)``; packets come out of ``next()``. Nothing is
/// allocated after the start: a message with more bytes than the bound is cut there, and any other
/// such packet is refused by its first bytes.
struct PacketReader: ~Copyable {
  /// One packet.
  ///
  /// The body lies behind the fixed header.
  struct Packet {
    var kind: UInt8
    /// The lower four bits of the first byte.
    var flags: UInt8
    var body: Range<Int>
    /// Whether the end of the body was dropped.
    var isCut = false
  }

  /// The least room for more bytes: a TLS record.
  static let roomBytesMin = 16 * 1024
  /// The most room: small messages touch only this part of the buffer.
  private static let roomBytesMax = 64 * 1024

  private let buffer: FixedBuffer<UInt8>
  private let packetBytesMax: Int
  private var start = 0
  private var end = 0
  /// The bytes that are still to come of the packet at `start`, and that are dropped.
  private var surplus = 0
  /// Whether what is beyond the bound of the packet at `start` was dropped, or is being dropped.
  private var isCutting = false

  /// - Parameter packetBytesMax: the largest packet, in bytes.
  init(packetBytesMax: Int) {
    self.packetBytesMax = packetBytesMax
    buffer = FixedBuffer(capacity: packetBytesMax + Self.roomBytesMin)
  }

  /// Drops all bytes.
  mutating func clear() {
    start = 0
    end = 0
    surplus = 0
    isCutting = false
  }

  /// Room for at least ``roomBytesMin`` bytes, once ``next()`` has asked for more.
  ///
  /// Packets given out before become invalid.
  mutating func makeRoom() -> UnsafeMutableBufferPointer<UInt8> {
    if start == end {
      clear()
    } else if buffer.capacity - end < Self.roomBytesMin {
      buffer.move(from: start, to: 0, count: end - start)
      end -= start
      start = 0
    }
    let room = buffer.room(from: end)
    return UnsafeMutableBufferPointer(rebasing: room.prefix(Self.roomBytesMax))
  }

  /// Takes the first `count` bytes of the room, which have been filled.
  mutating func take(_ count: Int) {
    precondition(count >= 0 && count <= buffer.capacity - end)
    let dropped = min(count, surplus)
    surplus -= dropped
    if dropped > 0 { buffer.move(from: end + dropped, to: end, count: count - dropped) }
    end += count - dropped
  }

  /// Returns the next packet; nil when it needs more bytes.
  ///
  /// Its range holds until more bytes come.
  mutating func next() throws(BrokerProblem) -> Packet? {
    guard end > start else { return nil }
    let first = buffer[start]
    guard PacketKind(rawValue: first >> 4) != nil else { throw .malformed(.packetKind(first)) }
    var length = 0
    var index = start + 1
    // A variable byte integer (section 1.5.5): seven bits a byte, the lowest first, at most four
    // bytes.
    while true {
      guard index < end else { return nil }
      guard index <= start + 4 else { throw .malformed(.length) }
      let byte = buffer[index]
      length |= Int(byte & 0x7F) << (7 * (index - start - 1))
      index += 1
      if byte & 0x80 == 0 { break }
    }
    let bytes = index - start + length
    let kept = min(bytes, packetBytesMax)
    if bytes > kept {
      // MQTT 3.1.1 cannot tell the broker the bound, and the broker sends such a message again and
      // again until it is acknowledged.
      guard first >> 4 == PacketKind.publish.rawValue else {
        throw .malformed(.packetBytes(bytes))
      }
      if !isCutting, end - start >= kept {
        isCutting = true
        let dropped = min(end - start, bytes) - kept
        surplus = bytes - kept - dropped
        let next = start + kept
        buffer.move(from: next + dropped, to: next, count: end - next - dropped)
        end -= dropped
      }
      guard isCutting, surplus == 0 else { return nil }
      isCutting = false
    }
    guard kept <= end - start else { return nil }
    start += kept
    return Packet(
      kind: first >> 4, flags: first & 15, body: index..<start, isCut: bytes > kept)
  }

  /// The bytes of a range of a packet.
  ///
  /// They change when more bytes are taken.
  @_lifetime(immortal)
  func bytes(_ range: Range<Int>) -> Span<UInt8> { buffer.unsafeSpan(range) }
}

/// Reads the fields of a packet's body one behind the other.
struct FieldReader {
  /// What the body is: its kind appears in errors.
  let kind: UInt8
  private(set) var range: Range<Int>

  init(_ packet: PacketReader.Packet) {
    kind = packet.kind
    range = packet.body
  }

  /// Whether all fields are read.
  var isEmpty: Bool { range.isEmpty }

  private var malformed: BrokerProblem { .malformed(.content(kind)) }

  mutating func byte(_ reader: borrowing PacketReader) throws(BrokerProblem) -> UInt8 {
    guard !range.isEmpty else { throw malformed }
    let value = reader.bytes(range)[0]
    range = range.lowerBound + 1..<range.upperBound
    return value
  }

  mutating func number16(_ reader: borrowing PacketReader) throws(BrokerProblem) -> UInt16 {
    let high = try byte(reader)
    return UInt16(high) << 8 | UInt16(try byte(reader))
  }

  mutating func number32(_ reader: borrowing PacketReader) throws(BrokerProblem) -> UInt32 {
    let high = try number16(reader)
    return UInt32(high) << 16 | UInt32(try number16(reader))
  }

  mutating func variable(_ reader: borrowing PacketReader) throws(BrokerProblem) -> Int {
    var value = 0
    for shift in 0..<4 {
      let byte = try byte(reader)
      value |= Int(byte & 0x7F) << (7 * shift)
      if byte & 0x80 == 0 { return value }
    }
    throw malformed
  }

  /// A string or binary data: two bytes of length, and the bytes.
  mutating func string(_ reader: borrowing PacketReader) throws(BrokerProblem) -> Range<Int> {
    let count = Int(try number16(reader))
    return try take(count)
  }

  /// The next `count` bytes.
  mutating func take(_ count: Int) throws(BrokerProblem) -> Range<Int> {
    guard count <= range.count else { throw malformed }
    let taken = range.lowerBound..<range.lowerBound + count
    range = taken.upperBound..<range.upperBound
    return taken
  }

  /// The rest of the body.
  mutating func rest() -> Range<Int> {
    defer { range = range.upperBound..<range.upperBound }
    return range
  }

  /// Reads the properties (section 2.2.2) and calls `body` with each numeric one: its identifier
  /// and value.
  mutating func properties(
    _ reader: borrowing PacketReader, _ body: (UInt8, UInt32) -> Void
  ) throws(BrokerProblem) {
    let count = try variable(reader)
    var fields = self
    fields.range = try take(count)
    while !fields.isEmpty {
      let identifier = try fields.byte(reader)
      switch identifier {
      // One byte: payload format, problem information, maximum QoS, retain, wildcards, identifiers,
      // shared subscriptions.
      case 0x01, 0x17, 0x19, 0x24, 0x25, 0x28, 0x29, 0x2A:
        body(identifier, UInt32(try fields.byte(reader)))
      // Two bytes: server keep alive, receive maximum, topic alias maximum, topic alias.
      case 0x13, 0x21, 0x22, 0x23:
        body(identifier, UInt32(try fields.number16(reader)))
      // Four bytes: message expiry, session expiry, will delay, maximum packet size.
      case 0x02, 0x11, 0x18, 0x27:
        body(identifier, try fields.number32(reader))
      // A variable byte integer: subscription identifier.
      case 0x0B: body(identifier, UInt32(truncatingIfNeeded: try fields.variable(reader)))
      // A string or binary data.
      case 0x03, 0x08, 0x09, 0x12, 0x15, 0x16, 0x1A, 0x1C, 0x1F:
        _ = try fields.string(reader)
      // A pair of strings: user property.
      case 0x26:
        _ = try fields.string(reader)
        _ = try fields.string(reader)
      default: throw malformed
      }
    }
  }
}
