import TinyPush

/// The oldest files of a directory, sorted by age.
///
/// There are enough that the next removals need no survey.
struct OldestFiles: ~Copyable {
  static let capacity = 64
  private static let slotBytes = 256

  struct File: BitwiseCopyable {
    var time: Int64
    var size: Int64
    fileprivate var slot: Int
  }

  private let names: FixedBuffer<UInt8>
  private let files: FixedBuffer<File>
  private var first = 0
  private var end = 0

  /// Creates an empty list.
  ///
  /// - Parameter isUsed: whether to allocate memory.
  init(isUsed: Bool = true) {
    names = FixedBuffer(capacity: isUsed ? Self.capacity * Self.slotBytes : 0)
    files = FixedBuffer(capacity: isUsed ? Self.capacity : 0)
  }

  mutating func insert(_ name: UnsafePointer<CChar>, time: Int64, size: Int64 = 0) {
    let bytes = CString.span(name)
    guard bytes.count < Self.slotBytes else { return }
    var file = File(time: time, size: size, slot: end)
    if end == Self.capacity {
      guard time < files[end - 1].time else { return }
      end -= 1
      file.slot = files[end].slot
    }
    names.store(bytes, at: file.slot * Self.slotBytes)
    names[file.slot * Self.slotBytes + bytes.count] = 0
    var place = end
    while place > 0, files[place - 1].time > time {
      files[place] = files[place - 1]
      place -= 1
    }
    files[place] = file
    end += 1
  }

  /// Removes and returns the oldest file.
  mutating func takeFirst() -> File? {
    guard first < end else { return nil }
    first += 1
    return files[first - 1]
  }

  /// Returns the NUL-terminated name of a file, which is valid until the next insertion.
  func name(_ file: File) -> UnsafePointer<CChar> {
    let slot = names.room(from: file.slot * Self.slotBytes)
    return UnsafeRawPointer(slot.baseAddress!).assumingMemoryBound(to: CChar.self)
  }
}
