import Testing

@testable import Simulation
@testable import TinyPush
@testable import TinyPushBinary

extension TokenIdentity {
  /// Returns the identity of a number, in the order of numbers; 256 each share a prefix.
  static func numbered(_ number: Int) -> TokenIdentity {
    var bytes = [UInt8](repeating: 0, count: 32)
    (bytes[0], bytes[1], bytes[31]) = (
      UInt8(number >> 16), UInt8(number >> 8 & 255), UInt8(number & 255)
    )
    return TokenIdentity(of: bytes.span)
  }

  var number: Int { Int(bytes[0]) << 16 | Int(bytes[1]) << 8 | Int(bytes[31]) }
}

private func token(_ number: Int) -> TokenIdentity { .numbered(number) }

private func record(
  _ number: Int, _ time: UInt32 = 1_700_000_000, _ reason: SuppressionRecord.Reason = .feedback
) -> SuppressionRecord { SuppressionRecord(token: token(number), time: time, reason: reason) }

/// A suppression list in memory.
private final class Held {
  private var list: SuppressionList

  init(_ bytes: [UInt8]) { list = SuppressionList(bytes) }

  var isDamaged: Bool { list.isDamaged }
  var count: Int { list.count }

  /// Returns the time of a token's record.
  func time(of number: Int) -> UInt32? { list.find(token(number))?.time }
}

@Test(arguments: [0, 1, 2, 101, 102, 103, 204, 205, 1000, 20_000])
func `exactly the records of a list are found`(count: Int) {
  let bytes = listBytes((0..<count).map { record(2 * $0 + 1, UInt32($0)) })
  let list = Held(bytes)
  #expect(!list.isDamaged && list.count == count)
  for number in 0..<count {
    #expect(list.time(of: 2 * number + 1) == UInt32(number))
    #expect(list.time(of: 2 * number) == nil)
  }
  #expect(list.time(of: 2 * count + 2) == nil)
  #expect(!list.isDamaged)
}

@Test func `a line is the token, the time and the reason`() {
  let bytes = listBytes([record(1, 7), record(2, 1_700_000_000, .invalidToken)])
  let zeros = String(repeating: "0", count: 62)
  #expect(
    String(decoding: bytes, as: UTF8.self)
      == "\(zeros)01 7 feedback\n\(zeros)02 1700000000 invalid token\n")
  #expect(SuppressionRecord.lineMax == listBytes([record(1, .max, .invalidToken)]).count)
}

/// Lines that count for nothing, each between the lines of the tokens 3 and 5.
private let damagedLines = [
  "", " ", "\n", "# a comment", "0", String(repeating: "0", count: 64),
  line(2, " 1700000000"), line(2, " 1700000000 "), line(2, "  gone"), line(2, " 17x gone"),
  line(2, " 4294967296 gone"), line(2, " -1 gone"), line(2, " 17 away"), line(2, " 17 gone "),
  line(2, " 17 Gone"), line(2, "\t17 gone"), line(2, "0 17 gone"), "x" + line(2, " 17 gone"),
  line(0, " 17 gone"), line(1, " 17 gone"), String(repeating: "x", count: 10_000),
  String(repeating: "\0", count: 4096),
]

/// Returns the line of a token.
private func line(_ number: Int, _ rest: String) -> String {
  String(decoding: listBytes([record(number)]).prefix(64), as: UTF8.self) + rest
}

@Test(arguments: damagedLines)
func `a damaged line, or a line out of order, costs only its token`(text: String) {
  let bytes =
    listBytes([record(1), record(3)]) + Array("\(text)\n".utf8) + listBytes([record(5)])
  let list = Held(bytes)
  #expect(list.isDamaged && list.count == 3)
  #expect((0...6).filter { list.time(of: $0) != nil } == [1, 3, 5])
}

@Test func `a flipped bit costs at most the lines that it touches, and one beside them`() {
  // Their lines fill more than two pages.
  let records = 0..<120
  var bytes = listBytes(records.map { record($0) })
  let size = bytes.count
  for bit in stride(from: 0, to: 8 * size, by: 37) {
    bytes[bit / 8] ^= 1 << UInt8(bit % 8)
    let list = Held(bytes)
    #expect(list.count >= records.count - 2)
    // A token or a time may have another digit now.
    let found = records.count { list.time(of: $0) != nil }
    #expect(found >= records.count - 2)
    bytes[bit / 8] ^= 1 << UInt8(bit % 8)
  }
  let cut = Held(Array(bytes.prefix(size - 1)))
  #expect(cut.isDamaged && cut.count == records.count - 1)
  #expect(!Held(bytes).isDamaged && Held(bytes).count == records.count)
  #expect(!Held([]).isDamaged && Held([]).count == 0)
}

