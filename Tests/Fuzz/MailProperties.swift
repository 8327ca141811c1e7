import TinyPush
import TinyPushMail

/// Knows one character set.
private struct OneConverter: CharacterSetConverter {
  func convert(_ bytes: Span<UInt8>, from name: Span<UInt8>, to text: inout Text) -> Bool {
    guard name.equals("iso-8859-2") else { return false }
    for index in bytes.indices { text.append(scalar: UInt32(bytes[index])) }
    return true
  }
}

/// The texts of a mail; the first is the subject, and both are empty if there is nothing to show.
private func texts(of mail: borrowing Mail) -> [[UInt8]] {
  [copy(mail.subject.bytes), copy(mail.text.bytes)]
}

/// Checks that a mail with a visible byte shows something, and that its texts are clean.
func mailViolation(_ bytes: [UInt8]) -> String? {
  let texts = texts(of: Mail(bytes.span, payloadMax: 4096, OneConverter()))
  if texts[0].isEmpty && texts[1].isEmpty, bytes.contains(where: { $0 > 0x20 && $0 < 0x7F }) {
    return "a mail shows nothing"
  }
  if texts[0].count > 256 { return "a subject is too long" }
  for (number, text) in texts.enumerated() {
    if !isUTF8(text) { return "a text is not UTF-8" }
    let lines = text.split(separator: 0x0A, omittingEmptySubsequences: false)
    if number == 0, lines.count > 1 { return "a subject has several lines" }
    for line in lines {
      if let last = line.last, last <= 0x20 { return "a line ends with white space" }
      if line.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }) {
        return "a text has a control character"
      }
    }
    if !text.isEmpty, lines[0].isEmpty || lines[lines.count - 1].isEmpty {
      return "a text begins or ends with an empty line"
    }
  }
  return addressViolation(bytes)
}

private func addressViolation(_ bytes: [UInt8]) -> String? {
  var addresses = AddressReader(0..<bytes.count)
  var end = 0
  while let place = addresses.next(in: bytes.span) {
    if place.isEmpty || place.lowerBound < end { return "an address is empty or read twice" }
    end = place.upperBound
  }
  var isWrong = false
  Mail.forEachRecipient(of: bytes.span) { if $0.count == 0 { isWrong = true } }
  return isWrong ? "a recipient has no name" : nil
}

private func isUTF8(_ text: [UInt8]) -> Bool {
  var index = 0
  while index < text.count {
    let length = text[index] < 0x80 ? 1 : UTF8Sequence.length(in: text.span, at: index)
    guard length > 0 else { return false }
    index += length
  }
  return true
}

private func copy(_ bytes: Span<UInt8>) -> [UInt8] {
  var copied: [UInt8] = []
  for index in bytes.indices { copied.append(bytes[index]) }
  return copied
}
