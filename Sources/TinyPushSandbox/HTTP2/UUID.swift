import CLinux
import TinyPush

extension Text {
  /// Appends a random UUID (RFC 9562, version 4), in capitals as the service writes them.
  mutating func appendRandomUUID() {
    let bytes = FixedBuffer<UInt8>(capacity: 16)
    guard getrandom(bytes.room().baseAddress, 16, 0) == 16 else { return }
    bytes[6] = bytes[6] & 0x0F | 0x40
    bytes[8] = bytes[8] & 0x3F | 0x80
    for index in 0..<16 {
      if index == 4 || index == 6 || index == 8 || index == 10 { append("-") }
      for half in [bytes[index] >> 4, bytes[index] & 15] {
        append(byte: half < 10 ? UInt8(ascii: "0") + half : UInt8(ascii: "A") - 10 + half)
      }
    }
  }
}

extension Span<UInt8> {
  /// Whether these bytes are a UUID in its usual form.
  var isUUID: Bool {
    guard count == 36 else { return false }
    for index in indices {
      let isHyphen = index == 8 || index == 13 || index == 18 || index == 23
      guard isHyphen ? self[index] == .hyphen : DeviceToken.hexValue(self[index]) != nil else {
        return false
      }
    }
    return true
  }
}
