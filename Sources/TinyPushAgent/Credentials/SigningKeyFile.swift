import CLinux
import CMbed

/// A file with a key that signs tokens.
public enum SigningKeyFile {
  /// Reads the public key; returns CMBED_OK, or a negative code with the reason.
  @inline(never)
  public static func read(
    _ path: UnsafePointer<CChar>, _ point: inout InlineArray<65, UInt8>,
    _ reason: UnsafeMutablePointer<CChar>
  ) -> Int32 {
    let result = withUnsafeMutableBytes(of: &point) {
      cmbed_signing_key_public(path, $0.bindMemory(to: UInt8.self).baseAddress, reason)
    }
    clinux_wipe_stack()
    return result
  }

  /// Finds out whether the key can sign; returns CMBED_OK, or a negative code with the reason.
  public static func check(
    _ path: UnsafePointer<CChar>, _ reason: UnsafeMutablePointer<CChar>
  ) -> Int32 {
    var point = InlineArray<65, UInt8>(repeating: 0)
    return read(path, &point, reason)
  }
}
