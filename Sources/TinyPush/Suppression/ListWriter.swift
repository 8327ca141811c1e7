/// Writes a suppression list, page by page.
public struct ListWriter: ~Copyable {
  /// Takes so many bytes, and returns 0 or an errno.
  private let write: (UnsafeRawPointer, Int) -> Int32
  private let page = FixedBuffer<UInt8>(capacity: SuppressionPage.byteCount)
  private var number: UInt32 = 0
  private var recordPages: UInt32 = 0
  private var count = 0
  /// The errno of what went wrong; 0: nothing.
  package private(set) var error: Int32 = 0

  public init(_ write: @escaping (UnsafeRawPointer, Int) -> Int32) {
    self.write = write
  }

  deinit {}

  /// They must come sorted by token, each token once.
  @inline(never)
  public mutating func add(_ record: SuppressionRecord) {
    if count == SuppressionPage.recordsMax { endPage(.records) }
    let start = SuppressionPage.headByteCount + count * SuppressionRecord.byteCount
    record.write(to: page, at: start)
    count += 1
  }

  /// Writes what is left. Returns 0 or an errno.
  public mutating func finish() -> Int32 { finish(OtherTokens()) }

  @inline(never)
  package mutating func finish(_ others: borrowing OtherTokens) -> Int32 {
    if count > 0 { endPage(.records) }
    recordPages = number
    var place = 0
    repeat {
      count = min(others.byteCount - place, SuppressionPage.bytesMax)
      page.store(others.bytes.span(place..<place + count), at: SuppressionPage.headByteCount)
      place += count
      endPage(place == others.byteCount ? .last : .others)
    } while place < others.byteCount
    return error
  }

  private mutating func endPage(_ kind: SuppressionPage.Kind) {
    SuppressionPage(page: number, kind: kind, recordPages: recordPages, count: UInt32(count))
      .seal(page)
    if error == 0 {
      error = write(page.room().baseAddress!, SuppressionPage.byteCount)
    }
    number += 1
    count = 0
  }
}
