/// Reads a payload and holds it against the service's tables. What is valid JSON and yet wrong goes to the findings, so that
/// the payload's end is always found.
struct PayloadReader {
  /// Whether the payload is a whole object of a notification file, for the recipients `default`.
  private let isBare: Bool
  private var payload: Payload

  /// - Parameter start: where its brace is.
  init(at start: Int, isBare: Bool = false) {
    self.isBare = isBare
    payload = Payload(at: start)
  }

  /// The scanner stands on its brace.
  mutating func read(
    _ text: Span<UInt8>, by scanner: inout JSONScanner, _ findings: inout Findings
  ) throws(JSONProblem) -> Payload {
    let start = scanner.index
    let spaceBytes = scanner.spaceBytes
    var apsAt: Int?
    var isEnvelope = false
    if try scanner.openObject(text) {
      repeat {
        let key = try scanner.key(text)
        guard Self.isAps(text.extracting(key)) else {
          if isBare { isEnvelope = isEnvelope || Self.isOfEnvelope(text.extracting(key)) }
          try scanner.skipValue(text)
          continue
        }
        if apsAt != nil { findings.add(Finding(.duplicateKey, at: key.lowerBound - 1)) }
        apsAt = key.lowerBound - 1
        guard try scanner.peek(text) == .openBrace else {
          findings.add(Finding(.apsNotObject, at: scanner.index))
          try scanner.skipValue(text)
          continue
        }
        try readAps(text, by: &scanner, &findings)
      } while try scanner.nextMember(text)
    }
    if apsAt == nil { findings.add(Finding(.missingAps, at: start)) }
    if isEnvelope { findings.add(Finding(.apsOutside, at: apsAt ?? start)) }
    payload.range = start..<scanner.index
    let space = scanner.spaceBytes - spaceBytes
    payload.bytes = payload.range.count - space
    if findings.isThorough {
      if space > 0 { findings.add(Finding(.whiteSpace, at: start, found: space)) }
      Self.findLongEscapes(in: text, payload.range, &findings)
    }
    return payload
  }

  static func isAps(_ key: Span<UInt8>) -> Bool {
    if key.equals("aps") { return true }
    guard let unescaped = KeyBuffer(unescaping: key) else { return false }
    return unescaped.count == 3 && unescaped.bytes[0] == UInt8(ascii: "a")
      && unescaped.bytes[1] == UInt8(ascii: "p")
      && unescaped.bytes[2] == UInt8(ascii: "s")
  }

  /// Whether a key says that its object was meant as a notification, with its payload inside.
  static func isOfEnvelope(_ key: Span<UInt8>) -> Bool {
    switch EnvelopeKey(spelled: key) {
    case .token, .tokens, .to, .payload: return true
    case nil: break
    default: return false
    }
    // What is meant for one device must not go to all for a slip.
    switch EnvelopeKey.nearest(to: key) {
    case .token, .tokens, .payload: return true
    default: return false
    }
  }

  // MARK: - aps

  private mutating func readAps(
    _ text: Span<UInt8>, by scanner: inout JSONScanner, _ findings: inout Findings
  ) throws(JSONProblem) {
    let start = scanner.index
    payload.alert = Alert(range: start + 1..<start + 1)
    payload.isApsEmpty = try !scanner.openObject(text)
    guard !payload.isApsEmpty else { return }
    var seen = KeysSeen(ofObjectAt: start)
    var hasContentAvailable = false
    var isFeltByTheUser = false
    repeat {
      let range = try scanner.key(text)
      let key = PayloadKey(spelled: text.extracting(range), isInAlert: false)
      seen.insert(key, range, in: text, &findings)
      let first = try scanner.peek(text)
      let at = scanner.index
      switch key {
      case .alert:
        isFeltByTheUser = true
        payload.alert = try Alert(text, by: &scanner, &findings)
        continue
      case .badge:
        isFeltByTheUser = true
        if !text.extracting(at...).isNumber { findings.add(Finding(.badge, at: at)) }
      case .sound:
        isFeltByTheUser = true
        if first != .quote { findings.add(Finding(.notString(.sound), at: at)) }
      case .category:
        if first != .quote { findings.add(Finding(.notString(.category), at: at)) }
      case .contentAvailable: hasContentAvailable = true
      default:
        if findings.isThorough,
          let nearest = PayloadKey.nearest(to: text.extracting(range), isInAlert: false)
        {
          findings.add(Finding(.strangeKey(nearest: nearest), at: range.lowerBound - 1))
        }
      }
      try scanner.skipValue(text)
      let value = text.extracting(at..<scanner.index)
      if key == .contentAvailable, !value.equals("1") {
        findings.add(Finding(.contentAvailable, at: at))
      } else if key == .badge, findings.isThorough, value.isNumber, !value.isWhole {
        findings.add(Finding(.badgeNotWhole, at: at))
      }
    } while try scanner.nextMember(text)
    payload.isSilent = hasContentAvailable && !isFeltByTheUser
  }

  // MARK: - Waste

  /// Escapes that take more bytes than what they spell.
  @inline(never)
  private static func findLongEscapes(
    in text: Span<UInt8>, _ range: Range<Int>, _ findings: inout Findings
  ) {
    var first: Int?
    var bytes = 0
    var index = range.lowerBound
    while index < range.upperBound {
      guard text[index] == .backslash else {
        index += 1
        continue
      }
      let unit = JSONUnit(in: text, at: index)
      if unit.shortest < unit.length {
        if first == nil { first = index }
        bytes += unit.length - unit.shortest
      }
      index += unit.length
    }
    if let first { findings.add(Finding(.longEscapes, at: first, found: bytes)) }
  }
}

