import TinyPush

/// Which lines of the log are said, and which are only counted: so that trouble that comes and goes for days writes some
/// dozen lines and hides nothing.
///
/// A line belongs to a topic, and lines of it are of one kind that are the same up to their first semicolon, whatever
/// numbers are in them, and whatever file and recipient they name at their beginning.
/// - A kind that has not been heard of for a day is said at once.
/// - Otherwise each line of a topic that is said makes the next one wait longer (``waits``). What comes meanwhile is
///   counted, and the last of it kept, since it says how things are now.
/// - What is kept is said when its time has come, or when nothing has changed for two hours; but only when the agent is
///   awake anyway: nothing here needs a timer.
/// - Each two hours in which nothing is heard of a topic take a step back.
///
/// Whatever comes, a day has ``kindsMax`` kinds, and a topic some dozen lines besides; the memory is what it is at the start.
struct LogFolding: ~Copyable {
  private let pinned = Pinned()
  /// How long a topic waits after its last line. The first two only serve what changes; what stays the same waits for a
  /// minute at least.
  static let waits: InlineArray<7, Duration> = [
    .seconds(0), .seconds(0), .seconds(60), .seconds(600), .seconds(3600), .seconds(21_600),
    .seconds(86_400),
  ]
  static let waitsOfChange: UInt8 = 2
  static let calm = Duration.seconds(7200)
  static let kindRemembered = Duration.seconds(86_400)
  static let kindsMax = 32
  /// Bytes of a line that are kept.
  static let keptBytesMax = 900

  /// What was heard of a topic.
  struct State {
    var wait: UInt8 = 0
    /// The kind of the last line.
    var kind: UInt32 = 0
    /// It was another than that of the line before.
    var isChange = true
    /// When the last line came, and up to when its quiet has taken steps back.
    var heardAt = Instant(milliseconds: 0)
    var restedAt = Instant(milliseconds: 0)
    /// When a line of it was said last.
    var saidAt = Instant(milliseconds: 0)
    /// Lines since then.
    var folded: UInt64 = 0
    /// All of those are of one kind.
    var isUniform = true
    /// Of the line that is kept.
    var priority = Log.Priority.info
    var keptBytes = 0
  }

  /// A kind, and when it was heard of last.
  struct Kind {
    var hash: UInt32 = 0
    var heardAt: Instant?
  }

  private var states: InlineArray<11, State> = .init(repeating: State())
  private var kinds: InlineArray<32, Kind> = .init(repeating: Kind())
  private let kept = FixedBuffer<UInt8>(capacity: 11 * keptBytesMax)
  /// Topics of which something is kept.
  private var keptCount = 0
  /// What is to be said, when there is something.
  private(set) var line = Text(capacity: 1200)

  init() {}

  deinit {}

  var hasKept: Bool { keptCount > 0 }

  // MARK: - Inputs

  /// A line came: whether it is to be said. Then ``line`` is what to say.
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
    guard isNew || now >= dueAt(index) else {
      keep(index, priority, message)
      return false
    }
    line.clear()
    line.append(bytes: message)
    appendFolded(index, topic, at: now)
    said(index, at: now, isNew: isNew)
    return true
  }

  /// The priority of a line that was kept and is to be said now, with ``line``; nil: there is none.
  ///
  /// - Parameter isLast: everything is to be said.
  mutating func takeKept(at now: Instant, isLast: Bool = false) -> Log.Priority? {
    guard hasKept else { return nil }
    for index in states.indices where states[index].folded > 0 {
      rest(index, at: now)
      let isCalm = now >= states[index].heardAt + Self.calm
      guard isLast || isCalm || now >= dueAt(index) else { continue }
      let start = index * Self.keptBytesMax
      line.clear()
      line.append(bytes: kept.looseSpan(start..<start + states[index].keptBytes))
      appendKept(index, at: now)
      said(index, at: now, isNew: false)
      return states[index].priority
    }
    return nil
  }

  // MARK: - Parts

  private func wait(_ index: Int) -> UInt8 {
    states[index].isChange ? states[index].wait : max(states[index].wait, Self.waitsOfChange)
  }

  private func dueAt(_ index: Int) -> Instant {
    states[index].saidAt + Self.waits[Int(wait(index))]
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

  private mutating func said(_ index: Int, at now: Instant, isNew: Bool) {
    if states[index].folded > 0 { keptCount -= 1 }
    states[index].folded = 0
    states[index].isUniform = true
    states[index].saidAt = now
    guard !isNew else { return }
    states[index].wait = min(wait(index) + 1, UInt8(Self.waits.count - 1))
  }

  /// Whether it has not been heard of for a day. Where there is no room for one more it counts as known.
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

  /// A hash of what makes a kind.
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

  /// What was left out before a line that comes now.
  private mutating func appendFolded(_ index: Int, _ topic: Log.Topic, at now: Instant) {
    let state = states[index]
    guard state.folded > 0 else { return }
    line.append(" (")
    if state.isUniform && !state.isChange {
      // This one counts, too.
      appendTimes(state.folded + 1)
    } else {
      line.append("after ")
      appendOthers(state.folded, topic)
    }
    line.append(" in ")
    line.append(rounded: state.saidAt.until(now))
    line.append(")")
  }

  /// When the line came that was kept, and what was left out before it.
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
    line.append(rounded: state.saidAt.until(now))
    line.append(")")
  }

  private mutating func appendTimes(_ count: UInt64) {
    line.append(count)
    line.append(count == 1 ? " more time" : " more times")
  }

  private mutating func appendOthers(_ count: UInt64, _ topic: Log.Topic) {
    line.append(count)
    line.append(" more ")
    line.append(topic.noun)
    if count != 1 { line.append("s") }
  }
}

extension Log {
  /// What a line is about: something that has one state at a time, or one sort of event.
  public enum Topic: UInt8, Sendable {
    case connection
    case refusals
    case mistakes
    /// Notifications that were not sent, and not since they were wrong.
    case unsent
    case files
    /// Whether failures can be recorded.
    case failures
    /// Whether what is delivered can be removed.
    case removals
    case spool
    case suppression
    /// Whether the status page can be kept.
    case page
    /// Alerts over a limit, and what says the same again.
    case limits

    var noun: StaticString {
      switch self {
      case .refusals: "refusal"
      case .mistakes: "mistake"
      case .unsent: "notification"
      case .connection, .files, .failures, .removals, .spool, .suppression, .page, .limits: "change"
      }
    }
  }
}
