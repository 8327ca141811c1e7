import CLinux
import TinyPush
import TinyPushAgent

/// Says of JSON documents what the scanner says, for a program that knows JSON too to compare.
///
///     judge < DOCUMENTS
///
/// In: `length:4 | document…` again and again, at most 64 MB. Out, for each: `verdict:1 | index:4 | length:4 | packed…`, the
/// verdict being 0 for a value, 255 for a value and something behind it, else the problem's number and 1; packed is a
/// value as it would be framed. Numbers are little-endian.
@main
struct Judge {
  static func main() {
    judge(FixedBuffer(capacity: 64 << 20), FixedBuffer(capacity: 64 << 20))
  }

  private static func judge(
    _ input: borrowing FixedBuffer<UInt8>, _ output: borrowing FixedBuffer<UInt8>
  ) {
    var bytes = 0
    while true {
      let count = read(STDIN_FILENO, input.room(from: bytes).baseAddress, input.capacity - bytes)
      guard count > 0 else { break }
      bytes += count
    }
    var place = 0
    var end = 0
    while place < bytes {
      var length = 0
      for index in 0..<4 { length |= Int(input[place + index]) << (8 * index) }
      end = judge(input.span(place + 4..<place + 4 + length), into: output, at: end)
      place += 4 + length
    }
    var written = 0
    while written < end {
      let count = write(STDOUT_FILENO, output.room(from: written).baseAddress, end - written)
      guard count > 0 else { exit(ExitStatus.inputOutput.rawValue) }
      written += count
    }
  }

  /// The verdict of one document goes into `output` at `start`; the place behind it.
  private static func judge(
    _ text: Span<UInt8>, into output: borrowing FixedBuffer<UInt8>, at start: Int
  ) -> Int {
    var scanner = JSONScanner()
    var end = start + 9
    do throws(JSONProblem) {
      try scanner.begin(text)
      _ = try scanner.peek(text)
      let first = scanner.index
      let spaceBytes = scanner.spaceBytes
      try scanner.skipValue(text)
      let count = scanner.index - first - (scanner.spaceBytes - spaceBytes)
      // A frame of format 0 with an empty token: its payload stands behind five bytes, which are written over below.
      end = Frame(identifier: 1, expiration: 0, priority: 10).write(
        .simple, token: text.extracting(0..<0), payload: text.extracting(first..<scanner.index),
        payloadBytes: count, to: output, at: start + 4)
      scanner.skipSpace(text)
      output[start] = scanner.index == text.count ? 0 : 255
    } catch {
      output[start] = error.rawValue + 1
    }
    put(scanner.index, in: output, at: start + 1)
    put(end - start - 9, in: output, at: start + 5)
    return end
  }

  private static func put(_ number: Int, in output: borrowing FixedBuffer<UInt8>, at place: Int) {
    for index in 0..<4 { output[place + index] = UInt8(truncatingIfNeeded: number >> (8 * index)) }
  }
}
