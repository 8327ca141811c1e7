/// Where the memory of buffers comes from.
///
/// An allocator writes a few bytes before each piece of memory, and so touches a page of a large buffer that nobody uses yet. A
/// program that wants to be small when idle has large buffers come from the system instead, as pages of their own.
package enum BufferMemory {
  package struct Pages {
    var take: (Int) -> UnsafeMutableRawPointer
    var giveBack: (UnsafeMutableRawPointer, Int) -> Void

    package init(
      take: @escaping (Int) -> UnsafeMutableRawPointer,
      giveBack: @escaping (UnsafeMutableRawPointer, Int) -> Void
    ) {
      self.take = take
      self.giveBack = giveBack
    }
  }

  /// To be set before the first buffer is made, by a program with one thread; nil: all memory comes from the allocator.
  package nonisolated(unsafe) static var pages: Pages?
  /// Buffers of so many bytes or more are large.
  private static let largeMin = 8192

  @inline(never)
  static func take(_ bytes: Int) -> UnsafeMutableRawPointer {
    if bytes >= largeMin, let pages { return pages.take(bytes) }
    return .allocate(byteCount: bytes, alignment: 16)
  }

  @inline(never)
  static func giveBack(_ memory: UnsafeMutableRawPointer, _ bytes: Int) {
    if bytes >= largeMin, let pages { return pages.giveBack(memory, bytes) }
    memory.deallocate()
  }
}
