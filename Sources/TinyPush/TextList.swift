/// A list of texts in memory of a fixed size.
public struct TextList: ~Copyable {
  private let bytes: FixedBuffer<UInt8>
  private let ends: FixedBuffer<Int>
  /// The number of texts.
  public private(set) var count = 0

  /// Makes room for as many texts, of as many bytes together.
  public init(_ countMax: Int, bytes bytesMax: Int) {
    bytes = FixedBuffer(capacity: bytesMax)
    ends = FixedBuffer(capacity: countMax)
  }

  @inline(never)
  deinit {}

  /// The text with a number.
  public subscript(index: Int) -> Span<UInt8> {
    @_lifetime(immortal) get {
      bytes.unsafeSpan((index == 0 ? 0 : ends[index - 1])..<ends[index])
    }
  }

  /// Appends a text, and returns whether there was room.
  @inline(never)
  public mutating func append(_ text: Span<UInt8>) -> Bool {
    let start = count == 0 ? 0 : ends[count - 1]
    guard count < ends.capacity, start + text.count <= bytes.capacity else { return false }
    bytes.store(text, at: start)
    ends[count] = start + text.count
    count += 1
    return true
  }

  /// Whether the list has a text.
  @inline(never)
  public func contains(_ text: Span<UInt8>) -> Bool {
    for index in 0..<count where self[index].equals(text) { return true }
    return false
  }

  /// Removes all texts.
  public mutating func clear() { count = 0 }
}
