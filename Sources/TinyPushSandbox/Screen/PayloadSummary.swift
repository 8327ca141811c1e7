import TinyPush

/// The values in a payload that a device uses, as ranges in the payload's text.
///
/// The range of a string is the text between its quotes; the range of another value is all of it.
/// A null counts as missing.
struct PayloadSummary {
  var title: Range<Int>?
  var subtitle: Range<Int>?
  var body: Range<Int>?
  var titleLocKey: Range<Int>?
  var titleLocArgs: Range<Int>?
  var subtitleLocKey: Range<Int>?
  var subtitleLocArgs: Range<Int>?
  var locKey: Range<Int>?
  var locArgs: Range<Int>?
  var badge: Range<Int>?
  var sound: Range<Int>?
  var category: Range<Int>?
  /// Whether the sound is played even if the device is muted.
  var isCritical = false
  var interruptionLevel: Range<Int>?
  /// The event of a live activity: `start`, `update` or `end`.
  var event: Range<Int>?
  /// The content that a live activity shows from then on.
  var contentState: Range<Int>?
  var isContentAvailable = false
  var hasAlert = false
  /// What an app such as Bark shows of the keys beside `aps`, in the order of ``AppKey``.
  private(set) var app: InlineArray<5, Range<Int>?> = .init(repeating: nil)
  /// The encrypted content, and what it was encrypted with; nil: the payload is not encrypted.
  private(set) var ciphertext: Range<Int>?
  private(set) var iv: Range<Int>?
  private(set) var hasAps = true

  /// Whether the user sees and hears nothing of the notification.
  var isSilent: Bool { isContentAvailable && !hasAlert && badge == nil && sound == nil }

  /// Reads a payload; if a key occurs twice, the last one counts.
  ///
  /// - Parameter needsAps: whether to refuse a payload without `aps`.
  init(_ text: Span<UInt8>, needsAps: Bool = true) throws(PayloadProblem) {
    var scanner = JSONScanner()
    do throws(JSONProblem) {
      guard try scanner.peek(text) == .openBrace else { throw .expectedValue }
    } catch {
      throw scanner.index < text.count && text[scanner.index] != .openBrace
        ? .notObject : .json(error, at: scanner.index)
    }
    var aps: Aps = .missing
    do throws(JSONProblem) {
      if try scanner.openObject(text) {
        repeat {
          let key = try text.extracting(scanner.key(text))
          guard key.equals("aps") else {
            let isString = try scanner.peek(text) == .quote
            let value = try scanner.value(text)
            if isString, let number = AppKey.names.index(of: key) { app[number] = value }
            if isString, key.equals("ciphertext") { ciphertext = value }
            if isString, key.equals("iv") { iv = value }
            continue
          }
          guard try scanner.peek(text) == .openBrace else {
            aps = .other
            try scanner.skipValue(text)
            continue
          }
          aps = .object
          try readAps(text, by: &scanner)
        } while try scanner.nextMember(text)
      }
    } catch {
      throw .json(error, at: scanner.index)
    }
    scanner.skipSpace(text)
    guard scanner.index == text.count else { throw .trailing(at: scanner.index) }
    switch aps {
    case .object: return
    case .missing:
      guard !needsAps else { throw .noAps }
      hasAps = false
    case .other: throw .apsNotObject
    }
  }

  private enum Aps { case missing, other, object }

  private mutating func readAps(
    _ text: Span<UInt8>, by scanner: inout JSONScanner
  ) throws(JSONProblem) {
    guard try scanner.openObject(text) else { return }
    repeat {
      let key = try text.extracting(scanner.key(text))
      switch PayloadKey(spelled: key, isInAlert: false) {
      case .alert:
        if try scanner.peek(text) == .openBrace {
          hasAlert = true
          try readAlert(text, by: &scanner)
        } else {
          body = try value(text, by: &scanner)
          hasAlert = hasAlert || body != nil
        }
      case .badge: badge = try value(text, by: &scanner)
      case .sound:
        if try scanner.peek(text) == .openBrace {
          try readSound(text, by: &scanner)
        } else {
          sound = try value(text, by: &scanner)
        }
      case .interruptionLevel: interruptionLevel = try value(text, by: &scanner)
      case .event: event = try value(text, by: &scanner)
      case .contentState: contentState = try value(text, by: &scanner)
      case .category: category = try value(text, by: &scanner)
      case .contentAvailable:
        _ = try scanner.peek(text)
        let start = scanner.index
        try scanner.skipValue(text)
        isContentAvailable = text.extracting(start..<scanner.index).equals("1")
      default: try scanner.skipValue(text)
      }
    } while try scanner.nextMember(text)
  }

