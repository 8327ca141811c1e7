import CMbed
import TinyPush
import TinyPushAgent

/// The check of the header by which the sender of a message for a browser identifies itself (VAPID,
/// RFC 8292).
struct SenderCheck: ~Copyable {
  /// How far ahead a token may expire, in seconds.
  static let secondsMax: Int64 = 86_400
  private static let bytesMax = 1024

  /// The header whose signature was found good last; empty: none.
  private var verified = Text(capacity: bytesMax)

  /// Checks the header `authorization` of a request, and returns the sender's key.
  mutating func check(
    _ request: PushRequest, now: Int64
  ) throws(RequestCheck.Refusal) -> SenderKey {
    let header = request.authorization
    guard header.count > 0 else { throw Self.bad("the header authorization is missing") }
    guard header.count < Self.bytesMax - 1, header.begins(ignoringCase: "vapid "),
      let token = Self.parameter("t=", of: header), let key = Self.parameter("k=", of: header)
    else { throw Self.bad("the header authorization is not: vapid t=TOKEN, k=KEY") }
    var point = Text(capacity: Self.bytesMax)
    guard point.append(decodingBase64URL: key), point.count == Int(CMBED_POINT) else {
      throw RequestCheck.Refusal(
        .badVAPIDPublicKey, "k is not a point of 65 bytes in base64 for URLs, without padding")
    }
    let sender = SenderKey(point.bytes)
    guard sender.isOnCurve else {
      throw RequestCheck.Refusal(.badVAPIDPublicKey, "k is not a point on the curve P-256")
    }
    let read: JSONWebToken
    do throws(JSONWebToken.Problem) {
      read = try JSONWebToken(token)
    } catch {
      throw Self.bad(error.words)
    }
    try Self.checkClaims(read, authority: request.authority, now: now)
    guard !header.equals(verified.bytes) else { return sender }
    guard read.isSigned(token, by: sender.point) else {
      throw Self.bad("the token is not signed with the key of k")
    }
    verified.clear()
    verified.append(bytes: header)
    return sender
  }

  private static func bad(_ words: StaticString) -> RequestCheck.Refusal {
    RequestCheck.Refusal(.badJWTToken, words)
  }

  /// Returns the value of a parameter behind the scheme; nil: there is none.
  @_lifetime(copy header)
  private static func parameter(_ name: StaticString, of header: Span<UInt8>) -> Span<UInt8>? {
    var start = ("vapid " as StaticString).utf8CodeUnitCount
    while start < header.count {
      var end = start
      while end < header.count, header[end] != .comma { end += 1 }
      let part = header.extracting(header.trimmed(start..<end))
      if part.begins(with: name.span) { return part.extracting(name.utf8CodeUnitCount...) }
      start = end + 1
    }
    return nil
  }

  // MARK: - Claims

  private static func checkClaims(
    _ token: JSONWebToken, authority: Span<UInt8>, now: Int64
  ) throws(RequestCheck.Refusal) {
    var origin = Text(capacity: authority.count + 8)
    origin.append("https://", bytes: authority)
    guard token.claims(has: "aud", origin.bytes) else {
      throw bad("the token's aud is not the origin of the endpoint")
    }
    guard let expires = token.time("exp") else {
      throw bad("the token's exp is not a time in seconds")
    }
    guard expires >= now else { throw bad("the token has expired (exp)") }
    guard expires <= now + secondsMax else {
      throw bad("the token expires later than in 24 hours (exp)")
    }
    var contact = Text(capacity: Self.bytesMax)
    token.append(claim: "sub", to: &contact)
    try checkContact(contact.bytes)
  }

  /// Checks whether the claim `sub` can be the address of a person.
  ///
  /// Apple's service was seen to refuse the names that ``isReal(_:)`` knows.
  private static func checkContact(_ contact: Span<UInt8>) throws(RequestCheck.Refusal) {
    var start = 0
    if contact.begins(with: ("mailto:" as StaticString).span) {
      for index in contact.indices where contact[index] == .at { start = index + 1 }
      if contact.begins(with: ("mailto:mailto:" as StaticString).span) { start = 0 }
    } else if contact.begins(with: ("https://" as StaticString).span) {
      start = ("https://" as StaticString).utf8CodeUnitCount
    }
    var end = start
    while end < contact.count, contact[end].isInHostName { end += 1 }
    guard start > 0, end > start else {
      throw bad("the token's sub is not an address such as mailto:NAME@HOST or https://HOST")
    }
    guard isReal(contact.extracting(start..<end)) else {
      throw bad("the token's sub has a host that does not exist, which Apple's service refuses")
    }
  }

  /// Whether a host may exist in public.
  private static func isReal(_ host: Span<UInt8>) -> Bool {
    var start = host.count
    var names = 0
    while start > 0, names < 2 {
      let end = start
      start -= 1
      while start > 0, host[start - 1] != .dot { start -= 1 }
      let name = host.extracting(start..<end)
      let isLast = names == 0
      if isLast, name.equals("localhost") || name.equals("local") || name.equals("invalid") {
        return false
      }
      if name.equals("example") { return false }
      names += 1
      if start > 0 { start -= 1 }
    }
    return names > 0
  }
}

extension UInt8 {
  /// Whether the byte can be in the name of a host.
  fileprivate var isInHostName: Bool {
    switch self {
    case UInt8.capitals, UInt8.smallLetters, UInt8.digits, .hyphen, .dot: true
    default: false
    }
  }
}
