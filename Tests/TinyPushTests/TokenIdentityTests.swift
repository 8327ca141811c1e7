import Testing

@testable import Simulation
@testable import TinyPush

private func digest(_ message: [UInt8]) -> String {
  let digest = SHA256.digest(message.span)
  return [UInt8](digest.span).hex
}

@Test(arguments: [
  // FIPS 180-4 and its examples.
  ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
  ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
  (
    "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
  ),
  (
    "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
    "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
  ),
])
func `SHA-256 gives the digests of the standard`(message: String, expected: String) {
  #expect(digest(message.bytes) == expected)
}

@Test(arguments: [
  // The lengths at which the padding takes another block. Computed with OpenSSL.
  (55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"),
  (56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"),
  (63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"),
  (64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"),
  (100, "2816597888e4a0d3a36b82b83316ab32680eb8f00f8cd3b904d681246d285a0e"),
  (1_000_000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
])
func `SHA-256 pads a message of any length`(count: Int, expected: String) {
  #expect(digest([UInt8](repeating: 0x61, count: count)) == expected)
}

@Test func `the identity of a token of 32 bytes is the token, and else its SHA-256`() {
  for count in 1...100 {
    let bytes = (0..<count).map { UInt8($0) }
    let identity = DeviceToken(bytes: bytes.span)!.identity
    let found = [UInt8](identity.bytes).hex
    #expect(found == (count == 32 ? bytes.hex : digest(bytes)))
  }
}

@Test func `tokens of different lengths have different identities`() {
  var hashes: Set<UInt64> = []
  for count in 1...100 {
    let zeros = [UInt8](repeating: 0, count: count)
    hashes.insert(DeviceToken(bytes: zeros.span)!.identity.hash)
  }
  #expect(hashes.count == 100)
}
