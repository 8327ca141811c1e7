/// A property that must hold for arbitrary bytes.
public enum Property: String, CaseIterable, Sendable {
  /// The scanner and the reader of notifications.
  case notification
  /// Decoding what comes over a connection, and printing bytes.
  case wire
  /// Decoding the feedback service's tuples and the suppression list on disk.
  case suppression
  /// A broker's MQTT packets, and the notifications that rules make of messages.
  case mqtt
  /// Requests over HTTP, and the notifications that texts and webhooks make.
  case http
  /// Mails, and the alerts that they make.
  case mail
  /// The messages that browsers get for payloads.
  case webpush
  /// Numbers in records, names and settings.
  case numbers
  /// The lines of a configuration file.
  case config

  /// Returns what violates the property, or nil; a crash is a violation too.
  ///
  /// - Parameter input: `cut:2 | text…`; the cut is little-endian, modulo the text's size plus 1.
  public func violation(_ input: [UInt8]) -> String? {
    guard input.count >= 2 else { return nil }
    let text = Array(input[2...])
    let cut = (Int(input[0]) | Int(input[1]) << 8) % (text.count + 1)
    return switch self {
    case .notification: scannerViolation(text, cut: cut) ?? readerViolation(text, cut: cut)
    case .wire: wireViolation(text, cut: cut) ?? textViolation(text)
    case .suppression: feedbackViolation(text, cut: cut) ?? listViolation(text)
    case .mqtt: mqttViolation(text, cut: cut) ?? rulesViolation(text)
    case .http: requestViolation(text, cut: cut)
    case .mail: mailViolation(text)
    case .webpush: webMessageViolation(text, cut: cut)
    case .numbers: numbersViolation(text)
    case .config: configViolation(text)
    }
  }
}

/// Returns the ends of a text's pieces in three ways: whole, in two, and nearly byte by byte.
func pieces(of count: Int, cut: Int) -> [[Int]] {
  [[count], [cut, count], Array(stride(from: 0, to: count, by: count / 500 + 1)) + [count]]
}
