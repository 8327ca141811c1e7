import CLinux
import TinyPush

/// The end of a file of JSON lines, which a power cut may leave incomplete.
///
/// There may be half a line or NUL bytes, because the file's size reaches the disk before its
/// bytes.
enum LineEnd {
  private static let chunkBytes = 16_384

  /// Makes the file end with a complete line, so that the next one can be appended.
  ///
  /// If only the line feed is missing, it is added. An incomplete line is removed: it was never on
  /// disk, so its source is still in `taken/`.
  ///
  /// - Parameters:
  ///   - file: a descriptor for reading and writing.
  ///   - directory: the file's directory, to be locked; nil: the caller has locked it.
  /// - Returns: the file's size; nil if it cannot be repaired, or another program is writing to it.
  static func repair(_ file: Int32, in directory: Int32?) -> Int64? {
    let buffer = FixedBuffer<UInt8>(capacity: chunkBytes)
    guard let found = findEnd(of: file, buffer) else { return nil }
    guard found.isTorn else { return found.size }
    guard let directory else { return repairLocked(file, buffer) }
    // Must not cut off what another program has written meanwhile.
    var error: Int32 = 0
    guard let lock = DirectoryLock(directory, error: &error) else { return nil }
    defer { extendLifetime(lock) }
    return repairLocked(file, buffer)
  }

  private static func repairLocked(_ file: Int32, _ buffer: borrowing FixedBuffer<UInt8>) -> Int64?
  {
    guard let torn = findEnd(of: file, buffer) else { return nil }
    guard torn.isTorn else { return torn.size }
    if !torn.hasNUL, isWhole(file, from: torn.lineStart, buffer) {
      return Descriptor.writeAll(file, ("\n" as StaticString).span) == 0
        ? torn.size + 1 : nil
    }
    return ftruncate(file, off_t(torn.lineStart)) == 0 ? torn.lineStart : nil
  }

  private struct Found {
    var size: Int64
    /// The beginning of the last line, or of the first line with a NUL byte.
    var lineStart: Int64
    var hasNUL: Bool
    var isTorn: Bool { lineStart < size }
  }

  /// Searches backwards from the end as far as there are NUL bytes; text after a NUL was not synced
  /// either.
  private static func findEnd(of file: Int32, _ buffer: borrowing FixedBuffer<UInt8>) -> Found? {
    var information = stat()
    guard fstat(file, &information) == 0 else { return nil }
    let size = Int64(information.st_size)
    var found = Found(size: size, lineStart: 0, hasNUL: false)
    var end = size
    // Whether the line's beginning was found; NUL bytes may still come before it.
    var hasStart = false
    while end > 0 {
      let count = Int(min(end, Int64(chunkBytes)))
      let start = end - Int64(count)
      let room = UnsafeMutableBufferPointer(rebasing: buffer.room()[..<count])
      guard Descriptor.read(file, room, at: start) == count else { return nil }
      var from = count
      for index in 0..<count where buffer[index] == 0 {
        from = index
        found.hasNUL = true
        found.lineStart = 0
        hasStart = false
        break
      }
      guard from < count || !hasStart else { return found }
      while from > 0, buffer[from - 1] != .lineFeed { from -= 1 }
      if from > 0 {
        found.lineStart = start + Int64(from)
        hasStart = true
      }
      end = start
    }
    return found
  }

  /// Whether the text from `start` on only lacks its line feed.
  ///
  /// That is so for a whole object, or for text from another program.
  private static func isWhole(
    _ file: Int32, from start: Int64, _ buffer: borrowing FixedBuffer<UInt8>
  ) -> Bool {
    var place = start
    var depth = 0
    var (isString, isEscaped) = (false, false)
    var last: UInt8 = 0
    while true {
      let count = Descriptor.read(file, buffer.room(), at: place)
      guard count >= 0 else { return false }
      if count == 0 { return depth == 0 && last == .closeBrace }
      if place == start {
        guard buffer.span(0..<count).isBeginning(FailedLine.beginning) else { return true }
      }
      for index in 0..<count {
        last = buffer[index]
        if isEscaped {
          isEscaped = false
        } else if last == .quote {
          isString.toggle()
        } else if isString {
          isEscaped = last == .backslash
        } else if last == .openBrace {
          depth += 1
        } else if last == .closeBrace {
          depth -= 1
        }
      }
      place += Int64(count)
    }
  }
}

extension Span<UInt8> {
  /// Whether this begins with `text`, or is a prefix of it.
  fileprivate func isBeginning(_ text: StaticString) -> Bool {
    let bytes = Swift.min(count, text.utf8CodeUnitCount)
    return extracting(0..<bytes).equals(text.span.extracting(0..<bytes))
  }
}
