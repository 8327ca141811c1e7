import Testing
import TinyPushRules

private func hash(_ bytes: [UInt8], _ pieces: [Int] = []) -> UInt64 {
  var hash = ContentHash()
  var start = 0
  for piece in pieces + [bytes.count] {
    let end = min(start + piece, bytes.count)
    hash.add(Array(bytes[start..<end]).span)
    start = end
  }
  #expect(hash.bytes == Int64(bytes.count))
  return hash.value
}

@Test(arguments: 1...50)
func `a content has the same hash in pieces of any size`(seed: UInt64) {
  var state = seed
  func random(upTo limit: Int) -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int(state >> 33) % (limit + 1)
  }
  let bytes = (0..<random(upTo: 300)).map { _ in UInt8(random(upTo: 255)) }
  let whole = hash(bytes)
  #expect(hash(bytes, [Int](repeating: 1, count: bytes.count)) == whole)
  #expect(hash(bytes, (0..<20).map { _ in random(upTo: 40) }) == whole)
}

@Test func `contents that differ in a byte, in length or in order have different hashes`() {
  let bytes = (0..<100).map { UInt8($0) }
  var hashes: Set<UInt64> = [hash(bytes)]
  for index in bytes.indices {
    var other = bytes
    other[index] ^= 1
    hashes.insert(hash(other))
    hashes.insert(hash(Array(bytes.prefix(index))))
    hashes.insert(hash(Array(repeating: 0, count: index + 1)))
  }
  // One hash occurs twice, since the first byte is a zero. The last two swap blocks.
  hashes.insert(hash(Array(bytes[16..<32] + bytes[0..<16] + bytes[32...])))
  hashes.insert(hash(Array(bytes[8..<16] + bytes[0..<8] + bytes[16...])))
  #expect(hashes.count == 302)
}
