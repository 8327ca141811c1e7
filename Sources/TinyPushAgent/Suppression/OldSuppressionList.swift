import CLinux
import TinyPush

/// Takes over the lists of version 0.2.0, which were binary, into the present list.
///
/// Such a list has records of 40 bytes, `token:32 | time:4 | reason:1 | 0:3`, and the end `TPS2 |
/// records:4 | others:4 | sum:8`, big-endian. What still runs of that version may write one again.
enum OldSuppressionList {
  private static let listName: StaticString = "suppressed"
  private static let recentName: StaticString = "recent"
  private static let recordBytes = 40
  private static let endBytes = 20

  /// Takes over the lists in a directory, if there are any and this user may write there.
  ///
  /// While another program has the lock, this waits for the next time that the directory is opened.
  @inline(never)
  static func takeOver(_ directory: Int32) {
    let (list, recent) = (
      FileIdentity(directory, listName), FileIdentity(directory, recentName)
    )
    guard list != nil || recent != nil else { return }
    var merge = SuppressionMerge(directory)
    let isList = read(directory, listName, &merge)
    let isRecent = read(directory, recentName, &merge)
    guard isList || isRecent, finish(&merge) else { return }
    if isList { remove(directory, listName, list) }
    if isRecent { remove(directory, recentName, recent) }
  }

  private static func finish(_ merge: inout SuppressionMerge) -> Bool {
    merge.finish(isWhole: true, isPatient: false) { _, _, _ in }
  }

  /// Removes a list, unless another has replaced it since.
  private static func remove(_ directory: Int32, _ name: StaticString, _ known: FileIdentity?) {
    if FileIdentity(directory, name) == known { unlinkat(directory, name.cString, 0) }
  }

  /// Adds the records of a list to a merge; returns whether it is such a list.
  @inline(never)
  private static func read(
    _ directory: Int32, _ name: StaticString, _ merge: inout SuppressionMerge
  ) -> Bool {
    var error: Int32 = 0
    let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
    guard let file = Descriptor(directory, name.cString, flags, error: &error) else { return false }
    let isList = read(file.number, FixedBuffer<UInt8>(capacity: recordBytes), &merge)
    extendLifetime(file)
    return isList
  }

  @inline(never)
  private static func read(
    _ file: Int32, _ bytes: borrowing FixedBuffer<UInt8>, _ merge: inout SuppressionMerge
  ) -> Bool {
    var information = stat()
    guard fstat(file, &information) == 0, information.st_size >= endBytes else { return false }
    let end = Int64(information.st_size) - Int64(endBytes)
    guard read(file, bytes, endBytes, at: end), bytes.span(0..<4).equals("TPS2") else {
      return false
    }
    let records = Int64(bytes.span(4..<8).bigEndian32(at: 0))
    for number in 0..<min(records, end / Int64(recordBytes)) {
      guard read(file, bytes, recordBytes, at: number * Int64(recordBytes)) else { break }
      // A damaged record may have no reason.
      guard let reason = SuppressionRecord.Reason(rawValue: bytes[36]) else { continue }
      guard !merge.isFull || finish(&merge) else { return false }
      merge.add(
        SuppressionRecord(
          token: TokenIdentity(of: bytes.span(0..<TokenIdentity.byteCount)),
          time: bytes.span(32..<36).bigEndian32(at: 0), reason: reason))
    }
    return true
  }

  private static func read(
    _ file: Int32, _ bytes: borrowing FixedBuffer<UInt8>, _ count: Int, at place: Int64
  ) -> Bool {
    let room = UnsafeMutableBufferPointer(rebasing: bytes.room()[..<count])
    return Descriptor.read(file, room, at: place) == count
  }
}
