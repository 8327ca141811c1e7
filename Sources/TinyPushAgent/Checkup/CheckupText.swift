import CLinux
import TinyPush

/// Formats of times, sizes, users and modes in a check.
extension Text {
  /// Appends a C string with unprintable bytes replaced.
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

  /// Appends a number of bytes for people: `12 KB`, `1.5 GB`.
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
      append(".", tenths % 10)
    }
    let units: InlineArray<4, StaticString> = [" KB", " MB", " GB", " TB"]
    append(units[unit])
  }

  /// Appends the name of a user, or else the number.
  @inline(never)
  mutating func append(user: uid_t) {
    if let name = clinux_user_name(user, nil) {
      append(printable: name)
    } else {
      append("uid ", user)
    }
  }

  /// Appends `only root and USER`, or `only root` if that is the user.
  @inline(never)
  mutating func append(rootAnd user: uid_t) {
    append("only root")
    guard user != 0 else { return }
    append(" and ")
    append(user: user)
  }

  /// Appends the name of a group, or else the number.
  @inline(never)
  mutating func append(group: gid_t) {
    if let name = clinux_group_name(group) {
      append(printable: name)
    } else {
      append("gid ", group)
    }
  }

  /// Appends a mode as chmod takes it: `2770`.
  @inline(never)
  mutating func append(mode: UInt32) {
    for shift in 0..<4 {
      let digit = UInt8(truncatingIfNeeded: mode >> UInt32(9 - 3 * shift)) & 7
      if shift > 0 || digit > 0 { append(byte: UInt8(ascii: "0") + digit) }
    }
  }
}
