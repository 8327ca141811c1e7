import CLinux

/// A copy of the page that an agent keeps.
public final class StatusReading {
  /// Why there is no page to read.
  public enum Problem: Error {
    case cannotOpen(Int32)
    case notAPage
  }

  private static let tries = 20
  private let memory: UnsafeMutablePointer<StatusPage>

  /// - Parameter path: where the page is kept.
  @inline(never)
  public init(_ path: UnsafePointer<CChar>) throws(Problem) {
    let descriptor = clinux_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0)
    guard descriptor >= 0 else { throw .cannotOpen(-descriptor) }
    defer { CLinux.close(descriptor) }
    let size = MemoryLayout<StatusPage>.size
    let copy = UnsafeMutablePointer<StatusPage>.allocate(capacity: 1)
    var isWhole = false
    for attempt in 1...Self.tries {
      let before = Self.sequence(descriptor)
      isWhole =
        pread(descriptor, copy, size, 0) == size && copy.pointee.magic == StatusPage.layout
      // It was not changed meanwhile; or the agent was killed in the middle of a change. An agent that starts takes a moment.
      let isSteady = before & 1 == 0 && Self.sequence(descriptor) == before
      if isWhole && isSteady || attempt == Self.tries { break }
      poll(nil, 0, 1)
    }
    guard isWhole else {
      copy.deallocate()
      throw .notAPage
    }
    copy.pointee.aliveness = clinux_is_locked(descriptor) == 0 ? 0 : 1
    memory = copy
  }

  deinit { memory.deallocate() }

  public var page: StatusPage {
    unsafeAddress { UnsafePointer(memory) }
  }

  /// The number behind the page's first.
  private static func sequence(_ descriptor: Int32) -> UInt32 {
    var value: UInt32 = 0
    let size = MemoryLayout<UInt32>.size
    return pread(descriptor, &value, size, off_t(size)) == size ? value : 0
  }
}
