/// A suppression list in a file: a text line for each token, sorted by token.
///
/// A line that is no record, or out of order, is passed over, so that damage costs only the tokens of
/// the damaged lines, and perhaps that of a line beside them. The file is read once when it is opened;
/// then a lookup reads one page.
public struct SuppressionList: ~Copyable {
  /// Fills a buffer from an offset on; returns the number of bytes read, or a negative number.
  public typealias Read = (UnsafeMutableBufferPointer<UInt8>, Int64) -> Int

  /// A record, and where its line begins.
  fileprivate struct Line {
    var record: SuppressionRecord
    var start: Int64
  }

  /// A place between two lines that count.
  struct Place {
    /// Where the next line begins.
    fileprivate var offset: Int64 = 0
    /// Lines that begin here or later are not read.
    fileprivate var end = Int64.max
    /// The token of the line before.
    fileprivate var last: TokenIdentity?
    /// A record that was read to see whether the one before is in order, and where its line begins.
    fileprivate var ahead: Line?
  }

  private static let pageByteCount = 2048
  /// A larger file is read up to here: it would be the list of ten million devices.
  private static let sizeMax: Int64 = 1 << 30

  private let read: Read
  private let size: Int64
  /// The file; nil if there is no file.
  public let identity: FileIdentity?
  /// The number of records.
  public private(set) var count = 0
  /// Whether a line does not count, or a part of the file cannot be read.
  public private(set) var isDamaged = false
  /// The part of the file that was read last.
  private let window: FixedBuffer<UInt8>
  private var windowStart: Int64 = 0
  private var windowCount = 0
  /// The first eight bytes of the first token that begins on each page, or on a later page.
  private let firsts: FixedBuffer<UInt64>
  private var pages = 0

  /// Makes an empty list.
  public init() { self.init(size: 0) { _, _ in 0 } }

  /// Opens a list in a file of `size` bytes, which it reads by `read`.
  public init(size: Int64, _ identity: FileIdentity? = nil, _ read: @escaping Read) {
    self.read = read
    self.identity = identity
    self.size = min(size, Self.sizeMax)
    let isEmpty = size <= 0
    window = FixedBuffer(capacity: isEmpty ? 0 : Self.pageByteCount + SuppressionRecord.lineMax)
    firsts = FixedBuffer(capacity: isEmpty ? 0 : Self.page(of: self.size - 1) + 1)
    isDamaged = size > Self.sizeMax
    open()
  }

  deinit {}

  @inline(never)
  private mutating func open() {
    var place = Place()
    var start: Int64 = 0
    while let record = next(&place, start: &start) {
      count += 1
      while pages <= Self.page(of: start) {
        firsts[pages] = record.token.bytes.bigEndian64(at: 0)
        pages += 1
      }
    }
  }

  private static func page(of offset: Int64) -> Int { Int(clamping: offset) / pageByteCount }

  // MARK: - Lines

  /// Returns the next record, and moves `place` behind its line; nil at the end.
  mutating func next(_ place: inout Place) -> SuppressionRecord? {
    var start: Int64 = 0
    return next(&place, start: &start)
  }

  /// Returns the next record, and where its line begins.
  @inline(never)
  private mutating func next(_ place: inout Place, start: inout Int64) -> SuppressionRecord? {
    var line = place.ahead
    if line == nil { line = wellFormed(&place) }
    place.ahead = nil
    guard var line else { return nil }
    // The token of a damaged line may be larger than those of the lines behind.
    while let ahead = wellFormed(&place) {
      if line.record.token < ahead.record.token {
        place.ahead = ahead
        break
      }
      isDamaged = true
      line = ahead
    }
    place.last = line.record.token
    start = line.start
    return line.record
  }

  /// Returns the next record behind the last one in the order of tokens, and where its line begins.
  @inline(never)
  private mutating func wellFormed(_ place: inout Place) -> Line? {
    while true {
      let start = place.offset
      let line = line(at: &place.offset, before: place.end)
      guard line.count > 0 else { return nil }
      if let record = SuppressionRecord(line: window.span(line)),
        place.last.map({ $0 < record.token }) ?? true
      {
        return Line(record: record, start: start)
      }
      isDamaged = true
    }
  }

