/// Names of files in `new/` that somebody has created and not closed yet: they are not looked at until then, however
/// complete they seem; but not for ever, since a file may have been linked there, and is never closed then.
///
/// When there are more than fit, the oldest is forgotten; what then tells is only whether the file ends within an object,
/// and whether it has changed when it is to be removed.
struct BeingWritten: ~Copyable {
  static let capacity = 64
  /// How long a file is left alone that nobody closes.
  static let patience = Duration.seconds(60)
  private static let slotBytes = 256

  private let names = FixedBuffer<UInt8>(capacity: capacity * slotBytes)
  private let since = FixedBuffer<Instant>(capacity: capacity)
  private var count = 0

  init() {}

  /// When the oldest is not left alone any more.
  var retryAt: Instant? { count > 0 ? since[0] + Self.patience : nil }

  mutating func begin(_ name: Span<UInt8>, at now: Instant) {
    end(name)
    guard name.count > 0, name.count < Self.slotBytes else { return }
    if count == Self.capacity { remove(0) }
    since[count] = now
    names[count * Self.slotBytes] = UInt8(name.count)
    names.store(name, at: count * Self.slotBytes + 1)
    count += 1
  }

  mutating func end(_ name: Span<UInt8>) {
    for index in 0..<count where self.name(index).equals(name) {
      remove(index)
      return
    }
  }

  /// Nothing is known any more.
  mutating func clear() {
    count = 0
  }

  func contains(_ name: Span<UInt8>, at now: Instant) -> Bool {
    for index in 0..<count where now < since[index] + Self.patience && self.name(index).equals(name)
    {
      return true
    }
    return false
  }

  mutating func forgetTheOld(at now: Instant) {
    while count > 0, now >= since[0] + Self.patience { remove(0) }
  }

  @_lifetime(borrow self)
  private func name(_ index: Int) -> Span<UInt8> {
    let start = index * Self.slotBytes
    return names.span(start + 1..<start + 1 + Int(names[start]))
  }

  private mutating func remove(_ index: Int) {
    count -= 1
    for later in index..<count { since[later] = since[later + 1] }
    let start = index * Self.slotBytes
    names.move(
      from: start + Self.slotBytes, to: start, count: (count - index) * Self.slotBytes)
  }
}
