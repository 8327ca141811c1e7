import Foundation
import Testing

/// How far a large file is settled, which lets a restart repeat only a little.
@Suite(.sideBySide) struct ProgressTests {
  @Test func `a restart after a kill in a large file repeats only a little of the file`() throws {
    let count = 100_000
    let gateway = try Gateway(in: box)
    // About 80 TLS records may be open and settle after two seconds: the file takes 20 s.
    let agent = try box.agent(gateway, ["settle=2s", "window=16"])
    try box.drop((1...count).map { line($0) }.joined(), as: "large")
    try wait(for: "progress to be kept") { keptOffset(in: box) > 1000 * line(1).utf8.count }
    agent.kill()
    try gateway.readsAll()
    let before = try Tally(gateway.record, count: count, in: box).accepted
    let settled = keptOffset(in: box) / line(1).utf8.count
    #expect(settled > 1000)
    #expect(before < count)

    // The agent gives up a connection that takes nothing for half of this time, and repeats.
    let second = try box.agent(gateway, ["settle=4s"])
    try wait(for: "new/ to become empty") { box.queued.isEmpty }
    #expect(try second.terminate() == 0)
    #expect(box.names(in: "taken") == [], "the file stays although it is delivered")
    try gateway.readsAll()
    let tally = try Tally(gateway.record, count: count, in: box)
    #expect(tally.lost == 0)
    #expect(tally.duplicates <= before - settled)
  }

  /// How far the file is settled, in bytes, as its name in taken/ says.
  private func keptOffset(in box: Box) -> Int {
    box.names(in: "taken").compactMap { $0.split(separator: ".").last.flatMap { Int($0) } }.max()
      ?? 0
  }

  @Test func `delivered files of version 0.2.0 are taken over without what was delivered`() throws {
    let first = line(1, "delivered")
    mkdir(box.spool + "/leaving", 0o755)
    // The bytes that were delivered, a hash, an inode and the name.
    func leave(_ bytes: Int, _ inode: Int, _ text: String) throws {
      let digits = [bytes, 0, inode].map { String(format: "%016lx", $0) }.joined(separator: ".")
      try box.write(text, to: "spool/leaving/\(digits).alarm")
    }
    try leave(first.utf8.count, 1, first + line(2, "appended"))
    try leave(first.utf8.count, 2, first + line(3, "appended, too"))
    // The highest bit: what was delivered ended with text that is no notification.
    try leave((first + "tail").utf8.count | Int.min, 3, first + "tail")
    let gateway = try Gateway(in: box)
    let agent = try box.deliver(gateway)
    #expect(agent.status == 0, "\(agent.errors)")
    #expect(try Set(gateway.alerts(in: box)) == ["appended", "appended, too"])
    #expect(!FileManager.default.fileExists(atPath: box.spool + "/leaving"))
  }

  /// What another user or a disk does to the record of version 0.2.0.
  enum Harm: CaseIterable, Sendable {
    case none, cutShort, damaged, link, pipe, directory, anotherUser, anotherFile, aTimeAgo
  }

  @Test(arguments: Harm.allCases)
  func `a record that is damaged or not of this agent and file skips no notification`(harm: Harm)
    throws
  {
    let count = 1000
    try box.drop((1...count).map { line($0) }.joined(), as: "large")
    var record = try Record(file: box.spool + "/new/large", offset: 400 * line(1).utf8.count)
    switch harm {
    case .anotherFile: record.inode += 1
    case .aTimeAgo: record.changed -= 1
    default: break
    }
    try place(record.bytes, harm, in: box)
    let gateway = try Gateway(in: box)
    let agent = try box.deliver(gateway)
    #expect(agent.status == 0, "\(agent.errors)")
    let tally = try Tally(gateway.record, count: count, in: box)
    #expect(tally.accepted == (harm == .none ? count - 400 : count))
    #expect(tally.duplicates == 0)
    #expect(box.queued == [])
  }

  private func place(_ bytes: Data, _ harm: Harm, in box: Box) throws {
    let path = box.spool + "/.progress"
    var bytes = bytes
    if harm == .damaged { bytes[bytes.startIndex + 33] ^= 1 }
    if harm == .cutShort { bytes.removeLast() }
    switch harm {
    case .pipe: mkfifo(path, 0o666)
    case .directory: mkdir(path, 0o755)
    case .link:
      try bytes.write(to: URL(filePath: box.path + "/record"))
      symlink(box.path + "/record", path)
    default: try bytes.write(to: URL(filePath: path))
    }
    if harm == .anotherUser {
      guard chown(path, 65534, 65534) == 0 else {
        throw Failure("chown: \(String(cString: strerror(errno))); these tests are run as root")
      }
    }
  }
}

/// The record of progress of version 0.2.0, written by independent code.
///
/// Little-endian `magic:4 | recipient:4 | inode:8 | changed:8 | size:8 | offset:8 | sum:8`; the sum
/// is FNV-1a.
private struct Record {
  var inode: UInt64
  var changed: Int64
  var size: Int64
  var offset: Int64

  init(file: String, offset: Int) throws {
    var information = stat()
    guard stat(file, &information) == 0 else { throw Failure("\(file): errno \(errno)") }
    inode = UInt64(information.st_ino)
    changed = Int64(information.st_ctim.tv_sec) * 1_000_000_000 + Int64(information.st_ctim.tv_nsec)
    size = Int64(information.st_size)
    self.offset = Int64(offset)
  }

  var bytes: Data {
    var bytes = Data("TPP1".utf8) + Data(count: 4)
    for word in [inode, UInt64(changed), UInt64(size), UInt64(offset)] {
      withUnsafeBytes(of: word.littleEndian) { bytes.append(contentsOf: $0) }
    }
    let sum = bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    withUnsafeBytes(of: sum.littleEndian) { bytes.append(contentsOf: $0) }
    return bytes
  }
}
