import TinyPush
import TinyPushBinary

// MARK: - The scanner

private enum ScanResult: Equatable {
  case value
  case problem(JSONProblem, at: Int)
  case trailing(at: Int)
}

/// Scans a text that should hold one value.
///
/// Returns the result and the scanner with its counts.
private func scan(_ text: [UInt8]) -> (result: ScanResult, scanner: JSONScanner) {
  var scanner = JSONScanner()
  do throws(JSONProblem) {
    try scanner.begin(text.span)
    try scanner.skipValue(text.span)
  } catch {
    return (.problem(error, at: scanner.index), scanner)
  }
  scanner.skipSpace(text.span)
  return (scanner.index == text.count ? .value : .trailing(at: scanner.index), scanner)
}

/// Checks the scanner against ``Reference``, and with a truncated text.
func scannerViolation(_ text: [UInt8], cut: Int) -> String? {
  let (result, scanner) = scan(text)
  let before = text[..<scanner.index]
  if scanner.lineEnds != before.count(where: { $0 == 0x0A }) {
    return "line \(scanner.lineEnds) at \(scanner.index)"
  }
  let isMark = text.first { $0 > 0x20 } == 0xEF
  let isAgreed =
    switch (result, Reference.validity(text, depthMax: JSONScanner.depthMax)) {
    case (.value, .valid), (.trailing, .wrong): true
    case (.problem(.unexpectedEnd, let place), .cut): place == text.count
    case (.problem(.unexpectedEnd, let place), .wrong): place == text.count && isMark
    case (.problem(let problem, _), .wrong): problem != .unexpectedEnd
    default: false
    }
  if !isAgreed { return "\(result), and the reference disagrees" }
  // A truncated number may be a valid one, and truncation may remove what follows a value.
  let (part, _) = scan(Array(text[..<cut]))
  if part == result || part == .value || part == .problem(.unexpectedEnd, at: cut) { return nil }
  return "\(result), but \(part) when cut at \(cut)"
}

// MARK: - The reader

/// Returns the payload that is sent to a device with a language; empty: its frame is invalid.
private func rendition(
  of one: Notification, for language: LanguageTag?, in text: [UInt8], _ rules: Rules
) -> [UInt8] {
  let rendition = Rendition(one, for: language, in: text.span, rules)
  let buffer = FixedBuffer<UInt8>(capacity: rendition.bytes + 64)
  let token = InlineArray<32, UInt8>(repeating: 1)
  let end = Frame(identifier: 7, expiration: 9, priority: one.priority).write(
    .items, token: token.span, one.payload, rendition, in: text.span, to: buffer, at: 0)
  guard end == Frame.byteCount(.items, payloadBytes: rendition.bytes) else { return [] }
  return frames((0..<end).map { buffer[$0] })?.first?.payload ?? []
}

/// The result for one object; offsets are those of the whole text.
private enum Outcome: Equatable {
  case notification(
    object: Range<Int>, payload: Range<Int>, payloadBytes: Int, tokens: [Range<Int>],
    priority: UInt8,
    lifetime: Notification.Lifetime, collapseKey: UInt64, renditions: [[UInt8]])
  case refused(Finding.Reason, at: Int, found: Int, limit: Int, from: Int)
}

private let payloadLimit = 512
private let services = [PushProtocol.binary, .http2]
private let languages = [nil, LanguageTag("fr-CA"), LanguageTag("de")]

/// Reads a text in pieces with these ends; nil if the reader breaks its own rules.
private func read(_ text: [UInt8], ends: [Int], _ rules: Rules) -> [Outcome]? {
  var outcomes: [Outcome] = []
  var base = 0
  var next = 0
  var reader = NotificationReader()
  var findings = Findings(capacity: 8)
  func isLineRight(_ object: Range<Int>) -> Bool {
    reader.lineEndsBefore == text[..<(base + object.lowerBound)].count { $0 == .lineFeed }
  }
  while true {
    let piece = Array(text[base..<ends[next]])
    switch reader.next(
      in: piece.span, isWhole: next == ends.count - 1, rules, &findings)
    {
    case .notification(let one):
      guard isLineRight(one.object) else { return nil }
      var tokens =
        one.tokens > 0 ? [base + one.firstToken.lowerBound..<base + one.firstToken.upperBound] : []
      while tokens.count < one.tokens {
        let quote = text[(tokens.last!.upperBound + 1)...].firstIndex(of: 0x22)
        guard let quote, let end = text[(quote + 1)...].firstIndex(of: 0x22) else { return nil }
        tokens.append(quote + 1..<end)
      }
      outcomes.append(
        .notification(
          object: base + one.object.lowerBound..<base + one.object.upperBound,
          payload: base + one.payload.range.lowerBound..<base + one.payload.range.upperBound,
          payloadBytes: one.payload.bytes, tokens: tokens, priority: one.priority,
          lifetime: one.lifetime, collapseKey: one.collapseKey,
          renditions: one.localized.isEmpty && !one.isTrimmed
            ? [] : languages.map { rendition(of: one, for: $0, in: piece, rules) }))
      if rules.pushProtocol == .http2, !isFitForHeaders(one, in: piece) { return nil }
      for index in 0..<findings.count where findings[index].offset > piece.count { return nil }
    case .refused(let refusal, let object):
      guard object.lowerBound >= 0, object.upperBound <= piece.count else { return nil }
      guard isLineRight(object) else { return nil }
      guard refusal.offset >= object.lowerBound, refusal.offset <= piece.count else { return nil }
      outcomes.append(
        .refused(
          refusal.reason, at: base + refusal.offset, found: refusal.found, limit: refusal.limit,
          from: base + object.lowerBound))
    case .more(let from):
      guard next < ends.count - 1, from >= 0, from <= piece.count else { return nil }
      base += from
      next += 1
      reader.resume(at: 0)
    case .end:
      return next == ends.count - 1 ? outcomes : nil
    }
    // Each object takes at least one byte.
    guard outcomes.count <= text.count else { return nil }
  }
}

