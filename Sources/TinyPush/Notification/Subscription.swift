/// A browser's subscription to Web Push: where its push service takes messages, and the keys that
/// encrypt them.
///
/// A page of the browser gives a subscription as JSON. Files and notifications hold it as one word,
/// `ENDPOINT#KEY.SECRET`. Both forms are read. This type holds ranges only: callers keep the text.
///
/// Source: Push API, section 8 (PushSubscription); RFC 8291, section 2.
public struct Subscription {
  /// Why a text is no subscription.
  public enum Problem: UInt8, Error, BitwiseCopyable {
    case form
    case endpoint
    case endpointTooLong
    case backslash
    case key
    case secret

    /// A stable word for all problems, for programs.
    public static let code: StaticString = "subscription"

    /// The message: what is wrong, and how to correct it.
    public var text: StaticString {
      switch self {
      case .form:
        "not a browser's subscription: copy all of the JSON that the page shows, with endpoint, p256dh and auth"
      case .endpoint:
        "the endpoint of a subscription is an https:// address without user, space, quote or #"
      case .endpointTooLong: "the endpoint of this subscription has more than 1200 bytes"
      case .backslash:
        "write the slashes of the endpoint without backslashes (PHP: JSON_UNESCAPED_SLASHES)"
      case .key:
        "p256dh must be the 65 bytes of a public key in base64url: copy the whole subscription"
      case .secret: "auth must be 16 bytes in base64url: copy the whole subscription"
      }
    }
  }

  /// The longest endpoint in bytes.
  ///
  /// Inferred: about 600 characters are in use.
  public static let endpointBytesMax = 1200
  /// The bytes of the public key: an uncompressed point of the curve P-256.
  public static let keyBytes = 65
  /// The bytes of the secret.
  public static let secretBytes = 16
  private static let keyCharacters = 87
  private static let secretCharacters = 22
  /// The longest subscription that is written as one word.
  public static let wordBytesMax = endpointBytesMax + keyCharacters + secretCharacters + 2

  /// The address to which messages are sent.
  public let endpoint: Range<Int>
  /// The host of the endpoint, with its port if the endpoint names one.
  public let authority: Range<Int>
  /// The path of the endpoint, with its query; empty: `/`.
  public let path: Range<Int>
  /// The public key in base64url, without padding.
  public let key: Range<Int>
  /// The secret in base64url, without padding.
  public let secret: Range<Int>

  /// Returns whether a text is meant as a subscription.
  public static func isMeant(_ text: Span<UInt8>) -> Bool {
    text.begins(with: ("{" as StaticString).span) || text.begins(with: scheme.span)
      || text.begins(with: ("http:" as StaticString).span)
  }

  private static let scheme: StaticString = "https://"

  /// Reads a subscription in either form.
  @inline(never)
  public init(_ text: Span<UInt8>) throws(Problem) {
    var parts = Parts()
    if text.count > 0, text[0] == .openBrace {
      do throws(JSONProblem) { try parts.read(json: text) } catch { throw .form }
    } else {
      parts.read(word: text)
    }
    guard let endpoint = parts.endpoint, let key = parts.key, let secret = parts.secret else {
      throw .form
    }
    guard text.extracting(endpoint).begins(with: Self.scheme.span) else { throw .endpoint }
    guard endpoint.count <= Self.endpointBytesMax else { throw .endpointTooLong }
    let start = endpoint.lowerBound + Self.scheme.utf8CodeUnitCount
    var slash = endpoint.upperBound
    for index in (start..<endpoint.upperBound).reversed() {
      switch text[index] {
      case .backslash: throw .backslash
      case .hash, .quote, .delete, ...UInt8.space, 0x80...: throw .endpoint
      case .slash, UInt8(ascii: "?"): slash = index
      default: break
      }
    }
    authority = start..<slash
    path = slash..<endpoint.upperBound
    guard Self.isAuthority(text.extracting(authority)),
      path.isEmpty || text[path.lowerBound] == .slash
    else { throw .endpoint }
    self.endpoint = endpoint
    self.key = Self.withoutPadding(key, in: text)
    self.secret = Self.withoutPadding(secret, in: text)
    var point = InlineArray<65, UInt8>(repeating: 0)
    var point0 = point.mutableSpan
    guard self.key.count == Self.keyCharacters,
      Self.decode(text.extracting(self.key), to: &point0), point[0] == 4
    else { throw .key }
    var secretBytes = InlineArray<16, UInt8>(repeating: 0)
    var secret0 = secretBytes.mutableSpan
    guard self.secret.count == Self.secretCharacters,
      Self.decode(text.extracting(self.secret), to: &secret0)
    else { throw .secret }
  }

  /// Whether a host, and perhaps a port behind a colon, can be connected to.
  private static func isAuthority(_ text: Span<UInt8>) -> Bool {
    guard text.count > 0, text.count <= 255 else { return false }
    var colon: Int?
    for index in text.indices {
      switch text[index] {
      case UInt8.digits, UInt8.capitals, UInt8.smallLetters, .hyphen, .dot, .openBracket,
        .underscore:
        break
      case .colon: colon = index
      // The colons of an IPv6 address are in brackets.
      case .closeBracket: colon = nil
      default: return false
      }
    }
    guard let colon else { return true }
    let port = text.extracting(colon + 1..<text.count).wholeNumber ?? 0
    return colon > 0 && 1...65_535 ~= port
  }