@Test func `a list that cannot be read any more is damaged, and cached pages stay valid`() {
  final class Medium {
    var bytes = listBytes((0..<1020).map { record(256 * $0) })
  }
  let medium = Medium()
  var list = SuppressionList(size: Int64(medium.bytes.count)) { room, place in
    let part = medium.bytes.dropFirst(Int(place)).prefix(room.count)
    _ = room.update(fromContentsOf: part)
    return part.count
  }
  var times: [UInt32?] = []
  times.append(list.find(token(256 * 5))?.time)
  medium.bytes = []
  for number in [6, 700, 7] { times.append(list.find(token(256 * number))?.time) }
  #expect(times == [1_700_000_000, 1_700_000_000, nil, nil])
  let isDamaged = list.isDamaged
  #expect(isDamaged)
}

@Test func `the later record wins, and a registration wins within the same second`() {
  let gone = record(1, 100)
  #expect(record(1, 101, .registered).overrides(gone))
  #expect(
    record(1, 100, .registered).overrides(gone) && !gone.overrides(record(1, 100, .registered)))
  #expect(record(1, 100, .byHand).overrides(gone) && !gone.overrides(record(1, 100, .byHand)))
  #expect(!record(1, 99, .registered).overrides(gone))
  #expect(gone.forbids() && gone.forbids(registered: 99) && !gone.forbids(registered: 100))
  #expect(record(1, 0).forbids())
  #expect(!record(1, 100, .registered).forbids())
}

// MARK: - Delivery

private let now: Int64 = 1_800_000_000

/// The suppression as delivery uses it.
private final class Known {
  var suppression = Suppression()

  init(
    _ old: [SuppressionRecord] = [], _ recent: [SuppressionRecord] = [],
    isGatewayRight: Bool = true
  ) {
    if isGatewayRight { suppression.learned.trustGateway() }
    suppression.lists.list = SuppressionList(listBytes(old))
    suppression.lists.recent = SuppressionList(listBytes(recent))
  }

  func forbids(_ number: Int, registered: UInt32 = 0, now: Int64? = now) -> Bool {
    suppression.record(forbidding: token(number), registered: registered, now: now) != nil
  }

  var mustBeKept: Bool { suppression.mustBeKept() }

  /// The learned records, each as `NUMBER REASON TIME`.
  var learned: [String] {
    var learned: [String] = []
    suppression.learned.forEach(isKeepable: false) {
      learned.append("\($0.token.bytes[31]) \($0.reason.text) \($0.time)")
    }
    return learned
  }
}

@Test func `the newest record of both lists and the learned ones wins`() {
  #expect(!Known().forbids(1))
  let known = Known(
    [record(1, 100), record(2, 100), record(3, 100, .registered), record(4, 100)],
    [record(1, 100, .registered), record(3, 101, .byHand), record(4, 99, .registered)])
  #expect((1...5).map { known.forbids($0) } == [false, true, true, true, false])
  #expect(!known.mustBeKept)
  known.suppression.learnInvalid(token(5), registered: 0, now: now)
  #expect(known.forbids(5) && known.mustBeKept)
  known.suppression.kept(false)
  #expect(known.forbids(5) && !known.mustBeKept)
  known.suppression.retry()
  #expect(known.mustBeKept)
  known.suppression.kept(true)
  #expect(
    !known.forbids(5), "a saved record is looked up in the list, where this one is missing")
}

@Test
func `a registration in the same second or later lifts a suppression and is learned`() {
  let known = Known([record(1, 1000)])
  #expect(known.forbids(1, registered: 999))
  #expect(!known.mustBeKept)
  #expect(!known.forbids(1, registered: 1000))
  #expect(known.mustBeKept)
  #expect(!known.forbids(1))
  #expect(known.learned == ["1 registered 1000"])
}

@Test func `a registration in the future is learned with the present time`() {
  let known = Known([record(1, 1000)])
  #expect(!known.forbids(1, registered: .max))
  #expect(known.learned == ["1 registered \(now)"])
}

@Test func `a device that is gone since a time in the future is gone since now`() {
  let known = Known()
  known.suppression.learnGone(token(1), since: .max, registered: 0, now: now)
  #expect(known.learned == ["1 gone \(now)"])
  #expect(known.forbids(1))
  #expect(!known.forbids(1, registered: UInt32(now)))
  // A registration of this second is not older than the answer.
  known.suppression.learnGone(token(2), since: .max, registered: UInt32(now), now: now)
  #expect(!known.forbids(2))
}

