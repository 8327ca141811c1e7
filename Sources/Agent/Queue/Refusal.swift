import CLinux
import TinyPush

/// Why something of a file was refused: a line of JSON in `failed/`.
public struct Refusal: ~Copyable {
  public private(set) var reason = Text(capacity: 2048)
  /// Of the file, from 1 on; 0: it does not say.
  public private(set) var line: UInt64 = 0
  /// Its 64 hex digits; empty: it was not sent to anybody.
  public private(set) var token = Text(capacity: DeviceToken.digitCount)
  /// The recipients file whose recipients did not get it; empty: it is no matter of such a file. And the line of it of which
  /// that is so; 0: of all.
  private(set) var list = Text(capacity: Envelope.listNameBytesMax)
  private(set) var listLine: UInt64 = 0
  /// Where its file has it, in bytes; nil: it does not say.
  private(set) var offset: UInt64?
  /// What of the line is the notification; empty: it is not there.
  private(set) var notification: Range<Int> = 0..<0

  /// Nil: the line is none of the agent's.
  @inline(never)
  init?(_ line: Span<UInt8>) {
    // What was refused stands behind all that.
    let object = Self.find(",\"notification\":", in: line)
    let end = object ?? Self.find(",\"text\":", in: line)
    if let object {
      // What closes the line stands behind it.
      var close = line.count
      while close > object, line[close - 1] <= 0x20 { close -= 1 }
      if close > object, line[close - 1] == 0x7D { notification = object..<close - 1 }
    }
    let head = line.extracting(0..<(end ?? line.count))
    guard var index = Self.find("\"reason\":\"", in: head) else { return nil }
    while index < head.count, head[index] != 0x22 {
      // It is for a terminal: what an escape spells is a quote, a backslash or nothing to be seen.
      if head[index] == 0x5C { index += 1 }
      if index < head.count { reason.append(byte: max(head[index], 0x20)) }
      index += 1
    }
    if let start = Self.find("\"token\":\"", in: head), start + DeviceToken.digitCount <= head.count
    {
      token.append(bytes: head.extracting(start..<start + DeviceToken.digitCount))
    }
    if var index = Self.find(",\"list\":\"", in: head) {
      while index < head.count, head[index] != 0x22 {
        list.append(byte: head[index])
        index += 1
      }
    }
    listLine = Self.number(",\"list_line\":", in: head) ?? 0
    offset = Self.number(",\"offset\":", in: head)
    self.line = Self.number(",\"line\":", in: head) ?? 0
  }

  private static func number(_ key: StaticString, in line: Span<UInt8>) -> UInt64? {
    guard var index = find(key, in: line) else { return nil }
    var number: UInt64 = 0
    while index < line.count, line[index] >= 0x30, line[index] <= 0x39 {
      number = number &* 10 &+ UInt64(line[index] - 0x30)
      index += 1
    }
    return number
  }

  /// Where the first of these texts ends. Within a string there are no quotes that stand alone.
  @inline(never)
  private static func find(_ text: StaticString, in line: Span<UInt8>) -> Int? {
    var start = 0
    while start + text.utf8CodeUnitCount <= line.count {
      let end = start + text.utf8CodeUnitCount
      if line.extracting(start..<end).equals(text) { return end }
      start += 1
    }
    return nil
  }

  /// Reads those in a file of `failed/`, of its first bytes at least. What is no such line is passed over.
  ///
  /// - Returns: whether it was the whole file.
  @discardableResult
  static func forEach(
    in descriptor: Int32, bytesMax: Int64 = .max, _ body: (borrowing Refusal) -> Void
  ) -> Bool {
    let buffer = FixedBuffer<UInt8>(capacity: 16_384)
    var count = 0
    var total: Int64 = 0
    // The beginning of a line was all that there is room for.
    var isBeyond = false
    while true {
      let room = buffer.room(from: count)
      let taken = read(descriptor, room.baseAddress, room.count)
      count += max(taken, 0)
      total += Int64(max(taken, 0))
      var start = 0
      for index in 0..<count {
        let isEnd = buffer[index] == 0x0A
        guard isEnd || index + 1 == count && (taken <= 0 || start == 0 && count == buffer.capacity)
        else { continue }
        if !isBeyond, let refusal = Refusal(buffer.looseSpan(start..<index + 1)) { body(refusal) }
        isBeyond = !isEnd
        start = index + 1
      }
      if taken <= 0 { return taken == 0 }
      if total >= bytesMax { return false }
      count -= start
      buffer.move(from: start, to: 0, count: count)
    }
  }
}

extension OutcomeWatch {
  /// Why something of it was refused, as `failed/` has it.
  ///
  /// - Returns: 0, or the errno when that may not be read.
  public func forEachRefusal(_ body: (borrowing Refusal) -> Void) -> Int32 {
    var error: Int32 = 0
    let failed = forEachPart(in: "failed") { directory, name in
      let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
      guard let file = Descriptor(directory, name, flags, error: &error) else { return }
      Refusal.forEach(in: file.number, body)
    }
    return failed == 0 ? error : failed
  }
}
