import CLinux

/// A copy of an agent's status page.
public final class StatusReading {
  /// Why the page cannot be read.
  public enum Problem: Error {
    case cannotOpen(Int32)
    case notAPage
  }

  private static let attempts = 20
  private let memory: UnsafeMutablePointer<StatusPage>

  /// Reads the page from a file.
  ///
  /// - Parameter path: the path of the status page.
  @inline(never)
  public init(_ path: UnsafePointer<CChar>) throws(Problem) {
    let descriptor = clinux_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0)
    guard descriptor >= 0 else { throw .cannotOpen(-descriptor) }
    defer { CLinux.close(descriptor) }
    let size = MemoryLayout<StatusPage>.size
    let copy = UnsafeMutablePointer<StatusPage>.allocate(capacity: 1)
    var isWhole = false
    for attempt in 1...Self.attempts {
      let before = Self.sequence(descriptor)
      isWhole =
        pread(descriptor, copy, size, 0) == size && copy.pointee.magic == StatusPage.layout
      // Reads again if the page was changed meanwhile. The last attempt counts, because an agent
      // may have been killed during a change.
      let isSteady = before & 1 == 0 && Self.sequence(descriptor) == before
      if isWhole && isSteady || attempt == Self.attempts { break }
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

  /// The copy.
  public var page: StatusPage {
    unsafeAddress { UnsafePointer(memory) }
  }

  /// Returns the page's ``StatusPage/sequence``.
  private static func sequence(_ descriptor: Int32) -> UInt32 {
    var value: UInt32 = 0
    let size = MemoryLayout<UInt32>.size
    return pread(descriptor, &value, size, off_t(size)) == size ? value : 0
  }
}
