import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent
import TinyPushMQTT

/// The broker and the rules, from `/etc/tinypush/mqtt.conf`.
///
/// Settings come first; a section `[TOPIC-FILTER]` begins a rule.
struct BridgeConfig: ~Copyable {
  static let defaultFile: StaticString = "/etc/tinypush/mqtt.conf"
  fileprivate static var names: WordList {
    "broker tls ca certificate key user password password-file client-id subscribe keep-session fleet discovery"
  }

  /// `HOST` or `HOST:PORT`.
  var broker = CString("localhost")
  var isEncrypted = false
  /// The files of a TLS connection, as the agent's configuration has them.
  var tls = Config()
  var login = BrokerSession.Login()
  private var password = Secret("password")
  private var passwordFile = CString("")
  var session = BrokerSession.Settings()
  var subscriptions = FilterList()
  var rules = TopicRules()
  /// A hash of the settings that a connection depends on.
  private(set) var connectionHash: UInt64 = 0
  /// The file of the rules; empty if it cannot be read again.
  fileprivate var file = CString("")

  /// The first levels of the topics that a fleet shares; empty: none.
  var fleet = CString("")
  /// The first levels of the topics at which Home Assistant discovers devices; empty: none.
  var discovery = CString("")

  init() { tls.courier.rules.service = .binary }

  /// Reads the first levels of topics.
  private static func prefix(_ value: Span<UInt8>) throws(Config.Problem) -> CString {
    guard TopicFilter.isValid(value), TopicFilter.isTopic(value), value[0] != .dollar,
      value[value.count - 1] != .slash
    else { throw .value("a topic without wildcards, such as tinypush") }
    return CString(value)
  }

  /// The port where the setting names none.
  var port: StaticString { isEncrypted ? "8883" : "1883" }

  /// Reads the password into ``login``, until ``forgetPassword()``.
  ///
  /// - Returns: why the password's file cannot be read; nil on success.
  mutating func readPassword() -> Text? {
    login.password.wipe()
    if passwordFile.isEmpty {
      password.with { if let word = $0 { login.password.append(cString: word) } }
    } else {
      do throws(InputFile.Problem) {
        try InputFile.read(passwordFile.pointer, to: &login.password, bytesMax: 1024)
      } catch {
        return error.text(passwordFile.pointer)
      }
      login.password.dropLineEnd()
    }
    return nil
  }

  /// Erases the password from memory.
  mutating func forgetPassword() { login.password.wipe() }

  // MARK: - Reading

  struct Reading: ~Copyable {
    let config: UnsafeMutablePointer<BridgeConfig>
    /// The number of the section of the last line.
    var section: Int32 = 0
    /// Whether the rule of that section has a mistake.
    var isRuleWrong = false
    /// Whether the section is no rule, since its topic filter is wrong.
    var isSkipping = false
    /// The mistake in the line.
    var message = Text(capacity: 1024)
    var mistakes = Mistakes()
  }

  /// Reads the file; the first mistake becomes the message.
  static func read(
    _ path: UnsafePointer<CChar>, into config: inout BridgeConfig, message: inout Text
  ) throws(ExitStatus) {
    var mistakes = Mistakes()
    do throws(ExitStatus) {
      try read(path, into: &config, &mistakes)
    } catch {
      mistakes.append(0, file: CString.span(path), to: &message)
      throw error
    }
  }

  /// Reads the file, and adds each mistake.
  static func read(
    _ path: UnsafePointer<CChar>, into config: inout BridgeConfig, _ mistakes: inout Mistakes
  ) throws(ExitStatus) {
    var text = Text(capacity: 1024)
    guard let file = clinux_ini_open(path) else {
      let error = clinux_errno()
      text.append(cString: clinux_error_text(error))
      text.append(": write the file (tinypush-mqtt.conf(5)), or name another with --rules FILE")
      mistakes.add(text, line: 0)
      throw error == EACCES ? .noPermission : .noInput
    }
    config.locate(path, file)
    mistakes = withUnsafeMutablePointer(to: &config) { config in
      var reading = Reading(config: config)
      let line = withUnsafeMutablePointer(to: &reading) { reading in
        clinux_ini_parse(
          file,
          { user, section, name, value in
            guard let user, let section, let name else { return 0 }
            user.assumingMemoryBound(to: Reading.self).pointee.take(
              isInRule: section[0] != 0, CString.span(name), value)
            return 1
          }, reading)
      }
      reading.finish()
      if line > 0 {
        reading.message.append("expected KEY = VALUE or [TOPIC-FILTER]")
        reading.addMistake(line: line)
      }
      return reading.mistakes
    }
    if mistakes.count == 0 { config.complete(&mistakes) }
    guard mistakes.count == 0 else { throw .config }
  }

