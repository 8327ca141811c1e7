import TinyPush
import TinyPushWebPush

/// What a tilde in an input stands for, so that short inputs are long texts.
private let long = [UInt8](String(repeating: #"é e\u0301 \ud83d\ude00"#, count: 10).utf8)

/// Checks that the message for a payload is JSON of the allowed size with a title, and with an address if
/// Safari shows the message without a script.
func webMessageViolation(_ input: [UInt8], cut: Int) -> String? {
  let text = input.flatMap { $0 == UInt8(ascii: "~") ? long : [$0] }
  let message = WebMessage(text.span)
  guard message.problem == nil else { return nil }
  let page = [UInt8](
    ("https://p.example/" + String(repeating: "p", count: WebMessage.pageBytesMax)).utf8
      .prefix(cut % 2 == 0 ? 0 : cut % (WebMessage.pageBytesMax + 1)))
  let tag = [UInt8](repeating: UInt8(ascii: "t"), count: cut % (WebMessage.tagBytesMax + 1))
  let buffer = FixedBuffer<UInt8>(capacity: WebMessage.bytesMax)
  let count = message.write(
    text.span, page: page.span, tag: tag.span, to: buffer)
  let written = (0..<count).map { buffer[$0] }
  switch Reference.validity(written, depthMax: JSONScanner.depthMax + 1) {
  case .valid: break
  default: return "a message of \(count) bytes is not valid"
  }
  return lacks(written) ? "a message lacks a title or an address" : nil
}

/// Whether a message has no title or no address, which must be strings that are not empty.
private func lacks(_ message: [UInt8]) -> Bool {
  var scanner = JSONScanner()
  var hasTitle = false
  var hasAddress = false
  do throws(JSONProblem) {
    let start: StaticString = "{\"web_push\":8030,\"notification\":"
    let undeclared: StaticString = "{\"notification\":"
    if message.span.begins(with: start.span) {
      scanner.index = start.utf8CodeUnitCount
    } else {
      guard message.span.begins(with: undeclared.span) else { return true }
      scanner.index = undeclared.utf8CodeUnitCount
      hasAddress = true
    }
    guard try scanner.openObject(message.span) else { return true }
    repeat {
      let key = message[try scanner.key(message.span)]
      let start = try scanner.peek(message.span)
      let at = scanner.index
      try scanner.skipValue(message.span)
      let isText = start == UInt8(ascii: "\"") && scanner.index - at > 2
      if key.elementsEqual("title".utf8) { hasTitle = isText }
      if key.elementsEqual("navigate".utf8) { hasAddress = hasAddress || isText }
    } while try scanner.nextMember(message.span)
  } catch {
    return true
  }
  return !hasTitle || !hasAddress
}
