import TinyPush

/// Checks that any number in a record, a name or an answer is handled without a trap.
func numbersViolation(_ bytes: [UInt8]) -> String? {
  progressViolation(bytes) ?? laterNameViolation(bytes) ?? timesViolation(bytes)
}

/// Returns the FNV-1a hash, 64 bits.
private func sum(_ bytes: ArraySlice<UInt8>) -> UInt64 {
  bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
}

private func word(_ bytes: [UInt8], _ index: Int) -> UInt64 {
  (0..<8).reduce(0) { sum, place in
    let at = index * 8 + place
    return sum | (at < bytes.count ? UInt64(bytes[at]) : 0) << UInt64(8 * place)
  }
}

/// Checks that a progress record with a correct sum is decoded exactly, or refused.
private func progressViolation(_ bytes: [UInt8]) -> String? {
  var record = [0x54, 0x50, 0x50, 0x31] + Array(bytes.prefix(36))
  record += [UInt8](repeating: 0, count: 40 - record.count)
  let value = sum(record[...])
  for place in 0..<8 { record.append(UInt8(truncatingIfNeeded: value >> (8 * UInt64(place)))) }
  guard let progress = Progress(record.span) else { return nil }
  if progress.offset <= 0 || progress.offset > progress.file.size {
    return "progress beyond its file"
  }
  let again = progress.bytes
  if (0..<Progress.byteCount).map({ again[$0] }) != record {
    return "the progress changes when it is encoded again"
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
