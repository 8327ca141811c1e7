import Testing
import TinyPush
import TinyPushWebhooks

extension Text {
  /// The text as a string.
  var string: String {
    var array: [UInt8] = []
    for index in bytes.indices { array.append(bytes[index]) }
    return String(decoding: array, as: UTF8.self)
  }
}

/// Returns the code of the first finding that refuses a notification in a text; nil: all are right.
func refusal(of text: borrowing Text, limit: Int? = nil) -> String? {
  var reader = NotificationReader()
  var findings = Findings()
  var rules = Rules()
  rules.pushProtocol = .http2
  rules.payloadLimit = limit
  while true {
    switch reader.next(in: text.bytes, isWhole: true, rules, &findings) {
    case .notification: break
    case .refused(let finding, _):
      var code = Text()
      finding.appendCode(to: &code)
      return code.string
    case .more, .end: return nil
    }
  }
}
