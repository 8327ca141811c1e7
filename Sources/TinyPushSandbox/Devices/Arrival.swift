import TinyPush

/// How a notification came to the gateway, and what it demands of the way on.
struct Arrival {
  var connection: Int64
  var identifier: UInt32?
  var priority: UInt8
  /// UNIX seconds; 0: it must not be stored; nil: nothing was said.
  var expiration: UInt32?
  /// When it was accepted: milliseconds since 1970.
  var acceptedMs: Int64

  init(_ frame: ReceivedFrame, connection: Int64, nowMs: Int64) {
    self.connection = connection
    identifier = frame.identifier
    priority = frame.priority ?? 10
    expiration = frame.expiration
    acceptedMs = nowMs
  }

  /// From the line that ``write(in:)`` wrote.
  init?(_ line: Span<UInt8>) {
    var numbers: InlineArray<5, Int64> = .init(repeating: 0)
    var place = 0
    for index in 0..<5 {
      guard place < line.count else { return nil }
      let isNegative = line[place] == .hyphen
      if isNegative { place += 1 }
      let start = place
      while place < line.count, line[place].isDigit, place - start < 18 {
        numbers[index] = numbers[index] * 10 + Int64(line[place].digitValue)
        place += 1
      }
      guard place > start, place == line.count || line[place] == .space else { return nil }
      if isNegative { numbers[index] = -numbers[index] }
      place += 1
    }
    guard place == line.count + 1, numbers[1] >= 0, numbers[1] <= 255,
      numbers[2] <= Int64(UInt32.max), numbers[4] <= Int64(UInt32.max)
    else { return nil }
    acceptedMs = numbers[0]
    priority = UInt8(numbers[1])
    expiration = numbers[2] < 0 ? nil : UInt32(numbers[2])
    connection = numbers[3]
    identifier = numbers[4] < 0 ? nil : UInt32(numbers[4])
  }

  /// As a line: when it was accepted, its priority, expiration, connection and identifier; -1 for what there is not.
  func write(in text: inout Text) {
    text.append(acceptedMs)
    text.append(" ")
    text.append(priority)
    text.append(" ")
    text.append(expiration.map { Int64($0) } ?? -1)
    text.append(" ")
    text.append(connection)
    text.append(" ")
    text.append(identifier.map { Int64($0) } ?? -1)
  }
}

/// A notification that waits for its device.
final class StoredNotification {
  let arrival: Arrival
  var payload: Span<UInt8> {
    @_lifetime(immortal) get { bytes.looseSpan(0..<bytes.capacity) }
  }
  private let bytes: FixedBuffer<UInt8>

  init(_ arrival: Arrival, payload: Span<UInt8>) {
    self.arrival = arrival
    bytes = FixedBuffer(capacity: payload.count)
    bytes.store(payload, at: 0)
  }

  /// Inferred: the documents only say that it is limited.
  static let secondsMax: Int64 = 28 * 86_400

  /// When it is dropped: UNIX seconds.
  var expiresAt: Int64 {
    let latest = arrival.acceptedMs / 1000 + Self.secondsMax
    guard let expiration = arrival.expiration else { return latest }
    return min(Int64(expiration), latest)
  }
}
