import TinyPush

/// What the agent lets others see of it: a page that it keeps mapped, and that `tinypush status` reads without waking it. It is
/// never made, nor copied, but by way of its bytes, and begins with all of them 0.
public struct StatusPage {
  public enum Connectivity: UInt32 {
    case down
    case connecting
    case up
  }

  /// Something that the log said was wrong.
  public struct Problem: BitwiseCopyable {
    /// UNIX seconds: when it was last said.
    public var time: Int64 = 0
    /// How often in a row; 0: there is none.
    public var count: UInt32 = 0
    public internal(set) var isError: UInt32 = 0
    var text = Words<240>()

    public func append(to text: inout Text) { self.text.append(to: &text) }
  }

  /// "TPS6": changes with the layout.
  static let layout: UInt32 = 0x5450_5336

  var magic: UInt32 = 0
  /// Odd while the agent is changing the page. Stands behind the first number, wherever the rest does.
  var sequence: UInt32 = 0
  public var processID: Int32 = 0
  /// Whether an agent still keeps it: found out by whoever reads it.
  var aliveness: UInt32 = 0
  var connectivityValue: UInt32 = 0
  /// What keeps files in `new/`: 1: what was delivered cannot be removed; 2: `failed/` cannot be written to.
  public var held: UInt32 = 0
  /// The protocol that the agent speaks; and why the service refuses the configuration, by the raw value of the reason plus 1,
  /// 0: it does not.
  var protocolValue: UInt32 = 0
  var refusedConfigurationValue: UInt32 = 0
  /// UNIX seconds: when the agent started, and when the connection was last made, tried or lost.
  public var startedAt: Int64 = 0
  public var changedAt: Int64 = 0
  /// The same, and when it will try to connect again, in milliseconds since this machine started; 0: not at all.
  public var startedInstant: UInt64 = 0
  var changedInstant: UInt64 = 0
  public var dialInstant: UInt64 = 0
  /// UNIX seconds: when our certificate expires; 0: not known.
  public var certificateEnd: Int64 = 0
  /// Files in `new/`, and in `later/`. Not exact where there are more than the agent keeps in mind.
  public var files: UInt64 = 0
  public var isFilesExact: UInt32 = 0
  public var later: UInt64 = 0
  /// Notifications sent and not settled.
  public var inFlight: UInt64 = 0
  public var counters = Counters()
  public var traffic = Traffic()
  /// The newest one first.
  public var problems: InlineArray<5, Problem> = .init(repeating: Problem())
  /// To whom it is connected, or why it is not; then the version and the cipher suite of TLS.
  var words = Words<256>()
  var version = Words<16>()
  var suite = Words<80>()

  private init() {}

  /// How the connection is; nil when no agent keeps the page any more.
  public var connectivity: Connectivity? {
    isAlive ? Connectivity(rawValue: connectivityValue) ?? .down : nil
  }

  public var service: PushProtocol {
    PushProtocol(rawValue: UInt8(truncatingIfNeeded: protocolValue)) ?? .binary
  }

  /// Why nothing leaves the spool until somebody mends the configuration.
  public var refusedConfiguration: Rejection.Reason? {
    refusedConfigurationValue == 0
      ? nil : Rejection.Reason(rawValue: UInt8(clamping: refusedConfigurationValue - 1))
  }

  /// Whether an agent still keeps it.
  public var isAlive: Bool { aliveness != 0 }

  public func appendWords(to text: inout Text) { words.append(to: &text) }
  public func appendVersion(to text: inout Text) { version.append(to: &text) }
  public func appendSuite(to text: inout Text) { suite.append(to: &text) }
}

/// A short text in place; what does not fit is cut.
struct Words<let capacity: Int>: BitwiseCopyable {
  private var count: UInt32 = 0
  private var bytes: InlineArray<capacity, UInt8> = .init(repeating: 0)

  mutating func set(_ text: Span<UInt8>) {
    count = UInt32(min(text.count, capacity))
    for index in 0..<Int(count) { bytes[index] = text[index] }
  }

  /// Whether both say the same, but for numbers, up to the first semicolon, behind which the particulars come.
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

  /// Another program may have written any count into the page, and an `Int` of 32 bits does not hold each.
  private var used: Int { Int(min(count, UInt32(capacity))) }

  /// Whoever may write to the page may have put anything there.
  func append(to text: inout Text) {
    text.append(printable: bytes.span.extracting(0..<used))
  }
}
