/// Memory of a fixed size, owned and bounds-checked.
///
/// The memory is touched only where it is used. All data that grows with the load lives in such
/// buffers, which are made once at the start. A full buffer stops the intake; nothing is allocated.
public struct FixedBuffer<Element: BitwiseCopyable>: ~Copyable {
  private let base: UnsafeMutablePointer<Element>
  /// The number of elements that the buffer has room for.
  public let capacity: Int

  /// Makes a buffer whose elements are not initialised.
  public init(capacity: Int) {
    base = BufferMemory.take(capacity * MemoryLayout<Element>.stride)
      .bindMemory(to: Element.self, capacity: capacity)
    self.capacity = capacity
  }

  deinit { BufferMemory.giveBack(base, capacity * MemoryLayout<Element>.stride) }

  /// All memory of the buffer, so that a caller can return untouched pages to the system.
  public var bytes: UnsafeMutableRawBufferPointer {
    UnsafeMutableRawBufferPointer(start: base, count: capacity * MemoryLayout<Element>.stride)
  }

  /// The element at an index.
  public subscript(index: Int) -> Element {
    @inline(__always) get {
      precondition(index >= 0 && index < capacity)
      return base[index]
    }
    @inline(__always) nonmutating _modify {
      precondition(index >= 0 && index < capacity)
      yield &base[index]
    }
  }

  /// Returns the elements of a range.
  @_lifetime(borrow self)
  public func span(_ range: Range<Int>) -> Span<Element> {
    precondition(range.lowerBound >= 0 && range.upperBound <= capacity)
    let span = Span(_unsafeStart: UnsafePointer(base + range.lowerBound), count: range.count)
    return _overrideLifetime(span, borrowing: self)
  }

  /// Calls `body` with the elements of a range.
  @inline(__always)
  public func withSpan<Result>(
    _ range: Range<Int>, _ body: (Span<Element>) -> Result
  ) -> Result {
    body(span(range))
  }

  /// Returns the elements of a range without borrowing the buffer.
  ///
  /// The buffer may be changed elsewhere while the span is in use. The span must not outlive the
  /// buffer.
  @_lifetime(immortal)
  public func unsafeSpan(_ range: Range<Int>) -> Span<Element> {
    precondition(range.lowerBound >= 0 && range.upperBound <= capacity)
    let span = Span(_unsafeStart: UnsafePointer(base + range.lowerBound), count: range.count)
    return _overrideLifetime(span, copying: ())
  }

  /// Returns the elements from `start` on, for a system call to fill.
  public func room(from start: Int = 0) -> UnsafeMutableBufferPointer<Element> {
    precondition(start >= 0 && start <= capacity)
    return UnsafeMutableBufferPointer(start: base + start, count: capacity - start)
  }
}

extension FixedBuffer where Element == UInt8 {
  /// Copies `bytes` to `start`.
  @inline(__always)
  public func store(_ bytes: Span<UInt8>, at start: Int) {
    let count = bytes.count
    precondition(start >= 0 && start + count <= capacity)
    bytes.withUnsafeBytes { source in
      guard let from = source.baseAddress else { return }
      UnsafeMutableRawPointer(base + start).copyMemory(from: from, byteCount: count)
    }
  }

  /// Writes the bytes of a number to `start`, the lowest first.
  @inline(__always)
  public func store<Word: FixedWidthInteger & BitwiseCopyable>(_ word: Word, at start: Int) {
    precondition(start >= 0 && start + MemoryLayout<Word>.size <= capacity)
    UnsafeMutableRawPointer(base + start).storeBytes(of: word.littleEndian, as: Word.self)
  }

  /// Moves `count` bytes from `source` to `target`; the two ranges may overlap.
  public func move(from source: Int, to target: Int, count: Int) {
    precondition(source >= 0 && target >= 0 && count >= 0)
    precondition(source + count <= capacity && target + count <= capacity)
    UnsafeMutableRawPointer(base + target).copyMemory(from: base + source, byteCount: count)
  }
}

extension StaticString {
  /// The bytes of the literal.
  public var span: Span<UInt8> {
    @_lifetime(immortal) get {
      _overrideLifetime(Span(_unsafeStart: utf8Start, count: utf8CodeUnitCount), copying: ())
    }
  }
}

extension Span<UInt8> {
  /// Returns whether these are the bytes of `text`.
  @inline(__always)
  public func equals(_ text: StaticString) -> Bool {
    guard count == text.utf8CodeUnitCount else { return false }
    for index in 0..<count where self[index] != text.utf8Start[index] { return false }
    return true
  }

  /// Returns whether these bytes equal `other`.
  public func equals(_ other: Span<UInt8>) -> Bool {
    count == other.count && shared(with: other) == count
  }

  /// Returns whether these bytes begin with `other`.
  public func begins(with other: Span<UInt8>) -> Bool {
    count >= other.count && shared(with: other) == other.count
  }

  /// Returns whether these bytes end with `text` and have at least one byte before.
  func ends(with text: StaticString) -> Bool {
    let length = text.utf8CodeUnitCount
    return count > length && extracting((count - length)..<count).equals(text)
  }

  /// Returns `range` without the white space at its start and end.
  package func trimmed(_ range: Range<Int>) -> Range<Int> {
    var (start, end) = (range.lowerBound, range.upperBound)
    while start < end, self[start] <= .space { start += 1 }
    while end > start, self[end - 1] <= .space { end -= 1 }
    return start..<end
  }

  /// Returns the bytes without the white space at their start and end.
  @_lifetime(copy self)
  @inline(never)
  package func trimmed() -> Span<UInt8> { extracting(trimmed(0..<count)) }

  /// Returns whether these bytes sort before `other`, byte by byte.
  @inline(never)
  public func sorts(before other: Span<UInt8>) -> Bool {
    let shared = shared(with: other)
    guard shared < count, shared < other.count else { return count < other.count }
    return self[shared] < other[shared]
  }

  /// Returns how many bytes at the start are the same in both.
  ///
  /// Names in a spool have long common prefixes, so eight bytes are compared at a time.
  @inline(never)
  private func shared(with other: Span<UInt8>) -> Int {
    let end = count < other.count ? count : other.count
    return withUnsafeBytes { mine in
      other.withUnsafeBytes { theirs in
        var index = 0
        while index + 8 <= end {
          let difference =
            mine.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            ^ theirs.loadUnaligned(fromByteOffset: index, as: UInt64.self)
          if difference != 0 { return index + difference.littleEndian.trailingZeroBitCount / 8 }
          index += 8
        }
        while index < end, mine[index] == theirs[index] { index += 1 }
        return index
      }
    }
  }
}
