/// A mistake in a JSON text; the scanner's `index` is its place.
public enum JSONProblem: UInt8, Error, BitwiseCopyable {
  /// The text ends inside a value: more may follow, or the text was truncated.
  case unexpectedEnd
  case expectedValue
  case expectedKey
  case expectedColon
  case expectedCommaOrBrace
  case expectedCommaOrBracket
  case trailingComma
  case invalidNumber
  case invalidEscape
  case loneSurrogate
  case invalidUTF8
  case controlCharacter
  case tooDeep
  case byteOrderMark

  /// Whether other bytes came than those that JSON allows in their place, outside of strings.
  var isUnexpected: Bool {
    switch self {
    case .expectedValue, .expectedKey, .expectedColon, .expectedCommaOrBrace,
      .expectedCommaOrBracket:
      true
    default: false
    }
  }

  /// The message: what was expected, and how to correct it.
  public var text: StaticString {
    switch self {
    case .unexpectedEnd:
      "the text ends in the middle of an object: is a brace, a bracket or a quote missing?"
    case .expectedValue:
      "expected a value: a string in double quotes, a number, an object, an array, true, false or null"
    case .expectedKey: "expected a key in double quotes"
    case .expectedColon: "expected ':' after the key"
    case .expectedCommaOrBrace: "expected ',' or '}': is a comma missing before this?"
    case .expectedCommaOrBracket: "expected ',' or ']': is a comma missing before this?"
    case .trailingComma: "nothing follows the comma before this: remove the comma"
    case .invalidNumber:
      "not a JSON number (no leading zeros or plus, digits on both sides of the point)"
    case .invalidEscape: "unknown escape: JSON has \\\" \\\\ \\/ \\b \\f \\n \\r \\t and \\uXXXX"
    case .loneSurrogate:
      "half of a surrogate pair: \\uD800 to \\uDBFF must be followed by \\uDC00 to \\uDFFF"
    case .invalidUTF8: "not UTF-8: write the text in UTF-8"
    case .controlCharacter: "a control character inside a string: write it as \\n, \\t or \\u00XX"
    case .tooDeep: "nested deeper than 32 levels"
    case .byteOrderMark:
      "the text begins with a byte order mark: write the text without it (\"without BOM\")"
    }
  }
}
