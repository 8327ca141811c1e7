import CLinux
import TinyPush
import TinyPushAgent
import TinyPushMQTT

/// The broker and the rules, from `/etc/tinypush/mqtt.conf`.
///
/// Settings come first; a section `[TOPIC-FILTER]` begins a rule.
struct BridgeConfig: ~Copyable {
  static let defaultFile: StaticString = "/etc/tinypush/mqtt.conf"
  private static var names: WordList {
    "broker tls ca certificate key user password client-id subscribe keep-session"
  }
  private static let subscriptionsMax = 32

  /// `HOST` or `HOST:PORT`.
  var broker = CString("localhost")
  var isEncrypted = false
  /// The files of a TLS connection, as the agent's configuration has them.
  var tls = Config()
  var login = BrokerSession.Login()
  var session = BrokerSession.Settings()
  /// Topic filters, each with a NUL behind it.
  private let subscriptions = FixedBuffer<UInt8>(capacity: 8192)
  private var subscriptionEnds = InlineArray<32, Int>(repeating: 0)
  private(set) var subscriptionCount = 0
  var rules = TopicRules()

  init() { tls.courier.rules.service = .binary }

  /// The port where the setting names none.
  var port: StaticString { isEncrypted ? "8883" : "1883" }

  /// A topic filter to subscribe to.
  @_lifetime(immortal)
  func subscription(_ index: Int) -> Span<UInt8> {
    subscriptions.looseSpan(
      (index == 0 ? 0 : subscriptionEnds[index - 1])..<subscriptionEnds[index])
  }

  // MARK: - Reading

  struct Reading: ~Copyable {
    let config: UnsafeMutablePointer<BridgeConfig>
    var section: Int32 = 0
    var message = Text(capacity: 1024)
    var isWrong = false
  }

  /// Reads the file.
  ///
  /// - Parameter message: on failure, the mistake, its place and what to do.
  static func read(
    _ path: UnsafePointer<CChar>, into config: inout BridgeConfig, message: inout Text
  ) throws(ExitStatus) {
    guard let file = fopen(path, "re") else {
      let error = clinux_errno()
      message.append(cString: path)
      message.append(": ", cString: clinux_error_text(error))
      message.append(": write the file (tinypush-mqtt.conf(5)), or name another with --rules FILE")
      throw error == EACCES ? .noPermission : .noInput
    }
    let (line, isWrong) = withUnsafeMutablePointer(to: &config) { config in
      var reading = Reading(config: config)
      let line = withUnsafeMutablePointer(to: &reading) { reading in
        clinux_ini_parse(
          file,
          { user, section, name, value in
            guard let user, let section, let name else { return 0 }
            let reading = user.assumingMemoryBound(to: Reading.self)
            return reading.pointee.take(
              CString.span(section), CString.span(name), value)
          }, reading)
      }
      if line == 0, !reading.isWrong { reading.finishRule() }
      message.append(cString: path)
      message.append(":", line > 0 ? line : clinux_ini_line(), ": ")
      message.append(reading.message)
      return (line, reading.isWrong)
    }
    guard line != 0 || isWrong else {
      message.clear()
      return try config.complete(path, message: &message)
    }
    if !isWrong { message.append("expected KEY = VALUE or [TOPIC-FILTER]") }
    throw .config
  }

  /// Checks what the settings have to do with each other.
  private mutating func complete(
    _ path: UnsafePointer<CChar>, message: inout Text
  ) throws(ExitStatus) {
    guard subscriptionCount > 0 else {
      message.append(cString: path)
      message.append(": add subscribe = TOPIC-FILTER: no messages would come")
      throw .config
    }
    if login.clientID.count == 0 {
      login.clientID.append("tinypush-")
      var name: InlineArray<65, CChar> = .init(repeating: 0)
      var span = name.mutableSpan
      span.withUnsafeMutableBufferPointer { room in
        if gethostname(room.baseAddress!, 64) == 0 {
          login.clientID.append(cString: UnsafePointer(room.baseAddress!))
        }
      }
    }
  }

  /// Sets a setting in front of the rules. Returns the mistake.
  mutating func set(
    _ name: Span<UInt8>, _ value: Span<UInt8>, _ message: inout Text
  ) -> Bool {
    do throws(Config.Problem) {
      switch Self.names.index(of: name) {
      case 0: broker = try Config.address(value)
      case 1: isEncrypted = try Config.choice(value, "yes no", "yes or no") == 0
      case 2: try tls.set(("ca" as StaticString).span, to: value)
      case 3: try tls.set(("certificate" as StaticString).span, to: value)
      case 4: try tls.set(("key" as StaticString).span, to: value)
      case 5: try Self.put(value, in: &login.user)
      case 6: try Self.put(value, in: &login.password)
      case 7: try Self.put(value, in: &login.clientID)
      case 8: try subscribe(value)
      case 9:
        session.sessionSeconds = UInt32(
          try Config.duration(value, min: 60_000, max: 31_536_000_000).milliseconds / 1000)
      default:
        message.append("unknown setting ")
        message.append(printable: name)
        message.suggest(Self.names.nearest(to: name), of: Self.names, "; did you mean ")
        return false
      }
      return true
    } catch {
      ConfigFile.describe(error, name: name, in: &message)
      return false
    }
  }

