import TinyPush

/// The page on which a browser accepts an invitation.
public enum InvitationPage {
  /// The setting in http.conf that has its address.
  public static let setting: StaticString = "page"
  /// What a wrong address should be.
  public static let expected: StaticString =
    "the address of the page, which begins with https:// and ends with a slash"

  /// Returns whether a text can be its address: one to which a fragment can be added, and with which
  /// browsers allow alerts.
  public static func isAddress(_ text: Span<UInt8>) -> Bool {
    let secure: StaticString = "https://"
    let local: StaticString = "http://localhost"
    for index in text.indices {
      switch text[index] {
      case ...UInt8.space, .delete..., .hash, .quote: return false
      default: break
      }
    }
    let host = secure.utf8CodeUnitCount
    let isSecure = text.begins(with: secure.span) && text.count > host && text[host] != .slash
    return (isSecure || text.begins(with: local.span)) && text[text.count - 1] == .slash
  }

  /// Appends the address of an invitation: the page, this machine's public key, the name of the
  /// recipients file, and the code.
  public static func append(
    _ page: Span<UInt8>, key: Span<UInt8>, list: Span<UInt8>, code: Span<UInt8>,
    to text: inout Text
  ) {
    text.append(bytes: page)
    text.append("#k=")
    text.append(base64URL: key)
    text.append("&n=")
    for index in list.indices {
      // Among the characters of names, only this one has another meaning in an address.
      if list[index] == .plus { text.append("%2B") } else { text.append(byte: list[index]) }
    }
    text.append("&c=", bytes: code)
  }
}
