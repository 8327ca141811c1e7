/// A suppression list in a file: records sorted by token, then the tokens of other sizes, then the end, which is
/// `magic:4 | records:4 | bytes of other tokens:4 | sum:8`, big-endian. The sum is that of all that stands before it, and is
/// checked once, when the list is opened. A lookup reads one page of records.
public struct SuppressionList: ~Copyable {
  /// Reads from an offset on as much as there is room for. Returns the bytes read, or a negative number.
  public typealias Read = (UnsafeMutableBufferPointer<UInt8>, Int64) -> Int

  static let endByteCount = 20
  /// "TPS2": changes with the layout.
  static let magic: UInt32 = 0x5450_5332
  static let recordsOfPage = 102
  static let pageByteCount = recordsOfPage * SuppressionRecord.byteCount

  private let read: Read
  /// Records in it.
  public private(set) var count = 0
  private var otherByteCount = 0
  /// It is not as it was written, and nothing is found in it; or some of it cannot be read any more.
  public private(set) var isDamaged: Bool
  private let page = FixedBuffer<UInt8>(capacity: pageByteCount)
  /// The number of the page that is in memory.
  private var held = -1
  /// How the first token of each page begins.
  private var firsts = FixedBuffer<UInt64>(capacity: 0)

  /// One that is empty.
  public init() {
    read = { _, _ in 0 }
    isDamaged = false
  }

  /// - Parameter size: the bytes of the file.
  public init(size: Int64, _ read: @escaping Read) {
    self.read = read
    isDamaged = true
    open(size)
  }

  deinit {}

  @inline(never)
  private mutating func open(_ size: Int64) {
    let end = size - Int64(Self.endByteCount)
    guard end >= 0, fill(Self.endByteCount, from: end) else { return }
    let magic = page.span(0..<4).bigEndian32(at: 0)
    let records = Int(clamping: page.span(4..<8).bigEndian32(at: 0))
    let others = Int(clamping: page.span(8..<12).bigEndian32(at: 0))
    let sum = page.span(12..<20).bigEndian64(at: 0)
    guard magic == Self.magic, others <= OtherTokens.bytesMax,
      Int64(records) * Int64(SuppressionRecord.byteCount) + Int64(others) == end
    else { return }
    firsts = FixedBuffer(capacity: (records + Self.recordsOfPage - 1) / Self.recordsOfPage)
    var hash = Hash()
    var place: Int64 = 0
    var number = 0
    while place < size - 8 {
      let bytes = Int(min(Int64(Self.pageByteCount), size - 8 - place))
      guard fill(bytes, from: place) else { return }
      hash.add(page.span(0..<bytes))
      if number < firsts.capacity { firsts[number] = page.span(0..<8).bigEndian64(at: 0) }
      number += 1
      place += Int64(bytes)
    }
    guard hash.value == sum else { return }
    count = records
    otherByteCount = others
    isDamaged = false
  }

  private func fill(_ bytes: Int, from place: Int64) -> Bool {
    read(UnsafeMutableBufferPointer(rebasing: page.room()[..<bytes]), place) == bytes
  }

  /// The record of a number; nil behind the last, and where it cannot be read.
  @inline(never)
  package mutating func record(_ number: Int) -> SuppressionRecord? {
    guard number < count else { return nil }
    if number / Self.recordsOfPage != held {
      held = number / Self.recordsOfPage
      let first = held * Self.recordsOfPage
      let bytes = min(Self.recordsOfPage, count - first) * SuppressionRecord.byteCount
      if !fill(bytes, from: Int64(first) * Int64(SuppressionRecord.byteCount)) { held = -1 }
    }
    let start = number % Self.recordsOfPage * SuppressionRecord.byteCount
    if held >= 0,
      let record = SuppressionRecord(page.span(start..<start + SuppressionRecord.byteCount))
    {
      return record
    }
    isDamaged = true
    return nil
  }

  /// What is known of a token; nil: nothing.
  @inline(never)
  public mutating func find(_ token: DeviceToken) -> SuppressionRecord? {
    let key = token.bytes.span.bigEndian64(at: 0)
    // The first page that does not begin before the key: the token is there, or on the page before.
    var low = 0
    var high = firsts.capacity
    while low < high {
      let middle = (low + high) / 2
      if firsts[middle] < key { low = middle + 1 } else { high = middle }
    }
    var first = max(low - 1, 0) * Self.recordsOfPage
    while low < firsts.capacity, firsts[low] == key { low += 1 }
    var end = min(low * Self.recordsOfPage, count)
    while first < end {
      let middle = (first + end) / 2
      guard let record = record(middle) else { return nil }
      if record.token == token { return record }
      if record.token < token { first = middle + 1 } else { end = middle }
    }
    return nil
  }

  /// Reads the tokens of other sizes, in the place of those that are there.
  package mutating func readOthers(into others: inout OtherTokens) {
    let start = Int64(count) * Int64(SuppressionRecord.byteCount)
    if !others.replace(otherByteCount, at: start, read) { isDamaged = true }
  }
}

/// The suppression list, and what has changed since it was last written, which is a small list beside it.
public struct SuppressionLists: ~Copyable {
  public var list = SuppressionList()
  public var recent = SuppressionList()
  /// Where ``next(isWhole:)`` goes on.
  private var place = 0
  private var recentPlace = 0

  public init() {}

  deinit {}

  /// Whether nothing is known of any token.
  public var isEmpty: Bool { list.count == 0 && recent.count == 0 }

  public var isDamaged: Bool { list.isDamaged || recent.isDamaged }

  /// What is known of a token; nil: nothing.
  @inline(never)
  public mutating func find(_ token: DeviceToken) -> SuppressionRecord? {
    .heavier(list.find(token), recent.find(token))
  }

  /// What is known of the next token, in their order; nil at the end, and where that cannot be read.
  ///
  /// - Parameter isWhole: whether the list itself is read, too.
  @inline(never)
  package mutating func next(isWhole: Bool = true) -> SuppressionRecord? {
    let changed = recent.record(recentPlace)
    let listed = isWhole ? list.record(place) : nil
    if let changed, let listed, listed.token == changed.token {
      place += 1
      recentPlace += 1
      return .heavier(listed, changed)
    }
    if let changed, listed.map({ changed.token < $0.token }) ?? true {
      recentPlace += 1
      return changed
    }
    place += 1
    return listed
  }
}
