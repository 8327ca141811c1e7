/// The protocol of the push service or gateway.
public enum PushProtocol: UInt8, BitwiseCopyable, Sendable {
  /// The binary provider protocol, which Apple shut down in 2021.
  case binary
  /// HTTP/2, the protocol of Apple's present service.
  case http2

  /// The name in the configuration.
  public var name: StaticString { self == .binary ? "binary" : "http2" }
}
