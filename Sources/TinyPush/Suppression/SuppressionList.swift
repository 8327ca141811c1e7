/// A suppression list where it lies: sorted records, looked up without loading them. What it takes of memory is two bits a page.
public struct SuppressionList: ~Copyable {
  private let base: UnsafeRawPointer?
  private let recordPages: Int
  /// A bit for each page that has been found good, and for each that is not.
  private let good: FixedBuffer<UInt64>
  private let bad: FixedBuffer<UInt64>
  /// Something in it is not as it was written. What can be read is still good.
  public private(set) var isDamaged = false

  /// One that is empty.
  public init() { self.init(UnsafeRawBufferPointer(start: nil, count: 0)) }

  /// - Parameter bytes: all of the list, which must outlive this; a page that cannot be read may look like zeros.
  public init(_ bytes: UnsafeRawBufferPointer) {
    let pages = bytes.count / SuppressionPage.byteCount
    guard let base = bytes.baseAddress, pages > 0 else {
      self.base = nil
      recordPages = 0
      good = FixedBuffer(capacity: 0)
      bad = FixedBuffer(capacity: 0)
      isDamaged = bytes.count > 0
      return
    }
    self.base = base
    good = FixedBuffer(capacity: (pages + 63) / 64)
    bad = FixedBuffer(capacity: (pages + 63) / 64)
    for index in 0..<good.capacity {
      good[index] = 0
      bad[index] = 0
    }
    let last = SuppressionPage(Self.page(base, pages - 1))
    if let last, last.kind == .last, last.page == pages - 1,
      bytes.count % SuppressionPage.byteCount == 0
    {
      recordPages = Int(last.recordPages)
    } else {
      // Cut short: until it is mended, what is left of its records holds.
      recordPages = pages
      isDamaged = true
    }
  }

  /// Whether there is nothing in it to be found.
  public var isEmpty: Bool { recordPages == 0 }

  /// What is known of a token; nil: nothing.
  @inline(never)
  public mutating func find(_ token: DeviceToken) -> SuppressionRecord? {
    var low = 0
    var high = recordPages
    // The last good page that begins no later than the token: it is in `low..<high`.
    while high - low > 1 {
      let middle = (low + high) / 2
      var page = middle
      while page < high, !isGood(page) { page += 1 }
      let isBefore = page < high && record(page, 0).map { !(token < $0.token) } ?? false
      if isBefore { low = page } else { high = middle }
    }
    guard low < recordPages, isGood(low) else { return nil }
    var first = 0
    var end = recordCount(low)
    while first < end {
      let middle = (first + end) / 2
      guard let record = record(low, middle) else { return nil }
      if record.token == token { return record }
      if token < record.token { end = middle } else { first = middle + 1 }
    }
    return nil
  }

  /// Whether a page is as it was written. Of one that was, only the head is looked at again: somebody may have cut the file
  /// short since.
  @inline(never)
  private mutating func isGood(_ page: Int) -> Bool {
    let bit = UInt64(1) << UInt64(page % 64)
    if bad[page / 64] & bit != 0 { return false }
    let bytes = Self.page(base!, page)
    if good[page / 64] & bit != 0, SuppressionPage.isHead(bytes) { return true }
    guard let head = SuppressionPage(bytes), head.page == page, head.kind == .records else {
      bad[page / 64] |= bit
      isDamaged = true
      return false
    }
    good[page / 64] |= bit
    return true
  }

  private func recordCount(_ page: Int) -> Int {
    min(Int(clamping: Self.page(base!, page).bigEndian32(at: 24)), SuppressionPage.recordsMax)
  }

  private func record(_ page: Int, _ index: Int) -> SuppressionRecord? {
    let start = SuppressionPage.headByteCount + index * SuppressionRecord.byteCount
    return SuppressionRecord(
      Self.page(base!, page).extracting(start..<start + SuppressionRecord.byteCount))
  }

  /// The bytes of a page.
  @_lifetime(immortal)
  private static func page(_ base: UnsafeRawPointer, _ page: Int) -> Span<UInt8> {
    let start = (base + page * SuppressionPage.byteCount).assumingMemoryBound(to: UInt8.self)
    return _overrideLifetime(
      Span(_unsafeStart: start, count: SuppressionPage.byteCount), copying: ())
  }
}
