/// Writes a ``SuppressionList``.
public struct ListWriter: ~Copyable {
  /// Writes the given number of bytes, and returns 0 or an errno.
  private let write: (UnsafeRawPointer, Int) -> Int32
  private let page = FixedBuffer<UInt8>(capacity: SuppressionList.pageByteCount)
  private var filled = 0
  private var hash = Hash()
  private var count: UInt32 = 0
  /// The errno of the first failed write; 0: none failed.
  package private(set) var error: Int32 = 0

  /// Makes a writer that passes its bytes to `write`, which returns 0 or an errno.
  public init(_ write: @escaping (UnsafeRawPointer, Int) -> Int32) {
    self.write = write
  }

  deinit {}

  /// Adds a record; the records must be sorted by token, with each token once.
  @inline(never)
  public mutating func add(_ record: SuppressionRecord) {
    if filled == page.capacity { writePage() }
    record.write(to: page, at: filled)
    filled += SuppressionRecord.byteCount
    count += 1
  }

  /// Writes the remaining records and the end; returns 0 or an errno.
  @inline(never)
  public mutating func finish() -> Int32 {
    writePage()
    page.store(bigEndian: SuppressionList.magic, at: 0)
    page.store(bigEndian: count, at: 4)
    page.store(bigEndian: 0, at: 8)
    put(page.room(), 12)
    page.store(bigEndian64: hash.value, at: 0)
    put(page.room(), 8)
    return error
  }

  private mutating func writePage() {
    put(page.room(), filled)
    filled = 0
  }

  private mutating func put(_ bytes: UnsafeMutableBufferPointer<UInt8>, _ count: Int) {
    hash.add(Span(_unsafeElements: UnsafeBufferPointer(rebasing: bytes[..<count])))
    if error == 0, count > 0 { error = write(bytes.baseAddress!, count) }
  }
}
