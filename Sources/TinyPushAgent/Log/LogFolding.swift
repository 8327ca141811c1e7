import TinyPush

/// Decides which lines are logged and which are only counted.
///
/// So trouble that comes and goes for days writes some dozen lines and hides nothing.
///
/// Each line belongs to a topic. Lines of a topic are of the same kind if they are equal up to the
/// first semicolon, apart from digits and apart from the file and recipient at their beginning.
/// - A kind that did not occur within a day is logged at once, and so is the end of a trouble whose
///   line was logged last.
/// - Otherwise each logged line makes the next line of its topic wait longer (``waits``). Lines
///   that come meanwhile are counted, and the last of them is kept because it shows the current
///   state.
/// - The kept line is logged when the wait is over, or when the topic had no line for two hours,
///   but only when the agent is awake anyway: this needs no timer.
/// - Each two hours without a line of a topic shorten its wait by one step.
///
/// So a day has at most ``kindsMax`` lines of new kinds and some dozen lines more for each topic.
/// The memory use is constant.
struct LogFolding: ~Copyable {
  private let pinned = Pinned()
  /// The waits of a topic after a logged line.
  ///
  /// The first two apply only if the kind has changed; the same kind waits for a minute at least.
  static let waits: InlineArray<7, Duration> = [
    .seconds(0), .seconds(0), .seconds(60), .seconds(600), .seconds(3600), .seconds(21_600),
    .seconds(86_400),
  ]
  static let waitsOfChange: UInt8 = 2
  static let calm = Duration.seconds(7200)
  static let kindRemembered = Duration.seconds(86_400)
  static let kindsMax = 32
  /// The most bytes of a kept line.
  static let keptBytesMax = 900

  /// The state of a topic.
  struct State {
    var wait: UInt8 = 0
    /// The kind of the last line.
    var kind: UInt32 = 0
    /// Whether the last line was of another kind than the line before.
    var isChange = true
    /// When the last line came.
    var heardAt = Instant(milliseconds: 0)
    /// Up to when silence has shortened the wait.
    var restedAt = Instant(milliseconds: 0)
    /// When a line was last logged.
    var loggedAt = Instant(milliseconds: 0)
    /// The number of lines since then.
    var folded: UInt64 = 0
    /// Whether all those lines are of one kind.
    var isUniform = true
    /// Whether the last logged line told of a trouble.
    var isTroubleLogged = false
    /// The priority and the length of the kept line.
    var priority = Log.Priority.info
    var keptBytes = 0
  }

  /// A kind of line, and when it last occurred.
  struct Kind {
    var hash: UInt32 = 0
    var heardAt: Instant?
  }

  private var states: InlineArray<12, State> = .init(repeating: State())
  private var kinds: InlineArray<32, Kind> = .init(repeating: Kind())
  private let kept = FixedBuffer<UInt8>(capacity: 12 * keptBytesMax)
  /// The number of topics with a kept line.
  private var keptCount = 0
  /// The line to log.
  private(set) var line = Text(capacity: 1200)

  init() {}

  deinit {}

  var hasKept: Bool { keptCount > 0 }

  // MARK: - Inputs

  /// Takes a line and returns whether to log ``line`` now.
  mutating func take(
    _ priority: Log.Priority, _ message: Span<UInt8>, about topic: Log.Topic,
    kindFrom start: Int = 0, at now: Instant
  ) -> Bool {
    let index = Int(topic.rawValue)
    let kind = Self.kind(of: message.extracting(start..<message.count), topic)
    let isNew = remember(kind, at: now)
    rest(index, at: now)
    states[index].isChange = kind != states[index].kind
    states[index].kind = kind
    states[index].heardAt = now
    states[index].restedAt = now
    let endsTrouble = topic.isState && states[index].isTroubleLogged && !priority.isTrouble
    guard isNew || endsTrouble || now >= dueAt(index) else {
      keep(index, priority, message)
      return false
    }
    line.clear()
    line.append(bytes: message)
    appendFolded(index, topic, at: now)
    logged(index, priority, at: now, isNew: isNew || endsTrouble)
    return true
  }

  /// Returns the priority of a kept line that is due, and puts it into ``line``; nil if there is
  /// none.
  ///
  /// - Parameter isLast: whether all kept lines are due.
  mutating func takeKept(at now: Instant, isLast: Bool = false) -> Log.Priority? {
    guard hasKept else { return nil }
    for index in states.indices where states[index].folded > 0 {
      rest(index, at: now)
      let isCalm = now >= states[index].heardAt + Self.calm
      guard isLast || isCalm || now >= dueAt(index) else { continue }
      let start = index * Self.keptBytesMax
      line.clear()
      line.append(bytes: kept.unsafeSpan(start..<start + states[index].keptBytes))
      appendKept(index, at: now)
      logged(index, states[index].priority, at: now, isNew: false)
      return states[index].priority
    }
    return nil
  }

  // MARK: - Parts

  private func wait(_ index: Int) -> UInt8 {
    states[index].isChange ? states[index].wait : max(states[index].wait, Self.waitsOfChange)
  }

