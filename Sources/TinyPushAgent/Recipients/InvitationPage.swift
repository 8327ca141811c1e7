import TinyPush
import TinyPushWebPush

/// The page on which a browser accepts an invitation.
public enum InvitationPage {
  /// Returns whether a text can be its address: one to which a fragment can be added, and with which
  /// browsers allow alerts.
  static func isAddress(_ text: Span<UInt8>) -> Bool {
    let secure: StaticString = "https://"
    let local: StaticString = "http://localhost"
    for index in text.indices {
      switch text[index] {
      case ...UInt8.space, .delete..., .hash, .quote, .backslash: return false
      default: break
      }
    }
    let end = local.utf8CodeUnitCount
    let isLocal =
      text.begins(with: local.span) && text.count > end
      && (text[end] == .slash || text[end] == .colon)
    return (isLocal || text.begins(with: secure.span)) && WebAddress.isGood(text)
      && text[text.count - 1] == .slash
      && text.count <= WebMessage.pageBytesMax
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
