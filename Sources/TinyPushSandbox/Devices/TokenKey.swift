import CLinux
import CMbed
import TinyPush
import TinyPushAgent

/// The content of a device token: an app on a device.
struct TokenContent: Equatable {
  /// The device's identifier.
  var device: UInt64
  /// The digest of the app's topic, since a topic may be longer than a token.
  var topic: UInt64

  /// Returns the first eight bytes of SHA-256 over a topic, big-endian.
  static func digest(topic: Span<UInt8>) -> UInt64 {
    let digest = FixedBuffer<UInt8>(capacity: 32)
    let result = topic.withUnsafeBytes { bytes in
      cmbed_digest(digest.room().baseAddress, bytes.baseAddress, bytes.count)
    }
    precondition(result == CMBED_OK)
    return TokenKey.number(digest, at: 0)
  }
}

/// The key that encrypts and authenticates device tokens.
///
/// It is a file in the sandbox's directory, which is created if it is missing. Nobody can make or
/// read a token without it.
///
///     content   device:8 | topic:8                big-endian
///     token     tag:16 | content, encrypted:16
///       tag        HMAC-SHA256(key[0..<32], content)[0..<16]
///       encrypted  AES-256-CTR(key[32..<64], first counter block: tag)
///
/// Source: Local and Remote Notification Programming Guide, 2015-10, Token Generation and
/// Dispersal: the token contains an identifier of the device, encrypted with a token key.
/// Inferred: everything else.
struct TokenKey: ~Copyable {
  static let byteCount = Int(CMBED_TOKEN_KEY)
  private static let contentBytes = Int(CMBED_TOKEN_CONTENT)
  private static let sealedBytes = 32

  private let key: FixedBuffer<UInt8>
  private let content = FixedBuffer<UInt8>(capacity: contentBytes)
  private let token = FixedBuffer<UInt8>(capacity: sealedBytes)

  init(in home: Home) throws(SandboxFailure) {
    try home.make("/keys", mode: 0o700)
    try self.init(home.path("/keys/sandbox"))
  }

  /// Creates a key from ``byteCount`` bytes.
  init(_ bytes: Span<UInt8>) {
    precondition(bytes.count == Self.byteCount)
    key = FixedBuffer(capacity: Self.byteCount)
    key.store(bytes, at: 0)
  }

  private init(_ path: borrowing Text) throws(SandboxFailure) {
    var text = Text(capacity: Self.byteCount + 1)
    var error = Home.read(path, into: &text)
    if error == ENOENT {
      let random = FixedBuffer<UInt8>(capacity: Self.byteCount)
      guard getrandom(random.room().baseAddress, random.capacity, 0) == random.capacity else {
        throw .software
      }
      text.append(random, count: random.capacity)
      error = Home.replace(path, by: text, mode: 0o600)
    }
    guard error == 0, text.count == Self.byteCount else {
      var words = Text(capacity: 8192)
      words.append(path)
      words.append(": ")
      words.append(
        cString: error == 0
          ? ("is not a key of 64 bytes" as StaticString).cString
          : clinux_error_text(error))
      words.append(". Device tokens need this key: remove the file and the directory devices")
      SandboxFailure.print(words)
      throw .cannotCreate
    }
    self.init(text.bytes)
  }

  deinit { explicit_bzero(key.room().baseAddress!, Self.byteCount) }

  /// Returns the token for a content, which is always the same.
  func seal(_ what: TokenContent) -> DeviceToken {
    for index in 0..<8 {
      content[index] = UInt8(truncatingIfNeeded: what.device >> (56 - 8 * UInt64(index)))
      content[8 + index] = UInt8(truncatingIfNeeded: what.topic >> (56 - 8 * UInt64(index)))
    }
    let result = cmbed_token_seal(
      token.room().baseAddress, key.room().baseAddress, content.room().baseAddress)
    precondition(result == CMBED_OK)
    return DeviceToken(bytes: token.span(0..<token.capacity))!
  }

  /// Returns the content of a token; nil: this key has not made the token.
  func open(_ bytes: Span<UInt8>) -> TokenContent? {
    guard bytes.count == Self.sealedBytes else { return nil }
    token.store(bytes, at: 0)
    let result = cmbed_token_open(
      content.room().baseAddress, key.room().baseAddress, token.room().baseAddress)
    guard result == 1 else { return nil }
    return TokenContent(
      device: Self.number(content, at: 0), topic: Self.number(content, at: 8))
  }

  fileprivate static func number(_ bytes: borrowing FixedBuffer<UInt8>, at start: Int) -> UInt64 {
    var number: UInt64 = 0
    for index in start..<start + 8 { number = number << 8 | UInt64(bytes[index]) }
    return number
  }
}
