import CLinux
import CMbed
import TinyPush

/// The key with which payloads for Bark are encrypted; it stays in memory as long as the link.
final class SealKey {
  private let bytes = FixedBuffer<UInt8>(capacity: Config.sealKeyBytesMax)
  private let count: Int
  private let mode: cmbed_seal_mode

  /// Reads the key from the configuration; nil: there is none.
  init?(_ config: borrowing Config) {
    let room = bytes.room()
    mode = config.sealMode
    count = config.encryptionKey.with { word in
      guard let word else { return 0 }
      let key = CString.span(word)
      guard Config.isSealKey(key) else { return 0 }
      for index in key.indices { room[index] = key[index] }
      return key.count
    }
    guard count > 0 else { return nil }
  }

  deinit { clinux_wipe(bytes.bytes.baseAddress, bytes.capacity) }

  /// Returns the seal of this key.
  var seal: Bark.Seal {
    let ivCount = mode == CMBED_SEAL_GCM ? CMBED_SEAL_GCM_IV : CMBED_SEAL_CBC_IV
    return Bark.Seal(ivCount: Int(ivCount)) { content, sealed, iv in
      let written = cmbed_seal(
        UnsafeMutableRawPointer(sealed.baseAddress!).assumingMemoryBound(to: CChar.self),
        sealed.count,
        UnsafeMutableRawPointer(iv.baseAddress!).assumingMemoryBound(to: CChar.self), self.mode,
        self.bytes.room().baseAddress, self.count, content.baseAddress, content.count)
      return written > 0 ? Int(written) : nil
    }
  }
}
