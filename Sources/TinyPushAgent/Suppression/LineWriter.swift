import CLinux
import TinyPush

/// Writes the lines of a suppression list to a file.
struct LineWriter: ~Copyable {
  private var lines = Text(capacity: 8192)
  private let file: Int32
  /// The errno of the first failed write; 0: none failed.
  private(set) var error: Int32 = 0

  /// Makes a writer.
  ///
  /// - Parameter file: must outlive this.
  init(_ file: borrowing Descriptor) { self.file = file.number }

  deinit {}

  /// Adds a record; the records must be sorted by token, with each token once.
  mutating func add(_ record: SuppressionRecord) {
    record.append(to: &lines)
    if lines.count > 8192 - SuppressionRecord.lineMax { flush() }
  }

  /// Writes the remaining lines, and syncs the file; returns 0 or an errno.
  mutating func finish() -> Int32 {
    flush()
    if error == 0, fdatasync(file) != 0 { error = clinux_errno() }
    return error
  }

  @inline(never)
  private mutating func flush() {
    if error == 0 { error = Descriptor.writeAll(file, lines.bytes) }
    lines.clear()
  }
}
