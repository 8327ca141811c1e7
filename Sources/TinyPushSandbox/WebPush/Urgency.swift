import TinyPush

/// How urgent a message for a browser is (RFC 8030, section 5.3).
enum Urgency: UInt8 {
  case veryLow, low, normal, high

  /// Returns the urgency with this name; nil: there is none.
  init?(name: Span<UInt8>) {
    let names: WordList = "very-low low normal high"
    guard let number = names.index(of: name) else { return nil }
    self.init(rawValue: UInt8(number))
  }

  /// The value of the header `urgency`.
  var name: StaticString {
    switch self {
    case .veryLow: "very-low"
    case .low: "low"
    case .normal: "normal"
    case .high: "high"
    }
  }

  /// The priority that an app's notification of this urgency would have.
  var priority: UInt8 {
    switch self {
    case .veryLow, .low: 1
    case .normal: 5
    case .high: 10
    }
  }
}
