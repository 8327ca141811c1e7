import CHTTP2
import TinyPush
import TinyPushAgent
import TinyPushBinary

/// Something that the gateway does wrong on purpose, and when: `WHAT[+DELAY]@WHEN`.
///
/// | WHAT | |
/// |---|---|
/// | `status=N` | refuses the notification with that status, and closes |
/// | `shutdown` | names the notification as the last one accepted, with status 10, and closes |
/// | `close` | closes without an answer |
/// | `reset` | ends the connection by a TCP reset |
/// | `stall` | keeps the connection, but neither reads nor writes |
/// | `garbage[=SIZE]` | sends bytes that are no answer, and closes |
/// | `reason=NAME` | refuses the request with that reason of Apple's table, and its status |
/// | `retry-after=SECONDS` | refuses it with 429 TooManyRequests and this Retry-After |
/// | `refused-stream` | resets the stream with REFUSED_STREAM |
/// | `reset-stream` | resets the stream without an answer |
/// | `slow` | answers late: by the delay, or by 5 s |
/// | `odd-body` | answers 502 with a page of HTML, as a proxy does |
/// | `goaway` | answers, and ends the connection in order |
///
/// `status=` and `shutdown` are only for the binary protocol, the last seven only for HTTP/2. All
/// faults accept the notification but `status=`, `reason=`, `retry-after=`, `refused-stream` and
/// `odd-body`. If the connection ends, what follows the notification is discarded. A delay, such as
/// `+5s`, delays all of this.
///
/// | WHEN | |
/// |---|---|
/// | `N` | at the Nth notification since the start, once |
/// | hex digits | at each notification to this device token |
/// | `N%` | at each notification by chance; up to four decimals |
/// | `Ns` | this long after the start (`500ms`, `30s`, `5m`), once |
///
/// A timed fault is played on every open connection, or else on the next one. If it answers a
/// notification, it waits for the next notification.
public struct Fault: BitwiseCopyable {
  /// What goes wrong.
  public var act: Act
  /// How long the act is delayed.
  public var delay: Duration
  /// When the fault is played.
  public var occasion: Occasion

  /// What goes wrong.
  public enum Act: BitwiseCopyable {
    case status(Status)
    case shutdown, close, reset, stall
    case garbage(bytes: Int)
    case reason(Reason)
    case retryAfter(seconds: UInt32)
    case refusedStream, resetStream, slow, oddBody, goaway
  }

  /// The protocols of connections to the gateway.
  struct Protocols: OptionSet {
    let rawValue: UInt8
    static let binary = Protocols(rawValue: 1)
    static let http2 = Protocols(rawValue: 2)
  }

  /// When a fault is played.
  public enum Occasion: BitwiseCopyable {
    /// At the notification of this number, from 1, over all connections; repetitions count again.
    case notification(Int64)
    case token(DeviceToken)
    /// By chance: the probability in millionths.
    case chance(Int)
    case time(Duration)
  }

  static let delayMax = Duration.seconds(3600)
  static let garbageBytesDefault = 64
  static let garbageBytesMax = 1 << 30
  static let chanceMax = 1_000_000
  private static let slowDelay = Duration.seconds(5)
  private static let retryAfterMax: UInt64 = 86_400
  private static var names: WordList {
    "status shutdown close reset stall garbage reason retry-after refused-stream reset-stream slow odd-body goaway"
  }
  /// The acts whose names take no value, in the order of the names; nil for the others.
  private static var plainActs: [Act?] {
    [
      nil, .shutdown, .close, .reset, .stall, nil, nil, nil, .refusedStream, .resetStream, .slow,
      .oddBody, .goaway,
    ]
  }

  /// Parses words such as `status=8+5s@1000`.
  public init(_ text: Span<UInt8>) throws(Problem) {
    guard let at = Self.index(of: .at, in: text, 0..<text.count) else {
      throw Problem(kind: .form, part: 0..<text.count)
    }
    var what = 0..<at
    delay = .milliseconds(0)
    if let plus = Self.index(of: .plus, in: text, what) {
      delay = try Self.time(text, plus + 1..<at, .delay)
      what = 0..<plus
    }
    act = try Self.act(text, what)
    if case .slow = act, delay.milliseconds == 0 { delay = Self.slowDelay }
    occasion = try Self.occasion(text, at + 1..<text.count)
  }

  /// Whether the fault is played only once.
  var isOnce: Bool {
    switch occasion {
    case .notification, .time: true
    case .token, .chance: false
    }
  }

