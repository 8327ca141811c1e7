import Testing

@testable import Simulation
@testable import TinyPush
@testable import TinyPushSandbox

private let key = Array(UInt8(0)..<64)
private let topic = TokenContent.digest(topic: "com.example.tinypush".bytes.span)
private let content = TokenContent(device: 0x0123_4567_89ab_cdef, topic: topic)

/// Returns the content of a token, or nil if another key sealed the token.
private func open(_ token: [UInt8], _ key: [UInt8] = key) -> TokenContent? {
  TokenKey(key.span).open(token.span)
}

private func seal(_ content: TokenContent, _ key: [UInt8] = key) -> [UInt8] {
  let token = TokenKey(key.span).seal(content)
  return [UInt8](token.bytes)
}

@Test func `a token has the bytes that its documented construction gives`() {
  // Computed with Python's hmac and OpenSSL's AES.
  let token = seal(content)
  #expect(
    text { $0.append(hex: token.span) }
      == "6c652ec6c1bdf0d244b19502df914ca8b27ad88e492429688abd40237992f1be")
  #expect(topic == 0x9e93_3386_1e60_83b0)
}

@Test func `a token opens only under the key that sealed it`() {
  let token = seal(content)
  #expect(open(token) == content)
  for index in key.indices {
    var other = key
    other[index] ^= 1
    #expect(open(token, other) == nil, "byte \(index) of the key")
  }
}

@Test func `a token with one wrong bit does not open`() {
  let token = seal(content)
  for bit in 0..<256 {
    var wrong = token
    wrong[bit / 8] ^= 1 << (bit % 8)
    #expect(open(wrong) == nil, "bit \(bit)")
  }
  #expect(open([UInt8](repeating: 0, count: 32)) == nil)
}

@Test func `each combination of app, device and key has its own token`() {
  let other = TokenContent(
    device: content.device, topic: TokenContent.digest(topic: "com".bytes.span))
  let next = TokenContent(device: content.device + 1, topic: content.topic)
  var tokens = [seal(content), seal(other), seal(next), seal(content, key.reversed())]
  #expect(seal(content) == tokens[0], "the same content gives the same token")
  while let token = tokens.popLast() {
    for another in tokens {
      #expect(token.prefix(16) != another.prefix(16) && token.suffix(16) != another.suffix(16))
    }
  }
}
