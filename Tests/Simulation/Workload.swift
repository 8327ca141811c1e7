import TinyPush

/// The files of a run: what is put into the spool, when, and what must become of it.
struct Workload {
  /// Each with the time at which it is put, in milliseconds.
  private(set) var files: [(name: String, text: String, items: [Item], at: UInt64)] = []
  /// What the gateway says of a token, whenever it comes.
  private(set) var refusals: [Int: Status] = [:]
  /// Tokens at which the gateway dies without a word, each time.
  private(set) var deadly: Set<Int> = []
  /// So many notifications there are; they are numbered.
  private(set) var numbers = 0
  /// The recipients files, as they are at first.
  private(set) var lists: [(name: String, lines: [String], content: List, failure: OpenFailure?)] =
    []
  /// Whether there is any whose time is to come.
  let isTimed: Bool
  let isCollapsing: Bool
  /// Whether there are limits: then much goes to the same tokens.
  let isLimiting: Bool
  /// Whether there are tokens that are suppressed, and what is in that list at first.
  let isSuppressing: Bool
  private(set) var suppressed: [SuppressionRecord] = []
  /// Those of them that much is sent to.
  private var watched: [Int] = []
  /// By when all is due, in seconds from the start.
  private let horizon: Int
  /// So many of them have a serial number besides.
  private(set) var serials = 0
  /// Notifications that come again.
  private var echoes: [(text: String, item: Item)] = []
  /// To whom notifications go that replace each other.
  private var often: [Int] = []
  static let start: Int64 = 1_700_000_000
  /// Tokens that the gateway calls invalid; more is sent to them.
  private var invalid: [Int] = []
  private let refusedOneIn: Int
  /// Each refusal has all sent again that follows it.
  private static let refusalsMax = 25
  private let deadlyMax: Int