  /// Whether the fault waits for a notification, even if it is timed.
  var needsNotification: Bool {
    guard case .time = occasion else { return true }
    return switch act {
    case .status, .reason, .retryAfter, .refusedStream, .resetStream, .slow, .oddBody: true
    case .shutdown, .close, .reset, .stall, .garbage, .goaway: false
    }
  }

  // MARK: - Reading

  private static func act(_ text: Span<UInt8>, _ part: Range<Int>) throws(Problem) -> Act {
    let equals = index(of: .equals, in: text, part)
    let name = text.extracting(part.lowerBound..<(equals ?? part.upperBound))
    let value = equals.map { $0 + 1..<part.upperBound }
    switch names.index(of: name) {
    case 0?: return try status(text, value ?? part)
    case 5?:
      guard let value else { return .garbage(bytes: garbageBytesDefault) }
      guard let bytes = Config.size(text.extracting(value)), bytes > 0, bytes <= garbageBytesMax
      else { throw Problem(kind: .size, part: value) }
      return .garbage(bytes: Int(bytes))
    case 6?:
      guard let reason = value.flatMap({ Reason(name: text.extracting($0)) }) else {
        throw Problem(kind: .reason, part: value ?? part)
      }
      return .reason(reason)
    case 7?:
      guard let value, let seconds = Config.number(text.extracting(value)), seconds > 0,
        seconds <= retryAfterMax
      else { throw Problem(kind: .retryAfter, part: value ?? part) }
      return .retryAfter(seconds: UInt32(seconds))
    case let index?:
      guard value == nil else { throw Problem(kind: .value, part: part) }
      return plainActs[index]!
    case nil:
      throw Problem(kind: .act, part: part.lowerBound..<part.lowerBound + name.count)
    }
  }

  private static func status(_ text: Span<UInt8>, _ part: Range<Int>) throws(Problem) -> Act {
    guard let number = Config.number(text.extracting(part)), number <= 255 else {
      throw Problem(kind: .status, part: part)
    }
    let status = Status(rawValue: UInt8(number))
    // Status 10 would tell the client that the notification was accepted.
    guard status != .shutdown else { throw Problem(kind: .shutdown, part: part) }
    return .status(status)
  }

  private static func occasion(
    _ text: Span<UInt8>, _ part: Range<Int>
  ) throws(Problem) -> Occasion {
    let when = text.extracting(part)
    if let number = Config.number(when), number > 0 { return .notification(Int64(number)) }
    // `30d` is a time, and no token.
    let isDays =
      2...4 ~= when.count && when[when.count - 1] == UInt8(ascii: "d")
      && when.extracting(0..<when.count - 1).wholeNumber != nil
    if !isDays, let token = DeviceToken(hex: when) { return .token(token) }
    if when.count > 1, when[when.count - 1] == .percent,
      let chance = millionths(when.extracting(0..<when.count - 1))
    {
      return .chance(chance)
    }
    return .time(try time(text, part, .occasion))
  }

  /// Parses a percentage above 0 and up to 100, with up to four decimals, into millionths.
  private static func millionths(_ percent: Span<UInt8>) -> Int? {
    let point = index(of: .dot, in: percent, 0..<percent.count)
    guard let whole = Config.number(percent.extracting(0..<(point ?? percent.count))), whole <= 100
    else { return nil }
    var chance = Int(whole) * 10_000
    if let point {
      let decimals = percent.extracting(point + 1..<percent.count)
      guard decimals.count <= 4, let fraction = Config.number(decimals) else { return nil }
      var scaled = Int(fraction)
      for _ in decimals.count..<4 { scaled *= 10 }
      chance += scaled
    }
    return chance > 0 && chance <= chanceMax ? chance : nil
  }

  private static func time(
    _ text: Span<UInt8>, _ part: Range<Int>, _ kind: Problem.Kind
  ) throws(Problem) -> Duration {
    do throws(Config.Problem) {
      let time = try Config.lifetime(text.extracting(part))
      if time <= delayMax { return time }
    } catch {}
    throw Problem(kind: kind, part: part)
  }

  private static func index(of byte: UInt8, in text: Span<UInt8>, _ part: Range<Int>) -> Int? {
    for index in part where text[index] == byte { return index }
    return nil
  }

  // MARK: - Writing

  /// Appends the words from which ``init(_:)`` makes the same fault.
  public func describe(in text: inout Text) {
    describeAct(in: &text)
    if delay.milliseconds > 0 {
      text.append("+")
      Self.append(delay, to: &text)
    }
    text.append("@")
    switch occasion {
    case .notification(let number): text.append(number)
    case .token(let token): text.append(hex: token.bytes)
    case .chance(let chance): Self.append(percent: chance, to: &text)
    case .time(let time): Self.append(time, to: &text)
    }
  }

