import TinyPush

/// What the rules for changes have rung for last, so that they do not ring for the same again.
struct Changes: ~Copyable {
  private struct State: BitwiseCopyable {
    var key: UInt64
    /// Nil: the value was forgotten.
    var value: UInt64?
  }

  /// With more states, the oldest is forgotten, and rings once more.
  private static let statesMax = 1024
  private let states = FixedBuffer<State>(capacity: Changes.statesMax)
  private var count = 0
  private var next = 0

  init() {}

  @inline(never)
  deinit {}

  private func index(of key: UInt64) -> Int? {
    for index in 0..<count where states[index].key == key { return index }
    return nil
  }

  /// Notes a value; returns whether the value differs from the one before.
  mutating func note(_ value: UInt64, of key: UInt64) -> Bool {
    if let index = index(of: key) {
      guard states[index].value != value else { return false }
      states[index].value = value
      return true
    }
    states[next] = State(key: key, value: value)
    count = max(count, next + 1)
    next = (next + 1) % Self.statesMax
    return true
  }

  /// Forgets a value, so that the next one counts as a change.
  mutating func forget(_ key: UInt64) {
    if let index = index(of: key) { states[index].value = nil }
  }

  /// Forgets all values.
  mutating func clear() {
    count = 0
    next = 0
  }
}
