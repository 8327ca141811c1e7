/// The source of the memory of buffers.
///
/// An allocator writes a few bytes before each piece of memory, and so touches a page of a large
/// buffer that is not used yet. A program that should be small when idle takes large buffers from
/// the system instead, as pages of their own.
package enum BufferMemory {
  /// The two functions that get pages from the system and return them.
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

  /// The source of large buffers; nil: the allocator provides all memory.
  ///
  /// Set this before the first buffer is made, in a program with one thread.
  package nonisolated(unsafe) static var pages: Pages?
  /// The size in bytes from which a buffer is large.
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