  /// Notes where the file is: relative paths start there, and a password is read there again.
  private mutating func locate(_ path: UnsafePointer<CChar>, _ file: UnsafeMutablePointer<FILE>) {
    let name = CString.span(path)
    var status = stat()
    // A pipe cannot be read again.
    if fstat(fileno(file), &status) == 0, clinux_is_regular(&status) != 0 {
      self.file = CString(name)
    }
    var end = name.count
    while end > 0, name[end - 1] != .slash { end -= 1 }
    tls.directory = CString(name.extracting(0..<end))
  }

  /// Checks what the settings have to do with each other, and adds what is missing.
  private mutating func complete(_ mistakes: inout Mistakes) {
    if subscriptions.count == 0, fleet.isEmpty {
      var text = Text()
      text.append("add subscribe = TOPIC-FILTER: no messages would come")
      mistakes.add(text, line: 0)
    }
    if !password.isEmpty, !passwordFile.isEmpty {
      var text = Text()
      text.append("password and password-file are both given: remove one")
      mistakes.add(text, line: 0)
    }
    if !discovery.isEmpty, fleet.isEmpty {
      var text = Text()
      text.append("discovery needs the state of this box: add fleet = tinypush")
      mistakes.add(text, line: 0)
    }
    if login.clientID.count == 0 {
      login.clientID.append("tinypush-")
      login.clientID.appendHostName()
    }
    let clientID = login.clientID.bytes
    var isLevel = TopicFilter.isTopic(clientID)
    for index in clientID.indices where clientID[index] == .slash { isLevel = false }
    if !fleet.isEmpty, !isLevel {
      var text = Text()
      text.append("client-id names this box in the fleet: set it to a text without /, + and #")
      mistakes.add(text, line: 0)
    }
  }

  /// Sets a setting in front of the rules; on a mistake returns false and fills in the message.
  fileprivate mutating func set(
    _ name: Span<UInt8>, _ value: Span<UInt8>, _ message: inout Text
  ) -> Bool {
    let number = Self.names.index(of: name)
    do throws(Config.Problem) {
      switch number {
      case 0: broker = try Config.address(value)
      case 1: isEncrypted = try Config.choice(value, "yes no", "yes or no") == 0
      case 2: try tls.set(("ca" as StaticString).span, to: value)
      case 3: try tls.set(("certificate" as StaticString).span, to: value)
      case 4: try tls.set(("key" as StaticString).span, to: value)
      case 5: try Self.put(value, in: &login.user)
      case 6: password.set(value, file: file)
      case 7: passwordFile = try tls.credential(value)
      case 8: try Self.put(value, in: &login.clientID)
      case 9:
        guard let inner = TopicFilter.shared(value), TopicFilter.isValid(value.extracting(inner)),
          subscriptions.append(value)
        else { throw .value("a topic filter, such as alerts/# or $share/tinypush/alerts/#") }
        return true
      case 10:
        session.sessionSeconds = UInt32(
          try Config.duration(value, min: 60_000, max: 31_536_000_000).milliseconds / 1000)
      case 11: fleet = try Self.prefix(value)
      case 12: discovery = try Self.prefix(value)
      default:
        message.append("unknown setting ")
        message.append(printable: name)
        message.suggest(Self.names.nearest(to: name), of: Self.names, "; did you mean ")
        return false
      }
    } catch {
      ConfigFile.describe(error, name: name, in: &message)
      return false
    }
    var hash = Hash()
    hash.add(connectionHash)
    hash.add(name)
    hash.add(value)
    connectionHash = hash.value
    return true
  }

  private static func put(_ value: Span<UInt8>, in text: inout Text) throws(Config.Problem) {
    guard value.count > 0, value.count <= 255 else { throw .value("a text of 1 to 255 bytes") }
    text.clear()
    text.append(bytes: value)
  }
}

extension BridgeConfig.Reading {
  /// Takes one line of the file.
  fileprivate mutating func take(
    isInRule: Bool, _ name: Span<UInt8>, _ value: UnsafePointer<CChar>?
  ) {
    if clinux_ini_section() != section { beginRule() }
    let texts: WordList = "password when alert title subtitle data"
    if ConfigFile.isWhole(name, isText: texts.index(of: name) != nil, &message) {
      guard !isSkipping, !takeLine(isInRule, name, value) else { return }
    }
    isRuleWrong = true
    addMistake(line: clinux_ini_line())
  }

