/// SHA-256, for the identity of recipients and for names that are derived from others.
///
/// Source: FIPS 180-4, sections 4.1.2, 5 and 6.2.
package enum SHA256 {
  package static let digestByteCount = 32
  private static let blockByteCount = 64

  private static let roundConstants: InlineArray<64, UInt32> = [
    0x428A_2F98, 0x7137_4491, 0xB5C0_FBCF, 0xE9B5_DBA5, 0x3956_C25B, 0x59F1_11F1, 0x923F_82A4,
    0xAB1C_5ED5, 0xD807_AA98, 0x1283_5B01, 0x2431_85BE, 0x550C_7DC3, 0x72BE_5D74, 0x80DE_B1FE,
    0x9BDC_06A7, 0xC19B_F174, 0xE49B_69C1, 0xEFBE_4786, 0x0FC1_9DC6, 0x240C_A1CC, 0x2DE9_2C6F,
    0x4A74_84AA, 0x5CB0_A9DC, 0x76F9_88DA, 0x983E_5152, 0xA831_C66D, 0xB003_27C8, 0xBF59_7FC7,
    0xC6E0_0BF3, 0xD5A7_9147, 0x06CA_6351, 0x1429_2967, 0x27B7_0A85, 0x2E1B_2138, 0x4D2C_6DFC,
    0x5338_0D13, 0x650A_7354, 0x766A_0ABB, 0x81C2_C92E, 0x9272_2C85, 0xA2BF_E8A1, 0xA81A_664B,
    0xC24B_8B70, 0xC76C_51A3, 0xD192_E819, 0xD699_0624, 0xF40E_3585, 0x106A_A070, 0x19A4_C116,
    0x1E37_6C08, 0x2748_774C, 0x34B0_BCB5, 0x391C_0CB3, 0x4ED8_AA4A, 0x5B9C_CA4F, 0x682E_6FF3,
    0x748F_82EE, 0x78A5_636F, 0x84C8_7814, 0x8CC7_0208, 0x90BE_FFFA, 0xA450_6CEB, 0xBEF9_A3F7,
    0xC671_78F2,
  ]

  /// Returns the digest of a message.
  @inline(never)
  package static func digest(_ message: Span<UInt8>) -> InlineArray<32, UInt8> {
    var state: InlineArray<8, UInt32> = [
      0x6A09_E667, 0xBB67_AE85, 0x3C6E_F372, 0xA54F_F53A, 0x510E_527F, 0x9B05_688C, 0x1F83_D9AB,
      0x5BE0_CD19,
    ]
    // At least nine bytes follow the message: a one bit, and its length.
    let blocks = (message.count + 8) / blockByteCount + 1
    var words = InlineArray<16, UInt32>(repeating: 0)
    for block in 0..<blocks {
      for index in 0..<blockByteCount {
        let byte = paddedByte(at: block * blockByteCount + index, of: message, blocks)
        words[index / 4] = words[index / 4] << 8 | UInt32(byte)
      }
      compress(&words, into: &state)
    }
    var digest = InlineArray<32, UInt8>(repeating: 0)
    for index in 0..<digestByteCount {
      digest[index] = UInt8(truncatingIfNeeded: state[index / 4] >> UInt32(24 - index % 4 * 8))
    }
    return digest
  }

  /// Returns a byte of the message with its padding, which fills the last block.
  private static func paddedByte(at index: Int, of message: Span<UInt8>, _ blocks: Int) -> UInt8 {
    if index < message.count { return message[index] }
    if index == message.count { return 0x80 }
    let bytesBehind = blocks * blockByteCount - 1 - index
    return bytesBehind < 8
      ? UInt8(truncatingIfNeeded: (UInt64(message.count) << 3) >> UInt64(bytesBehind * 8)) : 0
  }

  /// Adds a block to the state.
  ///
  /// - Parameter words: the block; the words of the message schedule replace it.
  private static func compress(
    _ words: inout InlineArray<16, UInt32>, into state: inout InlineArray<8, UInt32>
  ) {
    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
    var (e, f, g, h) = (state[4], state[5], state[6], state[7])
    for round in 0..<64 {
      let place = round & 15
      if round >= 16 {
        let early = words[(round + 1) & 15]
        let late = words[(round + 14) & 15]
        let first = rotate(early, 7) ^ rotate(early, 18) ^ early >> 3
        let second = rotate(late, 17) ^ rotate(late, 19) ^ late >> 10
        words[place] = words[place] &+ first &+ words[(round + 9) & 15] &+ second
      }
      let choice = e & f ^ ~e & g
      let majority = a & b ^ a & c ^ b & c
      let one =
        h &+ (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) &+ choice
        &+ roundConstants[round] &+ words[place]
      let two = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) &+ majority
      (h, g, f, e) = (g, f, e, d &+ one)
      (d, c, b, a) = (c, b, a, one &+ two)
    }
    state[0] &+= a
    state[1] &+= b
    state[2] &+= c
    state[3] &+= d
    state[4] &+= e
    state[5] &+= f
    state[6] &+= g
    state[7] &+= h
  }

  @inline(__always)
  private static func rotate(_ word: UInt32, _ bits: UInt32) -> UInt32 {
    word >> bits | word << (32 - bits)
  }
}
