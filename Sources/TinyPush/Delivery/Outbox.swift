/// The notifications that were read and are not settled.
///
/// A notification has its text here once, and a message for each recipient that it was read for.
/// Whatever becomes of a message, its text is at hand: to send it again, to record it, or to report
/// it. The memory is bounded; when it is full, nothing more is read.
struct Outbox: ~Copyable {
  /// Where a message waits; each line keeps its order.
  enum Line: UInt8 {
    /// Messages that the link gave back; each lane has such a line.
    case again
    /// Messages of priority 10, or urgent; each lane has such a line.
    case high
    /// Messages of priority 5 or 1; each lane has such a line.
    case low
    /// Messages that may not be sent before an instant.
    case delayed
    /// Messages whose outcome must be recorded or reported.
    case decided
    /// The messages that the link has, in no order.
    case link
  }

  /// A notification to one device.
  struct Entry: BitwiseCopyable {
    var token: DeviceToken
    var language: LanguageTag?
    /// When the token was registered, as its recipients file says, in UNIX seconds; 0: unknown.
    var registered: UInt32
    /// The number of its text.
    var text: UInt16
    /// The number of the text with its subscription; `none`: the recipient is a device.
    var subscription = Outbox.none
    /// The lane in which it goes.
    var lane = Lane.devices
    /// Whether another service has taken over the lane of its service, which takes nothing.
    fileprivate(set) var lostLane = false
    /// The size of the payload for the recipient.
    var payloadBytes: UInt16
    /// Whether the link may have sent the message.
    var wasSent = false
    /// Whether the message has passed the limits.
    var isAdmitted = false
    /// The instant before which a delayed message is not sent.
    var until = Instant(milliseconds: 0)
    /// What became of a decided message.
    var outcome = Settlement.Outcome.dropped
    fileprivate(set) var line: Line
    /// The line in which the message waited at first.
    fileprivate var firstLine: Line
    /// The high half of the message's number; the low half is its place.
    fileprivate var uses: UInt16
    fileprivate var older = Outbox.none
    fileprivate var newer = Outbox.none
  }

  /// A notification's text, and where it came from.
  struct TextEntry: BitwiseCopyable {
    var file: FileNumber
    /// When the notification came into `new/`, as far as it was known when it was read.
    var origin: Origin
    /// Where the notification begins in its file.
    var offset: Int64
    /// The line of the file on which it begins, from 1 on; 0: unknown.
    var lineNumber: Int64
    /// The notification's identity, which is the same at each reading of the file.
    var identity: UInt64
    /// The key of its `collapse-id` and recipients; 0: there is none.
    var collapseKey: UInt64
    /// The number of device tokens in the notification.
    var tokens: UInt16
    /// Whether nothing of it was sent or settled.
    fileprivate(set) var isUntouched = true
    /// Whether a notification in `later/` replaces what is not sent of it.
    fileprivate(set) var isRestReplaced = false
    /// Whether recipients are still to come.
    fileprivate(set) var isBeingRead = true
    fileprivate var start: UInt32 = 0
    fileprivate var count: UInt32 = 0
    /// The messages that are not settled.
    fileprivate(set) var messages: UInt32 = 0
    fileprivate var nextFree = Outbox.none

    init(
      file: FileNumber, origin: Origin, offset: Int64, lineNumber: Int64, identity: UInt64,
      collapseKey: UInt64, tokens: Int
    ) {
      self.file = file
      self.origin = origin
      self.offset = offset
      self.lineNumber = lineNumber
      self.identity = identity
      self.collapseKey = collapseKey
      self.tokens = UInt16(clamping: tokens)
    }

    fileprivate var isUsed: Bool { isBeingRead || messages > 0 }
  }

  struct Ends: BitwiseCopyable {
    var first = Outbox.none
    var last = Outbox.none
    var count = 0
  }

  static let none = UInt16.max
  /// The most bytes of texts.
  private static let bytesMax = 4 << 20
  /// The bytes before each text, which hold its number and its length.
  private static let headBytes = 8
  /// As long as texts take less than this, their memory is used again before new memory is.
  private static let smallBytes = 131_072

