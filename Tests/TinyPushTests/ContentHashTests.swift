import Testing

@testable import Simulation
@testable import TinyPush

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
  var random = Seeded(seed)
  let bytes = (0..<random.upTo(300)).map { _ in UInt8(random.upTo(255)) }
  let whole = hash(bytes)
  #expect(hash(bytes, [Int](repeating: 1, count: bytes.count)) == whole)
  #expect(hash(bytes, (0..<20).map { _ in random.upTo(40) }) == whole)
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

@Test func `the newest of many delivered files are known`() {
  var files = DeliveredFiles()
  for inode in 1...300 {
    files.insert(
      FileIdentity(inode: UInt64(inode), changeTimeNs: 1, size: 9),
      FileContent(bytes: 9, hash: UInt64(inode)))
  }
  let isOldKnown = files.find(inode: 44) != nil
  let isNewKnown = files.find(inode: 45)?.content.hash == 45
  #expect(!isOldKnown && isNewKnown)
  files.insert(
    FileIdentity(inode: 300, changeTimeNs: 2, size: 12), FileContent(bytes: 12, hash: 7))
  let isReplaced = files.find(inode: 300)?.content == FileContent(bytes: 12, hash: 7)
  #expect(isReplaced)
  files.remove(inode: 300)
  let isRemoved = files.find(inode: 300) == nil
  #expect(isRemoved)
}

@Test func `a delivered file that a scan does not find is forgotten`() {
  var files = DeliveredFiles()
  for inode: UInt64 in 1...3 {
    files.insert(
      FileIdentity(inode: inode, changeTimeNs: 1, size: 9), FileContent(bytes: 9, hash: 1))
  }
  files.unmark()
  files.mark(2)
  files.removeUnmarked()
  let known = (1...3).map { files.find(inode: UInt64($0)) != nil }
  #expect(known == [false, true, false])
}
