import TinyPush
import TinyPushRules

/// A list of topic filters.
public struct FilterList: ~Copyable {
  private var filters = TextList(32, bytes: 8192)

  /// Creates an empty list.
  public init() {}

  @inline(never)
  deinit {}

  /// The number of filters.
  public var count: Int { filters.count }

  /// A filter by its number.
  @_lifetime(immortal)
  public func filter(_ index: Int) -> Span<UInt8> { filters[index] }

  /// Appends a filter, and returns whether there was room.
  public mutating func append(_ filter: Span<UInt8>) -> Bool { filters.append(filter) }

  /// Whether the list has a filter.
  public func contains(_ filter: Span<UInt8>) -> Bool { filters.contains(filter) }

  /// Whether a subscription can bring messages for a topic or a topic filter.
  public func mayReceive(_ filter: Span<UInt8>) -> Bool {
    for index in 0..<count {
      guard let inner = TopicFilter.shared(self.filter(index)) else { continue }
      if TopicFilter.overlaps(self.filter(index).extracting(inner), filter) { return true }
    }
    return false
  }

  /// Calls `body` with the numbers of each two filters that one topic matches.
  public func forEachOverlap(_ body: (Int, Int) -> Void) {
    for other in 0..<count {
      for one in 0..<other {
        guard let left = TopicFilter.shared(filter(one)),
          let right = TopicFilter.shared(filter(other)),
          TopicFilter.overlaps(
            filter(one).extracting(left), filter(other).extracting(right))
        else { continue }
        body(one, other)
      }
    }
  }

  /// Appends what follows from an overlap.
  public func appendOverlap(_ one: Int, _ other: Int, to text: inout Text) {
    text.append("subscribe = ", printable: filter(one))
    text.append(" and subscribe = ", printable: filter(other))
    text.append(" overlap: the broker may send a message twice, and each makes a notification")
  }

  /// Appends that and why the broker refused a filter.
  public func appendRefusal(of index: Int, _ reason: UInt8, to text: inout Text) {
    text.append("the broker refused subscribe = ", printable: filter(index), ": ")
    BrokerProblem.append(reason, to: &text)
  }

  /// Appends that the broker asks for no acknowledgements of a filter's messages.
  public func appendQuality(of index: Int, to text: inout Text) {
    text.append("the broker grants subscribe = ", printable: filter(index))
    text.append(" only QoS 0: a message that comes while this program is away or fails is lost")
  }

  /// Removes all filters.
  mutating func clear() { filters.clear() }
}
