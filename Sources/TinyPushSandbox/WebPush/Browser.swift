import CLinux
import CMbed
import TinyPush
import TinyPushAgent

/// The keys of a browser's subscription to the messages of a page.
final class Browser {
  private static let keyBytes = 32
  private static let pointBytes = Int(CMBED_POINT)
  private static let secretBytes = Int(CMBED_WEBPUSH_AUTH)
  /// The bytes of a body before its record: salt, size of a record, length of a point, point.
  private static let headBytes = 16 + 4 + 1 + pointBytes

  private let privateKey = FixedBuffer<UInt8>(capacity: keyBytes)
  private let point = FixedBuffer<UInt8>(capacity: pointBytes)
  private let secret = FixedBuffer<UInt8>(capacity: secretBytes)
  /// The only sender whose messages the subscription takes; nil: no message has come yet.
  var sender: SenderKey?

  /// Makes new keys; nil: that is not possible.
  init?() {
    let result = cmbed_webpush_pair(privateKey.room().baseAddress, point.room().baseAddress)
    guard result == CMBED_OK,
      getrandom(secret.room().baseAddress, Self.secretBytes, 0) == Self.secretBytes
    else { return nil }
  }

  deinit { explicit_bzero(privateKey.room().baseAddress!, Self.keyBytes) }

  // MARK: - On disk

  /// Takes the bytes that ``write(in:)`` wrote; nil: they are others.
  init?(_ bytes: Span<UInt8>) {
    let senderStart = Self.keyBytes + Self.pointBytes + Self.secretBytes
    guard bytes.count == senderStart || bytes.count == senderStart + Self.pointBytes else {
      return nil
    }
    privateKey.store(bytes.extracting(0..<Self.keyBytes), at: 0)
    let secretStart = Self.keyBytes + Self.pointBytes
    point.store(bytes.extracting(Self.keyBytes..<secretStart), at: 0)
    secret.store(bytes.extracting(secretStart..<senderStart), at: 0)
    if bytes.count > senderStart { sender = SenderKey(bytes.extracting(senderStart...)) }
  }

  /// Appends the private key, the point, the secret, and the sender's point if there is one.
  func write(in text: inout Text) {
    text.append(privateKey, count: Self.keyBytes)
    text.append(point, count: Self.pointBytes)
    text.append(secret, count: Self.secretBytes)
    if let sender { text.append(bytes: sender.point) }
  }

  // MARK: - For the sender

  /// Appends the subscription as a line of JSON, as a page gets it (`PushSubscription`).
  func writeSubscription(of id: DeviceToken, port: Int32, in text: inout Text) {
    text.append("{\"endpoint\":\"https://localhost:", port)
    text.append("/push/")
    text.append(hex: id.bytes)
    text.append("\",\"expirationTime\":null,\"keys\":{\"p256dh\":\"")
    text.append(base64URL: point.unsafeSpan(0..<Self.pointBytes))
    text.append("\",\"auth\":\"")
    text.append(base64URL: secret.unsafeSpan(0..<Self.secretBytes))
    text.append("\"}}\n")
  }

  // MARK: - From the sender

  /// Decrypts a body (RFC 8291).
  func open(_ body: Span<UInt8>) throws(BodyProblem) -> Text {
    try check(body)
    var text = Text(capacity: Int(CMBED_WEBPUSH_TEXT))
    guard open(body, FixedBuffer(capacity: Int(CMBED_WEBPUSH_TEXT)), to: &text) else {
      throw .otherKeys
    }
    return text
  }

  /// Decrypts a body by way of a buffer; false: that is not possible.
  private func open(
    _ body: Span<UInt8>, _ buffer: borrowing FixedBuffer<UInt8>, to text: inout Text
  ) -> Bool {
    let room = buffer.room().baseAddress
    let count = body.withUnsafeBytes { body in
      cmbed_webpush_open(
        room, privateKey.room().baseAddress, point.room().baseAddress,
        secret.room().baseAddress, body.baseAddress, body.count)
    }
    if count > 0 { text.append(buffer, count: Int(count)) }
    return count >= 0
  }

  /// Checks the head of a body (RFC 8188, section 2.1), to name what is wrong with it.
  private func check(_ body: Span<UInt8>) throws(BodyProblem) {
    guard body.count > 0 else { throw .empty }
    // Behind the head are the byte that ends a text, and the tag.
    guard body.count >= Self.headBytes + 1 + 16 else { throw .short }
    guard body[20] == UInt8(Self.pointBytes) else { throw .noPoint }
    guard body.count - Self.headBytes <= Int(body.bigEndian32(at: 16)) else {
      throw .severalRecords
    }
    let sender = SenderKey(body.extracting(21..<Self.headBytes))
    guard sender.isOnCurve else { throw .badPoint }
  }
}

/// The public key of a sender: a point of 65 bytes.
final class SenderKey {
  private let bytes = FixedBuffer<UInt8>(capacity: Int(CMBED_POINT))
  var point: Span<UInt8> { @_lifetime(immortal) get { bytes.unsafeSpan(0..<bytes.capacity) } }

  init(_ point: Span<UInt8>) {
    precondition(point.count == bytes.capacity)
    bytes.store(point, at: 0)
  }

  /// Whether the point is on the curve P-256.
  var isOnCurve: Bool { cmbed_point_is_good(bytes.room().baseAddress) != 0 }
}

/// Why a browser cannot decrypt a body.
enum BodyProblem: Error {
  case empty, short, noPoint, severalRecords, badPoint, otherKeys

  var words: StaticString {
    switch self {
    case .empty: "it is empty"
    case .short: "it is shorter than 103 bytes, which an empty text takes"
    case .noPoint: "its byte 20 is not 65, the length of the sender's point"
    case .severalRecords: "it has more than one record: its bytes 16 to 19 are the size of a record"
    case .badPoint: "the sender's point, its bytes 21 to 85, is not on the curve P-256"
    case .otherKeys: "it was changed, or encrypted for another p256dh or auth"
    }
  }
}