  private let capacity: Int
  private let entries: FixedBuffer<Entry>
  private var usedEntries = 0
  private var firstFree = Outbox.none
  /// How many messages were added, which distinguishes messages that have the same place.
  private var uses: UInt16 = 0
  /// The number of messages that are not settled.
  private(set) var count = 0
  /// The ends of all lines: a buffer, since each access to a large array inline copies all of it.
  private let lines = FixedBuffer<Ends>(capacity: linesMax)
  private static let linesMax = Lane.count * 3 + 3
  /// The number of messages of each lane that are not settled.
  private var laneCounts: InlineArray<9, UInt16> = .init(repeating: 0)
  /// When the first delayed message may be sent.
  private(set) var nextDueAt: Instant?

  private let texts: FixedBuffer<TextEntry>
  private var usedTexts = 0
  private var firstFreeText = Outbox.none
  private(set) var textCount = 0
  /// The number of texts whose recipients are not all read.
  private(set) var textsBeingRead = 0
  private let bytes: FixedBuffer<UInt8>
  private var end = 0
  /// The bytes of the texts in use, with their heads.
  private var liveBytes = 0

  /// - Parameter capacity: the most messages.
  init(capacity: Int) {
    precondition(capacity < Int(Self.none))
    self.capacity = capacity
    entries = FixedBuffer(capacity: capacity)
    texts = FixedBuffer(capacity: capacity)
    for line in 0..<Self.linesMax { lines[line] = Ends() }
    let wanted = max(capacity * 512, 4 * NotificationReader.objectBytesMax)
    bytes = FixedBuffer(capacity: min(wanted, Self.bytesMax))
  }

  func forEachBuffer(_ body: (UnsafeMutableRawBufferPointer) -> Void) {
    body(entries.bytes)
    body(texts.bytes)
    body(bytes.bytes)
  }

  var isEmpty: Bool { count == 0 && textCount == 0 }

  // MARK: - Room

  /// Whether one more message has room.
  var hasRoom: Bool { count < capacity }

  /// Whether one more message has room, also with a subscription.
  var hasRoomForBrowser: Bool {
    hasRoom && textCount < capacity
      && liveBytes + Self.headBytes + Subscription.wordBytesMax <= bytes.capacity
  }

  /// The files whose notifications are read: a small one, or one that was read in part.
  enum Share {
    case small, large
  }

  /// Whether another notification of any size has room, while some is left for what goes first.
  ///
  /// The rest of large files leaves room for small files, and all leave room for the recipients of
  /// a notification.
  func hasRoom(for share: Share) -> Bool {
    let eighths = share == .small ? 7 : 5
    return count < capacity / 8 * eighths && textCount < capacity / 8 * eighths
      && liveBytes + Self.headBytes + NotificationReader.objectBytesMax
        <= bytes.capacity / 8 * eighths
  }

  /// Makes room for a text, and returns whether there is enough.
  private mutating func makeRoom(_ needed: Int) -> Bool {
    guard textCount < capacity else { return false }
    if liveBytes == 0 { end = 0 }
    let limit = min(bytes.capacity, max(4 * liveBytes, Self.smallBytes))
    if end + needed > limit { compact() }
    return end + needed <= bytes.capacity
  }

  /// Moves the texts in use together, in their order.
  private mutating func compact() {
    var (from, to) = (0, 0)
    while from < end {
      let number = Int(bytes[from]) | Int(bytes[from + 1]) << 8
      let size = Self.headBytes + Int(length(at: from))
      if texts[number].isUsed, Int(texts[number].start) == from + Self.headBytes {
        bytes.move(from: from, to: to, count: size)
        texts[number].start = UInt32(to + Self.headBytes)
        to += size
      }
      from += size
    }
    end = to
  }

  private func length(at place: Int) -> UInt32 {
    var length: UInt32 = 0
    for index in 0..<4 { length |= UInt32(bytes[place + 4 + index]) << UInt32(8 * index) }
    return length
  }

  // MARK: - Texts

  /// Adds a notification's text, and returns its number; nil: there is no room.
  ///
  /// - Parameter range: where in the input the text is.
  mutating func add(
    _ range: Range<Int>, of input: borrowing FixedBuffer<UInt8>, _ entry: TextEntry
  ) -> UInt16? {
    guard let number = add(input.span(range), entry) else { return nil }
    textsBeingRead += 1
    return number
  }

