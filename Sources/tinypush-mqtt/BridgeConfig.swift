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
  /// The settings, in the order of tinypush-mqtt.conf(5), which explains them.
  static let table = SettingsTable<BridgeConfig>(
    of: "tinypush-mqtt.conf(5)",
    [
      Setting(
        "broker", "HOST:PORT", default: "localhost", "the broker",
        .value { config, value throws(Config.Problem) in
          config.broker = try Config.address(value)
        }),
      Setting(
        "tls", "yes|no", default: "no", "whether the connection is encrypted",
        .choice {
          $0.isEncrypted = $1 == 0
        }),
      Setting(
        "ca", "FILE", default: "/etc/ssl/certs/ca-certificates.crt",
        "the authorities that the broker's certificate is verified with",
        .value { config, value throws(Config.Problem) in
          config.tls.ca = try config.tls.credential(value)
        }),
      Setting(
        "certificate", "FILE", "a certificate for the broker, in PEM",
        .value { config, value throws(Config.Problem) in
          config.tls.certificate = try config.tls.credential(value)
        }),
      Setting(
        "key", "FILE", "the key of the certificate, if in a file of its own",
        .value { config, value throws(Config.Problem) in
          config.tls.key = try config.tls.credential(value)
        }),
      Setting(
        "user", "TEXT", "the user at the broker",
        .value { config, value throws(Config.Problem) in
          try put(value, in: &config.login.user)
        }),
      Setting(
        "password", "TEXT", "the password of the user",
        .text { config, value throws(Config.Problem) in
          try config.password.set(value, file: config.file)
        }),
      Setting(
        "password-file", "FILE", "a file with the password of the user",
        .value { config, value throws(Config.Problem) in
          config.passwordFile = try config.tls.credential(value)
        }),
      Setting(
        "client-id", "TEXT", "the name of this bridge at the broker, if not tinypush-HOST",
        .value { config, value throws(Config.Problem) in
          try put(value, in: &config.login.clientID)
        }),
      Setting(
        "subscribe", "TOPIC-FILTER", "the messages to ask for; repeatable",
        .value { config, value throws(Config.Problem) in
          guard let inner = TopicFilter.shared(value), TopicFilter.isValid(value.extracting(inner)),
            config.subscriptions.append(value)
          else { throw .value("a topic filter, such as alerts/# or $share/tinypush/alerts/#") }
        }),
      Setting(
        "keep-session", "TIME",
        "how long the broker keeps messages for this bridge, if not for ever",
        .value { config, value throws(Config.Problem) in
          config.session.sessionSeconds = UInt32(
            try Config.duration(value, min: 60_000, max: 31_536_000_000).milliseconds / 1000)
        }),
      Setting(
        "fleet", "TOPIC", "where this box shows its state to the others",
        .value { config, value throws(Config.Problem) in
          config.fleet = try prefix(value)
        }),
      Setting(
        "discovery", "TOPIC", "where Home Assistant discovers devices",
        .value { config, value throws(Config.Problem) in
          config.discovery = try prefix(value)
        }),
    ])

  /// `HOST` or `HOST:PORT`.
  var broker = CString("")
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

  init() {
    tls.courier.rules.service = .binary
    Self.table.setDefaults(of: &self)
  }

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
    config.file = ConfigFile.readableAgain(path)
    config.tls.directory = ConfigFile.directory(of: path)
    var reading = Reading()
    do throws(InputFile.Problem) {
      try ConfigFile.forEachLine(of: path) { line, number, text in
        reading.take(line, number, text, into: &config)
      }
    } catch {
      var text = Text(capacity: 1024)
      error.describe(in: &text)
      text.append(": write the file (tinypush-mqtt.conf(5)), or name another with --rules FILE")
      mistakes.add(text, line: 0)
      throw ConfigFile.status(of: error)
    }
    reading.finishRule(of: &config)
    swap(&mistakes, &reading.mistakes)
    if mistakes.count == 0 { config.complete(&mistakes) }
    guard mistakes.count == 0 else { throw .config }
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

  /// Sets what a line in front of the rules says; on a mistake returns false and fills in the
  /// message.
  fileprivate mutating func set(
    name: Range<Int>, value: Range<Int>, of text: Span<UInt8>, _ message: inout Text
  ) -> Bool {
    guard Self.table.set(name: name, value: value, of: text, in: &self, &message) != nil else {
      return false
    }
    // A change of the subscriptions needs no new connection.
    guard !text.extracting(name).equals("subscribe") else { return true }
    var hash = Hash()
    hash.add(connectionHash)
    hash.add(text.extracting(name))
    hash.add(text.extracting(value))
    connectionHash = hash.value
    return true
  }

  private static func put(_ value: Span<UInt8>, in text: inout Text) throws(Config.Problem) {
    guard value.count > 0, value.count <= 255 else { throw .value("a text of 1 to 255 bytes") }
    text.clear()
    text.append(bytes: value)
  }
}

