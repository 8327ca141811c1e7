import CLinux
import TinyPush

/// Writes the lines of a suppression list to a file.
struct LineWriter: ~Copyable {
  private var lines = Text(capacity: 8192)
  private let file: Int32
  /// The errno of the first failed write; 0: none failed.
  private(set) var error: Int32 = 0

  /// Makes a writer to a descriptor.
  init(_ file: Int32) { self.file = file }

  deinit {}

  /// Adds a record; the records must be sorted by token, with each token once.
  mutating func add(_ record: SuppressionRecord) {
    record.append(to: &lines)
    if lines.count > 8192 - SuppressionRecord.lineMax { flush() }
  }

  /// Writes the remaining lines; returns 0 or an errno.
  mutating func finish() -> Int32 {
    flush()
    return error
  }

  @inline(never)
  private mutating func flush() {
    if error == 0 { error = Descriptor.writeAll(file, lines.bytes) }
    lines.clear()
  }
}
