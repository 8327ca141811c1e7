import CLinux
import CMbed
import TinyPush
import TinyPushAgent

/// The key with which providers sign their tokens.
///
/// It is a file in the sandbox's directory, in Apple's format, which is created if it is missing.
final class SigningKey {
  static let keyID: StaticString = "SANDBOXKEY"
  static let teamID: StaticString = "TEAM123456"
  static let name: StaticString = "/AuthKey_SANDBOXKEY.p8"

  /// The public key.
  var point: Span<UInt8> {
    @_lifetime(immortal) get { pointBytes.unsafeSpan(0..<pointBytes.capacity) }
  }
  private let pointBytes = FixedBuffer<UInt8>(capacity: Int(CMBED_POINT))

  init(in home: Home) throws(SandboxFailure) {
    let words = FixedBuffer<CChar>(capacity: Int(CMBED_TEXT_MAX))
    if home.withPath(Self.name, { path in access(path, F_OK) }) != 0 {
      let pem = FixedBuffer<CChar>(capacity: Int(CMBED_PEM_MAX))
      guard cmbed_signing_key_make(pem.room().baseAddress, words.room().baseAddress) == CMBED_OK
      else { throw SandboxFailure.refuse(words) }
      try home.replace(Self.name, byPEM: pem, mode: 0o600)
    }
    let result = home.withPath(Self.name) { path in
      cmbed_signing_key_public(path, pointBytes.room().baseAddress, words.room().baseAddress)
    }
    guard result == CMBED_OK else { throw SandboxFailure.refuse(words) }
  }
}