  private mutating func readSound(
    _ text: Span<UInt8>, by scanner: inout JSONScanner
  ) throws(JSONProblem) {
    guard try scanner.openObject(text) else { return }
    repeat {
      let key = try text.extracting(scanner.key(text))
      if key.equals("name") {
        sound = try value(text, by: &scanner)
      } else if key.equals("critical") {
        if let number = try value(text, by: &scanner) {
          isCritical = text[number.lowerBound] == UInt8(ascii: "1")
        }
      } else {
        try scanner.skipValue(text)
      }
    } while try scanner.nextMember(text)
  }

  private mutating func readAlert(
    _ text: Span<UInt8>, by scanner: inout JSONScanner
  ) throws(JSONProblem) {
    guard try scanner.openObject(text) else { return }
    repeat {
      let key = try text.extracting(scanner.key(text))
      switch PayloadKey(spelled: key, isInAlert: true) {
      case .title: title = try value(text, by: &scanner)
      case .subtitle: subtitle = try value(text, by: &scanner)
      case .subtitleLocKey: subtitleLocKey = try value(text, by: &scanner)
      case .subtitleLocArgs: subtitleLocArgs = try value(text, by: &scanner)
      case .body: body = try value(text, by: &scanner)
      case .titleLocKey: titleLocKey = try value(text, by: &scanner)
      case .titleLocArgs: titleLocArgs = try value(text, by: &scanner)
      case .locKey: locKey = try value(text, by: &scanner)
      case .locArgs: locArgs = try value(text, by: &scanner)
      default: try scanner.skipValue(text)
      }
    } while try scanner.nextMember(text)
  }

  @inline(never)
  private func value(
    _ text: Span<UInt8>, by scanner: inout JSONScanner
  ) throws(JSONProblem) -> Range<Int>? {
    let isNull = try scanner.peek(text) == UInt8(ascii: "n")
    let range = try scanner.value(text)
    return isNull ? nil : range
  }

  // MARK: - Values

  /// Whether the value is a string.
  static func isString(_ range: Range<Int>, _ text: Span<UInt8>) -> Bool {
    text[range.lowerBound - 1] == .quote
  }

  /// Returns the number of the badge; nil if absent, or it is not a number.
  ///
  /// A number is a whole number from 0 on with at most ten digits.
  @inline(never)
  func badgeNumber(_ text: Span<UInt8>) -> UInt64? {
    guard let badge, !badge.isEmpty, !Self.isString(badge, text), text[badge.lowerBound].isDigit
    else { return nil }
    var scanner = JSONScanner(at: badge.lowerBound)
    do throws(JSONProblem) {
      return try scanner.wholeNumber(text)
    } catch {
      return nil
    }
  }
}

extension JSONScanner {
  /// Returns the range of the next value, for a string without its quotes.
  mutating func value(_ text: Span<UInt8>) throws(JSONProblem) -> Range<Int> {
    if try peek(text) == .quote { return try string(text) }
    let start = index
    try skipValue(text)
    return start..<index
  }
}

/// A key beside `aps` whose text an app such as Bark shows or uses.
enum AppKey: Int, CaseIterable {
  case url, icon, image, group, copy

  static var names: WordList { "url icon image group copy" }

  /// The key in JSON.
  var name: Span<UInt8> { @_lifetime(immortal) get { Self.names[rawValue] } }
}

/// Why a payload cannot be read.
enum PayloadProblem: Error {
  case json(JSONProblem, at: Int)
  case trailing(at: Int)
  case notObject
  case noAps
  case apsNotObject

  func describe(in text: inout Text) {
    switch self {
    case .json(let problem, let offset):
      text.append("the payload is not JSON at its byte ", offset)
      text.append(": ", problem.text)
    case .trailing(let offset):
      text.append("the payload has more text after its JSON object, at its byte ", offset)
    case .notObject: text.append("the payload is not a JSON object")
    case .noAps: text.append("the payload has no aps")
    case .apsNotObject: text.append("the payload's aps is not an object")
    }
  }
}
