/// Tokens that the gateway called invalid since the agent started, so that each costs one reconnect and no more. The
/// newest are kept.
struct InvalidTokens: ~Copyable {
  static let capacity = 1024
  private let tokens = FixedBuffer<DeviceToken>(capacity: capacity)
  /// When each was called so: UNIX seconds, UTC.
  private let seconds = FixedBuffer<Int64>(capacity: capacity)
  private var count = 0
  private var next = 0

  init() {}

  mutating func insert(_ token: DeviceToken, at now: Int64) {
    if let index = index(of: token) {
      seconds[index] = now
      return
    }
    tokens[next] = token
    seconds[next] = now
    next = (next + 1) % Self.capacity
    if count < Self.capacity { count += 1 }
  }

  /// Whether it must not be sent to.
  ///
  /// - Parameter registered: UNIX seconds at which the app last registered it: later than it was called invalid, it is good
  ///   again.
  func contains(_ token: DeviceToken, registered: UInt32) -> Bool {
    guard let index = index(of: token) else { return false }
    return Int64(registered) <= seconds[index]
  }

  private func index(of token: DeviceToken) -> Int? {
    for index in 0..<count where tokens[index] == token { return index }
    return nil
  }
}
