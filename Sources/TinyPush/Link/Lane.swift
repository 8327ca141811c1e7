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

/// Counts of what became of the notifications of a lane, by the words of ``Counters``.
public struct LaneCounts: BitwiseCopyable {
  /// Notifications that count as delivered.
  public fileprivate(set) var accepted: UInt64 = 0
  /// Notifications that the service refused.
  public fileprivate(set) var refused: UInt64 = 0
  /// Notifications refused because the app or the subscription is gone.
  public fileprivate(set) var gone: UInt64 = 0

  /// Creates counts that are all 0.
  public init() {}

  mutating func accept() { accepted += 1 }

  mutating func refuse(_ rejection: Rejection) {
    if rejection.isGone { gone += 1 } else { refused += 1 }
  }
}
