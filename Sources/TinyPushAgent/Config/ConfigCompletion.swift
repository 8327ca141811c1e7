import TinyPush
import TinyPushBinary

/// The checks and defaults that need all settings, because some depend on others.
extension Config {
  /// Refuses settings that contradict each other, and sets what follows from the protocol.
  ///
  /// - Parameters:
  ///   - file: the path of the configuration file.
  ///   - message: on failure, what is wrong, where, and what to do.
  public mutating func complete(
    _ file: UnsafePointer<CChar>, message: inout Text
  ) throws(ExitStatus) {
    let pushProtocol = courier.rules.pushProtocol
    for (index, row) in Self.table.rows.enumerated() where isSet(index) {
      let (mine, other, reason): (StaticString, StaticString, StaticString)
      switch (row.only, pushProtocol) {
      case (.http2(let why), .binary): (mine, other, reason) = ("http2", "binary ", why)
      case (.binary(let why), .http2): (mine, other, reason) = ("binary", "http2 ", why)
      default: continue
      }
      throw refuse(row.name, file, &message) { text in
        text.append(" applies only to protocol = ", mine, "; with ")
        text.append(other)
        text.append(reason, ": remove it, or set protocol = ", mine)
      }
    }
    try checkWebPush(file, &message)
    try checkGateway(file, &message)
    // Behind a proxy only the proxy acknowledges bytes, so a wait alone proves less.
    if !proxy.isEmpty, !isSet("confirm") { binary.confirm = .barrier }
    guard pushProtocol == .http2 else { return }
    if keyID.isEmpty {
      var named = Text(capacity: 16)
      if let id = Self.keyID(inName: signingKey.span) { named.append(bytes: id) }
      keyID = named.cString()
    }
    if courier.rules.app == .bark {
      if keyID.isEmpty { keyID = CString(Bark.keyID.span) }
      if teamID.isEmpty { teamID = CString(Bark.teamID.span) }
      if topic.isEmpty { topic = CString(Bark.topic.span) }
    }
    guard courier.rules.app == .bark || !isSet("encryption-key") else {
      throw refuse("encryption-key", file, &message) {
        $0.append(" needs app = bark: an app of your own gets each payload as it is")
      }
    }
    if courier.rules.isEncrypted, let limit = courier.rules.payloadLimit, limit < 512 {
      throw refuse("payload-limit", file, &message) {
        $0.append(" must be at least 512 with encryption-key")
      }
    }
    try checkIdentity(file, &message)
  }

  /// Refuses half of the settings for Web Push, and finds out whether devices are served as well.
  private mutating func checkWebPush(
    _ file: UnsafePointer<CChar>, _ message: inout Text
  ) throws(ExitStatus) {
    let (hasKey, hasContact) = (!vapidKey.isEmpty, !contact.isEmpty)
    guard hasKey == hasContact else {
      throw refuse(hasKey ? "vapid-key" : "contact", file, &message) {
        $0.append(
          hasKey
            ? " needs contact: set it to mailto: and your address, which only push services get"
            : " needs vapid-key: tinypush recipient invite makes one")
      }
    }
    courier.hasDevices = !hasKey || !signingKey.isEmpty || !certificate.isEmpty
  }

  /// Whether a text can be the contact in a VAPID token: a `mailto:` or `https:` address.
  ///
  /// Apple refuses names that are not in the public DNS.
  static func isContact(_ text: Span<UInt8>) -> Bool {
    let mail: StaticString = "mailto:"
    let page: StaticString = "https://"
    guard text.count < 200, text.indices.allSatisfy({ Self.isOfAddress(text[$0]) }) else {
      return false
    }
    var start = page.utf8CodeUnitCount
    if text.begins(with: mail.span) {
      guard let at = text.indices.first(where: { text[$0] == .at }), at > mail.utf8CodeUnitCount
      else { return false }
      start = at + 1
    } else if !text.begins(with: page.span) {
      return false
    }
    var end = start
    while end < text.count, text[end] != .slash, text[end] != .colon { end += 1 }
    return Self.isPublicName(text.extracting(start..<end))
  }

  private static func isOfAddress(_ byte: UInt8) -> Bool {
    byte > .space && byte < .delete && byte != .quote && byte != .backslash
  }

