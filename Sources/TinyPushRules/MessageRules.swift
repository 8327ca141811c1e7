import TinyPush

/// The rules that make notifications of messages: for each a topic filter, conditions, and
/// templates.
///
/// The message may be a request: its path stands for the topic, and its body is the payload.
///
/// The first rule whose filter and conditions a message meets makes its notification, and those
/// behind it, too, if the rule says so. A message of a broker whose topic no filter matches may be a
/// notification itself, which goes as it is.
public struct MessageRules: ~Copyable {
  struct Rule: BitwiseCopyable {
    var filterStart: Int32
    var filterEnd: Int32
    var entryStart: Int32
    var entryEnd: Int32
    var line: Int32
  }

  struct Entry: BitwiseCopyable {
    var key: RuleKey
    var start: Int32
    var end: Int32
  }

  private static let rulesMax = 256
  private static let entriesMax = 2048
  private static let textBytesMax = 128 * 1024

  private let rules = FixedBuffer<Rule>(capacity: MessageRules.rulesMax)
  let entries = FixedBuffer<Entry>(capacity: MessageRules.entriesMax)
  private let texts = FixedBuffer<UInt8>(capacity: MessageRules.textBytesMax)
  /// The number of rules.
  public private(set) var count = 0
  private var entryCount = 0
  private var textCount = 0
  var scratch: Text
  private var draft = Draft()
  var changes = Changes()
  var silences = SilentTopics()
  var hasChanges = false
  var hasSilences = false

  /// Where the messages come from.
  public let source: RuleSource

  /// Creates an empty table.
  public init(of source: RuleSource) {
    self.source = source
    // A condition may compare two values.
    scratch = Text(capacity: 2 * RuleSource.payloadBytesMax)
  }

  @inline(never)
  deinit {}

  // MARK: - Reading the configuration

  /// Begins a rule.
  ///
  /// The rule before must be whole, see ``finish()``.
  ///
  /// - Parameter line: the line of the configuration that begins the rule.
  public mutating func begin(_ filter: Span<UInt8>, line: Int32 = 0) throws(RuleProblem) {
    guard TopicFilter.isValid(filter) else { throw .filter }
    if source == .paths {
      // The path without anything is that of notifications. A rule gets the path of a request
      // without its escapes, its query and a slash at its end.
      guard filter[0] == .slash, filter[filter.count - 1] != .slash else { throw .filter }
      for index in filter.indices
      where filter[index] == .percent || filter[index] == UInt8(ascii: "?") { throw .filter }
    }
    guard count < Self.rulesMax else { throw .tooMany }
    let text = try store(filter)
    rules[count] = Rule(
      filterStart: text.start, filterEnd: text.end, entryStart: Int32(entryCount),
      entryEnd: Int32(entryCount), line: line)
    count += 1
  }

  /// Sets a key of the last rule.
  ///
  /// The caller has checked and spelled out what ``RuleKey/isFixed``.
  public mutating func set(_ key: RuleKey, to value: Span<UInt8>) throws(RuleProblem) {
    let rule = rules[count - 1]
    if !key.isList {
      for index in Int(rule.entryStart)..<Int(rule.entryEnd) where entries[index].key == key {
        throw .twice
      }
    }
    if source == .paths, key.isOfBroker { throw .broker }
    if key == .when {
      guard Condition.isValid(value, source) else { throw .condition }
    } else if !key.isFixed {
      do throws(Template.Problem) {
        try Template.check(value, source)
      } catch {
        throw error == .unknown ? .expression : .braces
      }
    }
    if key == .data {
      guard let equals = Self.equals(in: value), equals > 0 else { throw .data }
    }
    guard entryCount < Self.entriesMax else { throw .tooMany }
    let text = try store(value)
    entries[entryCount] = Entry(key: key, start: text.start, end: text.end)
    entryCount += 1
    rules[count - 1].entryEnd = Int32(entryCount)
    if key == .onChange { hasChanges = true }
    if key == .silentFor { hasSilences = true }
  }

  /// Checks that the last rule is whole.
  public func finish() throws(RuleProblem) {
    guard count > 0 else { return }
    let isSilence = silence(count - 1) != nil
    var hasContent = false
    for index in entryRange(count - 1) {
      let key = entries[index].key
      if key.isContent { hasContent = true }
      guard isSilence, key != .when else { continue }
      // Silence has a topic, and no payload.
      guard !key.isOfMessage, key.isFixed || !Template.usesPayload(value(entries[index])) else {
        throw .silence
      }
    }
    if !hasContent { throw .empty }
  }