  private func describeAct(in text: inout Text) {
    switch act {
    case .status(let status):
      text.append("status=", status.rawValue)
    case .garbage(let bytes):
      text.append("garbage=", bytes)
    case .reason(let reason):
      text.append("reason=", bytes: reason.name)
    case .retryAfter(let seconds):
      text.append("retry-after=", seconds)
    case .shutdown: text.append("shutdown")
    case .close: text.append("close")
    case .reset: text.append("reset")
    case .stall: text.append("stall")
    case .refusedStream: text.append("refused-stream")
    case .resetStream: text.append("reset-stream")
    case .slow: text.append("slow")
    case .oddBody: text.append("odd-body")
    case .goaway: text.append("goaway")
    }
  }

  private static func append(percent chance: Int, to text: inout Text) {
    text.append(chance / 10_000)
    var fraction = chance % 10_000
    if fraction > 0 {
      var digits = 4
      while fraction % 10 == 0 {
        fraction /= 10
        digits -= 1
      }
      text.append(".")
      text.append(fraction, digits: digits)
    }
    text.append("%")
  }

  private static func append(_ time: Duration, to text: inout Text) {
    let isWhole = time.milliseconds % 1000 == 0
    text.append(isWhole ? time.milliseconds / 1000 : time.milliseconds)
    text.append(isWhole ? "s" : "ms")
  }
}

extension Fault {
  /// Why words cannot be parsed as a fault.
  public struct Problem: Error {
    /// What is wrong.
    public var kind: Kind
    /// The range of the wrong part in the words.
    public var part: Range<Int>

    /// What can be wrong.
    public enum Kind: Equatable, Sendable {
      case form, act, value, status, shutdown, size, reason, retryAfter, delay, occasion
    }

    /// Appends what is wrong, and what would be right.
    public func describe(_ words: Span<UInt8>, in text: inout Text) {
      text.append(printable: words)
      if kind == .form { return text.append(" is not WHAT@WHEN, such as reset@1000") }
      text.append(": \"", printable: words.extracting(part), "\" ")
      switch kind {
      case .form: break
      case .act:
        text.append("is not a fault; the faults are ")
        for index in 0..<13 {
          if index > 0 { text.append(index == 12 ? " and " : ", ") }
          text.append(bytes: Fault.names[index])
        }
        if let nearest = Fault.names.nearest(to: words.extracting(part)) {
          text.append("; did you mean ", bytes: Fault.names[nearest], "?")
        }
      case .value:
        text.append("has a value, but only status, garbage, reason and retry-after take one")
      case .status: text.append("is not a status: give a number from 0 to 255, as in status=8")
      case .shutdown:
        text.append("is the status for the last accepted notification: use shutdown instead")
      case .size: text.append("is not a size from 1 byte to 1 GB, such as 64, 100K or 4M")
      case .reason:
        text.append("is not a reason of Apple's table, as in reason=ServiceUnavailable")
        if let nearest = Reason.nearest(to: words.extracting(part)) {
          text.append("; did you mean ", bytes: nearest.name, "?")
        }
      case .retryAfter:
        text.append("is not a number of seconds from 1 to 86400, as in retry-after=30")
      case .delay: text.append("is not a delay of at most an hour, such as 500ms or 5s")
      case .occasion:
        text.append(
          """
          must be a notification's number (1000), a device token in hex digits, a chance (0.5%) \
          or a time since the start (30s, at most an hour)
          """)
      }
    }
  }
}

extension Fault.Act {
  /// The protocols over which the act can be played.
  var protocols: Fault.Protocols {
    switch self {
    case .close, .reset, .stall, .garbage: [.binary, .http2]
    case .status, .shutdown: .binary
    case .reason, .retryAfter, .refusedStream, .resetStream, .slow, .oddBody, .goaway: .http2
    }
  }

  /// Whether the request at which the act is played over HTTP/2 is accepted.
  var accepts: Bool {
    switch self {
    case .reason, .retryAfter, .refusedStream, .oddBody: false
    default: true
    }
  }

  /// The answer to the request over HTTP/2; nil: none, since the connection ends.
  var answer: HTTP2Session.Answer? {
    switch self {
    case .reason(let reason): .refused(reason)
    case .retryAfter(let seconds): .refused(.tooManyRequests, retryAfter: seconds)
    case .refusedStream: .reset(UInt32(CHTTP2_REFUSED_STREAM))
    case .resetStream: .reset(UInt32(CHTTP2_INTERNAL_ERROR))
    case .slow: .accepted
    case .oddBody: .oddBody
    case .goaway: .leave
    case .status, .shutdown, .close, .reset, .stall, .garbage: nil
    }
  }
}
