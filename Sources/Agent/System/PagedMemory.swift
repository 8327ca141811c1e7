import CLinux
import TinyPush

/// Has large buffers come from the system, as pages of their own, so that only those count that were touched.
public enum PagedMemory {
  /// To be called before anything else.
  public static func use() {
    // The same for the two TLS buffers of 16 KB. The allocator asks the system for pages only where its own free memory is too
    // small, so that its reserve stays below 16 KB.
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
