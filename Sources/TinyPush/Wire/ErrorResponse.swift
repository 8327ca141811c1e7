/// The gateway's only answer: `command:1 = 8 | status:1 | identifier:4`, big-endian, after which it closes. Source: Local
/// and Remote Notification Programming Guide, 2015-10, figure 5-2 and table 5-3.
public struct ErrorResponse: Equatable {
  public static let command: UInt8 = 8
  public static let byteCount = 6

  public var status: Status
  /// Of the notification at fault, or with ``Status/shutdown`` of the last one accepted; 0 when the gateway cannot say.
  public var identifier: UInt32

  public init(status: Status, identifier: UInt32) {
    self.status = status
    self.identifier = identifier
  }

  /// The six bytes.
  public var bytes: InlineArray<6, UInt8> {
    [
      Self.command, status.rawValue, UInt8(truncatingIfNeeded: identifier >> 24),
      UInt8(truncatingIfNeeded: identifier >> 16), UInt8(truncatingIfNeeded: identifier >> 8),
      UInt8(truncatingIfNeeded: identifier),
    ]
  }
}

/// Why the gateway answered. Statuses that are not in the table have been seen (128): any byte is a status.
public struct Status: Equatable, Sendable, BitwiseCopyable {
  public let rawValue: UInt8

  public init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  public static let none = Status(rawValue: 0)
  public static let processingError = Status(rawValue: 1)
  public static let missingDeviceToken = Status(rawValue: 2)
  public static let missingTopic = Status(rawValue: 3)
  public static let missingPayload = Status(rawValue: 4)
  public static let invalidTokenSize = Status(rawValue: 5)
  public static let invalidTopicSize = Status(rawValue: 6)
  public static let invalidPayloadSize = Status(rawValue: 7)
  public static let invalidToken = Status(rawValue: 8)
  /// The gateway goes out of service: the identifier names the last notification that it accepted.
  public static let shutdown = Status(rawValue: 10)
  public static let unknown = Status(rawValue: 255)

  /// Whether the table has it.
  public var isDocumented: Bool {
    rawValue <= 8 || self == .shutdown || self == .unknown
  }
}

/// Puts an error response together from bytes that come as they like.
public struct ErrorResponseReader {
  private var bytes: InlineArray<6, UInt8> = .init(repeating: 0)
  /// Bytes of the response that have come so far: 0 to 5 between calls.
  public private(set) var count = 0

  public init() {}

  /// What the stream holds instead of an error response.
  public enum Garbage: Error {
    /// A first byte that is not the command of an error response.
    case command(UInt8)
  }

  /// Takes one byte; the response when it is the sixth.
  public mutating func take(_ byte: UInt8) throws(Garbage) -> ErrorResponse? {
    if count == 0 && byte != ErrorResponse.command { throw .command(byte) }
    bytes[count] = byte
    count += 1
    guard count == ErrorResponse.byteCount else { return nil }
    count = 0
    var identifier: UInt32 = 0
    for index in 2..<6 { identifier = identifier << 8 | UInt32(bytes[index]) }
    return ErrorResponse(status: Status(rawValue: bytes[1]), identifier: identifier)
  }
}