  private func dueAt(_ index: Int) -> Instant {
    states[index].loggedAt + Self.waits[Int(wait(index))]
  }

  private mutating func rest(_ index: Int, at now: Instant) {
    let steps = states[index].restedAt.until(now).milliseconds / Self.calm.milliseconds
    guard steps > 0 else { return }
    states[index].restedAt = now
    states[index].wait -= UInt8(min(UInt64(states[index].wait), steps))
  }

  private mutating func keep(_ index: Int, _ priority: Log.Priority, _ message: Span<UInt8>) {
    if states[index].folded == 0 { keptCount += 1 }
    if states[index].isChange { states[index].isUniform = false }
    states[index].folded += 1
    states[index].priority = priority
    let count = min(message.count, Self.keptBytesMax)
    kept.store(message.extracting(0..<count), at: index * Self.keptBytesMax)
    states[index].keptBytes = count
  }

  private mutating func logged(
    _ index: Int, _ priority: Log.Priority, at now: Instant, isNew: Bool
  ) {
    states[index].isTroubleLogged = priority.isTrouble
    if states[index].folded > 0 { keptCount -= 1 }
    states[index].folded = 0
    states[index].isUniform = true
    states[index].loggedAt = now
    guard !isNew else { return }
    states[index].wait = min(wait(index) + 1, UInt8(Self.waits.count - 1))
  }

  /// Records that a kind occurred, and returns whether it had not occurred within a day.
  ///
  /// If there is no room for another kind, it counts as known.
  private mutating func remember(_ hash: UInt32, at now: Instant) -> Bool {
    var free: Int?
    for index in kinds.indices {
      let isOld = kinds[index].heardAt.map { now >= $0 + Self.kindRemembered } ?? true
      if !isOld, kinds[index].hash == hash {
        kinds[index].heardAt = now
        return false
      }
      if isOld { free = index }
    }
    guard let free else { return false }
    kinds[free] = Kind(hash: hash, heardAt: now)
    return true
  }

  /// Returns a hash of the parts of a line that decide its kind.
  private static func kind(of message: Span<UInt8>, _ topic: Log.Topic) -> UInt32 {
    var hash = Hash()
    hash.add(UInt64(topic.rawValue))
    for index in message.indices {
      let byte = message[index]
      if byte == .semicolon { break }
      if !byte.isDigit { hash.add(byte) }
    }
    return UInt32(truncatingIfNeeded: hash.value)
  }

  // MARK: - Words

  /// Appends how many lines were only counted before a line that is logged at once.
  private mutating func appendFolded(_ index: Int, _ topic: Log.Topic, at now: Instant) {
    let state = states[index]
    guard state.folded > 0 else { return }
    line.append(" (")
    if state.isUniform && !state.isChange {
      // The line itself counts, too.
      appendTimes(state.folded + 1)
    } else {
      line.append("after ")
      appendOthers(state.folded, topic)
    }
    line.append(" in ")
    line.append(rounded: state.loggedAt.until(now))
    line.append(")")
  }

  /// Appends the age of the kept line, and how many lines were only counted before it.
  private mutating func appendKept(_ index: Int, at now: Instant) {
    let state = states[index]
    let topic = Log.Topic(rawValue: UInt8(index)) ?? .connection
    line.append(" (")
    if state.isUniform {
      appendTimes(state.folded)
      line.append(" in ")
    } else {
      line.append(rounded: state.heardAt.until(now))
      line.append(" ago")
      guard state.folded > 1 else { return line.append(")") }
      line.append(", after ")
      appendOthers(state.folded - 1, topic)
      line.append(" in ")
    }
    line.append(rounded: state.loggedAt.until(now))
    line.append(")")
  }

  private mutating func appendTimes(_ count: UInt64) {
    line.append(count)
    line.append(count == 1 ? " more time" : " more times")
  }

  private mutating func appendOthers(_ count: UInt64, _ topic: Log.Topic) {
    line.append(count)
    line.append(" more ", topic.noun)
    if count != 1 { line.append("s") }
  }
}

extension Log {
  /// What a line is about: something with one state at a time, or one sort of event.
  public enum Topic: UInt8, Sendable {
    case connection
    case refusals
    case mistakes
    /// Notifications that were not sent for a reason other than a mistake in them.
    case unsent
    case files
    /// Whether failures can be recorded.
    case failures
    /// Whether delivered files can be removed.
    case removals
    case spool
    case suppression
    /// Whether the status page can be written.
    case page
    /// Alerts over a limit, and duplicates.
    case limits
    /// Messages of an MQTT broker, and requests, that make no notification.
    case messages

    /// Whether a line tells of a state, which lasts until the next line.
    var isState: Bool {
      switch self {
      case .connection, .files, .failures, .removals, .spool, .suppression, .page: true
      default: false
      }
    }

    var noun: StaticString {
      switch self {
      case .refusals: "refusal"
      case .mistakes: "mistake"
      case .unsent: "notification"
      case .messages: "message"
      case .connection, .files, .failures, .removals, .spool, .suppression, .page, .limits: "change"
      }
    }
  }
}