  /// Adds the text of a subscription for one message, and returns its number; nil: there is no room.
  ///
  /// - Parameter entry: the notification, which has the same file and place.
  mutating func add(subscription text: Span<UInt8>, of entry: TextEntry) -> UInt16? {
    var entry = entry
    entry.isBeingRead = false
    entry.collapseKey = 0
    entry.messages = 1
    return add(text, entry)
  }

  private mutating func add(_ text: Span<UInt8>, _ entry: TextEntry) -> UInt16? {
    guard makeRoom(Self.headBytes + text.count) else { return nil }
    var number = firstFreeText
    if number == Self.none {
      number = UInt16(usedTexts)
      usedTexts += 1
    } else {
      firstFreeText = texts[Int(number)].nextFree
    }
    bytes[end] = UInt8(truncatingIfNeeded: number)
    bytes[end + 1] = UInt8(truncatingIfNeeded: number >> 8)
    bytes.store(UInt32(text.count), at: end + 4)
    bytes.store(text, at: end + Self.headBytes)
    var entry = entry
    entry.start = UInt32(end + Self.headBytes)
    entry.count = UInt32(text.count)
    texts[Int(number)] = entry
    end += Self.headBytes + text.count
    liveBytes += Self.headBytes + text.count
    textCount += 1
    return number
  }

  /// The text of a notification, valid until another one is added.
  @_lifetime(borrow self)
  func text(_ number: UInt16) -> Span<UInt8> {
    let entry = texts[Int(number)]
    return bytes.span(Int(entry.start)..<Int(entry.start) + Int(entry.count))
  }

  subscript(text number: UInt16) -> TextEntry { texts[Int(number)] }

  /// Whether a text was added after another one: the memory keeps their order.
  func wasAdded(_ number: UInt16, after other: UInt16) -> Bool {
    texts[Int(number)].start > texts[Int(other)].start
  }

  /// Notes that something of a notification was sent or settled.
  func touch(_ number: UInt16) { texts[Int(number)].isUntouched = false }

  func replaceRest(of number: UInt16) { texts[Int(number)].isRestReplaced = true }

  /// Notes that a text's last recipient was read, and frees the text if nothing is left to do.
  mutating func endReading(_ number: UInt16) {
    if texts[Int(number)].isBeingRead { textsBeingRead -= 1 }
    texts[Int(number)].isBeingRead = false
    freeIfUnused(number)
  }

  private mutating func freeIfUnused(_ number: UInt16) {
    let entry = texts[Int(number)]
    guard !entry.isUsed else { return }
    liveBytes -= Self.headBytes + Int(entry.count)
    // If the text is the last one, its room is free at once.
    if Int(entry.start + entry.count) == end { end = Int(entry.start) - Self.headBytes }
    texts[Int(number)].nextFree = firstFreeText
    firstFreeText = number
    textCount -= 1
    if textCount == 0 {
      usedTexts = 0
      firstFreeText = Self.none
      end = 0
    }
  }

  /// Calls `body` with each text in use.
  func forEachText(_ body: (UInt16, TextEntry) -> Void) {
    for number in 0..<usedTexts where texts[number].isUsed { body(UInt16(number), texts[number]) }
  }

  // MARK: - Messages

  /// Adds a message, and returns its number; ``hasRoom`` must be true.
  ///
  /// - Parameter subscription: the number of the text with its subscription.
  mutating func add(
    to recipient: RecipientsFile.Recipient, text: UInt16, subscription: UInt16 = Outbox.none,
    payloadBytes: Int, in line: Line, _ lane: Lane = .devices
  ) -> MessageNumber {
    precondition(hasRoom)
    var place = firstFree
    if place == Self.none {
      place = UInt16(usedEntries)
      usedEntries += 1
    } else {
      firstFree = entries[Int(place)].newer
    }
    uses &+= 1
    entries[Int(place)] = Entry(
      token: recipient.token, language: recipient.language, registered: recipient.registered,
      text: text, subscription: subscription, lane: lane,
      payloadBytes: UInt16(clamping: payloadBytes), line: .link, firstLine: line, uses: uses)
    laneCounts[lane.index] += 1
    texts[Int(text)].messages += 1
    count += 1
    let number = MessageNumber(UInt32(uses) << 16 | UInt32(place))
    append(number, to: line)
    return number
  }

