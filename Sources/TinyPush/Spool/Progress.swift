/// How far a large file is settled, kept beside the spool so that a restart need not repeat what came before.
///
/// It names the file by what tells it from all others, so that a record which outlived its file means nothing. On disk,
/// little-endian: `magic:4 | recipient:4 | inode:8 | changed:8 | size:8 | offset:8 | sum:8`.
public struct Progress: Equatable, BitwiseCopyable {
  public var file: FileIdentity
  /// Where the first notification stands that is not settled, in bytes.
  public var offset: Int64
  /// Recipients of it that are.
  public var recipient: UInt32

  public init(file: FileIdentity, offset: Int64, recipient: UInt32) {
    self.file = file
    self.offset = offset
    self.recipient = recipient
  }

  public static let byteCount = 48
  /// "TPP1": changes with the layout.
  private static let magic: UInt32 = 0x3150_5054

  /// A record as it is kept; nil when it is cut short or damaged.
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

  /// The record, as it is to be kept.
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

  /// Of all that stands before it.
  private static func sum(_ bytes: Span<UInt8>) -> UInt64 {
    var hash = Hash()
    hash.add(bytes.extracting(0..<40))
    return hash.value
  }
}
