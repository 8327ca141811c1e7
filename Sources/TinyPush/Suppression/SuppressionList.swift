/// A suppression list in a file.
///
/// The file holds the records sorted by token, then the end: `magic:4 | records:4 | 0:4 | sum:8`,
/// big-endian. The sum covers all bytes before it and is checked once, when the list is opened. A
/// lookup reads one page of records. Where the 0 is, version 0.2.0 counted the bytes of
/// tokens of other sizes than 32 bytes, which stood behind the records; they are passed over.
public struct SuppressionList: ~Copyable {
  /// Fills a buffer from an offset on; returns the number of bytes read, or a negative number.
  public typealias Read = (UnsafeMutableBufferPointer<UInt8>, Int64) -> Int

  static let endByteCount = 20
  /// "TPS2": changes with the layout.
  static let magic: UInt32 = 0x5450_5332
  static let recordsOfPage = 102
  static let pageByteCount = recordsOfPage * SuppressionRecord.byteCount

  private let read: Read
  /// The number of records.
  public private(set) var count = 0
  /// Whether the list has a wrong format or sum, or a part of it can no longer be read.
  ///
  /// Nothing is found in a list that was damaged when it was opened.
  public private(set) var isDamaged: Bool
  private let page = FixedBuffer<UInt8>(capacity: pageByteCount)
  /// The number of the page in memory; -1: none.
  private var held = -1
  /// The first eight bytes of the first token of each page.
  private var firsts = FixedBuffer<UInt64>(capacity: 0)

  /// Makes an empty list.
  public init() {
    read = { _, _ in 0 }
    isDamaged = false
  }

  /// Opens a list in a file of `size` bytes, which it reads by `read`.
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
    guard magic == Self.magic,
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
    isDamaged = false
  }

  private func fill(_ bytes: Int, from place: Int64) -> Bool {
    read(UnsafeMutableBufferPointer(rebasing: page.room()[..<bytes]), place) == bytes
  }

  /// Returns a record by its number; nil after the last, and if the record cannot be read.
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

  /// Returns what is known about a token; nil: nothing.
  @inline(never)
  public mutating func find(_ token: TokenIdentity) -> SuppressionRecord? {
    let key = token.bytes.bigEndian64(at: 0)
    // Find the first page that does not begin before the key. The token is on that page or on the
    // one before.
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
}

/// The suppression list, and a small list of the changes since it was last written.
public struct SuppressionLists: ~Copyable {
  /// The list of all suppressed tokens.
  public var list = SuppressionList()
  /// The changes since ``list`` was last written.
  public var recent = SuppressionList()
  /// The position of ``next(isWhole:)`` in ``list``.
  private var place = 0
  /// The position of ``next(isWhole:)`` in ``recent``.
  private var recentPlace = 0

  /// Makes two empty lists.
  public init() {}

  deinit {}

  /// Whether nothing is known about any token.
  public var isEmpty: Bool { list.count == 0 && recent.count == 0 }

  /// Whether either list is damaged.
  public var isDamaged: Bool { list.isDamaged || recent.isDamaged }

  /// Returns what is known about a token; nil: nothing.
  @inline(never)
  public mutating func find(_ token: TokenIdentity) -> SuppressionRecord? {
    .overriding(list.find(token), recent.find(token))
  }

  /// Returns what is known about the next token, in the order of the tokens.
  ///
  /// Returns nil at the end, and if a record cannot be read.
  ///
  /// - Parameter isWhole: Whether to read ``list`` as well as ``recent``.
  @inline(never)
  package mutating func next(isWhole: Bool = true) -> SuppressionRecord? {
    let changed = recent.record(recentPlace)
    let listed = isWhole ? list.record(place) : nil
    if let changed, let listed, listed.token == changed.token {
      place += 1
      recentPlace += 1
      return .overriding(listed, changed)
    }
    if let changed, listed.map({ changed.token < $0.token }) ?? true {
      recentPlace += 1
      return changed
    }
    place += 1
    return listed
  }
}
