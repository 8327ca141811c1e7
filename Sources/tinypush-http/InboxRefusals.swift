import TinyPush
import TinyPushAgent
import TinyPushWebhooks

/// Answers requests that are refused, in JSON.
extension Inbox {
  static var json: StaticString { "application/json" }

  mutating func refuseMethod(_ request: Request, _ allowed: StaticString) {
    refuse(request, 405, "method", "this path takes another method")
    request.addHeader("Allow", allowed.cString)
  }

  mutating func refuseSize(_ request: Request) {
    refuse(
      request, 413, "request-too-large",
      "a request has at most 1 MB: send the notifications in several requests")
  }

  mutating func refuse(
    _ request: Request, _ status: UInt32, _ code: StaticString, _ message: StaticString,
    retryAfter seconds: StaticString? = nil
  ) {
    refuse(request, status, code: code.span, message.span)
    if let seconds { request.addHeader("Retry-After", seconds.cString) }
  }

  mutating func refuse(
    _ request: Request, _ status: UInt32, code: Span<UInt8>, _ message: Span<UInt8>
  ) {
    begin(code, message)
    finish(request, status)
  }

  mutating func report(
    _ finding: Finding, in text: Span<UInt8>, _ status: UInt32, _ request: Request,
    hasLines: Bool = true
  ) {
    begin(finding)
    if hasLines {
      appendPlace(finding.offset..<Excerpt.end(of: finding.offset, in: text), in: text)
    }
    finish(request, status)
  }

  private mutating func begin(_ finding: Finding) {
    var code = Text(capacity: 64)
    var message = Text(capacity: 4096)
    finding.appendCode(to: &code)
    finding.describe(in: &message)
    begin(code.bytes, message.bytes)
  }

  mutating func begin(_ code: Span<UInt8>, _ message: Span<UInt8>) {
    self.code.clear()
    self.code.append(bytes: code)
    answer.clear()
    answer.beginObject()
    answer.member("code", string: code)
    answer.member("message", string: message)
  }

  /// Appends a place in the request's body, as `tinypush check --json` does.
  mutating func appendPlace(_ place: Range<Int>, in text: Span<UInt8>) {
    let start = TextPlace(place.lowerBound, in: text)
    answer.member("line", number: start.line)
    answer.member("column", number: start.column)
    answer.member("end_column", number: start.column + TextPlace.characters(place, in: text))
    answer.member("offset", number: place.lowerBound)
  }

  mutating func finish(_ request: Request, _ status: UInt32) {
    answer.endLine()
    counts.refused += 1
    request.answer(status, Self.json, answer)
    var text = Text()
    text.append("refused a request: ", status, " ")
    text.append(code)
    log.write(.warning, text, about: .refusals)
  }
}