  subscript(message: MessageNumber) -> Entry {
    get { entries[index(message)] }
    nonmutating _modify { yield &entries[index(message)] }
  }

  /// Removes a settled message.
  mutating func remove(_ message: MessageNumber) {
    unlink(message)
    let place = index(message)
    let text = entries[place].text
    let subscription = entries[place].subscription
    laneCounts[entries[place].lane.index] -= 1
    entries[place].text = Self.none
    entries[place].newer = firstFree
    firstFree = UInt16(place)
    count -= 1
    if count == 0 {
      // The buffer is unused now: the system may take its memory back.
      usedEntries = 0
      firstFree = Self.none
    }
    texts[Int(text)].messages -= 1
    freeIfUnused(text)
    guard subscription != Self.none else { return }
    texts[Int(subscription)].messages = 0
    freeIfUnused(subscription)
  }

  private func index(_ message: MessageNumber) -> Int {
    let place = Int(message.rawValue & 0xFFFF)
    precondition(
      place < usedEntries && entries[place].uses == UInt16(message.rawValue >> 16)
        && entries[place].text != Self.none)
    return place
  }

  private func number(_ place: UInt16) -> MessageNumber {
    MessageNumber(UInt32(entries[Int(place)].uses) << 16 | UInt32(place))
  }

  // MARK: - Lines

  func count(in line: Line, of lane: Lane = .devices) -> Int { lines[index(line, lane)].count }

  /// The number of messages of a lane that are not settled.
  func count(of lane: Lane) -> Int { Int(laneCounts[lane.index]) }

  /// The number of messages of a lane that can be sent now.
  func waiting(in lane: Lane) -> Int {
    count(in: .again, of: lane) + count(in: .high, of: lane) + count(in: .low, of: lane)
  }

  /// The message of a lane to send next.
  func nextToSend(in lane: Lane) -> MessageNumber? {
    var place = lines[index(.again, lane)].first
    if place == Self.none { place = lines[index(.high, lane)].first }
    if place == Self.none { place = lines[index(.low, lane)].first }
    return place == Self.none ? nil : number(place)
  }

  /// The message of a lane that would be sent last, if possible one that was never sent.
  func lastWaiting(in lane: Lane) -> MessageNumber? {
    var place = lines[index(.low, lane)].last
    if place == Self.none { place = lines[index(.high, lane)].last }
    if place == Self.none { place = lines[index(.again, lane)].last }
    if place == Self.none { place = lines[index(.delayed, lane)].last }
    while place != Self.none, entries[Int(place)].lane != lane {
      place = entries[Int(place)].older
    }
    return place == Self.none ? nil : number(place)
  }

  /// Takes all messages from a lane, to be put into `later/`.
  mutating func postponeAll(in lane: Lane) {
    for place in 0..<usedEntries
    where entries[place].text != Self.none && entries[place].lane == lane {
      let message = number(UInt16(place))
      guard entries[place].line != .decided else { continue }
      if entries[place].line == .link { entries[place].wasSent = true }
      unlink(message)
      laneCounts[lane.index] -= 1
      laneCounts[Lane.devices.index] += 1
      entries[place].lane = .devices
      entries[place].lostLane = true
      entries[place].outcome = .postponed
      append(message, to: .decided)
      touch(entries[place].text)
    }
  }

  func first(in line: Line) -> MessageNumber? {
    let place = lines[index(line, .devices)].first
    return place == Self.none ? nil : number(place)
  }

  /// The index of a line in ``lines``: each lane has three, and all lanes share the others.
  private func index(_ line: Line, _ lane: Lane) -> Int {
    switch line {
    case .again, .high, .low: lane.index * 3 + Int(line.rawValue)
    case .delayed, .decided, .link: Lane.count * 3 + Int(line.rawValue) - 3
    }
  }

  /// Puts a message at the end of a line.
  mutating func move(_ message: MessageNumber, to line: Line) {
    unlink(message)
    append(message, to: line)
  }

