import TinyPush

/// Returns how many lines are neither blank nor a comment.
private func meaningfulLines(_ bytes: [UInt8]) -> Int {
  let text = bytes.starts(with: "\u{FEFF}".utf8) ? bytes.dropFirst(3) : bytes[...]
  return text.split(separator: 0x0A).count { line in
    let first = line.first { $0 != 0x20 && !(0x09...0x0D ~= $0) }
    return first != nil && first != UInt8(ascii: "#") && first != UInt8(ascii: ";")
  }
}

/// Checks that a configuration is read to its end, and that each part is inside its line.
func configViolation(_ bytes: [UInt8]) -> String? {
  let text = bytes.span
  var lines = ConfigLines()
  var (place, last, count) = (0, Int32(0), 0)
  while let line = lines.next(in: text) {
    count += 1
    guard lines.number > last else { return "two settings have the same line" }
    last = lines.number
    let (first, end): (Range<Int>, Range<Int>)
    switch line {
    case .setting(let name, let value):
      let short = ConfigLines.withoutComment(value, in: text)
      guard !name.isEmpty, short.lowerBound == value.lowerBound,
        short.upperBound <= value.upperBound
      else { return "a setting has no name, or a comment is longer than its value" }
      for index in name.lowerBound..<value.upperBound
      where text[index] < 0x20 && text[index] != 0x09 {
        return "a setting has a control character"
      }
      (first, end) = (name, value)
    case .section(let name): (first, end) = (name, name)
    case .unprintable, .unknown: continue
    }
    guard first.lowerBound >= place, first.upperBound <= end.lowerBound || first == end,
      end.upperBound <= text.count
    else { return "a part of a line is outside of it" }
    place = end.upperBound
  }
  guard last <= bytes.count(where: { $0 == 0x0A }) + 1 else { return "there are too many lines" }
  guard count == meaningfulLines(bytes) else { return "\(count) lines are read" }
  return nil
}
