import CLinux
import CMbed
import TinyPush

extension Agent {
  /// Checks at the start that the credentials and the CA file can be read and belong together.
  static func checkFiles(_ config: borrowing Config, message: inout Text) throws(ExitStatus) {
    let isHTTP2 = config.courier.rules.pushProtocol == .http2
    let (hasDevices, hasWebPush) = (config.courier.hasDevices, config.courier.hasWebPush)
    guard !hasDevices || !config.certificate.isEmpty || !config.signingKey.isEmpty else {
      message.append(
        isHTTP2
          ? "neither a signing key nor a certificate is set: run tinypush setup, or set signing-key, key-id, team-id and topic, for browsers alone vapid-key and contact, or"
          : "no certificate is set: run tinypush setup, or")
      message.append(" set certificate (and key) to your push certificate's PEM files")
      throw .config
    }
    let text = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CMBED_TEXT_MAX))
    defer { text.deallocate() }
    text[0] = 0
    var result = Int32(CMBED_OK)
    if hasDevices {
      result =
        config.signingKey.isEmpty
        ? try checkCertificate(config, text, message: &message)
        : SigningKeyFile.check(config.signingKey.pointer, text)
    }
    if result == CMBED_OK, hasWebPush {
      result = SigningKeyFile.check(config.vapidKey.pointer, text)
    }
    if result == CMBED_OK {
      result = min(cmbed_authorities_count(config.ca.pointer, text), Int32(CMBED_OK))
    }
    guard result != CMBED_OK else { return }
    message.append(cString: text)
    switch result {
    case Int32(CMBED_FILE_MISSING): throw .noInput
    case Int32(CMBED_FILE_UNREADABLE): throw .noPermission
    default: throw .config
    }
  }

  private static func checkCertificate(
    _ config: borrowing Config, _ text: UnsafeMutablePointer<CChar>, message: inout Text
  ) throws(ExitStatus) -> Int32 {
    var certificate = cmbed_certificate()
    let key = config.key.isEmpty ? config.certificate.pointer : config.key.pointer
    let result = config.keyPassword.with {
      cmbed_certificate_read(&certificate, config.certificate.pointer, key, $0, text)
    }
    guard result == CMBED_OK, config.courier.rules.pushProtocol == .http2, config.topic.isEmpty,
      cmbed_certificate_topic(&certificate).pointee == 0
    else { return result }
    message.append("the certificate ", printable: config.certificate.span)
    message.append(
      " has no topic: set topic to the bundle ID of your app, or use the app's push certificate"
    )
    throw .config
  }
}

extension Config {
  /// Returns the topic of notifications that name none: the setting, or else that of the
  /// certificate; empty if absent.
  @inline(never)
  public borrowing func defaultTopic() -> CString {
    guard topic.isEmpty, !certificate.isEmpty else { return CString(topic.span) }
    let text = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CMBED_TEXT_MAX))
    let certificate = UnsafeMutablePointer<cmbed_certificate>.allocate(capacity: 1)
    defer {
      text.deallocate()
      certificate.deallocate()
    }
    guard cmbed_certificate_read(certificate, self.certificate.pointer, nil, nil, text) == CMBED_OK
    else { return CString("") }
    return CString(cString: cmbed_certificate_topic(certificate))
  }
}
