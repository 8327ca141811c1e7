import CLinux
import TinyPush
import TinyPushAgent
import TinyPushBinary

/// Scans JSON documents for a program that compares the results with another JSON parser's.
///
///     judge < DOCUMENTS
///
/// Input: `length:4 | document…`, repeated, at most 64 MB. Output, for each document: `result:1 |
/// index:4 | length:4 | packed…`. The result is 0 for a value, 255 for a value with something after
/// it, else the problem's number plus 1. `packed` is the value as it would be framed. Numbers are
/// little-endian.
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

  /// Writes the result for one document into `output` at `start`.
  ///
  /// Returns the end of what it wrote.
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
      // In a frame of format 0 with an empty token, the payload follows five bytes, overwritten
      // below.
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
