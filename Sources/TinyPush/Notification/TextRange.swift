/// Stores a range of a text in eight bytes, so that what has many ranges is copied quickly.
@propertyWrapper
public struct TextRange: BitwiseCopyable, Sendable {
  private var start: UInt32
  private var end: UInt32

  /// The range; its bounds have at most 32 bits.
  public var wrappedValue: Range<Int> {
    @inline(__always) get {
      Range(uncheckedBounds: (Int(truncatingIfNeeded: start), Int(truncatingIfNeeded: end)))
    }
    @inline(__always) set { self = TextRange(wrappedValue: newValue) }
  }

  /// Stores a range.
  @inline(__always)
  public init(wrappedValue range: Range<Int>) {
    start = UInt32(truncatingIfNeeded: range.lowerBound)
    end = UInt32(truncatingIfNeeded: range.upperBound)
  }

  /// Moves to a text that begins `distance` bytes later; an empty range at 0 stays.
  @inline(__always)
  mutating func move(by distance: Int) {
    guard end > 0 else { return }
    start &-= UInt32(truncatingIfNeeded: distance)
    end &-= UInt32(truncatingIfNeeded: distance)
  }
}