  private static func withoutPadding(_ range: Range<Int>, in text: Span<UInt8>) -> Range<Int> {
    var end = range.upperBound
    while end > range.lowerBound, text[end - 1] == .equals { end -= 1 }
    return range.lowerBound..<end
  }

  // MARK: - Contents

  /// What identifies the subscription: the SHA-256 of the endpoint.
  ///
  /// It stands for the subscription wherever a device token stands for a device.
  public func token(in text: Span<UInt8>) -> DeviceToken {
    let digest = SHA256.digest(text.extracting(endpoint))
    return DeviceToken(bytes: digest.span)!
  }

  /// Returns the public key.
  public func point(in text: Span<UInt8>) -> InlineArray<65, UInt8> {
    var bytes = InlineArray<65, UInt8>(repeating: 0)
    var span = bytes.mutableSpan
    _ = Self.decode(text.extracting(key), to: &span)
    return bytes
  }

  /// Returns the secret.
  public func secretBytes(in text: Span<UInt8>) -> InlineArray<16, UInt8> {
    var bytes = InlineArray<16, UInt8>(repeating: 0)
    var span = bytes.mutableSpan
    _ = Self.decode(text.extracting(secret), to: &span)
    return bytes
  }

  /// Appends the subscription as one word.
  @inline(never)
  public func append(of text: Span<UInt8>, to output: inout Text) {
    output.append(bytes: text.extracting(endpoint))
    output.append("#", bytes: text.extracting(key), ".")
    output.append(bytes: text.extracting(secret))
  }

  /// Appends the browser and its push service, as far as the host tells them, or else the host.
  @inline(never)
  public static func appendService(of text: Span<UInt8>, to output: inout Text) {
    let host: Span<UInt8>
    do throws(Problem) { host = text.extracting(try Subscription(text).authority) } catch { return }
    let windows: StaticString = ".notify.windows.com"
    let known: WordList =
      "web.push.apple.com fcm.googleapis.com updates.push.services.mozilla.com"
    switch known.index(of: host) {
    case 0: output.append("Safari on Apple's service")
    case 1: output.append("Chrome or Edge on Google's service")
    case 2: output.append("Firefox on Mozilla's service")
    default:
      let start = max(host.count - windows.utf8CodeUnitCount, 0)
      if host.extracting(start..<host.count).equals(windows) {
        output.append("Edge on Microsoft's service")
      } else {
        output.append(printable: host)
      }
    }
  }

  /// Decodes base64url that fills the room exactly; returns whether the text is base64url.
  private static func decode(_ text: Span<UInt8>, to room: inout MutableSpan<UInt8>) -> Bool {
    var (value, bits, count) = (UInt32(0), UInt32(0), 0)
    for index in text.indices {
      guard let six = DeviceToken.base64Value(text[index]) else { return false }
      value = value << 6 | UInt32(six)
      bits += 6
      if bits >= 8 {
        guard count < room.count else { return false }
        bits -= 8
        room[count] = UInt8(truncatingIfNeeded: value >> bits)
        count += 1
      }
    }
    return count == room.count && value & (1 << bits - 1) == 0
  }

  /// The parts of a text, not yet checked.
  private struct Parts {
    var endpoint: Range<Int>?
    var key: Range<Int>?
    var secret: Range<Int>?

    mutating func read(word text: Span<UInt8>) {
      var (hash, dot) = (-1, -1)
      for index in text.indices {
        if text[index] == .hash, hash < 0 { hash = index }
        if text[index] == .dot, hash >= 0, dot < 0 { dot = index }
      }
      guard dot > hash, hash > 0 else { return }
      endpoint = 0..<hash
      key = hash + 1..<dot
      secret = dot + 1..<text.count
    }

    mutating func read(json text: Span<UInt8>) throws(JSONProblem) {
      var scanner = JSONScanner()
      guard try scanner.openObject(text) else { return }
      repeat {
        let name = text.extracting(try scanner.key(text))
        let first = try scanner.peek(text)
        if name.equals("endpoint"), first == .quote {
          endpoint = try scanner.string(text)
        } else if name.equals("keys"), first == .openBrace {
          guard try scanner.openObject(text) else { continue }
          repeat { try readKey(text, by: &scanner) } while try scanner.nextMember(text)
        } else {
          try scanner.skipValue(text)
        }
      } while try scanner.nextMember(text)
      scanner.skipSpace(text)
      // Something behind the object would be lost.
      if scanner.index < text.count { endpoint = nil }
    }

    private mutating func readKey(
      _ text: Span<UInt8>, by scanner: inout JSONScanner
    ) throws(JSONProblem) {
      let name = text.extracting(try scanner.key(text))
      guard try scanner.peek(text) == .quote else { return try scanner.skipValue(text) }
      let value = try scanner.string(text)
      if name.equals("p256dh") { key = value } else if name.equals("auth") { secret = value }
    }
  }
}

extension DeviceToken {
  /// Reads a device token in any form, or makes what stands for a subscription.
  public init?(ofRecipient text: Span<UInt8>) {
    guard Subscription.isMeant(text) else {
      self.init(printed: text)
      return
    }
    do throws(Subscription.Problem) { self = try Subscription(text).token(in: text) } catch {
      return nil
    }
  }
}
