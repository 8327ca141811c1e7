/// Names of files in `new/` that somebody has created and not closed yet: they are not looked at until then, however
/// complete they seem.
///
/// When there are more than fit, the oldest is forgotten; what then tells is only whether the file ends within an object,
/// and whether it has changed when it is to be removed.
struct BeingWritten: ~Copyable {
  static let capacity = 64
  private static let slotBytes = 256

  private let names = FixedBuffer<UInt8>(capacity: capacity * slotBytes)
  private var count = 0

  init() {}

  var isEmpty: Bool { count == 0 }

  mutating func begin(_ name: Span<UInt8>) {
    guard name.count > 0, name.count < Self.slotBytes, !contains(name) else { return }
    if count == Self.capacity { remove(0) }
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

  func contains(_ name: Span<UInt8>) -> Bool {
    for index in 0..<count where self.name(index).equals(name) { return true }
    return false
  }

  @_lifetime(borrow self)
  private func name(_ index: Int) -> Span<UInt8> {
    let start = index * Self.slotBytes
    return names.span(start + 1..<start + 1 + Int(names[start]))
  }

  private mutating func remove(_ index: Int) {
    count -= 1
    let start = index * Self.slotBytes
    names.move(
      from: start + Self.slotBytes, to: start, count: (count - index) * Self.slotBytes)
  }
}
