/// The names of files in `new/` that a process has created and not yet closed.
///
/// Such a file is not read until it is closed, even if it seems complete. The wait is limited,
/// since a file that was linked there is never closed.
///
/// If there are too many, the oldest name is dropped. An unfinished file then shows only by ending
/// inside an object, or by a change before its removal.
package struct BeingWritten: ~Copyable {
  static let capacity = 64
  /// The longest wait for a file to be closed.
  package static let patience = Duration.seconds(60)
  /// The wait after a file was closed: the kernel reports this before the file counts as closed.
  static let closing = Duration.milliseconds(100)
  private static let slotBytes = 256

  private let names = FixedBuffer<UInt8>(capacity: capacity * slotBytes)
  private let until = FixedBuffer<Instant>(capacity: capacity)
  private var count = 0

  init() {}

  /// When the first wait ends.
  var retryAt: Instant? {
    var first: Instant?
    for index in 0..<count where first.map({ until[index] < $0 }) ?? true { first = until[index] }
    return first
  }

  mutating func begin(_ name: Span<UInt8>, at now: Instant, for wait: Duration = patience) {
    end(name)
    guard name.count > 0, name.count < Self.slotBytes else { return }
    if count == Self.capacity { remove(0) }
    until[count] = now + wait
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

  /// Removes all names.
  mutating func clear() {
    count = 0
  }

  func contains(_ name: Span<UInt8>, at now: Instant) -> Bool {
    for index in 0..<count where now < until[index] && self.name(index).equals(name) { return true }
    return false
  }

  mutating func forgetTheOld(at now: Instant) {
    var index = 0
    while index < count { if now >= until[index] { remove(index) } else { index += 1 } }
  }

  @_lifetime(borrow self)
  private func name(_ index: Int) -> Span<UInt8> {
    let start = index * Self.slotBytes
    return names.span(start + 1..<start + 1 + Int(names[start]))
  }

  private mutating func remove(_ index: Int) {
    count -= 1
    for later in index..<count { until[later] = until[later + 1] }
    let start = index * Self.slotBytes
    names.move(
      from: start + Self.slotBytes, to: start, count: (count - index) * Self.slotBytes)
  }
}
