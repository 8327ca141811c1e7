import CLinux

/// Why something of a file was refused: a line of JSON in `failed/`.
public struct Refusal: ~Copyable {
  public private(set) var reason = Text(capacity: 2048)
  /// Of the file, from 1 on; 0: it does not say.
  public private(set) var line: UInt64 = 0
  /// Its 64 hex digits; empty: it was not sent to anybody.
  public private(set) var token = Text(capacity: DeviceToken.digitCount)

  /// Nil: the line is none of the agent's.
  init?(_ line: Span<UInt8>) {
    var scanner = JSONScanner()
    do throws(JSONProblem) {
      guard try scanner.peek(line) == 0x7B, try scanner.openObject(line) else { return nil }
      repeat {
        let key = line.extracting(try scanner.key(line))
        let first = try scanner.peek(line)
        if key.equals("reason"), first == 0x22 {
          let spelled = line.extracting(try scanner.string(line))
          var reader = JSONStringReader()
          // It is for a terminal.
          while let byte = reader.next(in: spelled) { reason.append(byte: max(byte, 0x20)) }
        } else if key.equals("token"), first == 0x22 {
          token.append(bytes: line.extracting(try scanner.string(line)))
        } else if key.equals("line"), first >= 0x30, first <= 0x39 {
          self.line = try scanner.wholeNumber(line) ?? 0
        } else {
          try scanner.skipValue(line)
        }
      } while try scanner.nextMember(line)
    } catch {
      // The notification itself, at the end, may be cut.
    }
    if reason.count == 0 { return nil }
  }

  /// Reads those in a file of `failed/`. What is no such line is passed over.
  static func forEach(in descriptor: Int32, _ body: (borrowing Refusal) -> Void) {
    let buffer = FixedBuffer<UInt8>(capacity: 16_384)
    var count = 0
    // The beginning of a line was all that there is room for.
    var isBeyond = false
    while true {
      let room = buffer.room(from: count)
      let taken = read(descriptor, room.baseAddress, room.count)
      count += max(taken, 0)
      var start = 0
      for index in 0..<count {
        let isEnd = buffer[index] == 0x0A
        guard isEnd || index + 1 == count && (taken <= 0 || start == 0 && count == buffer.capacity)
        else { continue }
        if !isBeyond, let refusal = Refusal(buffer.looseSpan(start..<index + 1)) { body(refusal) }
        isBeyond = !isEnd
        start = index + 1
      }
      if taken <= 0 { return }
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
