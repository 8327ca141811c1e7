import CMbed
import TinyPush
import TinyPushAgent

/// A JSON Web Token that says that it is signed with ES256 (RFC 7519; RFC 7518, section 3.4).
final class JSONWebToken {
  private static let bytesMax = 1024

  /// Why a token cannot be read.
  struct Problem: Error {
    var words: StaticString
  }

  private var headText = Text(capacity: bytesMax)
  private var claimsText = Text(capacity: bytesMax)
  private var signature = Text(capacity: bytesMax)
  /// The number of bytes of the token that are signed.
  private let signedCount: Int

  init(_ token: Span<UInt8>) throws(Problem) {
    var dots: [Int] = []
    for index in token.indices where token[index] == .dot { dots.append(index) }
    guard dots.count == 2 else {
      throw Problem(words: "the token does not have three parts, separated by dots")
    }
    signedCount = dots[1]
    guard headText.append(decodingBase64URL: token.extracting(0..<dots[0])),
      claimsText.append(decodingBase64URL: token.extracting(dots[0] + 1..<dots[1])),
      signature.append(decodingBase64URL: token.extracting(dots[1] + 1..<token.count))
    else { throw Problem(words: "the token is not in base64 for URLs, without padding") }
    guard head(has: "alg", ("ES256" as StaticString).span) else {
      throw Problem(words: "the token's alg is not ES256")
    }
    guard signature.count == Int(CMBED_SIGNATURE) else {
      throw Problem(words: "the token's signature is not r and s of 32 bytes each; is it in DER?")
    }
  }

  /// Whether a member of the header has this value.
  func head(has name: StaticString, _ wanted: Span<UInt8>) -> Bool {
    guard let range = Self.value(name, of: headText.unsafeBytes) else { return false }
    return headText.unsafeBytes.extracting(range).equals(wanted)
  }

  /// Whether a claim has this value.
  func claims(has name: StaticString, _ wanted: Span<UInt8>) -> Bool {
    var claim = Text(capacity: Self.bytesMax)
    append(claim: name, to: &claim)
    return claim.bytes.equals(wanted)
  }

  /// Appends a claim, for a string without its quotes and escapes; nothing if absent.
  func append(claim name: StaticString, to text: inout Text) {
    let claims = claimsText.unsafeBytes
    text.append(unescaping: claims.extracting(Self.value(name, of: claims) ?? 0..<0))
  }

  /// Returns a claim that is a time in UNIX seconds; nil if absent.
  func time(_ name: StaticString) -> Int64? {
    let claims = claimsText.unsafeBytes
    guard let range = Self.value(name, of: claims), claims[range.lowerBound - 1] != .quote else {
      return nil
    }
    guard let number = Config.number(claims.extracting(range)) else { return nil }
    return Int64(number)
  }

  /// Whether the token, which is the one that was read, is signed with the key of this point.
  func isSigned(_ token: Span<UInt8>, by point: Span<UInt8>) -> Bool {
    precondition(point.count == Int(CMBED_POINT))
    let signed = token.extracting(0..<signedCount)
    return signed.withUnsafeBytes { signed in
      point.withUnsafeBufferPointer { point in
        signature.unsafeBytes.withUnsafeBufferPointer { signature in
          cmbed_signature_is_good(
            signature.baseAddress, point.baseAddress, signed.baseAddress, signed.count) != 0
        }
      }
    }
  }

  /// Returns the range of a member's value, for a string without its quotes; nil if absent.
  private static func value(_ name: StaticString, of object: Span<UInt8>) -> Range<Int>? {
    var scanner = JSONScanner()
    var found: Range<Int>?
    do throws(JSONProblem) {
      guard try scanner.peek(object) == .openBrace, try scanner.openObject(object) else {
        return nil
      }
      repeat {
        let isWanted = try object.extracting(scanner.key(object)).equals(name)
        _ = try scanner.peek(object)
        let range = try scanner.value(object)
        if isWanted { found = range }
      } while try scanner.nextMember(object)
    } catch {
      return nil
    }
    return found
  }
}

extension Text {
  /// Appends the bytes that a text in base64 for URLs, without padding, stands for (RFC 4648,
  /// section 5); false: the text has other characters, or a number of them that is not possible.
  mutating func append(decodingBase64URL text: Span<UInt8>) -> Bool {
    guard text.count % 4 != 1 else { return false }
    var bits: UInt32 = 0
    var count: UInt32 = 0
    for index in text.indices {
      guard text[index].isBase64URL, let six = DeviceToken.base64Value(text[index]) else {
        return false
      }
      bits = bits << 6 | UInt32(six)
      count += 6
      if count >= 8 {
        count -= 8
        append(byte: UInt8(truncatingIfNeeded: bits >> count))
      }
    }
    return true
  }
}

extension UInt8 {
  /// Whether this is a character of base64 for URLs.
  var isBase64URL: Bool {
    switch self {
    case UInt8.capitals, UInt8.smallLetters, UInt8.digits, .hyphen, .underscore: true
    default: false
    }
  }
}
