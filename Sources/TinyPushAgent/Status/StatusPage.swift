import TinyPush

/// The agent's state for other programs: a mapped page that `tinypush status` reads without waking
/// the agent.
///
/// It is only created and copied by its bytes, which are 0 at first.
public struct StatusPage {
  /// The state of the connection.
  public enum Connectivity: UInt32, Sendable {
    case down
    case connecting
    case up
    /// No connection is needed.
    case idle
  }

  /// A logged error or warning.
  public struct Problem: BitwiseCopyable {
    /// When it was last logged, in UNIX seconds.
    public var time: Int64 = 0
    /// How often it was logged in a row; 0 if absent.
    public var count: UInt32 = 0
    /// 1 if it was an error, 0 if it was a warning.
    public internal(set) var isError: UInt32 = 0
    var text = Words<400>()

    /// Appends the logged text.
    public func append(to text: inout Text) { self.text.append(to: &text) }
  }

  /// A push service that the agent uses.
  public struct Service: BitwiseCopyable {
    /// The state of the connection.
    var connectivityValue: UInt32 = 0
    /// Why the service refuses the configuration: the raw value of the reason plus 1; 0 if it does
    /// not.
    var refusedConfigurationValue: UInt32 = 0
    /// 1 if it is one of browsers, 0 if it is that of devices.
    var isOfBrowsersValue: UInt32 = 0
    /// When the connection was last made or lost, in UNIX seconds.
    public internal(set) var changedAt: Int64 = 0
    /// ``changedAt`` in milliseconds since this machine started.
    var changedInstant: UInt64 = 0
    /// Until when the agent waits before it connects or sends again, in milliseconds since this
    /// machine started; 0 if it does not wait.
    public internal(set) var waitInstant: UInt64 = 0
    /// The number of notifications that were read and are not settled.
    public internal(set) var inFlight: UInt64 = 0
    /// What became of the others.
    public internal(set) var counts = LaneCounts()
    /// The host; empty if there is no such service.
    var host = Words<256>()
    /// Why there is no connection; of the service of devices also what it is connected to.
    var words = Words<256>()

    /// Why the service refuses the configuration, so that nothing is delivered; nil if it does not.
    public var refusedConfiguration: Rejection.Reason? {
      StatusPage.reason(refusedConfigurationValue)
    }

    /// Whom it serves: they may have the same host in a trial.
    public var recipients: StaticString { isOfBrowsersValue == 0 ? "devices" : "browsers" }

    /// The state of the connection.
    public var connectivity: Connectivity { Connectivity(rawValue: connectivityValue) ?? .down }

    /// Appends the host.
    public func appendHost(to text: inout Text) { host.append(to: &text) }
    /// Appends why there is no connection.
    public func appendWords(to text: inout Text) { words.append(to: &text) }
  }

  /// The text "TPSA", which changes with the layout.
  static let layout: UInt32 = 0x5450_5341

  var magic: UInt32 = 0
  /// A number that is odd while the agent changes the page; it is at the same place in all layouts.
  var sequence: UInt32 = 0
  /// The agent's process ID.
  public var processID: Int32 = 0
  /// Whether an agent still writes the page, as the reader found out.
  var aliveness: UInt32 = 0
  /// What keeps files in the spool: 1 if delivered files cannot be removed, 2 if `failed/` cannot
  /// be written to, 4 if files cannot be moved to `taken/`, added up.
  public var held: UInt32 = 0
  /// The protocol in use.
  var protocolValue: UInt32 = 0
  /// The ``Service/refusedConfigurationValue`` of the first service that refuses it.
  var refusedConfigurationValue: UInt32 = 0
  /// When the agent started, in UNIX seconds.
  public var startedAt: Int64 = 0
  /// When the agent started, in milliseconds since this machine started.
  public var startedInstant: UInt64 = 0
  /// When our certificate expires, in UNIX seconds; 0 if unknown.
  public var certificateEnd: Int64 = 0
  /// The number of files in `new/` and `taken/`.
  public var files: UInt64 = 0
  /// 1 if ``files`` is exact, 0 if there are more than the agent keeps in memory.
  public var isFilesExact: UInt32 = 0
  /// The number of files in `later/`.
  public var later: UInt64 = 0
  /// The number of notifications read and not settled.
  public var inFlight: UInt64 = 0
  /// The files with notifications in flight, or some of them if ``FilesUnderWay/isCut``.
  public var filesUnderWay = FilesUnderWay()
  /// The courier's counters.
  public var counters = Counters()
  /// The recent rate and latency of notifications.
  public var traffic = Traffic()
  /// The last problems, the newest first.
  public var problems: InlineArray<5, Problem> = .init(repeating: Problem())
  /// When an answer of the service last put a token on the suppression list, in UNIX seconds.
  public var suppressedAt: Int64 = 0
  /// The report about that token.
  var suppressedWords = Words<200>()
  /// When the service last accepted a notification for a recipient; the binary protocol has no
  /// acceptances.
  public var acceptances = AcceptanceTimes()
  /// The services by lane: that of devices, and those of browsers.
  ///
  /// If only browsers are served, the first one has no host, and tells that the agent is ready.
  var services: InlineArray<9, Service> = .init(repeating: Service())
  /// The version and the cipher suite of TLS.
  var version = Words<16>()
  var suite = Words<80>()

