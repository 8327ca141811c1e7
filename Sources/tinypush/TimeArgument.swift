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
  /// The value is UNIX seconds, a duration with a unit from `now` on, or `2026-12-24T18:00:00Z`
  /// (RFC 3339, in UTC), where the seconds may be left out.
  @inline(never)
  static func date(_ value: Span<UInt8>, now: Int64) -> UInt64? {
    if let number = Config.number(value) { return number }
    if let seconds = seconds(value) { return UInt64(max(now, 0)) + seconds }
    return date(value)
  }

  private static func date(_ value: Span<UInt8>) -> UInt64? {
    let pattern: StaticString = "0000-00-00T00:00:00Z"
    let zAt = value.count - 1
    guard zAt == 16 || zAt == 19, value[zAt] == UInt8(ascii: "Z") else { return nil }
    // Year, month, day, hour, minute, second.
    var fields: InlineArray<6, Int32> = .init(repeating: 0)
    var field = 0
    for index in 0..<zAt {
      let byte = value[index]
      if pattern.utf8Start[index] == UInt8(ascii: "0") {
        guard byte.isDigit else { return nil }
        fields[field] = fields[field] * 10 + Int32(byte.digitValue)
      } else {
        guard byte == pattern.utf8Start[index] else { return nil }
        field += 1
      }
    }
    var time = tm()
    time.tm_year = fields[0] - 1900
    time.tm_mon = fields[1] - 1
    time.tm_mday = fields[2]
    time.tm_hour = fields[3]
    time.tm_min = fields[4]
    time.tm_sec = fields[5]
    let seconds = timegm(&time)
    // timegm turns a date that does not exist, such as February 30, into another date.
    guard seconds >= 0, time.tm_mon == fields[1] - 1, time.tm_mday == fields[2],
      time.tm_hour == fields[3], time.tm_min == fields[4], time.tm_sec == fields[5]
    else { return nil }
    return UInt64(seconds)
  }
}
