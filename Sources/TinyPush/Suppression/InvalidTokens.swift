/// Tokens that the gateway called invalid since the agent started, so that each costs one reconnect and no more. The
/// newest are kept.
struct InvalidTokens: ~Copyable {
  static let capacity = 1024
  private let tokens = FixedBuffer<DeviceToken>(capacity: capacity)
  private var count = 0
  private var next = 0

  init() {}

  mutating func insert(_ token: DeviceToken) {
    guard !contains(token) else { return }
    tokens[next] = token
    next = (next + 1) % Self.capacity
    if count < Self.capacity { count += 1 }
  }

  func contains(_ token: DeviceToken) -> Bool {
    for index in 0..<count where tokens[index] == token { return true }
    return false
  }
}
