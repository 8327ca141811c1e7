import TinyPush

/// The identity of a message: the same for the message and its repetition by the broker, so that a
/// device shows both once.
///
/// The key is made of topic, payload and packet identifier. The broker keeps the packet identifier
/// when it sends a message again after a lost connection (section 4.4).
struct MessageKey: BitwiseCopyable {
  private let high: UInt64
  private let low: UInt64

  /// Creates the key of a message, or of one of several notifications of it.
  init(_ message: MessageText, packetID: UInt16, part: Int) {
    var hash = Hash()
    hash.add(message.address)
    hash.add(UInt8(0))
    hash.add(message.payload)
    hash.add(UInt64(packetID))
    if part > 0 { hash.add(UInt64(part)) }
    high = hash.value
    // In another order, a second hash that the first one does not determine.
    var second = Hash()
    second.add(message.payload)
    second.add(message.address)
    low = second.value &* 31 &+ UInt64(packetID)
  }

  /// Appends a UUID of version 8 (RFC 9562, section 5.8).
  func appendIdentifier(to text: inout Text) {
    let high = self.high & ~0xF000 | 0x8000
    let low = self.low & ~(3 << 62) | 2 << 62
    text.append(hex: high >> 32, digits: 8)
    text.append("-")
    text.append(hex: high >> 16 & 0xFFFF, digits: 4)
    text.append("-")
    text.append(hex: high & 0xFFFF, digits: 4)
    text.append("-")
    text.append(hex: low >> 48, digits: 4)
    text.append("-")
    text.append(hex: low & 0xFFFF_FFFF_FFFF, digits: 12)
  }

  func appendCollapseID(to text: inout Text) { text.append(hex: high) }
}
