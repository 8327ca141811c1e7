import TinyPush

/// When a push service last accepted a notification for a recipient.
///
/// The size is bounded: of many recipients, those accepted last are kept. Bytes of 0 are an empty
/// memory.
public struct AcceptanceTimes: BitwiseCopyable {
  private struct Entry: BitwiseCopyable {
    /// The hash of the recipient.
    var recipient: UInt64 = 0
    /// When a notification was last accepted, in UNIX seconds; 0: no entry.
    var seconds: Int64 = 0
  }

  private static let setBits: UInt64 = 5
  private static let ways = 4

  private var entries: InlineArray<128, Entry> = .init(repeating: Entry())

  /// Makes an empty memory.
  init() {}

  /// Returns the places that a recipient may have.
  private static func places(of recipient: UInt64) -> Range<Int> {
    let set = Int(truncatingIfNeeded: (recipient &* 0x9E37_79B9_7F4A_7C15) >> (64 - setBits))
    return set * ways..<(set + 1) * ways
  }

  /// Notes that a notification for a recipient was accepted.
  ///
  /// - Parameters:
  ///   - recipient: the hash of the recipient's identity.
  ///   - seconds: when, in UNIX seconds.
  @inline(never)
  mutating func accept(_ recipient: UInt64, at seconds: Int64) {
    let places = Self.places(of: recipient)
    var oldest = places.lowerBound
    for place in places {
      if entries[place].recipient == recipient {
        oldest = place
        break
      }
      if entries[place].seconds < entries[oldest].seconds { oldest = place }
    }
    entries[oldest] = Entry(recipient: recipient, seconds: seconds)
  }

  /// Returns when a notification for a recipient was last accepted, in UNIX seconds; nil if that is
  /// not known.
  @inline(never)
  public func seconds(of recipient: TokenIdentity) -> UInt32? {
    let hash = recipient.hash
    for place in Self.places(of: hash)
    where entries[place].recipient == hash && entries[place].seconds > 0 {
      return UInt32(clamping: entries[place].seconds)
    }
    return nil
  }
}
