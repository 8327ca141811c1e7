import TinyPush
import TinyPushBinary

/// Parses a provider's stream into frames of commands 2, 1 and 0, on the gateway's side.
///
/// Bytes go in by ``makeRoom()`` and ``take(_:)``, or by ``append(_:)``, in pieces of any size;
/// ``next()`` returns frames until it needs more bytes. Nothing is allocated after the start: a
/// frame that announces more bytes than allowed is refused by its head. After a problem the stream
/// cannot be parsed any further.
public struct FrameReader: ~Copyable {
  /// The largest accepted frame, in bytes.
  ///
  /// Inferred: room for one item of 65,535 bytes, the most that its head can announce, and the
  /// other items, so that a payload that is far too large is still refused with its identifier.
  public static let frameBytesMax = 66 * 1024
  /// The least room for more bytes: a TLS record.
  public static let roomBytesMin = 16 * 1024

  private let buffer: FixedBuffer<UInt8>
  private let limit: Int
  private var start = 0
  private var end = 0
  private var problem: FrameProblem?
  /// The number of bytes of the stream that ``next()`` has returned as frames.
  public private(set) var offset: Int64 = 0

  /// Creates a reader that accepts frames of at most this size, in bytes.
  public init(frameBytesMax limit: Int = FrameReader.frameBytesMax) {
    self.limit = limit
    buffer = FixedBuffer(capacity: limit + Self.roomBytesMin)
  }

  /// The number of bytes that wait for the rest of their frame.
  public var heldBytes: Int { end - start }

  /// Returns room for at least ``roomBytesMin`` more bytes, valid until the next call.
  ///
  /// Call it only after ``next()`` has returned nil: it may overwrite the bytes of earlier frames.
  public mutating func makeRoom() -> UnsafeMutableBufferPointer<UInt8> {
    if start == end {
      start = 0
      end = 0
    } else if buffer.capacity - end < Self.roomBytesMin {
      buffer.move(from: start, to: 0, count: end - start)
      end -= start
      start = 0
    }
    return buffer.room(from: end)
  }

  /// Takes the first `count` bytes of the room, which the caller has filled.
  public mutating func take(_ count: Int) {
    precondition(count >= 0 && count <= buffer.capacity - end)
    end += count
  }

  /// Copies as many bytes as fit, and returns their number.
  public mutating func append(_ bytes: Span<UInt8>) -> Int {
    let room = makeRoom().count
    let count = bytes.count <= room ? bytes.count : room
    buffer.store(bytes.extracting(0..<count), at: end)
    end += count
    return count
  }

  /// Returns the next frame; nil: more bytes are needed.
  ///
  /// The frame's ranges are valid until more bytes are added.
  public mutating func next() throws(FrameProblem) -> ReceivedFrame? {
    if let problem { throw problem }
    do throws(FrameProblem) {
      guard let byteCount = try frameSize(), byteCount <= heldBytes else { return nil }
      let frame = try frame(byteCount)
      start += byteCount
      offset += Int64(byteCount)
      return frame
    } catch {
      problem = error
      throw error
    }
  }

  /// Discards the held bytes of a stream that cannot be parsed any further.
  public mutating func drop() { start = end }

  /// Returns the bytes of one of a frame's ranges.
  @_lifetime(borrow self)
  public func bytes(_ range: Range<Int>) -> Span<UInt8> { buffer.span(range) }

  // MARK: - Heads

  /// Returns the size of the frame at `start`; nil: its head is not complete.
  private func frameSize() throws(FrameProblem) -> Int? {
    guard heldBytes > 0 else { return nil }
    let size: Int64
    switch FrameFormat(rawValue: buffer[start]) {
    case .items:
      guard heldBytes >= 5 else { return nil }
      size = 5 + Int64(number32(at: start + 1))
    case .enhanced:
      guard let counted = try countedSize(from: 9) else { return nil }
      size = counted
    case .simple:
      guard let counted = try countedSize(from: 1) else { return nil }
      size = counted
    case nil: throw failure(.command(buffer[start]), at: start)
    }
    try checkSize(size)
    return Int(size)
  }

