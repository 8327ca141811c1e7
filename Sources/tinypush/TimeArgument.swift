import CLinux
import TinyPush
import TinyPushAgent

/// Times as people give them to a command.
enum TimeArgument {
  /// A length: `90`, or with a unit: `90s`, `10m`, `2h`, `1d`. In seconds; nil for anything else.
  @inline(never)
  static func seconds(_ value: Span<UInt8>) -> UInt64? {
    if let number = Config.number(value) { return number }
    do throws(Config.Problem) {
      // What is less than a second is not nothing.
      return (try Config.lifetime(value).milliseconds + 999) / 1000
    } catch {
      return nil
    }
  }

  /// Whether this is a length with its unit, which as a point is counted from the present.
  static func isFromNow(_ value: Span<UInt8>) -> Bool {
    Config.number(value) == nil && seconds(value) != nil
  }

  /// A point: UNIX seconds, a length with its unit from `now` on, or `2026-12-24T18:00:00Z`, of which the seconds may be
  /// left out (RFC 3339, in UTC). In UNIX seconds; nil for anything else.
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
    // What no calendar has was made another date.
    guard seconds >= 0, time.tm_mon == fields[1] - 1, time.tm_mday == fields[2],
      time.tm_hour == fields[3], time.tm_min == fields[4], time.tm_sec == fields[5]
    else { return nil }
    return UInt64(seconds)
  }
}