/// The state of reading the file: the rule of the last section, and the mistakes.
private struct Reading: ~Copyable {
  private enum Section {
    /// In front of all rules.
    case settings
    /// A rule without a key so far.
    case empty
    case rule
    /// A rule that has a mistake.
    case wrongRule
    /// A section that is no rule, since its topic filter is wrong.
    case noRule
  }

  private var section = Section.settings
  private var message = Text(capacity: 1024)
  var mistakes = Mistakes()

  init() {}

  /// Takes one line of the file.
  mutating func take(
    _ line: ConfigLines.Line, _ number: Int32, _ text: Span<UInt8>, into config: inout BridgeConfig
  ) {
    var isRight = false
    switch line {
    case .section(let filter):
      finishRule(of: &config)
      return begin(text.extracting(filter), number, &config)
    case .setting(let name, let value):
      switch section {
      case .settings: isRight = config.set(name: name, value: value, of: text, &message)
      case .noRule: return
      default:
        isRight = set(name, value, of: text, &config)
        if section == .empty { section = .rule }
      }
    default: ConfigFile.describe(line, expected: "KEY = VALUE or [TOPIC-FILTER]", in: &message)
    }
    guard !isRight else { return }
    if case .unknown(let place) = line, text[place.lowerBound] == UInt8(ascii: "[") {
      finishRule(of: &config)
      section = .noRule
    } else if section == .empty || section == .rule {
      section = .wrongRule
    }
    addMistake(line: number)
  }

  private mutating func addMistake(line: Int32) {
    mistakes.add(message, line: line)
    message.clear()
  }

  private mutating func begin(
    _ filter: Span<UInt8>, _ number: Int32, _ config: inout BridgeConfig
  ) {
    do throws(RuleProblem) {
      try config.rules.begin(filter, line: number)
      section = .empty
    } catch {
      explain(error, filter)
      addMistake(line: number)
      section = .noRule
    }
  }

  /// Sets what a line says in the rule; on a mistake returns false and fills in the message.
  private mutating func set(
    _ name: Range<Int>, _ value: Range<Int>, of text: Span<UInt8>, _ config: inout BridgeConfig
  ) -> Bool {
    let word = text.extracting(name)
    if let key = RuleKey(word) {
      let value = key.isText ? value : ConfigLines.withoutComment(value, in: text)
      return set(key, text.extracting(value), &config)
    }
    if BridgeConfig.table.index(of: word) != nil {
      message.append(printable: word)
      message.append(" belongs before the first [TOPIC-FILTER]")
      return false
    }
    message.append("unknown key ", printable: word)
    if let nearest = RuleKey.nearest(to: word) {
      message.append("; did you mean ", bytes: nearest.name, "?")
    }
    return false
  }

  /// Sets a key of the rule.
  ///
  /// A number of seconds is spelled out.
  private mutating func set(
    _ key: RuleKey, _ value: Span<UInt8>, _ config: inout BridgeConfig
  ) -> Bool {
    var spelled = Text(capacity: 32)
    do throws(Config.Problem) {
      switch key {
      case .ttl, .againAfter:
        spelled.append(try Config.lifetime(value).milliseconds / 1000)
      case .priority:
        _ = try Config.choice(value, "10|5|1")
        spelled.append(bytes: value)
      case .urgent:
        spelled.append(
          try Config.choice(value, "true|false") == 0 ? "true" : "false")
      case .silentFor:
        spelled.append(
          try Config.duration(value, min: 1000, max: 31_536_000_000).milliseconds / 1000)
      case .retained, .goOn, .onChange:
        _ = try Config.choice(value, "yes|no")
        spelled.append(bytes: value)
      case .level:
        _ = try Config.choice(value, "passive|active|time-sensitive|critical")
        spelled.append(bytes: value)
      default: break
      }
    } catch {
      error.describe(key.name, in: &message)
      return false
    }
    do throws(RuleProblem) {
      if spelled.count > 0 {
        try config.rules.set(key, to: spelled.bytes)
      } else {
        try config.rules.set(key, to: Config.unquoted(value))
      }
      return true
    } catch {
      explain(error, key.name)
      return false
    }
  }

  /// Checks that the last rule is whole, unless it has a mistake already.
  mutating func finishRule(of config: inout BridgeConfig) {
    guard section == .rule || section == .empty else { return }
    let last = config.rules.count - 1
    do throws(RuleProblem) {
      try config.rules.finish()
      return
    } catch {
      message.append("[", printable: config.rules.filter(last), "]")
      if section == .empty {
        message.append(" has no keys: remove it, or add alert = TEXT")
      } else {
        explain(error, ("" as StaticString).span)
      }
    }
    addMistake(line: config.rules.line(of: last))
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
  /// Removes line ends at the end.
  mutating func dropLineEnd() {
    var kept = count
    while kept > 0, bytes[kept - 1] == .lineFeed || bytes[kept - 1] == .carriageReturn { kept -= 1 }
    truncate(to: kept)
  }
}