  private init() {}

  /// The service whose state is that of the agent: that of devices.
  ///
  /// If only browsers are served, one to which there should be a connection.
  public var main: Service { services[mainNumber] }

  private var mainNumber: Int {
    if isAlive, services[0].host.isEmpty {
      for number in 1..<Lane.count where isMissed(number) { return number }
    }
    return 0
  }

  @inline(never)
  private func isMissed(_ number: Int) -> Bool {
    let value = services[number].connectivityValue
    return !services[number].host.isEmpty && value < Connectivity.up.rawValue
  }

  /// The state of the connection; nil if no agent writes the page any more.
  public var connectivity: Connectivity? { isAlive ? main.connectivity : nil }

  /// Calls `body` with each service that is in use, first that of devices.
  public func forEachService(_ body: (borrowing Service) -> Void) {
    for number in 0..<Lane.count { visit(number, body) }
  }

  @inline(never)
  private func visit(_ number: Int, _ body: (borrowing Service) -> Void) {
    if !services[number].host.isEmpty { body(services[number]) }
  }

  /// Whether services of browsers are in use: the first one gets the lane behind that of devices.
  public var hasBrowsers: Bool { !services[1].host.isEmpty }

  /// The protocol in use.
  public var pushProtocol: PushProtocol {
    PushProtocol(rawValue: UInt8(truncatingIfNeeded: protocolValue)) ?? .binary
  }

  /// Why a service refuses the configuration, so that nothing is delivered; nil if none does.
  public var refusedConfiguration: Rejection.Reason? {
    Self.reason(refusedConfigurationValue)
  }

  @inline(never)
  private static func reason(_ value: UInt32) -> Rejection.Reason? {
    value == 0 ? nil : Rejection.Reason(rawValue: UInt8(clamping: value - 1))
  }

  /// Returns the words for a state; nil: no agent runs.
  @inline(never)
  public static func words(_ connectivity: Connectivity?) -> StaticString {
    switch connectivity {
    case .up: "connected"
    case .connecting: "connecting"
    case .down: "not connected"
    case .idle: "idle"
    case nil: "not running"
    }
  }

  /// Whether an agent still writes the page.
  public var isAlive: Bool { aliveness != 0 }

  /// Appends the gateway, or why there is no connection.
  public func appendWords(to text: inout Text) {
    let main = main
    if services[0].host.isEmpty, !main.host.isEmpty {
      main.appendHost(to: &text)
      if !main.words.isEmpty { text.append(": ") }
    }
    main.appendWords(to: &text)
  }
  /// Appends the report about the last suppressed token.
  public func appendSuppressed(to text: inout Text) { suppressedWords.append(to: &text) }
  /// Appends the version of TLS.
  public func appendVersion(to text: inout Text) { version.append(to: &text) }
  /// Appends the cipher suite of TLS.
  public func appendSuite(to text: inout Text) { suite.append(to: &text) }
}

/// A short text without a pointer; longer text is cut.
struct Words<let capacity: Int>: BitwiseCopyable {
  private var count: UInt32 = 0
  private var bytes: InlineArray<capacity, UInt8> = .init(repeating: 0)

  mutating func set(_ text: Span<UInt8>) {
    count = UInt32(min(text.count, capacity))
    for index in 0..<Int(count) { bytes[index] = text[index] }
  }

  /// Whether both texts are equal up to the first semicolon, where details begin, apart from
  /// numbers.
  func begins(as text: Span<UInt8>) -> Bool {
    var (own, other) = (0, 0)
    while true {
      while own < used, bytes[own].isDigit { own += 1 }
      while other < min(text.count, capacity), text[other].isDigit { other += 1 }
      let isOwnOver = own >= used
      let isOtherOver = other >= min(text.count, capacity)
      if isOwnOver || isOtherOver { return isOwnOver && isOtherOver }
      guard bytes[own] == text[other] else { return false }
      if text[other] == UInt8(ascii: ";") { return true }
      own += 1
      other += 1
    }
  }

  var isEmpty: Bool { count == 0 }

  /// Limited, because another program may have written any count to the page.
  private var used: Int { Int(min(count, UInt32(capacity))) }

  /// Appends the text with unprintable bytes replaced, because another program may have written
  /// anything.
  func append(to text: inout Text) {
    text.append(printable: bytes.span.extracting(0..<used))
    if used == capacity { text.append("…") }
  }
}
