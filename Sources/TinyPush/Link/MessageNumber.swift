/// The number by which the courier and a link name a notification to one device.
///
/// A number is used again only long after its notification was settled.
public struct MessageNumber: Equatable, BitwiseCopyable, Sendable {
  package var rawValue: UInt32

  package init(_ rawValue: UInt32) { self.rawValue = rawValue }
}