  fileprivate mutating func addMistake(line: Int32) {
    mistakes.add(message, line: line)
    message.clear()
  }

  /// Checks the last rule.
  fileprivate mutating func finish() {
    finishRule()
    guard clinux_ini_section() > section else { return }
    message.append("[", printable: CString.span(clinux_ini_section_name()))
    message.append("] has no keys: remove it, or add alert = TEXT")
    addMistake(line: clinux_ini_section_line())
  }

  private mutating func beginRule() {
    finishRule()
    // inih does not report a section without keys.
    if clinux_ini_section() > section + 1 {
      message.append("a section before this line has no keys: remove it, or add alert = TEXT")
      addMistake(line: clinux_ini_section_line())
    }
    section = clinux_ini_section()
    let filter = CString.span(clinux_ini_section_name())
    do throws(RuleProblem) {
      try config.pointee.rules.begin(filter, line: clinux_ini_section_line())
    } catch {
      explain(error, filter)
      addMistake(line: clinux_ini_section_line())
      isSkipping = true
    }
  }

  private mutating func takeLine(
    _ isInRule: Bool, _ name: Span<UInt8>, _ value: UnsafePointer<CChar>?
  ) -> Bool {
    guard let value else {
      message.append(printable: name)
      message.append(" must be followed by = and a value")
      return false
    }
    let text = CString.span(value)
    guard isInRule else { return config.pointee.set(name, text, &message) }
    guard let key = RuleKey(name) else {
      if BridgeConfig.names.index(of: name) != nil {
        message.append(printable: name)
        message.append(" belongs before the first [TOPIC-FILTER]")
        return false
      }
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

  /// Sets a key of the rule.
  ///
  /// A number of seconds is spelled out.
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
      case .silentFor:
        spelled.append(
          try Config.duration(value, min: 1000, max: 31_536_000_000).milliseconds / 1000)
      case .retained, .goOn, .onChange:
        _ = try Config.choice(value, "yes no", "yes or no")
        spelled.append(bytes: value)
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
      explain(error, key.name)
      return false
    }
  }

  /// Checks that the rule before is whole, unless it has a mistake already.
  fileprivate mutating func finishRule() {
    defer {
      isRuleWrong = false
      isSkipping = false
    }
    guard section > 0, !isRuleWrong, !isSkipping else { return }
    do throws(RuleProblem) {
      try config.pointee.rules.finish()
    } catch {
      let last = config.pointee.rules.count - 1
      message.append("[", printable: config.pointee.rules.filter(last))
      message.append("]")
      explain(error, ("" as StaticString).span)
      addMistake(line: config.pointee.rules.line(of: last))
    }
  }

  private mutating func explain(_ problem: RuleProblem, _ word: Span<UInt8>) {
    message.append(printable: word)
    switch problem {
    case .filter:
      message.append(" is not a topic filter: + and # stand for whole levels, and # comes last")
    case .twice: message.append(" is given twice in this rule: remove one")
    case .braces: message.append(": a brace has no partner; write {{ or }} for a brace")
    case .expression:
      message.append(": unknown expression in braces; use topic, topic.2, payload or payload.NAME")
    case .condition:
      message.append(
        " takes EXPRESSION = VALUE (or !=, <, <=, >, >=, contains), such as payload.state = on, and or between several; put a value with one of = < > in quotes, and what would follow and in a line of its own"
      )
    case .data: message.append(" takes KEY = TEXT")
    case .silence:
      message.append(
        ": a rule with silent-for rings when no message comes: it has no payload, and no retained, continue or on-change; use {topic} or {topic.2}"
      )
    case .empty: message.append(" shows nothing: add alert = TEXT")
    case .tooMany: message.append(": too many rules")
    }
  }
}

extension Text {
  /// Erases the text from memory.
  mutating func wipe() {
    looseBytes.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress else { return }
      clinux_wipe(UnsafeMutableRawPointer(mutating: start), bytes.count)
    }
    clear()
  }

  /// Removes line ends at the end.
  mutating func dropLineEnd() {
    var kept = count
    while kept > 0, bytes[kept - 1] == .lineFeed || bytes[kept - 1] == .carriageReturn { kept -= 1 }
    truncate(to: kept)
  }
}
