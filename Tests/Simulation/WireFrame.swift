/// A frame of command 2, 1 or 0, decoded without the library.
struct WireFrame {
  var token: ArraySlice<UInt8> = []
  var payload: ArraySlice<UInt8> = []
  var identifier: UInt32?
  /// The identifier, if it stands before the token: a gateway that stops at a wrong token knows it.
  var identifierBeforeToken: UInt32?
  var expiration: UInt32?
  var priority: UInt8?

  /// The notification's number, in the last bytes of its token and in its payload.
  ///
  /// Nil for a barrier, whose token has another size.
  var number: Int? {
    guard token.count == 32 else { return nil }
    return World.number(token.suffix(4).reduce(0) { $0 << 8 | Int($1) }, serial: serial)
  }

  /// The serial number at the payload's end: `"n":SERIAL}`.
  private var serial: Int {
    if payload.rest(behind: " more alert") != nil { return World.serialOfSummaries }
    let digits = payload.dropLast().reversed().prefix { $0 >= 0x30 && $0 <= 0x39 }
    guard digits.count < 9,
      payload.dropLast(digits.count + 1).suffix(4).elementsEqual("\"n\":".utf8)
    else { return 0 }
    return digits.reversed().reduce(0) { $0 * 10 + Int($1 - 0x30) }
  }

  /// The numbers of all frames, for readers of a trace.
  static func numbers(of bytes: [UInt8]) -> [Int?] {
    var place = 0
    var numbers: [Int?] = []
    while let frame = WireFrame(of: bytes, at: &place) { numbers.append(frame.number) }
    return numbers
  }

  /// Decodes the frame at `place` and moves `place` past it; nil if it is incomplete or invalid.
  init?(of bytes: [UInt8], at place: inout Int) {
    let start = place
    func number(_ offset: Int, _ size: Int) -> Int? {
      guard start + offset + size <= bytes.count else { return nil }
      var number = 0
      for index in start + offset..<start + offset + size {
        number = number << 8 | Int(bytes[index])
      }
      return number
    }
    guard start < bytes.count else { return nil }
    switch bytes[start] {
    case 2:
      guard let size = number(1, 4), start + 5 + size <= bytes.count else { return nil }
      var item = 5
      while item < 5 + size {
        guard let length = number(item + 1, 2), item + 3 + length <= 5 + size else { return nil }
        let data = bytes[start + item + 3..<start + item + 3 + length]
        switch bytes[start + item] {
        case 1:
          token = data
          identifierBeforeToken = identifier ?? 0
        case 2: payload = data
        case 3: identifier = number(item + 3, 4).map { UInt32($0) }
        case 4: expiration = number(item + 3, 4).map { UInt32($0) }
        case 5: priority = data.first
        default: return nil
        }
        item += 3 + length
      }
      place = start + 5 + size
    case 0, 1:
      let head = bytes[start] == 1 ? 9 : 1
      guard let tokenBytes = number(head, 2),
        let payloadBytes = number(head + 2 + tokenBytes, 2),
        case let end = start + head + 4 + tokenBytes + payloadBytes, end <= bytes.count
      else { return nil }
      token = bytes[start + head + 2..<start + head + 2 + tokenBytes]
      payload = bytes[end - payloadBytes..<end]
      if head == 9 {
        identifier = number(1, 4).map { UInt32($0) }
        expiration = number(5, 4).map { UInt32($0) }
        identifierBeforeToken = identifier
      }
      place = end
    default: return nil
    }
  }
}
