import CLinux
import TinyPush

/// Takes over what version 0.2.0 left in the spool: the directory `leaving/`, with delivered files
/// that a program may still have had open, and the file `.progress`, with the progress in a large
/// file of `new/`.
enum Takeover {
  private static let leavingName: StaticString = "leaving"
  private static let progressName: StaticString = ".progress"
  /// The bytes before NAME in a name of `leaving/`: `BYTES.HASH.INODE.NAME`, the first three as 16
  /// hex digits each.
  private static let headBytes = 51

  static func run(_ root: Int32, _ new: Int32, _ taken: Int32) {
    takeLeaving(root, taken)
    takeProgress(root, new, taken)
  }

  /// Moves the delivered files to `taken/`, where what was appended is delivered.
  private static func takeLeaving(_ root: Int32, _ taken: Int32) {
    var error: Int32 = 0
    guard let leaving = Descriptor(root, part: leavingName, error: &error) else { return }
    let buffer = FixedBuffer<UInt8>(capacity: 8192)
    let now = Clock.wallNs()
    DirectoryEntry.forEach(in: leaving.number, buffer.room()) { entry in
      let name = CString.span(entry.name)
      guard entry.mayBeFile, name.count > headBytes, name[16] == .dot,
        let bytes = name.extracting(0..<16).hexNumber
      else { return }
      // The highest bit says that the delivered part ended with text that is no object.
      let settled = Int64(bytes & UInt64(Int64.max))
      move(
        entry.name, leaving.number, as: name.extracting(headBytes..<name.count), now, settled,
        taken)
    }
    unlinkat(root, leavingName.cString, AT_REMOVEDIR)
  }

  /// Moves the large file that was partly delivered to `taken/`.
  private static func takeProgress(_ root: Int32, _ new: Int32, _ taken: Int32) {
    guard let progress = readProgress(root) else { return }
    let buffer = FixedBuffer<UInt8>(capacity: 8192)
    DirectoryEntry.forEach(in: new, buffer.room()) { entry in
      var file = stat()
      guard entry.inode == progress.inode,
        fstatat(new, entry.name, &file, AT_SYMLINK_NOFOLLOW) == 0,
        clinux_change_time_ns(&file) == progress.changed, UInt64(file.st_size) == progress.size
      else { return }
      move(
        entry.name, new, as: CString.span(entry.name), progress.changed, progress.offset, taken)
    }
  }

  private struct Progress {
    var inode: UInt64
    var changed: Int64
    var size: UInt64
    var offset: Int64
  }

  /// Reads the progress, and removes it.
  ///
  /// `magic:4 | recipient:4 | inode:8 | changed:8 | size:8 | offset:8 | sum:8`, little-endian.
  private static func readProgress(_ root: Int32) -> Progress? {
    var record: InlineArray<48, UInt8> = .init(repeating: 0)
    var error: Int32 = 0
    let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK
    var information = stat()
    guard let file = Descriptor(root, progressName.cString, flags, error: &error) else {
      return nil
    }
    unlinkat(root, progressName.cString, 0)
    guard fstat(file.number, &information) == 0, information.st_uid == geteuid() else {
      return nil
    }
    var room = record.mutableSpan
    let count = room.withUnsafeMutableBufferPointer { Descriptor.read(file.number, $0, at: 0) }
    let bytes = record.span
    var sum = Hash()
    sum.add(bytes.extracting(0..<40))
    guard count == 48, word(bytes, 0) & 0xFFFF_FFFF == 0x3150_5054, word(bytes, 40) == sum.value
    else { return nil }
    return Progress(
      inode: word(bytes, 8), changed: Int64(bitPattern: word(bytes, 16)),
      size: word(bytes, 24), offset: Int64(bitPattern: word(bytes, 32)))
  }

  private static func word(_ record: Span<UInt8>, _ place: Int) -> UInt64 {
    var word: UInt64 = 0
    for index in 0..<8 { word |= UInt64(record[place + index]) << UInt64(8 * index) }
    return word
  }

  private static func move(
    _ path: UnsafePointer<CChar>, _ source: Int32, as name: Span<UInt8>, _ arrivalNs: Int64,
    _ offset: Int64, _ taken: Int32
  ) {
    var arrivalNs = arrivalNs
    var error = -EEXIST
    while error == -EEXIST {
      var text = Text(capacity: 300)
      TakenName.append(name, arrivalNs: arrivalNs, offset: offset, to: &text)
      error = text.withCString { clinux_rename_new(source, path, taken, $0) }
      arrivalNs += 1
    }
  }
}
