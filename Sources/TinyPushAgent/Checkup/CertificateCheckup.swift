import CLinux
import CMbed
import TinyPush

extension Checkup {
  /// The number of days before its end from which a certificate gets a warning.
  static var warningDays: Int64 { 30 }
  static var daySeconds: Int64 { 86_400 }

  /// Checks our certificate and its key, or the signing key, and the authorities for the gateway's
  /// certificate.
  @inline(never)
  mutating func checkCertificate(_ config: borrowing Config) {
    let reason = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CMBED_TEXT_MAX))
    let certificate = UnsafeMutablePointer<cmbed_certificate>.allocate(capacity: 1)
    defer {
      reason.deallocate()
      certificate.deallocate()
    }
    report.begin(config.signingKey.isEmpty ? "certificate" : "signing-key")
    let path = config.certificate.pointer
    if !config.signingKey.isEmpty {
      checkSigningKey(config, reason)
    } else if config.certificate.isEmpty {
      let isHTTP2 = config.courier.rules.pushProtocol == .http2
      report.advice.append("run tinypush setup, or ")
      if isHTTP2 { report.advice.append("set signing-key, key-id, team-id and topic; or ") }
      report.advice.append(
        "set certificate to your push certificate as PEM, and key if the key is in a file of its own"
      )
      report.report(
        "file", .wrong(.config),
        isHTTP2 ? "neither a signing key nor a certificate is set" : "no certificate is set")
      hasCertificate = false
    } else {
      let result = cmbed_certificate_read(certificate, path, nil, nil, reason)
      if result == CMBED_OK {
        report.message.append(printable: path)
        if isClosedToAgent(path) {
          reportClosed("file", isCredential: true)
        } else {
          report.report("file")
        }
        reportTopic(config, certificate)
        reportEnvironment(config, certificate)
        reportDates(certificate)
        reportChain(certificate)
        reportKey(config, certificate, reason)
      } else {
        refuse("file", result, reason)
      }
    }
    reportAuthorities(config, reason)
  }

  /// Checks only the authorities for the certificates of push services.
  @inline(never)
  mutating func checkAuthorities(_ config: borrowing Config) {
    let reason = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CMBED_TEXT_MAX))
    defer { reason.deallocate() }
    report.begin("certificate")
    reportAuthorities(config, reason)
  }

  /// Reports a file without which there can be no connection.
  @inline(never)
  mutating func refuse(
    _ item: StaticString, _ result: Int32, _ reason: UnsafePointer<CChar>
  ) {
    hasCertificate = false
    if result == Int32(CMBED_FILE_UNREADABLE), user.isStranger {
      report.message.append("only root can read it")
      return report.report(item, .skipped)
    }
    take(CString.span(reason))
    let status: ExitStatus =
      switch result {
      case Int32(CMBED_FILE_MISSING): .noInput
      case Int32(CMBED_FILE_UNREADABLE): .noPermission
      default: .config
      }
    if status == .noPermission, geteuid() != 0 {
      report.advice.clear()
      report.advice.append(Self.asRoot)
    }
    report.report(item, .wrong(status))
  }

  @inline(never)
  private mutating func reportTopic(
    _ config: borrowing Config, _ certificate: UnsafePointer<cmbed_certificate>
  ) {
    let topic = CString.span(cmbed_certificate_topic(certificate))
    let topics = CString.span(cmbed_certificate_topics(certificate))
    guard topic.count > 0 || !config.topic.isEmpty else {
      report.message.append("no topic: ")
      report.message.append(
        printable: cmbed_link_name(cmbed_chain_link(cmbed_certificate_chain(certificate), 0)))
      report.message.append(" has no UID in its subject")
      report.advice.append(
        "is it the push certificate of an app? Make one in Apple's Member Center")
      isCertificateWrong = true
      return report.report("topic", .wrong(.config))
    }
    guard config.topic.isEmpty || config.topic.span.equals(topic) else {
      report.message.append(printable: config.topic.span)
      if topics.lists(config.topic.span) { return report.report("topic") }
      report.message.append(", but the certificate is for ", printable: topic)
      report.advice.append("remove topic, or set it to a topic of the certificate")
      return report.report("topic", .warning)
    }
    report.message.append(printable: topic)
    if topics.count > 0 {
      report.message.append("; valid for ", printable: topics)
    }
    report.report("topic")
  }

  /// Compares the certificate's environment with that of the gateway, in which other tokens are
  /// valid.
  @inline(never)
  private mutating func reportEnvironment(
    _ config: borrowing Config, _ certificate: UnsafePointer<cmbed_certificate>
  ) {
    let kind = Int(certificate.pointee.rights.kind)
    let isProduction = kind & Int(CMBED_PEER_PRODUCTION) != 0
    let isDevelopment = kind & Int(CMBED_PEER_SANDBOX) != 0
    guard isProduction || isDevelopment else {
      report.message.append("it names no environment, unlike Apple's certificates")
      if config.environment == .local { return report.report("environment") }
      report.advice.append("is it the push certificate of an app?")
      return report.report("environment", .warning)
    }
    report.message.append(
      isProduction && isDevelopment
        ? "production and development" : isProduction ? "production" : "development")
    guard config.environment != .local else { return report.report("environment") }
    var address = Text(capacity: 300)
    config.gatewayAddress(in: &address)
    let apple = Config.appleService(at: address.bytes)
    let wanted = apple?.environment ?? config.environment
    guard wanted == .development ? isDevelopment : isProduction else {
      isCertificateWrong = true
      report.message.append(" only, but ")
      if apple != nil {
        report.message.append(printable: address)
        report.message.append(" is for ")
      } else {
        report.message.append("environment = ")
      }
      report.message.append(wanted.name)
      report.advice.append(
        "use the app's certificate for that environment, or connect to the other environment: otherwise every token is invalid"
      )
      return report.report("environment", .wrong(.config))
    }
    report.report("environment")
  }

  @inline(never)
  private mutating func reportDates(_ certificate: UnsafePointer<cmbed_certificate>) {
    let now = Clock.wallSeconds()
    report.message.append(day: certificate.pointee.not_before)
    report.message.append(" to ")
    report.message.append(day: certificate.pointee.not_after)
    guard isClockSet else { return report.report("dates", .skipped, "; the clock is not set") }
    report.message.append(", ")
    if now < certificate.pointee.not_before {
      isCertificateWrong = true
      report.advice.append("is this machine's clock right? If so, wait, or use another certificate")
      return report.report("dates", .wrong(.config), "not valid yet")
    }
    let renew: StaticString =
      "renew the certificate and replace the file; if it is a credential, restart the service"
    if now > certificate.pointee.not_after {
      isCertificateWrong = true
      report.message.append("expired ")
      report.message.append(days: (now - certificate.pointee.not_after) / Self.daySeconds)
      report.advice.append(renew)
      return report.report("dates", .wrong(.config), " ago")
    }
    let left = (certificate.pointee.not_after - now) / Self.daySeconds
    report.message.append(days: left)
    report.message.append(" left")
    guard left > Self.warningDays else {
      report.advice.append(renew)
      return report.report("dates", .warning)
    }
    report.report("dates")
  }

  /// Reports the certificates after ours in its file: each must be the issuer of the one before.
  @inline(never)
  private mutating func reportChain(_ certificate: UnsafePointer<cmbed_certificate>) {
    let chain = cmbed_certificate_chain(certificate)!
    let count = min(Int(chain.pointee.count), Int(CMBED_CHAIN_MAX))
    append(chain, count)
    let broken = Int(certificate.pointee.broken)
    if broken > 0, broken < count {
      report.message.append("; but ")
      report.message.append(printable: cmbed_link_name(cmbed_chain_link(chain, Int32(broken))))
      report.message.append(" did not issue ")
      report.message.append(printable: cmbed_link_name(cmbed_chain_link(chain, Int32(broken - 1))))
      report.advice.append(
        "put after each certificate the certificate of its issuer; others have no use")
      return report.report("chain", .warning)
    }
    let now = Clock.wallSeconds()
    for index in 1..<max(count, 1) {
      let link = cmbed_chain_link(chain, Int32(index))!
      guard isClockSet, now > link.pointee.not_after || now < link.pointee.not_before else {
        continue
      }
      report.message.append("; but ", printable: cmbed_link_name(link))
      if now > link.pointee.not_after {
        report.message.append(" expired on ")
        report.message.append(day: link.pointee.not_after)
      } else {
        report.message.append(" is valid only from ")
        report.message.append(day: link.pointee.not_before)
      }
      report.advice.append("replace it with the current certificate of the same issuer")
      return report.report("chain", .warning)
    }
    report.report("chain")
  }

  /// Appends the names in a chain, and the issuer of the last.
  @inline(never)
  mutating func append(_ chain: UnsafePointer<cmbed_chain>, _ count: Int) {
    for index in 0..<count {
      if index > 0 { report.message.append(", issued by ") }
      report.message.append(printable: cmbed_link_name(cmbed_chain_link(chain, Int32(index))))
    }
    guard count > 0 else { return }
    let last = cmbed_chain_link(chain, Int32(count - 1))
    let issuer = CString.span(cmbed_link_issuer(last))
    guard !issuer.equals(CString.span(cmbed_link_name(last))) else { return }
    report.message.append(", issued by ", printable: issuer)
  }

  @inline(never)
  private mutating func reportKey(
    _ config: borrowing Config, _ certificate: UnsafeMutablePointer<cmbed_certificate>,
    _ reason: UnsafeMutablePointer<CChar>
  ) {
    let path =
      config.key.isEmpty ? config.certificate.pointer : config.key.pointer
    let result = config.keyPassword.with {
      cmbed_certificate_read(certificate, config.certificate.pointer, path, $0, reason)
    }
    guard result == CMBED_OK else { return refuse("key", result, reason) }
    report.message.append(printable: path)
    report.message.append(", ", cString: cmbed_certificate_key(certificate))
    reportSecret("key", path)
  }

  /// Reports whether users other than the agent's can read the file of a key.
  @inline(never)
  mutating func reportSecret(_ item: StaticString, _ path: UnsafePointer<CChar>) {
    guard !isClosedToAgent(path) else { return reportClosed(item, isCredential: true) }
    var file = stat()
    if stat(path, &file) == 0, UInt32(file.st_mode) & 0o007 != 0 {
      report.message.append(", which anybody may read (mode ")
      report.message.append(mode: UInt32(file.st_mode))
      report.message.append(")")
      advise("chmod o= ", path)
      return report.report(item, .warning)
    }
    report.report(item)
  }

  @inline(never)
  mutating func reportAuthorities(
    _ config: borrowing Config, _ reason: UnsafeMutablePointer<CChar>
  ) {
    let path = config.ca.pointer
    let count = cmbed_authorities_count(path, reason)
    guard count >= 0 else { return refuse("authorities", count, reason) }
    report.message.append(printable: path)
    report.message.append(", ", count)
    report.message.append(count == 1 ? " certificate" : " certificates")
    guard !isClosedToAgent(path) else { return reportClosed("authorities", isCredential: false) }
    report.report("authorities")
  }
}

extension Span<UInt8> {
  /// Whether this is a list of names separated by `, ` that contains `name`.
  fileprivate func lists(_ name: Span<UInt8>) -> Bool {
    var start = 0
    while start < count {
      var end = start
      while end < count, self[end] != .comma { end += 1 }
      if extracting(start..<end).equals(name) { return true }
      start = end + 2
    }
    return false
  }
}