  func entryRange(_ rule: Int) -> Range<Int> {
    Int(rules[rule].entryStart)..<Int(rules[rule].entryEnd)
  }

  private mutating func store(_ text: Span<UInt8>) throws(RuleProblem) -> (start: Int32, end: Int32)
  {
    guard textCount + text.count <= Self.textBytesMax else { throw .tooMany }
    texts.store(text, at: textCount)
    let start = textCount
    textCount += text.count
    return (Int32(start), Int32(textCount))
  }

  private static func equals(in text: Span<UInt8>) -> Int? {
    for index in text.indices where text[index] == .equals { return index }
    return nil
  }

  // MARK: - Making notifications

  /// Whether a JSON text looks like a notification: `aps` is an object, or `payload` is and there is
  /// a recipient.
  private static func isNotification(_ payload: Span<UInt8>) -> Bool {
    if hasObject("aps", payload) { return true }
    guard hasObject("payload", payload) else { return false }
    let recipients: WordList = "to token tokens"
    for number in 0..<3 where PayloadPath.find(recipients[number], in: payload) != nil {
      return true
    }
    return false
  }

  private static func hasObject(_ name: StaticString, _ payload: Span<UInt8>) -> Bool {
    guard let value = PayloadPath.find(name.span, in: payload) else { return false }
    return payload[value.lowerBound] == .openBrace
  }

  /// The topic filter of a rule.
  @_lifetime(immortal)
  public func filter(_ rule: Int) -> Span<UInt8> {
    texts.unsafeSpan(Int(rules[rule].filterStart)..<Int(rules[rule].filterEnd))
  }

  /// Calls `body` with each recipients file that a rule names without an expression.
  public func forEachFixedRecipient(of rule: Int, _ body: (Span<UInt8>) -> Void) {
    let rule = rules[rule]
    for index in Int(rule.entryStart)..<Int(rule.entryEnd) where entries[index].key == .to {
      let name = value(entries[index])
      var isFixed = true
      for place in name.indices where name[place] == .openBrace { isFixed = false }
      if isFixed { body(name) }
    }
  }

  /// The line of the configuration that begins a rule.
  public func line(of rule: Int) -> Int32 { rules[rule].line }

  /// The first rule whose filter matches a topic or a path, whatever its conditions; nil: no filter
  /// matches.
  public func first(for address: Span<UInt8>) -> Int? {
    for rule in 0..<count where TopicFilter.matches(filter(rule), address) { return rule }
    return nil
  }

  @_lifetime(immortal)
  func value(_ entry: Entry) -> Span<UInt8> {
    texts.unsafeSpan(Int(entry.start)..<Int(entry.end))
  }

  /// What becomes of a message.
  public enum Outcome: Equatable, Sendable {
    /// The rule of this number made a notification.
    ///
    /// If it ``MessageRules/goesOn(_:)``, the rules behind it may make more.
    case rule(Int)
    /// The payload is a notification itself.
    case notification
    /// The message meets no rule.
    case ignored
    /// The message is the retained one of its topic, and meets a rule for new ones only.
    case retained
    /// The message makes the same notification as the one before.
    case unchanged
    /// The message meets a rule that rings when no more messages come.
    case heard
    /// The notification has more than ``NotificationReader/objectBytesMax`` bytes, so that the agent
    /// would refuse it.
    ///
    /// The number is that of its rule; nil: the payload is a notification itself.
    case tooLarge(rule: Int?)

    /// The rule that made a notification, whatever its size.
    public var rule: Int? {
      switch self {
      case .rule(let rule): rule
      case .tooLarge(let rule): rule
      default: nil
      }
    }
  }

  /// Appends the notification of a message, as one JSON object and a line end.
  ///
  /// The first rule that the message meets makes the notification. If no rule is for its topic, the
  /// payload may be a notification itself. An empty payload of a broker, which clears a retained
  /// message, makes none.
  ///
  /// - Parameters:
  ///   - address: the topic, or the path.
  ///   - packetID: the message's packet identifier; nil: QoS 0, or a request.
  ///   - isRetained: whether the message is the retained one of its topic, and so may be old.
  ///   - first: the first rule to look at.
  public mutating func append(
    address: Span<UInt8>, payload: Span<UInt8>, packetID: UInt16?, isRetained: Bool = false,
    from first: Int = 0, to line: inout Text
  ) -> Outcome {
    let start = line.count
    let message = MessageText(address, payload: payload, of: source)
    let outcome = make(message, packetID, isRetained, from: first, to: &line)
    guard !line.isCut, line.count - start <= NotificationReader.objectBytesMax + 1 else {
      line.truncate(to: start)
      return .tooLarge(rule: outcome.rule)
    }
    return outcome
  }

