/// A suppression list where it lies: sorted records, looked up without loading them. What it takes of memory is a bit a page.
public struct SuppressionList: ~Copyable {
  private let base: UnsafeRawPointer?
  private let recordPages: Int
  /// A bit for each page that has been found good.
  private let seen: FixedBuffer<UInt64>
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
      seen = FixedBuffer(capacity: 0)
      isDamaged = bytes.count > 0
      return
    }
    self.base = base
    seen = FixedBuffer(capacity: (pages + 63) / 64)
    for index in 0..<seen.capacity { seen[index] = 0 }
    let last = SuppressionPage(Self.page(base, pages - 1))
    if let last, last.kind == .last, Int(last.page) == pages - 1,
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
    // The last page that begins no later than the token: it is in `low..<high`.
    while high - low > 1 {
      let middle = (low + high) / 2
      guard isGood(middle) else { return nil }
      if record(middle, 0).map({ token < $0.token }) ?? true { high = middle } else { low = middle }
    }
    guard low < recordPages, isGood(low) else { return nil }
    var first = 0
    var end = Int(
      UnsafeRawPointer(address(low)).loadUnaligned(fromByteOffset: 24, as: UInt32.self).bigEndian)
    while first < end {
      let middle = (first + end) / 2
      guard let record = record(low, middle) else { return nil }
      if record.token == token { return record }
      if token < record.token { end = middle } else { first = middle + 1 }
    }
    return nil
  }

  @inline(never)
  private mutating func isGood(_ page: Int) -> Bool {
    let bit = UInt64(1) << UInt64(page % 64)
    if seen[page / 64] & bit != 0 { return true }
    let head = SuppressionPage(Self.page(base!, page))
    guard let head, head.page == page, head.kind == .records else {
      isDamaged = true
      return false
    }
    seen[page / 64] |= bit
    return true
  }

  private func address(_ page: Int) -> UnsafeRawPointer { base! + page * SuppressionPage.byteCount }

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
