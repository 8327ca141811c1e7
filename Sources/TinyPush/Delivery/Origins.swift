/// The hosts of browsers' push services that have a lane.
struct Origins: ~Copyable {
  private static let count = Lane.count - 1
  private static let nameBytesMax = 256

  private let names = FixedBuffer<UInt8>(capacity: count * nameBytesMax)
  private var lengths: InlineArray<8, UInt8> = .init(repeating: 0)
  /// When each was last looked for, as a count of searches.
  private var uses: InlineArray<8, UInt32> = .init(repeating: 0)
  private var searches: UInt32 = 0

  init() {}

  /// Returns the lane of a host, with its port; nil: the host has none.
  mutating func lane(of authority: Span<UInt8>) -> Lane? {
    searches &+= 1
    for number in 0..<Self.count where name(number).equals(authority) {
      uses[number] = searches
      return Lane(number + 1)
    }
    return nil
  }

  /// Gives the free lane that was used longest ago to a host; returns nil if all are in use.
  mutating func assign(
    _ authority: Span<UInt8>, where isFree: (Lane) -> Bool
  ) -> Lane? {
    var oldest: Int?
    for number in 0..<Self.count where isFree(Lane(number + 1)) {
      if uses[number] < oldest.map({ uses[$0] }) ?? .max { oldest = number }
    }
    guard let oldest else { return nil }
    names.store(authority, at: oldest * Self.nameBytesMax)
    lengths[oldest] = UInt8(authority.count)
    uses[oldest] = searches
    return Lane(oldest + 1)
  }

  @_lifetime(borrow self)
  private func name(_ number: Int) -> Span<UInt8> {
    let start = number * Self.nameBytesMax
    return names.span(start..<start + Int(lengths[number]))
  }
}