extension Alert {
  /// Reads the value of `alert`, and holds it against the table.
  init(_ text: Span<UInt8>, by scanner: inout JSONScanner, _ findings: inout Findings)
    throws(JSONProblem)
  {
    var before = scanner
    try self.init(text, by: &scanner)
    switch text[range.lowerBound] {
    case .quote: break
    case .openBrace: try Self.check(text, by: &before, &findings)
    default: findings.add(Finding(.alert, at: range.lowerBound))
    }
  }

  /// Finds its parts, whatever it is.
  init(_ text: Span<UInt8>, by scanner: inout JSONScanner) throws(JSONProblem) {
    let first = try scanner.peek(text)
    let start = scanner.index
    let spaceBytes = scanner.spaceBytes
    range = start..<start
    switch first {
    case .quote: self.text = try scanner.string(text)
    case .openBrace:
      guard try scanner.openObject(text) else { break }
      repeat {
        let key = try scanner.key(text)
        let isBody = PayloadKey(spelled: text.extracting(key), isInAlert: true) == .body
        if isBody, try scanner.peek(text) == .quote {
          self.text = try scanner.string(text)
        } else {
          try scanner.skipValue(text)
        }
      } while try scanner.nextMember(text)
    default: try scanner.skipValue(text)
    }
    range = start..<scanner.index
    bytes = range.count - (scanner.spaceBytes - spaceBytes)
  }

  @inline(never)
  private static func check(
    _ text: Span<UInt8>, by scanner: inout JSONScanner, _ findings: inout Findings
  ) throws(JSONProblem) {
    _ = try scanner.peek(text)
    let start = scanner.index
    guard try scanner.openObject(text) else { return }
    var seen = KeysSeen(ofObjectAt: start)
    repeat {
      let range = try scanner.key(text)
      let key = PayloadKey(spelled: text.extracting(range), isInAlert: true)
      seen.insert(key, range, in: text, &findings)
      let first = try scanner.peek(text)
      let at = scanner.index
      let isString = first == .quote
      let isNull = first == UInt8(ascii: "n")
      switch key {
      case .title, .body, .locKey, .launchImage:
        if !isString { findings.add(Finding(.notString(key!), at: at)) }
      case .titleLocKey, .actionLocKey:
        if !isString && !isNull { findings.add(Finding(.notStringOrNull(key!), at: at)) }
      case .locArgs, .titleLocArgs:
        let mayBeNull = key == .titleLocArgs
        var copy = scanner
        if let wrongAt = try copy.notStrings(text), !(mayBeNull && isNull) {
          findings.add(
            Finding(mayBeNull ? .notStringsOrNull(key!) : .notStrings(key!), at: wrongAt))
        }
      default:
        if findings.isThorough,
          let nearest = PayloadKey.nearest(to: text.extracting(range), isInAlert: true)
        {
          findings.add(Finding(.strangeKey(nearest: nearest), at: range.lowerBound - 1))
        }
      }
      try scanner.skipValue(text)
    } while try scanner.nextMember(text)
    if findings.isThorough, seen.count == 1, seen.contains(.body) {
      // The braces, the key, its quotes and its colon.
      findings.add(Finding(.onlyBody, at: start, found: 9))
    }
  }
}

extension JSONScanner {
  /// Where a value is anything but an array of strings; nil: it is one.
  fileprivate mutating func notStrings(_ text: Span<UInt8>) throws(JSONProblem) -> Int? {
    guard try peek(text) == .openBracket else { return index }
    guard try openArray(text) else { return nil }
    repeat {
      guard try peek(text) == .quote else { return index }
      _ = try string(text)
    } while try nextElement(text)
    return nil
  }
}

/// The keys of one object as they come, to find the one that comes twice.
struct KeysSeen {
  /// Inferred: far more than any table has, and a bound nonetheless.
  private static let strangersMax = 64
  /// Where the object's brace is.
  private let start: Int
  private var known: UInt32 = 0
  private var strangers = 0
  private(set) var count = 0

  init(ofObjectAt start: Int) {
    self.start = start
  }

  func contains(_ key: PayloadKey) -> Bool { known & (1 << key.rawValue) != 0 }

  @inline(__always)
  mutating func insert(
    _ key: PayloadKey?, _ range: Range<Int>, in text: Span<UInt8>, _ findings: inout Findings
  ) {
    count += 1
    if let key {
      if contains(key) { findings.add(Finding(.duplicateKey, at: range.lowerBound - 1)) }
      known |= 1 << key.rawValue
    } else {
      insertStranger(range, in: text, &findings)
    }
  }

  /// Nothing is kept of these, which are rare: the object is read again up to the present one.
  @inline(never)
  private mutating func insertStranger(
    _ range: Range<Int>, in text: Span<UInt8>, _ findings: inout Findings
  ) {
    strangers += 1
    guard strangers <= Self.strangersMax else {
      findings.add(Finding(.apsTooMany, at: range.lowerBound - 1, limit: Self.strangersMax))
      return
    }
    let key = Hash(spelled: text.extracting(range))
    var scanner = JSONScanner(at: start)
    do throws(JSONProblem) {
      _ = try scanner.openObject(text)
      while true {
        let before = try scanner.key(text)
        guard before.lowerBound < range.lowerBound else { return }
        if Hash(spelled: text.extracting(before)).value == key.value {
          findings.add(Finding(.duplicateKey, at: range.lowerBound - 1))
          return
        }
        try scanner.skipValue(text)
        _ = try scanner.nextMember(text)
      }
    } catch {}
  }
}

extension Span<UInt8> {
  /// Whether a value is a number.
  fileprivate var isNumber: Bool { self[0] == .hyphen || self[0].isDigit }

  /// Whether a number is written without sign, fraction and exponent.
  fileprivate var isWhole: Bool {
    for index in indices where !self[index].isDigit { return false }
    return true
  }
}
