import CLinux
import TinyPush

/// Takes over the lists of version 0.2.0, which were binary.
///
/// Such a list has records of 40 bytes, `token:32 | time:4 | reason:1 | 0:3`, and the end `TPS2 |
/// records:4 | others:4 | sum:8`, big-endian.
enum OldSuppressionList {
  private static let recordBytes = 40
  private static let endBytes = 20

  /// Writes the old lists of a directory as text; returns whether there were any.
  ///
  /// - Parameter error: on failure, the errno.
  @inline(never)
  static func convert(_ directory: Int32, error: inout Int32) -> Bool {
    let isList = convert(directory, SuppressionDirectory.listName, &error)
    return convert(directory, SuppressionDirectory.recentName, &error) || isList
  }

  private static func convert(
    _ directory: Int32, _ name: StaticString, _ error: inout Int32
  ) -> Bool {
    var ignored: Int32 = 0
    let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
    guard error == 0, let old = Descriptor(directory, name.cString, flags, error: &ignored) else {
      return false
    }
    let bytes = FixedBuffer<UInt8>(capacity: recordBytes)
    guard let end = end(of: old.number, bytes) else { return false }
    let (from, draft) = (old.number, SuppressionDirectory.draftName.cString)
    let result = Replacement.make(directory, name.cString, draft, mode: 0o640) {
      copy(end, from: from, bytes, to: $0)
    }
    extendLifetime(old)
    if result != EBADMSG { error = result }
    return result == 0
  }

  /// What the end of an old list says.
  private struct End {
    var records: Int64
    /// The bytes before the sum.
    var size: Int64
    var sum: UInt64
  }

  /// Returns the end of an old list; nil for any other file.
  @inline(never)
  private static func end(of file: Int32, _ bytes: borrowing FixedBuffer<UInt8>) -> End? {
    var information = stat()
    guard fstat(file, &information) == 0, information.st_size >= endBytes else { return nil }
    let size = Int64(information.st_size)
    guard read(file, bytes, endBytes, at: size - Int64(endBytes)) else { return nil }
    let (records, others) = (
      Int64(bytes.span(4..<8).bigEndian32(at: 0)), Int64(bytes.span(8..<12).bigEndian32(at: 0))
    )
    guard bytes.span(0..<4).equals("TPS2"),
      records * Int64(recordBytes) + others == size - Int64(endBytes)
    else { return nil }
    return End(
      records: records, size: size - 8, sum: bytes.span(12..<20).bigEndian64(at: 0))
  }

  /// Copies the records; returns 0 or an errno, EBADMSG if the sum is wrong.
  @inline(never)
  private static func copy(
    _ end: End, from old: Int32, _ bytes: borrowing FixedBuffer<UInt8>, to file: Int32
  ) -> Int32 {
    var writer = LineWriter(file)
    var hash = Hash()
    var place: Int64 = 0
    while place < end.size {
      let count = Int(min(Int64(recordBytes), end.size - place))
      guard read(old, bytes, count, at: place) else { return EBADMSG }
      hash.add(bytes.span(0..<count))
      if place < end.records * Int64(recordBytes),
        let reason = SuppressionRecord.Reason(rawValue: bytes[36])
      {
        let token = TokenIdentity(of: bytes.span(0..<TokenIdentity.byteCount))
        let time = bytes.span(32..<36).bigEndian32(at: 0)
        writer.add(SuppressionRecord(token: token, time: time, reason: reason))
      }
      place += Int64(count)
    }
    return hash.value == end.sum ? writer.finish() : EBADMSG
  }

  private static func read(
    _ file: Int32, _ bytes: borrowing FixedBuffer<UInt8>, _ count: Int, at place: Int64
  ) -> Bool {
    let room = UnsafeMutableBufferPointer(rebasing: bytes.room()[..<count])
    return Descriptor.read(file, room, at: place) == count
  }
}
