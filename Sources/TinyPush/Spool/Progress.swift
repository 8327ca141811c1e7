/// The progress in a large file, stored beside the spool so that a restart does not repeat it.
///
/// The record contains the identity of the file, so that it has no effect after the file is gone.
/// On disk, little-endian:
/// `magic:4 | recipient:4 | inode:8 | changed:8 | size:8 | offset:8 | sum:8`.
public struct Progress: Equatable, BitwiseCopyable {
  /// The identity of the file.
  public var file: FileIdentity
  /// The offset in bytes of the first notification that is not settled.
  public var offset: Int64
  /// The number of recipients of that notification that are settled.
  public var recipient: UInt32

  /// Makes a record.
  public init(file: FileIdentity, offset: Int64, recipient: UInt32) {
    self.file = file
    self.offset = offset
    self.recipient = recipient
  }

  /// The size of a record on disk.
  public static let byteCount = 48
  /// "TPP1": changes with the layout.
  private static let magic: UInt32 = 0x3150_5054

  /// Reads a record; nil if the record is truncated or damaged.
  public init?(_ bytes: Span<UInt8>) {
    guard bytes.count == Self.byteCount,
      Self.load(bytes, 0) & 0xFFFF_FFFF == UInt64(Self.magic),
      Self.load(bytes, 40) == Self.sum(bytes)
    else { return nil }
    recipient = UInt32(Self.load(bytes, 0) >> 32)
    file = FileIdentity(
      inode: Self.load(bytes, 8), changeTimeNs: Int64(bitPattern: Self.load(bytes, 16)),
      size: Int64(bitPattern: Self.load(bytes, 24)))
    offset = Int64(bitPattern: Self.load(bytes, 32))
    guard offset > 0, offset <= file.size else { return nil }
  }

  /// The record as it is written to disk.
  public var bytes: InlineArray<48, UInt8> {
    var bytes: InlineArray<48, UInt8> = .init(repeating: 0)
    let words: InlineArray<5, UInt64> = [
      UInt64(Self.magic) | UInt64(recipient) << 32, file.inode,
      UInt64(bitPattern: file.changeTimeNs), UInt64(bitPattern: file.size),
      UInt64(bitPattern: offset),
    ]
    for index in words.indices { Self.store(words[index], &bytes, index * 8) }
    Self.store(Self.sum(bytes.span), &bytes, 40)
    return bytes
  }

  private static func load(_ bytes: Span<UInt8>, _ place: Int) -> UInt64 {
    var word: UInt64 = 0
    for index in 0..<8 { word |= UInt64(bytes[place + index]) << UInt64(index * 8) }
    return word
  }

  private static func store(_ word: UInt64, _ bytes: inout InlineArray<48, UInt8>, _ place: Int) {
    for index in 0..<8 {
      bytes[place + index] = UInt8(truncatingIfNeeded: word >> UInt64(index * 8))
    }
  }

  /// Returns the sum of all bytes before it.
  private static func sum(_ bytes: Span<UInt8>) -> UInt64 {
    var hash = Hash()
    hash.add(bytes.extracting(0..<40))
    return hash.value
  }
}
