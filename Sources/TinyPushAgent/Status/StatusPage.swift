import TinyPush

/// The agent's state for other programs: a mapped page that `tinypush status` reads without waking
/// the agent.
///
/// It is only created and copied by its bytes, which are 0 at first.
public struct StatusPage {
  /// The state of the connection.
  public enum Connectivity: UInt32 {
    case down
    case connecting
    case up
  }

  /// A logged error or warning.
  public struct Problem: BitwiseCopyable {
    /// When it was last logged, in UNIX seconds.
    public var time: Int64 = 0
    /// How often it was logged in a row; 0 if absent.
    public var count: UInt32 = 0
    /// 1 if it was an error, 0 if it was a warning.
    public internal(set) var isError: UInt32 = 0
    var text = Words<240>()

    /// Appends the logged text.
    public func append(to text: inout Text) { self.text.append(to: &text) }
  }

  /// The text "TPS7", which changes with the layout.
  static let layout: UInt32 = 0x5450_5337

  var magic: UInt32 = 0
  /// A number that is odd while the agent changes the page; it is at the same place in all layouts.
  var sequence: UInt32 = 0
  /// The agent's process ID.
  public var processID: Int32 = 0
  /// Whether an agent still writes the page, as the reader found out.
  var aliveness: UInt32 = 0
  var connectivityValue: UInt32 = 0
  /// What keeps files in the spool: 1 if delivered files cannot be removed, 2 if `failed/` cannot
  /// be written to, 4 if files cannot be moved to `taken/`, added up.
  public var held: UInt32 = 0
  /// The protocol in use.
  var protocolValue: UInt32 = 0
  /// Why the service refuses the configuration: the raw value of the reason plus 1; 0 if it does
  /// not.
  var refusedConfigurationValue: UInt32 = 0
  /// When the agent started, in UNIX seconds.
  public var startedAt: Int64 = 0
  /// When the connection was last made or lost, in UNIX seconds; the start if there was none.
  public var changedAt: Int64 = 0
  /// When the agent started, in milliseconds since this machine started.
  public var startedInstant: UInt64 = 0
  /// ``changedAt`` in milliseconds since this machine started.
  var changedInstant: UInt64 = 0
  /// When the agent will dial again, in milliseconds since this machine started; 0 if it will not.
  public var dialInstant: UInt64 = 0
  /// When our certificate expires, in UNIX seconds; 0 if unknown.
  public var certificateEnd: Int64 = 0
  /// The number of files in `new/`.
  public var files: UInt64 = 0
  /// 1 if ``files`` is exact, 0 if there are more than the agent keeps in memory.
  public var isFilesExact: UInt32 = 0
  /// The number of files in `later/`.
  public var later: UInt64 = 0
  /// The number of notifications sent and not settled.
  public var inFlight: UInt64 = 0
  /// The files with notifications in flight, or some of them if ``FilesInFlight/isCut``.
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
  /// The gateway if there is a connection, or else why there is none.
  var words = Words<256>()
  /// The version and the cipher suite of TLS.
  var version = Words<16>()
  var suite = Words<80>()

  private init() {}

  /// The state of the connection; nil if no agent writes the page any more.
  public var connectivity: Connectivity? {
    isAlive ? Connectivity(rawValue: connectivityValue) ?? .down : nil
  }

  /// The protocol in use.
  public var service: PushProtocol {
    PushProtocol(rawValue: UInt8(truncatingIfNeeded: protocolValue)) ?? .binary
  }

  /// Why the service refuses the configuration, so that nothing is delivered; nil if it does not.
  public var refusedConfiguration: Rejection.Reason? {
    refusedConfigurationValue == 0
      ? nil : Rejection.Reason(rawValue: UInt8(clamping: refusedConfigurationValue - 1))
  }

  /// Whether an agent still writes the page.
  public var isAlive: Bool { aliveness != 0 }

  /// Appends the gateway, or why there is no connection.
  public func appendWords(to text: inout Text) { words.append(to: &text) }
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

  /// Limited, because another program may have written any count to the page.
  private var used: Int { Int(min(count, UInt32(capacity))) }

  /// Appends the text with unprintable bytes replaced, because another program may have written
  /// anything.
  func append(to text: inout Text) {
    text.append(printable: bytes.span.extracting(0..<used))
  }
}