  private mutating func append(_ message: MessageNumber, to line: Line) {
    let place = UInt16(index(message))
    entries[Int(place)].line = line
    entries[Int(place)].newer = Self.none
    guard line != .link else { return }
    let line = index(line, entries[Int(place)].lane)
    let ends = lines[line]
    entries[Int(place)].older = ends.last
    if ends.last == Self.none {
      lines[line].first = place
    } else {
      entries[Int(ends.last)].newer = place
    }
    lines[line].last = place
    lines[line].count += 1
  }

  /// Puts a message at the front of a line.
  mutating func moveToFront(_ message: MessageNumber, of line: Line) {
    unlink(message)
    let place = UInt16(index(message))
    entries[Int(place)].line = line
    let line = index(line, entries[Int(place)].lane)
    let ends = lines[line]
    entries[Int(place)].older = Self.none
    entries[Int(place)].newer = ends.first
    if ends.first == Self.none {
      lines[line].last = place
    } else {
      entries[Int(ends.first)].older = place
    }
    lines[line].first = place
    lines[line].count += 1
  }

  private mutating func unlink(_ message: MessageNumber) {
    let entry = entries[index(message)]
    guard entry.line != .link else { return }
    let line = index(entry.line, entry.lane)
    if entry.older == Self.none {
      lines[line].first = entry.newer
    } else {
      entries[Int(entry.older)].newer = entry.newer
    }
    if entry.newer == Self.none {
      lines[line].last = entry.older
    } else {
      entries[Int(entry.newer)].older = entry.older
    }
    lines[line].count -= 1
    entries[index(message)].line = .link
  }

  /// The subscription of a message, as one word; empty: the recipient is a device.
  @_lifetime(borrow self)
  func subscription(_ entry: Entry) -> Span<UInt8> {
    guard entry.subscription != Self.none else { return bytes.span(0..<0) }
    let text = texts[Int(entry.subscription)]
    return bytes.span(Int(text.start)..<Int(text.start) + Int(text.count))
  }

  /// Returns a message of a text that waits to be sent.
  func firstWaiting(of text: UInt16) -> MessageNumber? {
    firstWaiting { entry, _ in entry.text == text }
  }

  /// Returns a message that waits and satisfies the condition.
  func firstWaiting(where isOne: (Entry, TextEntry) -> Bool) -> MessageNumber? {
    for place in 0..<usedEntries where entries[place].text != Self.none {
      guard isOne(entries[place], texts[Int(entries[place].text)]) else { continue }
      switch entries[place].line {
      case .again, .high, .low, .delayed: return number(UInt16(place))
      case .decided, .link: break
      }
    }
    return nil
  }

  /// Returns the file of a message, and where its notification begins there.
  func place(of message: MessageNumber) -> (FileNumber, Int64) {
    let text = Int(self[message].text)
    return (texts[text].file, texts[text].offset)
  }

  /// Calls `body` with the file of each message that waits, to be sent again or for the first time.
  @inline(never)
  func forEachFile(isAgain: Bool, _ body: (FileNumber) -> Void) {
    for place in 0..<usedEntries where entries[place].text != Self.none {
      let line = entries[place].line
      if isAgain ? line == .again || line == .delayed : line == .high || line == .low {
        body(texts[Int(entries[place].text)].file)
      }
    }
  }

  // MARK: - Delayed messages

  /// Sends a message again, but not before an instant.
  mutating func delay(_ message: MessageNumber, until instant: Instant) {
    self[message].until = instant
    move(message, to: .delayed)
    nextDueAt.include(instant)
  }

  /// Moves the delayed messages whose instant has come to their first lines.
  ///
  /// They go behind others: what the service did not take once, it may not take again.
  mutating func releaseDelayed(at now: Instant) {
    guard let due = nextDueAt, due <= now else { return }
    nextDueAt = nil
    var place = lines[index(.delayed, .devices)].first
    while place != Self.none {
      let entry = entries[Int(place)]
      if entry.until <= now {
        move(number(place), to: entry.firstLine)
      } else {
        nextDueAt.include(entry.until)
      }
      place = entry.newer
    }
  }
}
