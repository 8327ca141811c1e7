import TinyPush

/// What a payload says, as places in its text. A string's range is what stands between its quotes.
struct PayloadSummary {
  var title: Range<Int>?
  var body: Range<Int>?
  var locKey: Range<Int>?
  var badge: Range<Int>?
  var sound: Range<Int>?
  var category: Range<Int>?
  var isContentAvailable = false
  var hasAlert = false
  /// Keys beside `aps`.
  var ownKeys = 0

  /// Whether nobody sees or hears anything of it.
  var isSilent: Bool { isContentAvailable && !hasAlert && badge == nil && sound == nil }

  /// Reads the whole text; of a key that stands there twice the last one counts.
  init(_ text: Span<UInt8>) throws(PayloadProblem) {
    var scanner = JSONScanner()
    do throws(JSONProblem) {
      guard try scanner.peek(text) == 0x7B else { throw .expectedValue }
    } catch {
      throw scanner.index < text.count && text[scanner.index] != 0x7B
        ? .notObject : .json(error, at: scanner.index)
    }
    var aps: Aps = .missing
    do throws(JSONProblem) {
      if try scanner.openObject(text) {
        repeat {
          guard try text.extracting(scanner.key(text)).equals("aps") else {
            ownKeys += 1
            try scanner.skipValue(text)
            continue
          }
          guard try scanner.peek(text) == 0x7B else {
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
    case .missing: throw .noAps
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
      if key.equals("alert") {
        hasAlert = true
        if try scanner.peek(text) == 0x7B {
          try readAlert(text, by: &scanner)
        } else {
          body = try value(text, by: &scanner)
        }
      } else if key.equals("badge") {
        badge = try value(text, by: &scanner)
      } else if key.equals("sound") {
        sound = try value(text, by: &scanner)
      } else if key.equals("category") {
        category = try value(text, by: &scanner)
      } else {
        if key.equals("content-available") { isContentAvailable = true }
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
      if key.equals("title") {
        title = try value(text, by: &scanner)
      } else if key.equals("body") {
        body = try value(text, by: &scanner)
      } else if key.equals("loc-key") {
        locKey = try value(text, by: &scanner)
      } else {
        try scanner.skipValue(text)
      }
    } while try scanner.nextMember(text)
  }

  private func value(
    _ text: Span<UInt8>, by scanner: inout JSONScanner
  ) throws(JSONProblem) -> Range<Int> {
    if try scanner.peek(text) == 0x22 { return try scanner.string(text) }
    let start = scanner.index
    try scanner.skipValue(text)
    return start..<scanner.index
  }
}

/// Why a payload is none.
enum PayloadProblem: Error {
  case json(JSONProblem, at: Int)
  case trailing(at: Int)
  case notObject
  case noAps
  case apsNotObject

  func describe(in text: inout Text) {
    switch self {
    case .json(let problem, let offset):
      text.append("the payload is not JSON at its byte ")
      text.append(offset)
      text.append(": ")
      text.append(problem.text)
    case .trailing(let offset):
      text.append("something follows the payload's object at its byte ")
      text.append(offset)
    case .notObject: text.append("the payload is not a JSON object")
    case .noAps: text.append("the payload has no aps")
    case .apsNotObject: text.append("the payload's aps is not an object")
    }
  }
}
