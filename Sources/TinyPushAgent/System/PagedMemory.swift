import CLinux
import TinyPush

/// Allocates large buffers as pages of their own, so that only touched pages use memory.
public enum PagedMemory {
  /// Sets this up; must be called before any other allocation.
  public static func use() {
    // Applies to libraries as well: TLS has two buffers of 16 KB. The allocator asks the system for
    // pages only if its own free memory is too small, so that its reserve must stay below 16 KB.
    mallopt(M_MMAP_THRESHOLD, 16_384)
    mallopt(M_TOP_PAD, 8192)
    BufferMemory.pages = BufferMemory.Pages(
      take: { bytes in
        let address = mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let address, address != UnsafeMutableRawPointer(bitPattern: -1) else {
          fatalError("out of memory")
        }
        return address
      },
      giveBack: { memory, bytes in munmap(memory, bytes) })
  }
}
