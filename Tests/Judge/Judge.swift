import Foundation
import TinyPush

/// Says of JSON documents what the scanner says, for a program that knows JSON too to compare.
///
///     judge < DOCUMENTS
///
/// In: `length:4 | document…` again and again. Out, for each: `verdict:1 | index:4 | length:4 | packed…`, the verdict being
/// 0 for a value, 255 for a value and something behind it, else the problem's number and 1; packed is a value as it would
/// be framed. Numbers are little-endian.
@main
struct Judge {
  static func main() throws {
    let input = [UInt8](try FileHandle.standardInput.readToEnd() ?? Data())
    var output: [UInt8] = []
    var place = 0
    while place < input.count {
      let length = (0..<4).reduce(0) { $0 | Int(input[place + $1]) << (8 * $1) }
      judge(Array(input[place + 4..<place + 4 + length]), into: &output)
      place += 4 + length
    }
    try FileHandle.standardOutput.write(contentsOf: Data(output))
  }

  private static func judge(_ text: [UInt8], into output: inout [UInt8]) {
    var scanner = JSONScanner()
    var start = 0
    var packedBytes = 0
    var verdict: UInt8 = 0
    do throws(JSONProblem) {
      try scanner.begin(text.span)
      _ = try scanner.peek(text.span)
      start = scanner.index
      let spaceBytes = scanner.spaceBytes
      try scanner.skipValue(text.span)
      packedBytes = scanner.index - start - (scanner.spaceBytes - spaceBytes)
    } catch {
      verdict = error.rawValue + 1
    }
    var packed: [UInt8] = []
    if verdict == 0 {
      packed = pack(Array(text[start..<scanner.index]), packedBytes)
      scanner.skipSpace(text.span)
      if scanner.index < text.count { verdict = 255 }
    }
    output.append(verdict)
    append(scanner.index, to: &output)
    append(packed.count, to: &output)
    output += packed
  }

  /// The payload of a frame made of it.
  private static func pack(_ value: [UInt8], _ count: Int) -> [UInt8] {
    let buffer = FixedBuffer<UInt8>(capacity: count + 5)
    let end = Frame(identifier: 1, expiration: 0, priority: 10).write(
      .simple, token: [UInt8]().span, payload: value.span, payloadBytes: count, to: buffer, at: 0)
    return (5..<end).map { buffer[$0] }
  }

  private static func append(_ number: Int, to output: inout [UInt8]) {
    for shift in [0, 8, 16, 24] { output.append(UInt8(truncatingIfNeeded: number >> shift)) }
  }
}
