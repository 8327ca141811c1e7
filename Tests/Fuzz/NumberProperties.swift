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

/// Checks that any name in `taken/` that is read gives the same name again.
private func takenNameViolation(_ bytes: [UInt8]) -> String? {
  var name = bytes.prefix(40).map { $0 == 0 || $0 == UInt8(ascii: "/") ? UInt8(ascii: "x") : $0 }
  _ = TakenName(name.span)
  name.append(contentsOf: bytes.first.map { $0 & 1 == 0 } ?? true ? "@".utf8 : "+".utf8)
  for (index, byte) in bytes.suffix(39).enumerated() {
    name.append(index == 19 ? UInt8(ascii: ".") : UInt8(ascii: "0") + byte % 10)
  }
  guard let known = TakenName(name.span) else { return nil }
  var again = Text(capacity: 300)
  TakenName.append(
    TakenName.source(of: name.span), arrivalNs: known.arrivalNs, offset: known.offset,
    isReleased: known.isReleased, to: &again)
  return TakenName(again.bytes)?.arrivalNs == known.arrivalNs
    && TakenName(again.bytes)?.offset == known.offset
    && TakenName(again.bytes)?.isReleased == known.isReleased
    ? nil : "the name in taken/ changes when it is written again"
}

/// Checks that the parser of names in `later/` does not trap, with digits from the input.
private func laterNameViolation(_ bytes: [UInt8]) -> String? {
  var head: [UInt8] = []
  for index in 0..<45 {
    let byte = index < bytes.count ? bytes[index] : 0
    let digit = index < 10 ? byte % 11 : byte % 17
    head.append(
      index == 10 || index == 27 || index == 44
        ? 0x2E : digit < 10 ? 0x30 + digit : digit < 16 ? 0x57 + digit : 0x2F)
  }
  let digits = Array("0123456789abcdef/".utf8)
  let arrival = "@".utf8 + bytes.suffix(16).map { digits[Int($0) % 17] } + ".".utf8
  // Version 0.2.0 gave no arrival.
  for middle in [Array(".".utf8), arrival] {
    let name = head[..<44] + middle + bytes.prefix(200)
    guard let known = LaterName(name.span) else { continue }
    var released = Text(capacity: 300)
    known.appendReleased(name.span, to: &released)
    let source = LaterName.source(of: LaterName.rest(of: name.span))
    guard LaterName.source(of: released.bytes).equals(source) else {
      return "a name in later/ changes when its file is released"
    }
  }
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
