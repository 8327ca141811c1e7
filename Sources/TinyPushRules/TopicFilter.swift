import TinyPush

/// Topic filters of MQTT (section 4.7).
public enum TopicFilter {
  /// The topic filter within a shared subscription, `$share/GROUP/FILTER` (section 4.8.2); a plain
  /// filter as it is.
  ///
  /// - Returns: nil: the group or the filter is missing.
  public static func shared(_ filter: Span<UInt8>) -> Range<Int>? {
    let prefix: StaticString = "$share/"
    guard filter.begins(with: prefix.span) else { return 0..<filter.count }
    var index = prefix.utf8CodeUnitCount
    while index < filter.count, filter[index] != .slash {
      guard filter[index] != .plus, filter[index] != .hash else { return nil }
      index += 1
    }
    guard index > prefix.utf8CodeUnitCount, index + 1 < filter.count else { return nil }
    return index + 1..<filter.count
  }

  /// Whether a topic filter is that of a shared subscription.
  public static func isShared(_ filter: Span<UInt8>) -> Bool {
    filter.begins(with: ("$share/" as StaticString).span)
  }

  /// Whether a text is a topic filter: `+` and `#` stand for whole levels, and `#` only for the
  /// last ones.
  public static func isValid(_ filter: Span<UInt8>) -> Bool {
    guard filter.count > 0, filter.count <= 65_535 else { return false }
    for index in filter.indices {
      let byte = filter[index]
      guard byte != 0 else { return false }
      guard byte == .plus || byte == .hash else { continue }
      let startsLevel = index == 0 || filter[index - 1] == .slash
      let endsFilter = index + 1 == filter.count
      guard startsLevel, endsFilter || byte == .plus && filter[index + 1] == .slash else {
        return false
      }
    }
    return true
  }

  /// Whether a valid filter is for one topic only: it has no wildcards.
  public static func isTopic(_ filter: Span<UInt8>) -> Bool {
    for index in filter.indices where filter[index] == .plus || filter[index] == .hash {
      return false
    }
    return true
  }

  /// Whether a topic matches a valid filter.
  ///
  /// Wildcards do not match a first level that begins with `$` (section 4.7.2).
  public static func matches(_ filter: Span<UInt8>, _ topic: Span<UInt8>) -> Bool {
    if topic.count > 0, topic[0] == .dollar, filter[0] != .dollar { return false }
    var (inFilter, inTopic) = (0, 0)
    while inFilter < filter.count {
      if filter[inFilter] == .hash { return true }
      if filter[inFilter] == .plus {
        inFilter += 1
        while inTopic < topic.count, topic[inTopic] != .slash { inTopic += 1 }
      } else {
        guard inTopic < topic.count, filter[inFilter] == topic[inTopic] else {
          // `a/#` matches `a` as well.
          return inTopic == topic.count && isParent(filter, inFilter)
        }
        inFilter += 1
        inTopic += 1
        continue
      }
      if inFilter == filter.count { return inTopic == topic.count }
      guard inTopic < topic.count else { return isParent(filter, inFilter) }
    }
    return inTopic == topic.count
  }

  /// Whether `/#` is all that remains of a filter.
  private static func isParent(_ filter: Span<UInt8>, _ index: Int) -> Bool {
    filter.count == index + 2 && filter[index] == .slash && filter[index + 1] == .hash
  }

  /// Whether a topic can match both of two valid filters.
  public static func overlaps(_ one: Span<UInt8>, _ other: Span<UInt8>) -> Bool {
    var number = 1
    while true {
      let (left, right) = (level(number, of: one), level(number, of: other))
      guard let left else { return right.map { isMany(other, $0) } ?? true }
      guard let right else { return isMany(one, left) }
      let (a, b) = (one.extracting(left), other.extracting(right))
      // Wildcards do not match a first level that begins with `$`.
      if number == 1, isWildcard(a) != isWildcard(b),
        (a.count > 0 && a[0] == .dollar) || (b.count > 0 && b[0] == .dollar)
      {
        return false
      }
      if isMany(one, left) || isMany(other, right) { return true }
      guard isWildcard(a) || isWildcard(b) || a.equals(b) else { return false }
      number += 1
    }
  }

  private static func isMany(_ filter: Span<UInt8>, _ level: Range<Int>) -> Bool {
    level.count == 1 && filter[level.lowerBound] == .hash
  }

  private static func isWildcard(_ level: Span<UInt8>) -> Bool {
    level.count == 1 && (level[0] == .plus || level[0] == .hash)
  }

  /// The level of a topic with this number, from 1; nil: there are fewer.
  public static func level(_ number: Int, of topic: Span<UInt8>) -> Range<Int>? {
    var (start, rest) = (0, number)
    for index in 0...topic.count where index == topic.count || topic[index] == .slash {
      rest -= 1
      if rest == 0 { return start..<index }
      start = index + 1
    }
    return nil
  }
}
