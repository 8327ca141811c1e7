/// The gateway's only answer, after which the gateway closes the connection.
///
/// `command:1 = 8 | status:1 | identifier:4`, big-endian. Source: Local and Remote Notification
/// Programming Guide, 2015-10, figure 5-2 and table 5-3.
public struct ErrorResponse: Equatable {
  /// The first byte of an error response.
  public static let command: UInt8 = 8
  /// The length of an error response.
  public static let byteCount = 6

  /// The reason of the answer.
  public var status: Status
  /// The identifier of the notification at fault.
  ///
  /// With ``Status/shutdown``: the identifier of the last notification that the gateway accepted. 0
  /// if the gateway cannot say.
  public var identifier: UInt32

  /// Makes an error response.
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

/// The reason of an error response.
///
/// Any byte is a status: gateways may send others than those of the table.
public struct Status: Equatable, Sendable, BitwiseCopyable {
  /// The byte on the wire.
  public let rawValue: UInt8

  /// Makes a status of any byte.
  public init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// No error.
  public static let none = Status(rawValue: 0)
  /// The gateway failed to process the notification.
  public static let processingError = Status(rawValue: 1)
  /// The device token is missing.
  public static let missingDeviceToken = Status(rawValue: 2)
  /// The topic is missing.
  public static let missingTopic = Status(rawValue: 3)
  /// The payload is missing.
  public static let missingPayload = Status(rawValue: 4)
  /// The device token has the wrong size.
  public static let invalidTokenSize = Status(rawValue: 5)
  /// The topic has the wrong size.
  public static let invalidTopicSize = Status(rawValue: 6)
  /// The payload has the wrong size.
  public static let invalidPayloadSize = Status(rawValue: 7)
  /// The device token is not valid.
  public static let invalidToken = Status(rawValue: 8)
  /// The gateway shuts down; the identifier names the last notification that it accepted.
  public static let shutdown = Status(rawValue: 10)
  /// The gateway could not parse the notification; only the last editions of the table have this.
  public static let protocolError = Status(rawValue: 128)
  /// The gateway does not say what is wrong.
  public static let unknown = Status(rawValue: 255)

  /// Whether the table has the status.
  public var isDocumented: Bool {
    rawValue <= 8 || self == .shutdown || self == .protocolError || self == .unknown
  }
}

/// Assembles an error response from bytes that arrive in any pieces.
public struct ErrorResponseReader {
  private var bytes: InlineArray<6, UInt8> = .init(repeating: 0)
  /// The number of bytes of the response that have arrived: 0 to 5 between calls.
  public private(set) var count = 0

  /// Makes a reader at the start of a response.
  public init() {}

  /// Bytes that are not an error response.
  public enum Garbage: Error {
    /// A first byte that is not the command of an error response.
    case command(UInt8)
  }

  /// Takes one byte; returns the response with the sixth.
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
