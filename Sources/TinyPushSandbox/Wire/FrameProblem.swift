import TinyPush
import TinyPushBinary

/// Why a provider's stream cannot be parsed any further.
public struct FrameProblem: Error, Equatable {
  /// What is wrong.
  public var kind: Kind
  /// The offset of the wrong byte from the start of the stream.
  public var offset: Int64
  /// The identifier of the wrong notification, if it could be read.
  public var identifier: UInt32?

  /// What can be wrong with a frame.
  public enum Kind: Equatable, Sendable {
    /// A frame begins with a byte that is not a command.
    case command(UInt8)
    /// A frame's head announces more bytes than are accepted.
    case frameSize(bytes: Int64, limit: Int)
    /// The protocol has no item of this number.
    case item(UInt8)
    case itemTwice(UInt8)
    /// An item of a fixed size has another size.
    case itemSize(UInt8, bytes: Int, wanted: Int)
    /// An item, or the head of an item, reaches beyond the end of its frame.
    case itemOverrun(UInt8, bytes: Int, left: Int)
    case itemHead(left: Int)
  }

  /// Appends what is wrong, and where.
  public func describe(in text: inout Text) {
    switch kind {
    case .command(UInt8(ascii: "P")) where offset == 0:
      text.append("the stream begins as HTTP/2 does: the client must offer h2 in ALPN")
    case .command(let byte):
      text.append("no frame begins with the byte ", byte)
    case .frameSize(let bytes, let limit):
      text.append("a frame of ", bytes)
      text.append(" bytes, but at most ", limit, " are accepted")
    case .item(let item):
      text.append("there is no item ", item)
    case .itemTwice(let item):
      Self.name(item, in: &text)
      text.append(" occurs twice in its frame")
    case .itemSize(let item, let bytes, let wanted):
      Self.name(item, in: &text)
      text.append(" has ", bytes)
      text.append(" bytes instead of ", wanted)
    case .itemOverrun(let item, let bytes, let left):
      Self.name(item, in: &text)
      text.append(" of ", bytes)
      text.append(" bytes, but its frame has ", left, " left")
    case .itemHead(let left):
      text.append("the frame ends within the head of an item, after ", left)
      text.append(left == 1 ? " byte" : " bytes")
    }
    text.append(" (byte ", offset, " of the stream)")
  }

  private static func name(_ item: UInt8, in text: inout Text) {
    switch FrameItem(rawValue: item) {
    case .deviceToken: text.append("item 1, the device token,")
    case .payload: text.append("item 2, the payload,")
    case .identifier: text.append("item 3, the identifier,")
    case .expiration: text.append("item 4, the expiration date,")
    case .priority: text.append("item 5, the priority,")
    case nil:
      text.append("item ", item)
    }
  }
}
