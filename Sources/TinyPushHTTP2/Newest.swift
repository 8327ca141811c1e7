import TinyPush

/// The newest notification that was accepted for each device and `collapse-id`.
///
/// An older one must not be sent afterwards, since it would replace the newer one on the device.
/// Only 1,024 are remembered: after a forgotten one, an older notification may be sent.
struct Newest: ~Copyable {
  private var orders = RecentKeys()

  init() {}

  /// Notes that a notification was accepted.
  ///
  /// - Parameters:
  ///   - collapse: the hash of the device and the `collapse-id`.
  ///   - order: a number that is larger for a newer notification.
  mutating func accept(_ collapse: UInt64, _ order: UInt64, at now: Instant) {
    if isNewer(than: order, collapse) { return }
    orders.put(RecentKeys.Entry(key: collapse, value: now.milliseconds, number: order))
  }

  /// Whether a newer notification was accepted.
  func isNewer(than order: UInt64, _ collapse: UInt64) -> Bool {
    orders.find(collapse).map { $0.number > order } ?? false
  }
}
