/// How the push service is spoken to.
public enum PushProtocol: UInt8, BitwiseCopyable, Sendable {
  /// The binary provider protocol, which Apple switched off in 2021.
  case binary
  /// Apple's service of today: HTTP/2.
  case http2

  /// As the configuration calls it.
  public var name: StaticString { self == .binary ? "binary" : "http2" }
}
