import CLinux
import TinyPush
import TinyPushAgent
import TinyPushMail

/// The character sets that the C library knows.
struct SystemConverter: CharacterSetConverter {
  func convert(_ bytes: Span<UInt8>, from name: Span<UInt8>, to text: inout Text) -> Bool {
    // A space or a slash is in no name of a mail's character set.
    for index in name.indices
    where name[index] <= .space || name[index] >= .delete || name[index] == .slash {
      return false
    }
    // Enough for nearly all texts; the rest of a longer one is left out.
    let room = FixedBuffer<UInt8>(capacity: 3 * bytes.count + 16)
    let set = CString(name)
    let count = bytes.withUnsafeBytes {
      clinux_to_utf8(set.pointer, $0.baseAddress, $0.count, room.room().baseAddress, room.capacity)
    }
    guard count >= 0 else { return false }
    text.append(room, count: Int(count))
    return true
  }
}
