import TinyPush
import TinyPushBinary

/// The files of a run: their contents, when they are put, and what must become of them.
struct Workload {
  /// The files, each with the millisecond in which it is put.
  private(set) var files: [(name: String, text: String, items: [Item], at: UInt64)] = []
  /// The gateway's status for a token, at each attempt.
  private(set) var refusals: [Int: Status] = [:]
  /// Tokens at which the gateway closes without a response, at each attempt.
  private(set) var deadly: Set<Int> = []
  /// The number of notifications, which are numbered from 1.
  private(set) var numbers = 0
  /// The recipients files at the start.
  private(set) var lists: [(name: String, lines: [String], content: List, failure: OpenFailure?)] =
    []
  /// Whether notifications may have a time before which they are not sent.
  let isTimed: Bool
  let isCollapsing: Bool
  /// Whether there are limits; then many notifications go to the same tokens.
  let isLimiting: Bool
  /// Whether there are suppressed tokens.
  let isSuppressing: Bool
  /// The suppression list at the start.
  private(set) var suppressed: [SuppressionRecord] = []
  /// Tokens, some of them suppressed, that many notifications go to.
  private var watched: [Int] = []
  /// The seconds from the start after which everything is due.
  private let horizon: Int
  /// The number of notifications with a serial number.
  private(set) var serials = 0
  /// Notifications that are put several times.
  private var echoes: [(text: String, item: Item)] = []
  /// The recipients of notifications that replace each other.
  private var often: [Int] = []
  static let start: Int64 = 1_700_000_000
  /// Tokens that the gateway calls invalid, and that more is sent to.
  private var invalid: [Int] = []
  private let refusedOneIn: Int
  /// The most refusals, since each one lets everything after it be sent again.
  private static let refusalsMax = 25
  private let deadlyMax: Int
  /// The gateway's limit on payloads in bytes.
  let payloadLimit: Int

  /// Chooses the files of a run.
  ///
  /// - Parameter duration: the milliseconds during which files are put.
  init(
    _ random: inout Seeded, duration: UInt64, horizon: UInt64, hasIdentifiers: Bool,
    isLimiting: Bool
  ) {
    self.isLimiting = isLimiting
    refusedOneIn = hasIdentifiers ? random.pick([5, 25, 25, 100]) : .max
    deadlyMax = random.oneIn(5) ? random.upTo(2) : 0
    payloadLimit = hasIdentifiers && random.oneIn(3) ? random.pick([256, 300, 1000]) : 2048
    isTimed = random.oneIn(3)
    isCollapsing = random.oneIn(3)
    isSuppressing = random.oneIn(3)
    self.horizon = Int(horizon / 500)
    often = (0...2).map { _ in next() }
    if random.oneIn(3) {
      for name in ["default", "family", "garden"] { lists.append(list(name, &random)) }
    }
    if isSuppressing { suppress(&random) }
    // Many small files, or a few files with a large one among them.
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
        // After text that is not JSON, the reader only finds a brace that begins a line.
        text += random.pick(["\n", "\n", "\n\n", "\r\n"])
      }
      let at = isAtStart || random.oneIn(3) ? 0 : UInt64(random.upTo(Int(duration)))
      files.append(("\(1000 + file)", text, items, at))
    }
  }

  /// Returns the contents of another file, which replaces one or is appended to it.
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

  /// Returns a token that something may be sent to.
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
        #"{"prority": 5}"#, "{bad\n", #"{"token": "123", "payload": {"aps": {"badge": 1}}}"#, "{]",
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
      // Later than the wall clock's time, unless the clock jumps.
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
        Status.invalidToken, .missingPayload, .processingError, .unknown,
      ])
      refusals[number] = status
      if status == .invalidToken { invalid.append(number) }
    }
  }

  // MARK: - Recipients files, times and replacements

  /// Returns a notification with a serial number, so that several can go to the same token.
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
    // A notification over a limit, or to a service that takes nothing, waits for one recipient. So
    // it must not replace others.
    let isForOne = (isLimiting || World.hasBrowsers) && replaces
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

  /// Returns a notification with an `again-after`, which may be put several times.
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

  /// Returns new contents for one of the recipients files.
  mutating func change(_ random: inout Seeded) -> (
    name: String, lines: [String], content: List, failure: OpenFailure?
  )? {
    lists.isEmpty ? nil : list(random.pick(lists).name, &random)
  }

  /// Returns the contents of a recipients file: some of the tokens that belong to its name.
  private mutating func list(
    _ name: String, _ random: inout Seeded
  ) -> (name: String, lines: [String], content: List, failure: OpenFailure?) {
    let first = World.firstMember(of: name)
    var content = List()
    var lines: [String] = []
    let padding = random.oneIn(5) ? random.upTo(750) : 0
    for number in first...first + random.upTo(random.oneIn(4) ? 60 : 6) where !random.oneIn(5) {
      if random.oneIn(12) {
        lines.append(random.pick(["123", "# nobody", "", String(repeating: "x", count: 2000)]))
        if lines.last!.count == 3 || lines.last!.count == 2000 { content.problems += 1 }
      }
      content.members.insert(number)
      let registered = [0, Self.start - 500, Self.start + 300, 4_000_000_000][number % 4]
      lines.append(
        World.token(number) + (registered > 0 ? " registered=\(registered)" : "")
          + random.pick(["", " lang=de", "\r"])
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
