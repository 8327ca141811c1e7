/// Why a notification is sent again.
public enum RetryCause: UInt8, Sendable, BitwiseCopyable {
  /// The connection ended before an answer.
  case connectionLost
  /// No answer came in time.
  case noAnswer
  /// The service did not process the request.
  case refusedStream
  /// The service shut the connection down in order.
  case shutdown
  /// The service got too many notifications for this device.
  case tooManyRequests
  /// The service reported an error of its own.
  case serviceTrouble
  case providerToken
  case configuration
  /// A notification before this one was refused, and the binary protocol discards what follows.
  case refusalBefore

  private static var names: WordList {
    "connection_lost no_answer refused_stream shutdown too_many_requests service_trouble provider_token configuration refusal_before"
  }

  /// The name in JSON and metrics.
  public var name: Span<UInt8> { @_lifetime(immortal) get { Self.names[Int(rawValue)] } }

  /// The name for users.
  public var text: StaticString {
    switch self {
    case .connectionLost: "connection lost"
    case .noAnswer: "no answer"
    case .refusedStream: "stream refused"
    case .shutdown: "service shut down"
    case .tooManyRequests: "too many for one device"
    case .serviceTrouble: "service in trouble"
    case .providerToken: "provider token refused"
    case .configuration: "configuration refused"
    case .refusalBefore: "after a refused one"
    }
  }
}
