import TinyPush

/// Checks that a configuration is read to its end, and that each part is inside its line.
func configViolation(_ bytes: [UInt8]) -> String? {
  let text = bytes.span
  var lines = ConfigLines()
  var (place, last) = (0, Int32(0))
  while let line = lines.next(in: text) {
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
  return nil
}
