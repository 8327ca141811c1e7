import CLinux
import TinyPush
import TinyPushAgent

/// Times in the arguments of commands.
enum TimeArgument {
  /// Returns a duration in seconds: `90`, or with a unit `90s`, `10m`, `2h`, `1d`; otherwise nil.
  @inline(never)
  static func seconds(_ value: Span<UInt8>) -> UInt64? {
    if let number = Config.number(value) { return number }
    do throws(Config.Problem) {
      // Round up: a duration below a second must not become zero.
      return (try Config.lifetime(value).milliseconds + 999) / 1000
    } catch {
      return nil
    }
  }

  /// Whether this is a duration with a unit, which as a date is counted from now.
  static func isFromNow(_ value: Span<UInt8>) -> Bool {
    Config.number(value) == nil && seconds(value) != nil
  }

  /// Returns a date in UNIX seconds; nil if the value is no date.
  ///
  /// The value is UNIX seconds, a duration with a unit from `now` on, or a date (RFC 3339):
  /// `2026-12-24T18:00:00+01:00`, where the seconds may be left out. Without `Z` or an offset the
  /// date is in the local time zone, and its time may be left out.
  @inline(never)
  static func date(_ value: Span<UInt8>, now: Int64) -> UInt64? {
    if let number = Config.number(value) { return number }
    if let seconds = seconds(value) { return UInt64(max(now, 0)) + seconds }
    return date(value)
  }

  /// What is wrong with a value that ``past(_:)`` does not take.
  static let takesPast: StaticString =
    " takes a time in the past: UNIX seconds, or a date such as 2026-01-24T18:00, not "

  /// Returns a date in the past in UNIX seconds; nil if the value is none.
  ///
  /// While the clock is not set, any date may be in the past.
  static func past(_ value: Span<UInt8>) -> UInt32? {
    guard !isFromNow(value), let date = date(value, now: 0),
      date <= Clock.time().wallSeconds.map(UInt64.init) ?? .max
    else { return nil }
    return UInt32(clamping: date)
  }

  private static func date(_ value: Span<UInt8>) -> UInt64? {
    var fields = Fields(value)
    guard fields.read(4), fields.take(.hyphen), fields.read(2), fields.take(.hyphen),
      fields.read(2)
    else { return nil }
    if fields.take(UInt8(ascii: "T")) || fields.take(.space) {
      guard fields.read(2), fields.take(.colon), fields.read(2) else { return nil }
      if fields.take(.colon), !fields.read(2) { return nil }
    }
    fields.number = Fields.timeCount
    var zoneSeconds: Int?
    if fields.take(UInt8(ascii: "Z")) {
      zoneSeconds = 0
    } else if let sign = fields.sign() {
      guard fields.read(2) else { return nil }
      _ = fields.take(.colon)
      guard fields.read(2), fields[6] < 24, fields[7] < 60 else { return nil }
      zoneSeconds = sign * (Int(fields[6]) * 3600 + Int(fields[7]) * 60)
    }
    guard fields.isAtEnd else { return nil }
    var time = tm()
    time.tm_year = fields[0] - 1900
    time.tm_mon = fields[1] - 1
    time.tm_mday = fields[2]
    time.tm_hour = fields[3]
    time.tm_min = fields[4]
    time.tm_sec = fields[5]
    time.tm_isdst = -1
    var local = time
    var seconds = Int64(timegm(&time))
    // timegm turns a date that does not exist, such as February 30, into another date.
    guard time.tm_mon == fields[1] - 1, time.tm_mday == fields[2],
      time.tm_hour == fields[3], time.tm_min == fields[4], time.tm_sec == fields[5]
    else { return nil }
    if let zoneSeconds { seconds -= Int64(zoneSeconds) } else { seconds = Int64(mktime(&local)) }
    return seconds < 0 ? nil : UInt64(seconds)
  }

  /// The numbers of a date, as they are read.
  private struct Fields: ~Escapable {
    /// Year, month, day, hour, minute and second, before those of the time zone.
    static let timeCount = 6
    private let text: Span<UInt8>
    private var index = 0
    private var values: InlineArray<8, Int32> = .init(repeating: 0)
    /// The number of the field to read next.
    var number = 0

    @_lifetime(copy text)
    init(_ text: Span<UInt8>) { self.text = text }

    subscript(number: Int) -> Int32 { values[number] }

    var isAtEnd: Bool { index == text.count }

    @_lifetime(self: copy self)
    mutating func take(_ byte: UInt8) -> Bool {
      guard index < text.count, text[index] == byte else { return false }
      index += 1
      return true
    }

    /// Takes the sign of a time zone's offset.
    @_lifetime(self: copy self)
    mutating func sign() -> Int? {
      if take(.plus) { return 1 }
      return take(.hyphen) ? -1 : nil
    }

    /// Reads the next field, of this many digits; false: other bytes come next.
    @_lifetime(self: copy self)
    mutating func read(_ count: Int) -> Bool {
      for _ in 0..<count {
        guard index < text.count, text[index].isDigit else { return false }
        values[number] = values[number] * 10 + Int32(text[index].digitValue)
        index += 1
      }
      number += 1
      return true
    }
  }
}