  /// Returns the size of a frame of command 0 or 1; nil: too few bytes are there to know it.
  ///
  /// Its form is a head of `headBytes`, then
  /// `tokenLength:2 | token | payloadLength:2 | payload`.
  private func countedSize(from headBytes: Int) throws(FrameProblem) -> Int64? {
    guard heldBytes >= headBytes + 2 else { return nil }
    let tokenEnd = headBytes + 2 + number16(at: start + headBytes)
    try checkSize(Int64(tokenEnd) + 2)
    guard heldBytes >= tokenEnd + 2 else { return nil }
    return Int64(tokenEnd) + 2 + Int64(number16(at: start + tokenEnd))
  }

  private func checkSize(_ size: Int64) throws(FrameProblem) {
    guard size <= Int64(limit) else {
      let isEnhanced = buffer[start] == FrameFormat.enhanced.rawValue
      throw failure(
        .frameSize(bytes: size, limit: limit), at: start,
        identifier: isEnhanced ? number32(at: start + 1) : nil)
    }
  }

  // MARK: - Frames

  private func frame(_ byteCount: Int) throws(FrameProblem) -> ReceivedFrame {
    var frame = ReceivedFrame(format: .items, byteCount: byteCount)
    switch FrameFormat(rawValue: buffer[start]) {
    case .items: try readItems(of: &frame)
    case .enhanced:
      frame.format = .enhanced
      frame.identifier = number32(at: start + 1)
      frame.expiration = number32(at: start + 5)
      readCounted(of: &frame, from: start + 9)
    case .simple:
      frame.format = .simple
      readCounted(of: &frame, from: start + 1)
    case nil: throw failure(.command(buffer[start]), at: start)
    }
    return frame
  }

  private func readCounted(of frame: inout ReceivedFrame, from place: Int) {
    let token = place + 2..<place + 2 + number16(at: place)
    frame.token = token
    frame.payload = token.upperBound + 2..<start + frame.byteCount
  }

  private func readItems(of frame: inout ReceivedFrame) throws(FrameProblem) {
    let end = start + frame.byteCount
    var place = start + 5
    var seen: UInt8 = 0
    while place < end {
      guard place + 3 <= end else {
        throw failure(.itemHead(left: end - place), at: place, identifier: frame.identifier)
      }
      let id = buffer[place]
      let data = place + 3..<place + 3 + number16(at: place + 1)
      guard let item = FrameItem(rawValue: id) else {
        throw failure(.item(id), at: place, identifier: frame.identifier)
      }
      guard data.upperBound <= end else {
        throw failure(
          .itemOverrun(id, bytes: data.count, left: end - data.lowerBound), at: place,
          identifier: frame.identifier)
      }
      guard seen & (1 << id) == 0 else {
        throw failure(.itemTwice(id), at: place, identifier: frame.identifier)
      }
      seen |= 1 << id
      if let wanted = item.byteCount, wanted != data.count {
        throw failure(
          .itemSize(id, bytes: data.count, wanted: wanted), at: place, identifier: frame.identifier)
      }
      switch item {
      case .deviceToken: frame.token = data
      case .payload: frame.payload = data
      case .identifier: frame.identifier = number32(at: data.lowerBound)
      case .expiration: frame.expiration = number32(at: data.lowerBound)
      case .priority: frame.priority = buffer[data.lowerBound]
      }
      place = data.upperBound
    }
  }

  // MARK: - Parts

  private func number16(at place: Int) -> Int { Int(buffer[place]) << 8 | Int(buffer[place + 1]) }

  private func number32(at place: Int) -> UInt32 {
    UInt32(buffer[place]) << 24 | UInt32(buffer[place + 1]) << 16 | UInt32(buffer[place + 2]) << 8
      | UInt32(buffer[place + 3])
  }

  private func failure(
    _ kind: FrameProblem.Kind, at place: Int, identifier: UInt32? = nil
  ) -> FrameProblem {
    FrameProblem(kind: kind, offset: offset + Int64(place - start), identifier: identifier)
  }
}

extension FrameItem {
  /// The size that the item's data must have; nil: any size.
  fileprivate var byteCount: Int? {
    switch self {
    case .deviceToken, .payload: nil
    case .identifier, .expiration: 4
    case .priority: 1
    }
  }
}