@Test func `a registration in the future does not lift an invalid token answer`() {
  let known = Known()
  known.suppression.learnInvalid(token(1), registered: UInt32(now) + 60, now: now)
  #expect(known.forbids(1, registered: UInt32(now) + 60))
  #expect(!known.forbids(1, registered: UInt32(now) + 61))
  known.suppression.learnInvalid(token(2), registered: .max, now: now)
  #expect(known.mustBeKept, "this record can be saved, too")
  let later = Known([record(3, UInt32(now) + 5, .registered)])
  later.suppression.learnInvalid(token(3), registered: 0, now: now)
  #expect(later.forbids(3), "the clock was set back")
}

@Test func `learned registrations need not be saved at once, and invalid tokens must be`() {
  let known = Known([record(1, 1000), record(2, 1000)])
  func mustBeKept() -> [Bool] {
    [true, false].map { known.suppression.mustBeKept(isPatient: $0) }
  }
  #expect(!known.forbids(1, registered: 2000))
  #expect(mustBeKept() == [false, true])
  known.suppression.kept(false)
  #expect(mustBeKept() == [false, false])
  known.suppression.retry()
  #expect(mustBeKept() == [false, true])
  known.suppression.learnInvalid(token(2), registered: 0, now: now)
  #expect(mustBeKept() == [true, true])
  known.suppression.kept(true)
  #expect(mustBeKept() == [false, false])
}

@Test func `invalid tokens are not saved before the gateway has accepted a notification`() {
  let known = Known(isGatewayRight: false)
  known.suppression.learnInvalid(token(1), registered: 0, now: now)
  #expect(known.forbids(1) && !known.mustBeKept)
  known.suppression.kept(true)
  #expect(known.forbids(1), "the record was not saved")
  known.suppression.retry()
  #expect(!known.mustBeKept)
  known.suppression.learned.trustGateway()
  #expect(known.mustBeKept)
  known.suppression.kept(true)
  #expect(!known.forbids(1))
}

@Test func `an invalid token is suppressed until a restart while the clock is not set`() {
  let known = Known()
  known.suppression.learnInvalid(token(1), registered: 0, now: nil)
  #expect(!known.mustBeKept, "the time is unknown")
  known.suppression.learnInvalid(token(2), registered: 0, now: now)
  #expect(known.mustBeKept)
  known.suppression.kept(true)
  #expect(known.forbids(1, registered: UInt32(now) + 1))
  #expect(!known.forbids(2))
  known.suppression.retry()
  #expect(!known.mustBeKept)
}

@Test func `the newest learned tokens are remembered, each once`() {
  var learned = Learned()
  func known(_ numbers: Range<Int>) -> Int {
    var count = 0
    for number in numbers where learned.find(token(number)) != nil { count += 1 }
    return count
  }
  for _ in 0..<3 {
    for number in 0..<Learned.capacity { learned.insert(record(number)) }
  }
  #expect(known(0..<5000) == Learned.capacity)
  for number in 5000..<5010 { learned.insert(record(number)) }
  #expect(known(0..<10) == 0, "the oldest go first")
  #expect(known(10..<5010) == Learned.capacity)
}

// MARK: - Received tuples

@Test(arguments: [1, 2, 3, 5, 38, 39, 1000, 1 << 20])
func `tuples are read from pieces of any size`(piece: Int) {
  let sizes = [32, 0, 1, 31, 33, 65_535, 32]
  var bytes: [UInt8] = []
  for (index, size) in sizes.enumerated() {
    bytes += [0x65, 0x53, 0xF1, UInt8(index), UInt8(size >> 8), UInt8(size & 255)]
    bytes += [UInt8](repeating: UInt8(index + 1), count: size)
  }
  bytes += [1, 2, 3, 4, 0, 32, 9]
  var reader = FeedbackReader()
  var found: [[UInt8]] = []
  var start = 0
  while start < bytes.count {
    let part = Array(bytes[start..<min(start + piece, bytes.count)])
    var place = 0
    while reader.next(in: part.span, at: &place) {
      let (isCut, timestamp) = (reader.isCut, reader.timestamp)
      #expect(!isCut && timestamp == 0x6553_F100 + UInt32(found.count))
      found.append([UInt8](reader.token))
    }
    #expect(place == part.count)
    start += piece
  }
  #expect(found.map(\.count) == sizes)
  #expect(
    found.enumerated().allSatisfy { index, token in token.allSatisfy { $0 == UInt8(index + 1) } })
  let isCut = reader.isCut
  #expect(isCut)
}
