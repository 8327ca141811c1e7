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
    guard let number = page(of: token) else { return nil }
    let page = base! + number * SuppressionPage.byteCount
    let key = Self.key(token)
    var first = 0
    var end = recordCount(number)
    while first < end {
      let middle = (first + end) / 2
      let start = SuppressionPage.headByteCount + middle * SuppressionRecord.byteCount
      let record = page + start
      if Self.isAfter(record, key, token) {
        end = middle
      } else {
        let bytes = record.assumingMemoryBound(to: UInt8.self)
        let span = Span(_unsafeStart: bytes, count: SuppressionRecord.byteCount)
        if let found = SuppressionRecord(span), found.token == token { return found }
        first = middle + 1
      }
    }
    return nil
  }

  /// The page on which a token stands, if it does: the last good one that begins no later. Tokens are spread evenly, so the search
  /// begins where it should be, and touches few pages.
  private mutating func page(of token: DeviceToken) -> Int? {
    let key = Self.key(token)
    var low = 0
    var high = recordPages
    guard high > 0 else { return nil }
    var place = Int(key.multipliedFullWidth(by: UInt64(high)).high)
    var step = 1
    while high - low > 1 {
      var page = place
      while page < high, !isGood(page) { page += 1 }
      let first = page * SuppressionPage.byteCount + SuppressionPage.headByteCount
      let isAfter = page == high || Self.isAfter(base! + first, key, token)
      if isAfter { high = place } else { low = page }
      if low == 0 && isAfter && high > step {
        place = high - step
      } else if high == recordPages && !isAfter && low + step < high {
        place = low + step
      } else {
        place = (low + high) / 2
      }
      // On boards an `Int` has 32 bits.
      if step < recordPages { step *= 4 }
    }
    return isGood(low) ? low : nil
  }

  /// The first bytes of a token, which compare as its bytes do.
  private static func key(_ token: DeviceToken) -> UInt64 {
    token.bytes.span.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self).bigEndian }
  }

  /// Whether a record stands behind a token.
  @inline(__always)
  private static func isAfter(
    _ record: UnsafeRawPointer, _ key: UInt64, _ token: DeviceToken
  ) -> Bool {
    let other = record.loadUnaligned(as: UInt64.self).bigEndian
    guard other == key else { return other > key }
    let bytes = record.assumingMemoryBound(to: UInt8.self)
    let span = Span(_unsafeStart: bytes, count: DeviceToken.byteCount)
    return token.bytes.span.sorts(before: span)
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

  /// The bytes of a page.
  @_lifetime(immortal)
  private static func page(_ base: UnsafeRawPointer, _ page: Int) -> Span<UInt8> {
    let start = (base + page * SuppressionPage.byteCount).assumingMemoryBound(to: UInt8.self)
    return _overrideLifetime(
      Span(_unsafeStart: start, count: SuppressionPage.byteCount), copying: ())
  }
}
