import TinyPush

/// Writes MQTT packets one behind the other into memory of a fixed size, and hands the bytes to a
/// socket.
struct PacketWriter: ~Copyable {
  private let buffer: FixedBuffer<UInt8>
  private var start = 0
  private var end = 0
  /// Where the fixed header of the packet under way begins.
  private var head = 0
  /// Bytes that a fixed header takes at most.
  private static let headBytesMax = 5

  /// - Parameter capacity: bytes that may wait for the socket.
  init(capacity: Int) {
    buffer = FixedBuffer(capacity: capacity)
  }

  /// Drops all bytes, among which a password may be.
  mutating func clear() {
    for index in 0..<end { buffer[index] = 0 }
    start = 0
    end = 0
  }

  /// Whether a packet with a body of `bytes` bytes fits behind those that wait.
  mutating func hasRoom(_ bytes: Int) -> Bool {
    if start > 0 {
      buffer.move(from: start, to: 0, count: end - start)
      end -= start
      start = 0
    }
    return buffer.capacity - end >= bytes + Self.headBytesMax
  }

  /// The bytes that wait for the socket.
  ///
  /// They change with the next packet.
  var output: Span<UInt8> {
    @_lifetime(immortal) get { buffer.unsafeSpan(start..<end) }
  }

  /// Drops the first `count` bytes, which the socket took.
  mutating func written(_ count: Int) {
    start += count
    if start == end { clear() }
  }

  // MARK: - A packet

  /// Begins a packet; ``hasRoom(_:)`` has been asked before.
  mutating func begin(_ kind: PacketKind, flags: UInt8 = 0) {
    head = end
    buffer[end] = kind.rawValue << 4 | flags
    end += Self.headBytesMax
  }

  /// Ends the packet: puts its length into the fixed header, in as few bytes as the length takes
  /// (section 1.5.5).
  mutating func end(_ kind: PacketKind) {
    let body = head + Self.headBytesMax
    let count = end - body
    var rest = count
    var index = head + 1
    repeat {
      let byte = UInt8(rest & 0x7F)
      rest >>= 7
      buffer[index] = rest > 0 ? byte | 0x80 : byte
      index += 1
    } while rest > 0
    buffer.move(from: body, to: index, count: count)
    // The bytes may be the end of a password.
    for old in index + count..<end { buffer[old] = 0 }
    end = index + count
  }

  mutating func byte(_ value: UInt8) {
    buffer[end] = value
    end += 1
  }

  mutating func number16(_ value: UInt16) {
    byte(UInt8(value >> 8))
    byte(UInt8(truncatingIfNeeded: value))
  }

  mutating func number32(_ value: UInt32) {
    number16(UInt16(value >> 16))
    number16(UInt16(truncatingIfNeeded: value))
  }

  /// A string or binary data: two bytes of length, and the bytes.
  mutating func string(_ bytes: Span<UInt8>) {
    number16(UInt16(bytes.count))
    raw(bytes)
  }

  mutating func raw(_ bytes: Span<UInt8>) {
    buffer.store(bytes, at: end)
    end += bytes.count
  }
}
