import TinyPush

/// The files of a run: what is put into the spool, when, and what must become of it.
struct Workload {
  /// Each with the time at which it is put, in milliseconds.
  private(set) var files: [(name: String, text: String, items: [Item], at: UInt64)] = []
  /// What the gateway says of a number, whenever it comes.
  private(set) var refusals: [Int: Status] = [:]
  /// Numbers at which the gateway dies without a word, each time.
  private(set) var deadly: Set<Int> = []
  /// So many notifications there are; they are numbered.
  private(set) var numbers = 0
  /// Tokens that the gateway calls invalid; more is sent to them.
  private var invalid: [Int] = []
  private let refusedOneIn: Int
  /// Each refusal has all sent again that follows it.
  private static let refusalsMax = 25
  private let deadlyMax: Int

  /// - Parameter duration: until when files come, in milliseconds.
  init(_ random: inout Seeded, duration: UInt64, hasIdentifiers: Bool) {
    refusedOneIn = hasIdentifiers ? random.pick([5, 25, 25, 100]) : .max
    deadlyMax = random.oneIn(5) ? random.upTo(2) : 0
    // Many small files, a few, or one large one among them.
    let count = random.oneIn(40) ? 330 : 1 + random.upTo(random.oneIn(6) ? 50 : 8)
    let largeOneIn = random.pick([3, 10, 100])
    let isAtStart = random.oneIn(3)
    for file in 0..<count {
      let isLarge = count < 100 && random.oneIn(largeOneIn)
      let size = isLarge ? 20 + random.upTo(random.oneIn(6) ? 700 : 80) : random.upTo(2)
      var text = ""
      var items: [Item] = []
      for _ in 0...size {
        add(to: &text, &items, &random)
        // Behind text that is not JSON, only a brace that begins a line is found.
        text += random.pick(["\n", "\n", "\n\n", "\r\n"])
      }
      let at = isAtStart || random.oneIn(3) ? 0 : UInt64(random.upTo(Int(duration)))
      files.append(("\(1000 + file)", text, items, at))
    }
  }

  /// A file more, for whoever replaces one, or writes on in it.
  mutating func more(_ random: inout Seeded) -> (text: String, items: [Item]) {
    var text = ""
    var items: [Item] = []
    for _ in 0...random.upTo(4) {
      add(to: &text, &items, &random)
      text += "\n"
    }
    return (text, items)
  }

  private mutating func add(to text: inout String, _ items: inout [Item], _ random: inout Seeded) {
    let offset = text.utf8.count
    switch random.upTo(23) {
    case 0:
      text += random.pick([
        #"{"prority": 5}"#, "{bad\n", #"{"token": "12", "payload": {"aps": {"badge": 1}}}"#, "{]",
      ])
      items.append(Item(offset: offset, end: text.utf8.count + 2))
    case 1:
      items.append(Item(number: next(), offset: offset, expiration: 1_600_000_000))
      text += World.notification(numbers, with: #", "expiration": 1600000000"#)
    case 2:
      items.append(Item(number: next(), offset: offset, ttl: 20))
      text += World.notification(numbers, with: #", "ttl": 20"#)
      decide(numbers, &random)
    case 3:
      // Later than the wall clock says, unless it jumps.
      items.append(Item(number: next(), offset: offset, expiration: 1_800_000_000))
      text += World.notification(numbers, with: #", "expiration": 1800000000"#)
      decide(numbers, &random)
    case 4 where !invalid.isEmpty:
      items.append(Item(number: random.pick(invalid), offset: offset))
      text += World.notification(items.last!.number!)
    case 5...6:
      let recipients = (0...random.upTo(5)).map { _ in next() }
      for (index, number) in recipients.enumerated() {
        items.append(Item(number: number, offset: offset, recipient: index))
        decide(number, &random)
      }
      let tokens = recipients.map { "\"\(World.token($0))\"" }.joined(separator: " , ")
      text += #"{"payload" : {"aps":{"badge":1}}, "tokens":[\#(tokens)]}"#
    default:
      items.append(Item(number: next(), offset: offset))
      decide(numbers, &random)
      let size = random.upTo(random.oneIn(9) ? 1900 : 60)
      text += World.notification(numbers, alert: String(repeating: "x", count: size))
    }
  }

  private mutating func next() -> Int {
    numbers += 1
    return numbers
  }

  private mutating func decide(_ number: Int, _ random: inout Seeded) {
    if deadly.count < deadlyMax, random.oneIn(20) {
      deadly.insert(number)
    } else if refusedOneIn < .max, refusals.count < Self.refusalsMax, random.oneIn(refusedOneIn) {
      let status = random.pick([
        Status.invalidToken, .invalidPayloadSize, .processingError, .unknown,
      ])
      refusals[number] = status
      if status == .invalidToken { invalid.append(number) }
    }
  }
}
