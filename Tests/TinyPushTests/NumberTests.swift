import CLinux
import Testing

@testable import TinyPush
@testable import TinyPushAgent

@Test func `places in a file have 64 bits on every board`() {
  let cursor = Cursor(at: 0)
  #expect(type(of: cursor.line) == Int64.self)
  #expect(type(of: cursor.offset) == Int64.self)
}

@Test(
  arguments: [
    (0, 0, 0), (1_700_000_000, 5, 1_700_000_000_000_000_005), (-1, 999_999_999, -1),
    (9_223_372_036, 854_775_807, Int64.max), (9_223_372_036, 854_775_808, .max),
    (9_223_372_037, 0, .max), (Int.max, 0, .max), (-9_223_372_037, 0, .min), (Int.min, 0, .min),
  ] as [(Int, Int, Int64)])
func `a time beyond the range of nanoseconds becomes the first or last of the range`(
  seconds: Int, nanoseconds: Int, time: Int64
) {
  var given = timespec(tv_sec: seconds, tv_nsec: nanoseconds)
  #expect(clinux_nanoseconds(&given) == time)
}

@Test(
  arguments: [
    (0, "1970-01-01"), (-1, "1969-12-31"), (253_402_300_799, "9999-12-31"),
    (67_768_036_191_676_799, "2147485547-12-31"), (Int64.max, ""), (Int64.min, ""),
  ] as [(Int64, String)])
func `the day of any 64-bit time can be printed`(
  seconds: Int64, day: String
) {
  #expect(text { $0.append(day: seconds) } == day)
}
