/// The way of messages to one push service.
///
/// Each lane has its own link and its own lines in the outbox, so that trouble with one service
/// holds up no message to another.
public struct Lane: Equatable, BitwiseCopyable, Sendable {
  /// The number of lanes: one for devices, and the others for the services of browsers.
  public static let count = 9
  /// The lane of device tokens.
  public static let devices = Lane(0)

  private let number: UInt8

  /// Makes a lane from its number.
  public init(_ number: Int) { self.number = UInt8(number) }

  /// The number of the lane, from 0 on.
  public var index: Int { Int(number) }
}