/// Whether the parts that become HTTP header fields are valid there.
private func isFitForHeaders(_ notification: Notification, in text: [UInt8]) -> Bool {
  let isVisible = text[notification.topic].allSatisfy { $0 > 0x20 && $0 < 0x7F }
  let collapseID = text[notification.collapseID]
  let value = Array(collapseID)
  var reader = JSONStringReader()
  var bytes: [UInt8] = []
  while let byte = reader.next(in: value.span) { bytes.append(byte) }
  return isVisible && notification.topic.count <= Envelope.topicBytesMax
    && [0, 36].contains(notification.identifier.count) && bytes.count <= 64
    && bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7F } && bytes.first != 0x20 && bytes.last != 0x20
}

/// Checks that the way a text is cut into pieces does not change what is read, for each service.
func readerViolation(_ text: [UInt8], cut: Int) -> String? {
  for service in services {
    let rules = Rules(service, payloadLimit: payloadLimit)
    if let violation = readerViolation(text, cut: cut, rules) { return violation }
  }
  return nil
}

private func readerViolation(_ text: [UInt8], cut: Int, _ rules: Rules) -> String? {
  var whole: [Outcome]?
  for ends in pieces(of: text.count, cut: cut) {
    guard let outcomes = read(text, ends: ends, rules) else {
      return "the reader breaks its rules at \(ends)"
    }
    if let whole, whole != outcomes { return "\(whole), but \(outcomes) at \(ends)" }
    whole = outcomes
  }
  for case .notification(
    _, let payload, let count, let tokens, let priority, _, _, let renditions) in whole ?? []
  {
    for rendition in renditions {
      let (result, scanner) = scan(rendition)
      if result != .value || scanner.spaceBytes != 0 || rendition.count > payloadLimit {
        return "a payload of \(rendition.count) bytes is \(result)"
      }
    }
    if !renditions.isEmpty { continue }
    for token in tokens {
      let digits = Array(text[token])
      guard let bytes = DeviceToken(printed: digits.span) else { return "no token at \(token)" }
      if bytes.count != Frame.tokenByteCount {
        if rules.pushProtocol == .http2 { continue }
        return "a token of \(bytes.count) bytes"
      }
      if let violation = frameViolation(Array(text[payload]), count, bytes, priority) {
        return violation
      }
    }
  }
  return nil
}

/// Checks that a frame holds the payload without white space between values, and decodes equally.
private func frameViolation(
  _ payload: [UInt8], _ count: Int, _ token: DeviceToken, _ priority: UInt8
) -> String? {
  var packed: [UInt8] = []
  var rest = payload[...]
  while let byte = rest.popFirst() {
    if byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { continue }
    packed.append(byte)
    guard byte == 0x22 else { continue }
    while let inner = rest.popFirst() {
      packed.append(inner)
      if inner == 0x22 { break }
      if inner == 0x5C { packed.append(rest.removeFirst()) }
    }
  }
  if packed.count != count {
    return "\(packed.count) bytes of payload, and the reader counts \(count)"
  }
  let (result, scanner) = scan(packed)
  if result != .value || scanner.spaceBytes != 0 { return "the packed payload is \(result)" }
  let buffer = FixedBuffer<UInt8>(capacity: payloadLimit + 64)
  let end = Frame(identifier: 7, expiration: 9, priority: priority).write(
    .items, token: token.bytes, payload: payload.span, payloadBytes: count, to: buffer, at: 0)
  if end != Frame.byteCount(.items, payloadBytes: count) { return "a frame of \(end) bytes" }
  guard let frame = frames((0..<end).map { buffer[$0] })?.first else {
    return "the frame is invalid"
  }
  if frame.payload != packed { return "the frame's payload differs" }
  if frame.token != (0..<token.count).map({ token.bytes[$0] })
    || frame.priority != priority
  {
    return "the frame's token or priority differs"
  }
  return nil
}
