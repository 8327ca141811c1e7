/// Warnings about payloads that the service takes and that devices show differently than meant.
extension Findings {
  /// Returns a warning for a key beside `aps` that sets something of the delivery elsewhere.
  @inline(never)
  func warning(ofOutside key: Range<Int>, in text: Span<UInt8>) -> Finding? {
    guard isThorough, let known = EnvelopeKey(spelled: text.extracting(key)) else { return nil }
    switch known {
    // Apps have data of these names.
    case .id, .topic, .failed: return nil
    default: return Finding(.belongsOutside(known), at: key.lowerBound - 1)
    }
  }

  /// Adds a warning for a key that the service does not know in this place.
  @inline(never)
  mutating func addUnknown(_ range: Range<Int>, in text: Span<UInt8>, isInAlert: Bool) {
    guard isThorough else { return }
    let key = text.extracting(range)
    if let misplaced = PayloadKey(spelled: key, isInAlert: !isInAlert) {
      add(
        Finding(
          isInAlert ? .belongsInAps(misplaced) : .belongsInAlert(misplaced),
          at: range.lowerBound - 1))
    } else if let nearest = PayloadKey.nearest(to: key, isInAlert: isInAlert) {
      add(Finding(.strangeKey(nearest: nearest), at: range.lowerBound - 1))
    }
  }

  /// Adds a warning for a string that cannot be the name of a sound file.
  ///
  /// Source: Local and Remote Notification Programming Guide, 2015-10, Preparing Custom Alert
  /// Sounds.
  @inline(never)
  mutating func checkSound(_ value: Span<UInt8>, at place: Int) {
    guard isThorough, value.count >= 2, value[0] == .quote, !value.equals("\"default\"") else {
      return
    }
    var dot = value.count - 2
    while dot > 1, value[dot] != .dot { dot -= 1 }
    let ending = value.extracting(dot + 1..<value.count - 1)
    let known: WordList = "caf CAF aif AIF aiff AIFF wav WAV"
    if known.index(of: ending) == nil { add(Finding(.soundName, at: place)) }
  }

  /// Adds warnings for arguments of an alert that lacks the key of their text.
  @inline(never)
  mutating func checkArguments(of seen: KeysSeen, at place: Int) {
    guard isThorough, refusals == 0 else { return }
    let pairs: [3 of (arguments: PayloadKey, key: PayloadKey)] = [
      (.locArgs, .locKey), (.titleLocArgs, .titleLocKey), (.subtitleLocArgs, .subtitleLocKey),
    ]
    for number in 0..<pairs.count
    where seen.contains(pairs[number].arguments) && !seen.contains(pairs[number].key) {
      add(Finding(.argumentsWithoutKey(pairs[number].arguments), at: place))
    }
  }
}

/// A character that word processors and web pages put in the place of one that JSON needs.
enum Typography {
  case space, quote

  /// Makes the kind of a character from its code point; nil for any other character.
  init?(character: Int) {
    switch character {
    case 0xA0, 0x2000...0x200B, 0x202F, 0x205F, 0x3000, 0xFEFF: self = .space
    case 0x2018...0x201F, 0xAB, 0xBB: self = .quote
    default: return nil
    }
  }

  var advice: StaticString {
    switch self {
    case .space: "; here is a space that JSON does not know, such as U+00A0: write a plain space"
    case .quote: "; here is a typographic quote: write the plain quote \""
    }
  }

  /// Returns the code point of the character of two or three bytes at an index.
  ///
  /// The result is 0 for a character of another length, and nil if the text ends within it.
  static func character(at index: Int, in text: Span<UInt8>) -> Int? {
    guard index < text.count, text[index] >= 0xC0, text[index] < 0xF0 else { return 0 }
    let following = text[index] < 0xE0 ? 1 : 2
    guard index + following < text.count else { return nil }
    var value = Int(text[index]) & (following == 1 ? 0x1F : 0x0F)
    for offset in 1...following { value = value << 6 | Int(text[index + offset]) & 0x3F }
    return value
  }
}
