import TinyPush

/// Checks that any number in a record, a name or an answer is handled without a trap.
func numbersViolation(_ bytes: [UInt8]) -> String? {
  takenNameViolation(bytes) ?? laterNameViolation(bytes) ?? timesViolation(bytes)
}

private func word(_ bytes: [UInt8], _ index: Int) -> UInt64 {
  (0..<8).reduce(0) { sum, place in
    let at = index * 8 + place
    return sum | (at < bytes.count ? UInt64(bytes[at]) : 0) << UInt64(8 * place)
  }
}

/// Checks that a name in `taken/`, with numbers from the input, is decoded exactly.
private func takenNameViolation(_ bytes: [UInt8]) -> String? {
  _ = TakenName(bytes.span)
  let (arrival, offset) = (Int64(word(bytes, 0) >> 1), Int64(word(bytes, 1) >> 1))
  let name = Array(bytes.dropFirst(16).prefix(255))
  var taken = Text(capacity: 300)
  TakenName.append(name.span, arrivalNs: arrival, offset: offset, to: &taken)
  if taken.count > 255 { return "a name of \(taken.count) bytes" }
  let known = TakenName(taken.bytes)
  guard !name.isEmpty else { return nil }
  if known?.arrivalNs != arrival || known?.offset != offset {
    return "a name in taken/ is not read back"
  }
  return nil
}

/// Checks the parser of names in `later/`, with digits from the input.
private func laterNameViolation(_ bytes: [UInt8]) -> String? {
  var name: [UInt8] = []
  for index in 0..<45 {
    let byte = index < bytes.count ? bytes[index] : 0
    let digit = index < 10 ? byte % 11 : byte % 17
    name.append(
      index == 10 || index == 27 || index == 44
        ? 0x2E : digit < 10 ? 0x30 + digit : digit < 16 ? 0x57 + digit : 0x2F)
  }
  name += bytes.prefix(200)
  _ = LaterName.isReplaced(name.span, by: bytes.span, key: word(bytes, 0))
  return nil
}

/// Checks instants, durations and their texts.
private func timesViolation(_ bytes: [UInt8]) -> String? {
  let (first, second) = (word(bytes, 0), word(bytes, 1))
  let (from, to) = (Instant(milliseconds: first), Instant(milliseconds: second))
  let between = from.until(to)
  if to > from, from + between != to { return "\(first) plus the difference is not \(second)" }
  var text = Text()
  text.append(roundedSeconds: Int64(bitPattern: first))
  text.append(Int64(bitPattern: second), digits: Int(first % 20))
  text.append(hex: first)
  return text.isCut ? "a number is truncated" : nil
}