  /// Whether a host name may be in the public DNS, and is none for examples.
  private static func isPublicName(_ name: Span<UInt8>) -> Bool {
    var dot = -1
    // Where the label before the last one begins.
    var start = -1
    for index in name.indices where name[index] == .dot {
      start = dot + 1
      dot = index
    }
    guard dot > 0, name[0] != .dot, dot + 1 < name.count else { return false }
    let last = name.extracting(dot + 1..<name.count)
    guard !last.equals("local"), !last.equals("localhost"), !last.equals("invalid"),
      !last.equals("test"), !last.equals("example"), !last.equals("lan"), !last.equals("internal")
    else { return false }
    return !name.extracting(start..<dot).equals("example")
  }

  /// Returns the key ID in the name of a signing key, `AuthKey_XXXXXXXXXX.p8`; nil: it has none.
  ///
  /// More words may follow the ID, as in the name of Bark's key, or stand before the name, as systemd
  /// does with credentials.
  @_lifetime(copy path)
  package static func keyID(inName path: Span<UInt8>) -> Span<UInt8>? {
    var start = path.count
    while start > 0, path[start - 1] != .slash { start -= 1 }
    let mark = ("AuthKey_" as StaticString).span
    while start + mark.count + 10 < path.count {
      let name = path.extracting(start..<path.count)
      let end = mark.count + 10
      if name.begins(with: mark), name[end] == .dot || name[end] == .underscore {
        let id = name.extracting(mark.count..<end)
        var isID = true
        for index in id.indices {
          switch id[index] {
          case UInt8.capitals, UInt8.digits: break
          default: isID = false
          }
        }
        if isID { return id }
      }
      start += 1
    }
    return nil
  }

  /// Refuses a host of Apple's that speaks the other protocol.
  private func checkGateway(
    _ file: UnsafePointer<CChar>, _ message: inout Text
  ) throws(ExitStatus) {
    guard let apple = Self.appleService(at: gateway.span),
      apple.pushProtocol != courier.rules.pushProtocol
    else { return }
    throw refuse("gateway", file, &message) { text in
      text.append(
        apple.pushProtocol == .binary
          ? " is Apple's binary service, which was switched off in 2021: remove it, and set environment"
          : " is Apple's service for HTTP/2: set protocol = http2, or another gateway")
    }
  }

  /// Refuses both a certificate and a signing key, or an incomplete set of settings for a signing
  /// key.
  private func checkIdentity(
    _ file: UnsafePointer<CChar>, _ message: inout Text
  ) throws(ExitStatus) {
    guard isSet("signing-key") else {
      guard courier.rules.app == .own else {
        throw refuse("app", file, &message) {
          $0.append(" = bark needs signing-key: the file that the authors of Bark publish")
        }
      }
      guard !isSet("key-id"), !isSet("team-id") else {
        throw refuse(isSet("key-id") ? "key-id" : "team-id", file, &message) {
          $0.append(" belongs to a signing key, and none is set: set signing-key, or remove it")
        }
      }
      return
    }
    guard !isSet("certificate"), !isSet("key"), !isSet("key-password") else {
      let hasCertificate = isSet("certificate")
      let other: StaticString =
        hasCertificate ? "certificate" : isSet("key") ? "key" : "key-password"
      throw refuse(other, file, &message) { text in
        text.append(
          hasCertificate
            ? " is set, and signing-key as well: remove one of them"
            : " belongs to a certificate, and signing-key is set: remove it")
      }
    }
    guard !keyID.isEmpty, !teamID.isEmpty, !topic.isEmpty else {
      throw refuse("signing-key", file, &message) { text in
        text.append(
          keyID.isEmpty
            ? " needs key-id: set it to the 10 characters in the name AuthKey_XXXXXXXXXX.p8"
            : teamID.isEmpty
              ? " needs team-id: set it to the 10 characters under Membership in Apple's developer account"
              : " needs topic: set it to the bundle ID of your app, such as com.example.app")
      }
    }
  }

  /// Appends where a setting is and what is wrong with it.
  @inline(never)
  private func refuse(
    _ name: StaticString, _ file: UnsafePointer<CChar>, _ message: inout Text,
    _ words: (inout Text) -> Void
  ) -> ExitStatus {
    let origin = Self.table.index(of: name.span).map { origins[$0] } ?? .none
    if case .line(let line) = origin {
      message.append(cString: file)
      message.append(":", line, ": ")
    } else {
      message.append("-o: ")
    }
    message.append(name)
    words(&message)
    if case .line = origin { return .config }
    return .usage
  }
}
