extension Alert {
  /// Reads the value of `alert` and checks it against the service's table.
  init(
    _ text: Span<UInt8>, by scanner: inout JSONScanner, _ traits: inout PayloadTraits,
    _ findings: inout Findings
  ) throws(JSONProblem) {
    var before = scanner
    try self.init(text, by: &scanner)
    switch text[range.lowerBound] {
    case .quote: if bytes > 2 { traits.hasText = true }
    case .openBrace: try Self.check(text, by: &before, &traits, &findings)
    default: findings.add(Finding(.alert, at: range.lowerBound))
    }
  }

  /// Finds the parts of an alert in a value of any type.
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
    _ text: Span<UInt8>, by scanner: inout JSONScanner, _ traits: inout PayloadTraits,
    _ findings: inout Findings
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
        if !isString {
          if traits.isOfHTTP2, first == .openBrace, key == .title || key == .body {
            traits.addText(key!, at: at)
          } else {
            findings.add(Finding(.notString(key!), at: at))
          }
        }
      case .subtitle, .subtitleLocKey:
        if traits.isOfHTTP2, !isString { findings.add(Finding(.notString(key!), at: at)) }
      case .subtitleLocArgs:
        var copy = scanner
        if traits.isOfHTTP2, let wrongAt = try copy.notStrings(text) {
          findings.add(Finding(.notStrings(key!), at: wrongAt))
        }
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
        if text.extracting(range).equals("sound") {
          traits.alertSoundAt = range.lowerBound - 1
        } else {
          findings.addUnknown(range, in: text, isInAlert: true)
        }
      }
      try scanner.skipValue(text)
      let isEmpty = isNull || isString && scanner.index - at == 2
      if let key, key.isText, !isEmpty { traits.hasText = true }
    } while try scanner.nextMember(text)
    findings.checkArguments(of: seen, at: start)
    if findings.isThorough, seen.count == 1, seen.contains(.body) {
      // The braces, the key, and the key's quotes and colon.
      findings.add(Finding(.onlyBody, at: start, found: 9))
    }
  }
}

extension JSONScanner {
  /// Returns where a value differs from an array of strings; nil if the value is one.
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