  private static func put(_ value: Span<UInt8>, in text: inout Text) throws(Config.Problem) {
    text.clear()
    text.append(bytes: value)
    guard !text.isCut, value.count > 0 else { throw .value("a text of at most 255 bytes") }
  }

  private mutating func subscribe(_ filter: Span<UInt8>) throws(Config.Problem) {
    let start = subscriptionCount == 0 ? 0 : subscriptionEnds[subscriptionCount - 1]
    guard let inner = TopicFilter.shared(filter), TopicFilter.isValid(filter.extracting(inner)),
      subscriptionCount < Self.subscriptionsMax, start + filter.count <= subscriptions.capacity
    else { throw .value("a topic filter, such as alerts/# or $share/tinypush/alerts/#") }
    subscriptions.store(filter, at: start)
    subscriptionEnds[subscriptionCount] = start + filter.count
    subscriptionCount += 1
  }
}

extension BridgeConfig.Reading {
  /// Takes one line of the file; 0 tells inih that the line is wrong.
  mutating func take(
    _ section: Span<UInt8>, _ name: Span<UInt8>, _ value: UnsafePointer<CChar>?
  ) -> Int32 {
    guard !isWrong else { return 0 }
    isWrong = !takeLine(section, name, value)
    return isWrong ? 0 : 1
  }

  private mutating func takeLine(
    _ section: Span<UInt8>, _ name: Span<UInt8>, _ value: UnsafePointer<CChar>?
  ) -> Bool {
    guard let value else {
      message.append(printable: name)
      message.append(" must be followed by = and a value")
      return false
    }
    let text = CString.span(value)
    guard section.count > 0 else { return config.pointee.set(name, text, &message) }
    if clinux_ini_section() != self.section {
      guard finishRule() else { return false }
      self.section = clinux_ini_section()
      do throws(RuleProblem) {
        try config.pointee.rules.begin(section)
      } catch {
        return explain(error, section)
      }
    }
    guard let key = RuleKey(name) else {
      message.append("unknown key ")
      message.append(printable: name)
      if let nearest = RuleKey.nearest(to: name) {
        message.append("; did you mean ")
        message.append(bytes: nearest.name)
        message.append("?")
      }
      return false
    }
    return set(key, text)
  }

  /// Sets a key of the rule. A number of seconds is spelled out.
  private mutating func set(_ key: RuleKey, _ value: Span<UInt8>) -> Bool {
    var spelled = Text(capacity: 32)
    do throws(Config.Problem) {
      switch key {
      case .ttl, .againAfter:
        spelled.append(try Config.lifetime(value).milliseconds / 1000)
      case .priority:
        _ = try Config.choice(value, "10 5 1", "10, 5 or 1")
        spelled.append(bytes: value)
      case .urgent:
        spelled.append(
          try Config.choice(value, "true false", "true or false") == 0 ? "true" : "false")
      case .level:
        let words: WordList = "passive active time-sensitive critical"
        _ = try Config.choice(value, words, "passive, active, time-sensitive or critical")
        spelled.append(bytes: value)
      default: break
      }
    } catch {
      ConfigFile.describe(error, name: key.name, in: &message)
      return false
    }
    do throws(RuleProblem) {
      if spelled.count > 0 {
        try config.pointee.rules.set(key, to: spelled.bytes)
      } else {
        try config.pointee.rules.set(key, to: Config.unquoted(value))
      }
      return true
    } catch {
      return explain(error, key.name)
    }
  }

  /// Checks that the rule before is whole.
  @discardableResult
  mutating func finishRule() -> Bool {
    do throws(RuleProblem) {
      try config.pointee.rules.finish()
      return true
    } catch {
      isWrong = !explain(error, ("" as StaticString).span)
      return !isWrong
    }
  }

  private mutating func explain(_ problem: RuleProblem, _ word: Span<UInt8>) -> Bool {
    message.append(printable: word)
    switch problem {
    case .filter:
      message.append(" is not a topic filter: + and # stand for whole levels, and # comes last")
    case .twice: message.append(" is given twice in this rule: remove one")
    case .braces: message.append(": a brace has no partner; write {{ or }} for a brace")
    case .expression:
      message.append(": unknown expression in braces; use topic, topic.2, payload or payload.NAME")
    case .condition:
      message.append(" takes EXPRESSION = VALUE (or !=, <, <=, >, >=), such as payload.state = on")
    case .data: message.append(" takes KEY = TEXT")
    case .empty: message.append("the rule before this line shows nothing: add alert = TEXT")
    case .tooMany: message.append(": too many rules")
    }
    return false
  }
}
