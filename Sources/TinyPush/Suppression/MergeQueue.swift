/// Sorted sources of records, seen as one: the next record of all of them is at the head. A binary heap.
package struct MergeQueue: ~Copyable {
  package struct Entry: BitwiseCopyable {
    package var record: SuppressionRecord
    /// The number of the source that it came from.
    package var source: Int
  }

  private let entries: FixedBuffer<Entry>
  private var count = 0

  package init(sources: Int) {
    entries = FixedBuffer(capacity: sources)
  }

  /// The next of all; nil at the end of all.
  package var head: Entry? { count > 0 ? entries[0] : nil }

  /// A source's first record.
  @inline(never)
  package mutating func add(_ record: SuppressionRecord, from source: Int) {
    var place = count
    count += 1
    entries[place] = Entry(record: record, source: source)
    while place > 0, isLess(place, (place - 1) / 2) {
      swap(place, (place - 1) / 2)
      place = (place - 1) / 2
    }
  }

  /// Passes the head over.
  ///
  /// - Parameter record: the next one of its source; nil: it is at its end.
  @inline(never)
  package mutating func replaceHead(_ record: SuppressionRecord?) {
    if let record {
      entries[0].record = record
    } else {
      count -= 1
      entries[0] = entries[count]
    }
    var place = 0
    while true {
      var least = place
      for child in 2 * place + 1...2 * place + 2 where child < count && isLess(child, least) {
        least = child
      }
      guard least != place else { return }
      swap(place, least)
      place = least
    }
  }

  private func isLess(_ left: Int, _ right: Int) -> Bool {
    entries[left].record.token < entries[right].record.token
  }

  private func swap(_ left: Int, _ right: Int) {
    let entry = entries[left]
    entries[left] = entries[right]
    entries[right] = entry
  }
}