  /// Returns where in the window the line at `offset` is, and moves `offset` behind the line.
  ///
  /// Returns a part of a line that is too long, and nothing at the end of the file. A part of the file
  /// that cannot be read is passed over.
  @inline(never)
  private mutating func line(at offset: inout Int64, before end: Int64) -> Range<Int> {
    var isRest = false
    while offset < size, isRest || offset < end {
      let wanted = Int(min(Int64(SuppressionRecord.lineMax), size - offset))
      if offset < windowStart || offset + Int64(wanted) > windowStart + Int64(windowCount) {
        windowStart = offset
        windowCount = Int(min(Int64(window.capacity), size - offset))
        let room = UnsafeMutableBufferPointer(rebasing: window.room()[..<windowCount])
        if read(room, offset) != windowCount {
          isDamaged = true
          offset += Int64(windowCount)
          windowCount = 0
          continue
        }
      }
      let start = Int(offset - windowStart)
      var end = start
      while end < start + wanted {
        end += 1
        if window[end - 1] == .lineFeed { break }
      }
      offset += Int64(end - start)
      let isEnd = window[end - 1] == .lineFeed || offset >= size
      // The rest of a line that is too long is not a line.
      if isEnd { return isRest ? start..<start + 1 : start..<end }
      isRest = true
    }
    return 0..<0
  }

  // MARK: - Lookup

  /// Returns what is known about a token; nil: nothing.
  @inline(never)
  public mutating func find(_ token: TokenIdentity) -> SuppressionRecord? {
    let key = token.bytes.bigEndian64(at: 0)
    // Find the first page that does not begin before the key. The line of the token begins on the
    // page before that page, or on a page that begins with the key.
    var (low, high) = (0, pages)
    while low < high {
      let middle = (low + high) / 2
      if firsts[middle] < key { low = middle + 1 } else { high = middle }
    }
    var place = Place()
    if low > 1 {
      // The first line of the page is the first behind a line end.
      place.offset = Int64(low - 1) * Int64(Self.pageByteCount) - 1
      _ = line(at: &place.offset, before: size)
    }
    while low < pages, firsts[low] == key { low += 1 }
    place.end = Int64(low) * Int64(Self.pageByteCount)
    while let record = next(&place) {
      if record.token == token { return record }
      if token < record.token { return nil }
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
  /// How far ``next(isWhole:)`` has read each list.
  private var listPlace = SuppressionList.Place()
  private var recentPlace = SuppressionList.Place()
  /// What ``next(isWhole:)`` has read of each list and not returned.
  private var listed: SuppressionRecord?
  private var changed: SuppressionRecord?

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

  /// Lets ``next(isWhole:)`` begin with the first token.
  package mutating func rewind() {
    listPlace = SuppressionList.Place()
    recentPlace = SuppressionList.Place()
    listed = nil
    changed = nil
  }

  /// Returns what is known about the next token, in the order of the tokens; nil at the end.
  ///
  /// - Parameter isWhole: Whether to read ``list`` as well as ``recent``.
  @inline(never)
  package mutating func next(isWhole: Bool = true) -> SuppressionRecord? {
    listed = listed ?? (isWhole ? list.next(&listPlace) : nil)
    changed = changed ?? recent.next(&recentPlace)
    guard let token = Self.first(listed, changed) else { return nil }
    var record: SuppressionRecord?
    if listed?.token == token { record = listed.take() }
    if changed?.token == token { record = .overriding(record, changed.take()) }
    return record
  }

  /// Returns the token that sorts first.
  private static func first(
    _ one: SuppressionRecord?, _ other: SuppressionRecord?
  ) -> TokenIdentity? {
    guard let one, let other else { return (one ?? other)?.token }
    return one.token < other.token ? one.token : other.token
  }
}
