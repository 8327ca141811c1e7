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
    let service = courier.rules.service
    for number in origins.indices {
      guard let key = Key(rawValue: number), isSet(key), let only = key.service, only != service
      else { continue }
      throw refuse(key, file, &message) { text in
        text.append(" applies only to protocol = ", only == .http2 ? "http2" : "binary")
        text.append("; with ", service == .http2 ? "http2 " : "binary ")
        text.append(key.reason)
        text.append(": remove it, or set protocol = ", only == .http2 ? "http2" : "binary")
      }
    }
    try checkGateway(file, &message)
    // Behind a proxy only the proxy acknowledges bytes, so a wait alone proves less.
    if !proxy.isEmpty, !isSet(.confirm) { binary.confirm = .barrier }
    if service == .http2 { try checkIdentity(file, &message) }
  }

  /// Refuses a host of Apple's that speaks the other protocol.
  private func checkGateway(
    _ file: UnsafePointer<CChar>, _ message: inout Text
  ) throws(ExitStatus) {
    guard let apple = Self.appleService(at: gateway.span), apple.service != courier.rules.service
    else { return }
    throw refuse(.gateway, file, &message) { text in
      text.append(
        apple.service == .binary
          ? " is Apple's binary service, which was switched off in 2021: remove it, and set environment"
          : " is Apple's service for HTTP/2: set protocol = http2, or another gateway")
    }
  }

  /// Refuses both a certificate and a signing key, or an incomplete set of settings for a signing
  /// key.
  private func checkIdentity(
    _ file: UnsafePointer<CChar>, _ message: inout Text
  ) throws(ExitStatus) {
    guard isSet(.signingKey) else {
      guard !isSet(.keyID), !isSet(.teamID) else {
        throw refuse(isSet(.keyID) ? .keyID : .teamID, file, &message) {
          $0.append(" belongs to a signing key, and none is set: set signing-key, or remove it")
        }
      }
      return
    }
    guard !isSet(.certificate), !isSet(.key), !isSet(.keyPassword) else {
      let other: Key = isSet(.certificate) ? .certificate : isSet(.key) ? .key : .keyPassword
      throw refuse(other, file, &message) { text in
        text.append(
          other == .certificate
            ? " is set, and signing-key as well: remove one of them"
            : " belongs to a certificate, and signing-key is set: remove it")
      }
    }
    guard isSet(.keyID), isSet(.teamID), isSet(.topic) else {
      throw refuse(.signingKey, file, &message) { text in
        text.append(
          !isSet(.keyID)
            ? " needs key-id: set it to the 10 characters in the name AuthKey_XXXXXXXXXX.p8"
            : !isSet(.teamID)
              ? " needs team-id: set it to the 10 characters under Membership in Apple's developer account"
              : " needs topic: set it to the bundle ID of your app, such as com.example.app")
      }
    }
  }

  /// Appends where a setting is and what is wrong with it.
  @inline(never)
  private func refuse(
    _ key: Key, _ file: UnsafePointer<CChar>, _ message: inout Text, _ words: (inout Text) -> Void
  ) -> ExitStatus {
    let origin = origins[key.rawValue]
    if case .line(let line) = origin {
      message.append(cString: file)
      message.append(":", line, ": ")
    } else {
      message.append("-o: ")
    }
    message.append(bytes: Self.names[key.rawValue])
    words(&message)
    if case .line = origin { return .config }
    return .usage
  }
}

extension Config.Key {
  /// The only protocol that the setting applies to; nil if to both.
  fileprivate var service: PushProtocol? {
    switch self {
    case .feedback, .format, .settle, .confirm, .feedbackTimeout: .binary
    case .signingKey, .keyID, .teamID, .topic, .repeats, .streams, .ping, .answerTimeout: .http2
    default: nil
    }
  }

  /// The reason why the setting has no use with the other protocol.
  fileprivate var reason: StaticString {
    switch self {
    case .settle, .confirm: "the service answers each notification"
    case .format: "there are no frames of several formats"
    case .feedback, .feedbackTimeout: "the service answers at once when a device is gone"
    case .signingKey, .keyID, .teamID: "a certificate is needed"
    case .topic: "the certificate decides the topic"
    case .repeats: "no notification replaces another on a device"
    default: "the service does not answer what it accepts"
    }
  }
}
