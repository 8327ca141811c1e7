import CLinux
import TinyPush

/// Records in the order of their tokens, from a list on disk, or from memory or a file of it.
final class RecordSource {
  private enum Place {
    case list
    case run
    case memory(UnsafeBufferPointer<SuppressionRecord>)
  }

  private static let runRecords = 128
  private let place: Place
  private let file: Int32
  private let owned: Descriptor?
  /// Bytes of the file: where the next part stands, and where it ends.
  private var offset: Int64
  private let end: Int64
  private var page: FixedBuffer<UInt8>
  private var run: FixedBuffer<SuppressionRecord>
  /// Of what is in memory.
  private var next = 0
  private var count = 0
  /// Pages that cannot be read, or are not as they were written.
  private(set) var isDamaged = false

  /// A list.
  ///
  /// - Parameter error: on failure, the errno.
  @inline(never)
  init?(_ directory: Int32, _ name: StaticString, error: inout Int32) {
    let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
    guard let file = Descriptor(directory, name.cString, flags, error: &error) else { return nil }
    var information = stat()
    guard fstat(file.number, &information) == 0, clinux_is_regular(&information) != 0 else {
      error = EINVAL
      return nil
    }
    place = .list
    self.file = file.number
    owned = consume file
    offset = 0
    end = Int64(information.st_size)
    page = FixedBuffer(capacity: SuppressionPage.byteCount)
    run = FixedBuffer(capacity: 0)
    isDamaged = end == 0 || end % Int64(SuppressionPage.byteCount) != 0
  }

  /// So many records from `offset` on in a file of memory, which stays open.
  init(run file: Int32, at offset: Int64, count: Int) {
    place = .run
    self.file = file
    owned = nil
    self.offset = offset
    end = offset + Int64(count * MemoryLayout<SuppressionRecord>.stride)
    page = FixedBuffer(capacity: 0)
    run = FixedBuffer(capacity: Self.runRecords)
  }

  /// Records in memory that outlive this.
  init(_ records: UnsafeBufferPointer<SuppressionRecord>) {
    place = .memory(records)
    file = -1
    owned = nil
    offset = 0
    end = 0
    count = records.count
    page = FixedBuffer(capacity: 0)
    run = FixedBuffer(capacity: 0)
  }

  deinit {}

  /// The next record; nil at the end.
  @inline(never)
  func nextRecord() -> SuppressionRecord? {
    while true {
      guard next < count || fill() else { return nil }
      next += 1
      switch place {
      case .memory(let records): return records[next - 1]
      case .run: return run[next - 1]
      case .list:
        let start = SuppressionPage.headByteCount + (next - 1) * SuppressionRecord.byteCount
        if let record = SuppressionRecord(
          page.span(start..<start + SuppressionRecord.byteCount))
        {
          return record
        }
        isDamaged = true
      }
    }
  }

  private func fill() -> Bool {
    next = 0
    count = 0
    switch place {
    case .memory: return false
    case .run:
      guard offset < end else { return false }
      let stride = MemoryLayout<SuppressionRecord>.stride
      let bytes = UnsafeMutableRawBufferPointer(run.room())
      let wanted = min(bytes.count, Int(end - offset))
      guard Self.readAll(file, bytes.baseAddress!, wanted, at: offset) else {
        isDamaged = true
        return false
      }
      offset += Int64(wanted)
      count = wanted / stride
      return true
    case .list:
      while let head = nextPage() {
        guard let head else { continue }
        guard head.kind == .records else {
          offset -= Int64(SuppressionPage.byteCount)
          return false
        }
        count = Int(head.count)
        if count > 0 { return true }
      }
      return false
    }
  }

  /// The head of the next page; nil within for one that is damaged, and nil at the end.
  private func nextPage() -> SuppressionPage?? {
    guard offset + Int64(SuppressionPage.byteCount) <= end else { return .none }
    let number = offset / Int64(SuppressionPage.byteCount)
    let isRead = Self.readAll(
      file, page.room().baseAddress!, SuppressionPage.byteCount, at: offset)
    offset += Int64(SuppressionPage.byteCount)
    guard isRead, let head = SuppressionPage(page.span(0..<SuppressionPage.byteCount)),
      Int64(head.page) == number
    else {
      isDamaged = true
      return .some(nil)
    }
    return head
  }

  /// Behind the records: the tokens of other sizes. What follows a damaged page is lost.
  @inline(never)
  func readOthers(_ body: (Span<UInt8>, SuppressionRecord.Reason, UInt32) -> Void) {
    guard case .list = place else { return }
    var stored = OtherTokens.Stored()
    var isEnded = false
    var pages: UInt32 = 0
    while let head = nextPage() {
      guard let head, head.kind != .records, head.page == head.recordPages + pages,
        stored.append(page, head)
      else {
        isDamaged = true
        break
      }
      pages += 1
      isEnded = head.kind == .last
    }
    if !isEnded { isDamaged = true }
    stored.forEach(body)
  }

  private static func readAll(
    _ file: Int32, _ room: UnsafeMutableRawPointer, _ count: Int, at offset: Int64
  ) -> Bool {
    var done = 0
    while done < count {
      let got = pread(file, room + done, count - done, off_t(offset + Int64(done)))
      if got < 0 && clinux_errno() == EINTR { continue }
      guard got > 0 else { return false }
      done += Int(got)
    }
    return true
  }
}
