import TinyPush

/// The addresses of the services.
extension Config {
  /// The gateway's port if its address has none.
  public var gatewayPort: StaticString { courier.rules.pushProtocol == .http2 ? "443" : "2195" }
  static let feedbackPort: StaticString = "2196"

  /// Appends the host and port of the gateway.
  @inline(never)
  public borrowing func gatewayAddress(in text: inout Text) {
    guard gateway.isEmpty else { return text.append(bytes: gateway.span) }
    switch (courier.rules.pushProtocol, environment) {
    case (.http2, .production): text.append("api.push.apple.com:443")
    case (.http2, .development): text.append("api.sandbox.push.apple.com:443")
    case (.binary, .production): text.append("gateway.push.apple.com:2195")
    case (.binary, .development): text.append("gateway.sandbox.push.apple.com:2195")
    // The sandbox accepts both protocols on one port.
    case (_, .local): text.append("localhost:2195")
    }
  }

  /// Appends the host and port of the feedback service, which only the binary protocol has.
  @inline(never)
  public borrowing func feedbackAddress(in text: inout Text) {
    guard feedback.isEmpty else { return text.append(bytes: feedback.span) }
    switch environment {
    case .production: text.append("feedback.push.apple.com:2196")
    case .development: text.append("feedback.sandbox.push.apple.com:2196")
    case .local: text.append("localhost:2196")
    }
  }

  /// Returns which of Apple's services the address belongs to; nil if to none.
  @inline(never)
  static func appleService(
    at address: Span<UInt8>
  ) -> (pushProtocol: PushProtocol, environment: Environment)? {
    if address.isHost("api.push.apple.com") { return (.http2, .production) }
    if address.isHost("api.sandbox.push.apple.com") { return (.http2, .development) }
    if address.isHost("api.development.push.apple.com") { return (.http2, .development) }
    if address.isHost("gateway.push.apple.com") { return (.binary, .production) }
    if address.isHost("gateway.sandbox.push.apple.com") { return (.binary, .development) }
    return nil
  }
}

extension Span<UInt8> {
  /// Whether this is the address of a host, with or without a port.
  fileprivate func isHost(_ host: StaticString) -> Bool {
    begins(with: host.span)
      && (count == host.utf8CodeUnitCount || self[host.utf8CodeUnitCount] == .colon)
  }
}