  /// Whether a rule lets those behind it make notifications of the same message, too.
  public func goesOn(_ rule: Int) -> Bool { isSet(.goOn, in: rule) }

  func isSet(_ key: RuleKey, in rule: Int) -> Bool {
    let rule = rules[rule]
    for index in Int(rule.entryStart)..<Int(rule.entryEnd) where entries[index].key == key {
      return value(entries[index]).equals("yes")
    }
    return false
  }

  private mutating func make(
    _ message: MessageText, _ packetID: UInt16?, _ isRetained: Bool, from first: Int,
    to line: inout Text
  ) -> Outcome {
    guard message.payload.count > 0 || source == .paths else { return .ignored }
    var outcome = Outcome.ignored
    var hasRule = first > 0
    for rule in first..<count where TopicFilter.matches(filter(rule), message.address) {
      hasRule = true
      guard holds(rule, message) else {
        forgetChange(rule, message)
        continue
      }
      guard silence(rule) == nil else {
        if outcome == .ignored { outcome = .heard }
        continue
      }
      guard !isRetained || isSet(.retained, in: rule) else {
        outcome = .retained
        continue
      }
      if isSet(.onChange, in: rule) {
        let start = line.count
        append(rule, of: message, key: nil, to: &line)
        var hash = Hash()
        hash.add(line.bytes.extracting(start..<line.count))
        line.truncate(to: start)
        guard changes.note(hash.value, of: changeKey(rule, message)) else {
          outcome = .unchanged
          guard goesOn(rule) else {
            forgetChanges(behind: rule, message)
            return outcome
          }
          continue
        }
      }
      if !goesOn(rule) { forgetChanges(behind: rule, message) }
      let key = packetID.map { MessageKey(message, packetID: $0, part: first) }
      append(rule, of: message, key: key, to: &line)
      return .rule(rule)
    }
    guard !hasRule, source == .topics, message.isJSON, Self.isNotification(message.payload) else {
      return outcome
    }
    guard !isRetained else { return .retained }
    line.append(bytes: message.payload)
    line.append("\n")
    return .notification
  }

  mutating func holds(_ rule: Int, _ message: MessageText) -> Bool {
    let rule = rules[rule]
    for index in Int(rule.entryStart)..<Int(rule.entryEnd) where entries[index].key == .when {
      guard Condition.holds(value(entries[index]), for: message, &scratch) else { return false }
    }
    return true
  }

  /// Appends the notification that a rule makes.
  mutating func append(
    _ rule: Int, of message: MessageText, key: MessageKey?, to line: inout Text
  ) {
    draft.clear()
    var needsCollapseID = true
    for index in entryRange(rule) {
      let entry = entries[index]
      switch entry.key {
      case .to:
        render(entry, message)
        draft.add(list: scratch.unsafeBytes)
      case .token:
        render(entry, message)
        draft.add(token: scratch.unsafeBytes)
      case .data:
        let text = value(entry)
        guard let equals = Self.equals(in: text) else { continue }
        scratch.clear()
        Template.append(
          text.extracting(text.trimmed(equals + 1..<text.count)), of: message, to: &scratch)
        draft.add(data: text.trimmed(0..<equals).extract(text), text: scratch.unsafeBytes)
      case .collapseID:
        render(entry, message)
        if draft.setCollapseID(scratch.unsafeBytes) { needsCollapseID = false }
      default:
        // Without a collapse ID, `again-after` compares payloads, and so finds repetitions itself.
        if entry.key == .againAfter { needsCollapseID = false }
        guard let part = entry.key.part else { continue }
        render(entry, message)
        // A value that the message does not have must not spoil the alert.
        guard scratch.count > 0 || part == .alert || part == .title else { continue }
        draft.set(part, to: scratch.unsafeBytes)
      }
    }
    if let key {
      draft.set(.id) { key.appendIdentifier(to: &$0) }
      if needsCollapseID { draft.set(.collapseID) { key.appendCollapseID(to: &$0) } }
    }
    draft.set(.trim, to: ("true" as StaticString).span)
    draft.append(to: &line)
  }

  /// Sets ``scratch`` to the value of a key.
  mutating func render(_ entry: Entry, _ message: MessageText) {
    scratch.clear()
    if entry.key.isFixed {
      scratch.append(bytes: value(entry))
    } else {
      Template.append(value(entry), of: message, to: &scratch)
    }
  }
}

extension Range<Int> {
  /// The bytes of a text in this range.
  @_lifetime(copy text)
  fileprivate func extract(_ text: Span<UInt8>) -> Span<UInt8> { text.extracting(self) }
}
