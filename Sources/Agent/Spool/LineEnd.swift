import CLinux
import TinyPush

/// The end of a file to which lines of JSON are appended. A power cut may leave half a line there, or NULs: the file's size
/// comes to the disk before its bytes do.
enum LineEnd {
  private static let chunkBytes = 16_384

  /// Has the file end where a line ends, such that the next one stands by itself. Of a whole line only its end is written;
  /// what was torn goes: it never was on disk, and so its source is in `new/` still.
  ///
  /// - Parameter file: may be read and written.
  /// - Returns: the file's size by now; nil: it cannot be mended, or somebody else is writing to it.
  static func mend(_ file: Int32) -> Int64? {
    let buffer = FixedBuffer<UInt8>(capacity: chunkBytes)
    guard let found = look(file, buffer) else { return nil }
    guard found.isTorn else { return found.size }
    // What somebody else has written in the meantime is not cut off.
    guard flock(file, LOCK_EX | LOCK_NB) == 0, let torn = look(file, buffer) else { return nil }
    guard torn.isTorn else { return torn.size }
    if !torn.hasNUL, isWhole(file, from: torn.lineStart, buffer) {
      return Descriptor.writeAll(file, ("\n" as StaticString).utf8Start, 1) == 0
        ? torn.size + 1 : nil
    }
    return ftruncate(file, off_t(torn.lineStart)) == 0 ? torn.lineStart : nil
  }

  private struct Found {
    var size: Int64
    /// Where the last line begins, or the first one that holds a NUL.
    var lineStart: Int64
    var hasNUL: Bool
    var isTorn: Bool { lineStart < size }
  }

  /// Looks from the end back as far as NULs go. What stands behind a NUL was not synced either.
  private static func look(_ file: Int32, _ buffer: borrowing FixedBuffer<UInt8>) -> Found? {
    var information = stat()
    guard fstat(file, &information) == 0 else { return nil }
    let size = Int64(information.st_size)
    var found = Found(size: size, lineStart: 0, hasNUL: false)
    var end = size
    // Whether the line's beginning was found, and the NULs may go on before it.
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

  /// Whether the text from `start` on only lacks its line end: a whole object, or what somebody else has written.
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
        let head = buffer.span(0..<count)
        guard
          head.isBeginning(FailedLine.beginning) || head.isBeginning(FailedLine.beginningBefore)
        else { return true }
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
  /// Whether this begins with `text`, or is the beginning of it.
  fileprivate func isBeginning(_ text: StaticString) -> Bool {
    let bytes = Swift.min(count, text.utf8CodeUnitCount)
    return extracting(0..<bytes).equals(text.span.extracting(0..<bytes))
  }
}
