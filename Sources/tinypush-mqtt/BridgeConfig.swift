import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent
import TinyPushMQTT
import TinyPushRules

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
  var rules = MessageRules(of: .topics)
  /// A hash of the settings that a connection depends on.
  private(set) var connectionHash: UInt64 = 0
  /// The file of the rules; empty if it cannot be read again.
  fileprivate var file = CString("")

  /// The first levels of the topics that a fleet shares; empty: none.
  var fleet = CString("")
  /// The first levels of the topics at which Home Assistant discovers devices; empty: none.
  var discovery = CString("")

  init() {
    tls.courier.rules.pushProtocol = .binary
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
  /// - Parameter message: receives why the password's file cannot be read.
  mutating func readPassword(message: inout Text) throws(ExitStatus) {
    login.password.wipe()
    if passwordFile.isEmpty {
      password.with { if let word = $0 { login.password.append(cString: word) } }
    } else {
      do throws(InputFile.Problem) {
        try InputFile.read(passwordFile.pointer, to: &login.password, bytesMax: 1024)
      } catch {
        message.append("password-file ", error.text(passwordFile.pointer))
        throw error.status
      }
      login.password.dropLineEnd()
    }
  }

  /// Erases the password from memory.
  mutating func forgetPassword() { login.password.wipe() }

  /// Appends that a broker cannot be reached, and why.
  static func appendUnreachable(
    _ broker: Span<UInt8>, _ problem: borrowing Text, to text: inout Text
  ) {
    text.append("cannot connect to the broker ")
    // A problem with an address begins with that address.
    if !problem.bytes.begins(with: broker) { text.append("", bytes: broker, ": ") }
    text.append(bytes: problem.bytes)
  }

  /// Returns a connection to the broker, which is not made yet.
  func connection() -> TLSConnection {
    TLSConnection(
      address: broker.span, port: port, tls, isEncrypted ? .configured : .plain)
  }

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
    var reading = RuleReading()
    var problem = Text(capacity: 1024)
    do throws(InputFile.Problem) {
      try ConfigFile.forEachLine(of: path) { line, number, text in
        let isOfBroker = reading.take(line, number, text, into: &config.rules) {
          table.index(of: $0) != nil
        }
        guard isOfBroker, case .setting(let name, let value) = line else { return }
        if config.set(name: name, value: value, of: text, &problem) { return }
        reading.mistakes.add(problem, line: number)
        problem.clear()
      }
    } catch {
      var text = Text(capacity: 1024)
      error.describe(in: &text)
      text.append(": write the file (tinypush-mqtt.conf(5)), or name another with --rules FILE")
      mistakes.add(text, line: 0)
      throw ConfigFile.status(of: error)
    }
    reading.finishRule(of: &config.rules)
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
  private mutating func set(
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

extension Text {
  /// Removes line ends at the end.
  mutating func dropLineEnd() {
    var kept = count
    while kept > 0, bytes[kept - 1] == .lineFeed || bytes[kept - 1] == .carriageReturn { kept -= 1 }
    truncate(to: kept)
  }
}
