/// The names of files in `new/` that a process has created and not yet closed.
///
/// Such a file is not taken until it is closed, and for a moment longer: its writer may still set
/// its mode and times. The wait is limited, since a file that was linked there is never closed.
///
/// If there are too many, the wait for the oldest ends.
package struct BeingWritten: ~Copyable {
  static let capacity = 64
  /// The longest wait for a file to be closed.
  package static let patience = Duration.seconds(60)
  /// The wait after a file was closed.
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

  /// Begins a wait; returns whether the wait for another file ended for lack of room.
  @inline(never)
  mutating func begin(
    _ name: Span<UInt8>, at now: Instant, for wait: Duration = patience
  ) -> Bool {
    end(name)
    guard SpoolName.isTaken(name), name.count < Self.slotBytes else { return false }
    let isFull = count == Self.capacity
    if isFull { remove(0) }
    until[count] = now + wait
    names[count * Self.slotBytes] = UInt8(name.count)
    names.store(name, at: count * Self.slotBytes + 1)
    count += 1
    return isFull
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

  /// Calls `body` with each name whose wait is over, and removes the name.
  mutating func takeOver(at now: Instant, _ body: (Span<UInt8>) -> Void) {
    var index = 0
    while index < count {
      if now >= until[index] {
        body(name(index))
        remove(index)
      } else {
        index += 1
      }
    }
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