  /// - Parameter duration: until when files come, in milliseconds.
  init(
    _ random: inout Seeded, duration: UInt64, horizon: UInt64, hasIdentifiers: Bool,
    isLimiting: Bool
  ) {
    self.isLimiting = isLimiting
    refusedOneIn = hasIdentifiers ? random.pick([5, 25, 25, 100]) : .max
    deadlyMax = random.oneIn(5) ? random.upTo(2) : 0
    isTimed = random.oneIn(3)
    isCollapsing = random.oneIn(3)
    isSuppressing = random.oneIn(3)
    self.horizon = Int(horizon / 500)
    often = (0...2).map { _ in next() }
    if random.oneIn(3) {
      for name in ["default", "family", "garden"] { lists.append(list(name, &random)) }
    }
    if isSuppressing { suppress(&random) }
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

  private var isPlain: Bool {
    !isTimed && !isCollapsing && !isSuppressing && !isLimiting && lists.isEmpty
  }

  private mutating func suppress(_ random: inout Seeded) {
    watched = (0...random.upTo(12)).map { _ in next() }
    for token in watched {
      if random.oneIn(3) {
        let time = UInt32(Self.start) - UInt32(random.pick([0, 1, 1000]))
        suppressed.append(
          World.record(token, time, random.pick([.feedback, .invalidToken, .byHand, .registered])))
      }
      if refusedOneIn < .max, random.oneIn(6) { refusals[token] = .invalidToken }
    }
    let fillers = random.pick([0, 0, 120, 450])
    for filler in World.fillers.prefix(fillers) {
      suppressed.append(World.record(filler, UInt32(Self.start), .feedback))
    }
  }

  /// One to which something may be sent.
  func anyToken(_ random: inout Seeded) -> Int {
    if !watched.isEmpty, !random.oneIn(4) { return random.pick(watched) }
    return random.oneIn(4)
      ? 900_000 + 1000 * random.pick([3, 5, 6]) + random.upTo(6) : 1 + random.upTo(numbers)
  }

  private mutating func add(to text: inout String, _ items: inout [Item], _ random: inout Seeded) {
    let offset = text.utf8.count
    if !isPlain, random.oneIn(2) {
      let (notification, its) = rich(at: offset, &random)
      text += notification
      items += its
      return
    }
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

  // MARK: - Recipients files, times and what replaces what

  /// A notification with a serial number, since others may go to the same tokens.
  private mutating func rich(
    at offset: Int, _ random: inout Seeded
  ) -> (text: String, items: [Item]) {
    if isLimiting, random.oneIn(6) { return echo(at: offset, &random) }
    serials += 1
    let payload = #"{"aps":{"badge":1},"n":\#(serials)}"#
    if !lists.isEmpty, random.oneIn(8) {
      return (payload, [item(at: offset, list: "default")])
    }
    let replaces = isCollapsing && !random.oneIn(4)
    // One that waits for room in a limit waits for one recipient alone, and has no other key then.
    let isForOne = isLimiting && replaces
    let named =
      lists.isEmpty || isForOne || random.oneIn(3)
      ? [] : random.pick([["family"], ["garden"], ["garden", "family"]])
    var tokens: [Int] = []
    if named.isEmpty || random.oneIn(4) {
      tokens =
        replaces
        ? random.pick(
          isForOne
            ? often.map { [$0] } : [[often[0]], [often[1]], [often[1], often[2]]])
        : (0...random.upTo(2)).map { _ in
          isLimiting && !random.oneIn(3)
            ? random.pick(often)
            : watched.isEmpty || random.oneIn(5) ? next() : random.pick(watched)
        }
      if !replaces {
        tokens = tokens.enumerated().filter { tokens.firstIndex(of: $1) == $0 }.map(\.1)
      }
    }
    var text = #"{"payload": \#(payload)"#
    if !tokens.isEmpty {
      text += #", "tokens": [\#(tokens.map { "\"\(World.token($0))\"" }.joined(separator: ", "))]"#
    }
    if !named.isEmpty { text += #", "to": [\#(named.map { "\"\($0)\"" }.joined(separator: ","))]"# }
    var items = tokens.map { item(at: offset, token: $0) }
    for index in items.indices { items[index].recipient = index }
    items += named.map { item(at: offset, list: $0) }
    if isSuppressing, random.oneIn(2) {
      let registered = UInt32(
        Self.start + Int64(random.pick([0, 1, -1, -1000, 1000, random.upTo(horizon)])))
      text += #", "registered": \#(registered)"#
      for index in items.indices { items[index].registered = registered }
    }
    if isLimiting, random.oneIn(6) {
      text += random.pick([#", "urgent": true"#, #", "priority": 10"#])
      for index in items.indices { items[index].isUrgent = true }
    }
    if isTimed, random.oneIn(2) {
      let due = Self.start + Int64(random.upTo(horizon)) - 5
      text += #", "not-before": \#(due)"#
      for index in items.indices { items[index].notBefore = due }
    }
    if !replaces, random.oneIn(6) {
      text += #", "ttl": 40"#
      for index in items.indices { items[index].ttl = 40 }
    }
    if replaces {
      let id = random.pick(["tank", "tank", "door"])
      text += #", "collapse-id": "\#(id)""#
      for index in items.indices { items[index].collapseKey = "\(id) \(tokens) \(named)" }
    }
    if !replaces {
      for item in items where item.list == nil {
        let token = item.number! % World.tokensMax
        if !watched.contains(token) { decide(token, &random) }
      }
    }
    return (text + "}", items)
  }

  /// One that goes to its token once in a while, however often it comes.
  private mutating func echo(
    at offset: Int, _ random: inout Seeded
  ) -> (text: String, items: [Item]) {
    if echoes.isEmpty || random.oneIn(4) {
      serials += 1
      let token = random.pick(often)
      let wait = random.pick([0, 1, 30, 3600])
      let text =
        #"{"token": "\#(World.token(token))", "again-after": \#(wait), "payload": {"aps":{"badge":1},"n":\#(serials)}}"#
      var item = item(at: offset, token: token)
      item.isEcho = true
      echoes.append((text, item))
    }
    var (text, item) = random.pick(echoes)
    item.offset = offset
    return (text, [item])
  }

  private func item(at offset: Int, token: Int = 0, list: String? = nil) -> Item {
    var item = Item(number: World.number(token, serial: serials), offset: offset)
    item.list = list
    if list != nil { item.recipient = .max }
    return item
  }

  /// One of the recipients files becomes another.
  mutating func change(_ random: inout Seeded) -> (
    name: String, lines: [String], content: List, failure: OpenFailure?
  )? {
    lists.isEmpty ? nil : list(random.pick(lists).name, &random)
  }

  /// Each has tokens of its own, some of which it holds at a time.
  private mutating func list(
    _ name: String, _ random: inout Seeded
  ) -> (name: String, lines: [String], content: List, failure: OpenFailure?) {
    let first = 900_000 + 1000 * Int(name.utf8.first! - 0x61)
    var content = List()
    var lines: [String] = []
    let padding = random.oneIn(5) ? random.upTo(900) : 0
    for number in first...first + random.upTo(random.oneIn(4) ? 60 : 6) where !random.oneIn(5) {
      if random.oneIn(12) {
        lines.append(random.pick(["12", "# nobody", "", String(repeating: "x", count: 2000)]))
        if lines.last!.count == 2 || lines.last!.count == 2000 { content.problems += 1 }
      }
      content.members.insert(number)
      lines.append(
        World.token(number) + random.pick(["", " lang=de", "\r"])
          + (padding > 0 ? " #" + String(repeating: "-", count: padding) : ""))
      if number == first + 3, refusals[number] == nil, refusedOneIn < .max {
        refusals[number] = .invalidToken
      }
    }
    lines.shuffle(using: &random)
    var failure: OpenFailure?
    if random.oneIn(8) {
      failure = random.pick([.unreadable(13), .vanished, .notRegular])
      content = List(problems: 1)
    } else if content.members.isEmpty, content.problems == 0 {
      content.problems = 1
    }
    return (name, lines, content, failure)
  }
}
