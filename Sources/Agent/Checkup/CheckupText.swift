import CLinux
import TinyPush

/// How a checkup says times, sizes, users and modes.
extension Text {
  /// A string of C's, whatever it holds.
  @inline(never)
  mutating func append(printable cString: UnsafePointer<CChar>) {
    append(printable: CString.span(cString))
  }

  mutating func append(
    _ before: StaticString, printable cString: UnsafePointer<CChar>, _ after: StaticString = ""
  ) {
    append(before, printable: CString.span(cString), after)
  }

  @inline(never)
  mutating func append(days: Int64) {
    append(days)
    append(days == 1 ? " day" : " days")
  }

  /// Bytes as people say it: `12 KB`, `1.5 GB`.
  @inline(never)
  mutating func append(bytes size: UInt64) {
    var tenths = size / 1000 * 10 + size % 1000 / 100
    var unit = 0
    while tenths >= 10_000, unit < 3 {
      tenths /= 1000
      unit += 1
    }
    append(tenths / 10)
    if tenths < 100 {
      append(".")
      append(tenths % 10)
    }
    let units: InlineArray<4, StaticString> = [" KB", " MB", " GB", " TB"]
    append(units[unit])
  }

  /// A user by his name, or by his number where he has none.
  @inline(never)
  mutating func append(user: uid_t) {
    if let name = clinux_user_name(user, nil) {
      append(printable: name)
    } else {
      append("uid ")
      append(user)
    }
  }

  /// A group likewise.
  @inline(never)
  mutating func append(group: gid_t) {
    if let name = clinux_group_name(group) {
      append(printable: name)
    } else {
      append("gid ")
      append(group)
    }
  }

  /// As chmod has it: `2770`.
  @inline(never)
  mutating func append(mode: UInt32) {
    for shift in 0..<4 {
      let digit = UInt8(truncatingIfNeeded: mode >> UInt32(9 - 3 * shift)) & 7
      if shift > 0 || digit > 0 { append(byte: UInt8(ascii: "0") + digit) }
    }
  }
}
