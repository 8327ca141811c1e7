import TinyPush
import TinyPushHTTP2

extension HTTP2Link.Service {
  /// Creates the service from the configuration.
  init(_ config: borrowing Config, at address: Span<UInt8>) {
    let topic = config.defaultTopic()
    self.init(
      authority: Self.authority(address), topic: topic.span,
      usesProviderToken: !config.signingKey.isEmpty, seal: SealKey(config)?.seal)
  }

  /// Returns the address without the default port.
  @_lifetime(copy address)
  private static func authority(_ address: Span<UInt8>) -> Span<UInt8> {
    let port: StaticString = ":443"
    let end = address.count - port.utf8CodeUnitCount
    guard end > 0, address.extracting(end..<address.count).equals(port) else { return address }
    return address.extracting(0..<end)
  }
}
