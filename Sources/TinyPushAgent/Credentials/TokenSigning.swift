import CLinux
import CMbed
import TinyPush

extension Text {
  /// Appends a dot and the signature of the text with a key in a file; returns whether that worked.
  ///
  /// - Parameter problem: receives why there is no signature.
  @inline(never)
  mutating func sign(with key: UnsafePointer<CChar>, _ problem: inout Text) -> Bool {
    let reason = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CMBED_TEXT_MAX))
    defer { reason.deallocate() }
    var signature = InlineArray<64, UInt8>(repeating: 0)
    let result = bytes.withUnsafeBytes { signed in
      withUnsafeMutableBytes(of: &signature) { signature in
        cmbed_sign(
          signature.bindMemory(to: UInt8.self).baseAddress, key, signed.baseAddress, signed.count,
          reason)
      }
    }
    clinux_wipe_stack()
    guard result == CMBED_OK else {
      problem.append(cString: reason)
      return false
    }
    append(".")
    append(base64URL: signature.span)
    return true
  }
}
