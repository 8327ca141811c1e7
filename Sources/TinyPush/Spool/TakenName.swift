/// The name of a file in `taken/`, which says what a later agent must know of the file.
///
/// `NAME@ARRIVAL.OFFSET`: the name that the file had in `new/`; when the file came there, in UNIX
/// nanoseconds; and how far everything in it is settled, in bytes. A file that came from `later/`
/// has a plus sign instead of the `@`, and NAME ends with when its notification came into `new/`,
/// and with the identity of the notification. A file that moves to `failed/` in the end has an
/// exclamation mark behind.
public struct TakenName {
  /// The longest NAME: a longer one is cut.
  static let nameBytesMax = 255 - 42

  /// The NAME's length in bytes.
  public let nameBytes: Int
  /// When the file came into `new/`, in UNIX nanoseconds.
  public let arrivalNs: Int64
  /// How far everything in the file is settled, in bytes.
  public let offset: Int64
  /// Whether the file came from `later/`.
  public let isReleased: Bool
  /// Whether the file moves to `failed/` when everything in it is settled.
  public let movesToFailed: Bool

  /// Reads a name; nil if the agent did not give it.
  public init?(_ name: Span<UInt8>) {
    movesToFailed = name.count > 0 && name[name.count - 1] == UInt8(ascii: "!")
    var place = name.count - (movesToFailed ? 1 : 0)
    guard let offset = Self.number(name, before: &place), place > 0, name[place - 1] == .dot
    else { return nil }
    place -= 1
    guard let arrival = Self.number(name, before: &place), place > 1,
      name[place - 1] == .at || name[place - 1] == .plus
    else { return nil }
    isReleased = name[place - 1] == .plus
    nameBytes = place - 1
    arrivalNs = arrival
    self.offset = offset
  }

  /// Returns the number whose digits end at `end`, and moves `end` to its first digit.
  private static func number(_ name: Span<UInt8>, before end: inout Int) -> Int64? {
    var number: Int64 = 0
    var unit: Int64 = 1
    let last = end
    while end > 0, name[end - 1].isDigit {
      // More digits than a number has: nineteen fit.
      guard last - end < 19 else { return nil }
      let (part, isTooLarge) = unit.multipliedReportingOverflow(
        by: Int64(name[end - 1].digitValue))
      guard !isTooLarge, part <= .max - number else { return nil }
      number += part
      end -= 1
      if last - end < 19 { unit *= 10 }
    }
    return end < last ? number : nil
  }

  /// Appends a name.
  public static func append(
    _ name: Span<UInt8>, arrivalNs: Int64, offset: Int64 = 0, isReleased: Bool = false,
    movesToFailed: Bool = false, to text: inout Text
  ) {
    text.append(bytes: cut(name))
    text.append(byte: isReleased ? .plus : .at)
    text.append(max(arrivalNs, 0))
    text.append(".", offset)
    if movesToFailed { text.append("!") }
  }

  /// Returns the part of a name that has room in a name of this form.
  @_lifetime(copy name)
  static func cut(_ name: Span<UInt8>) -> Span<UInt8> {
    name.extracting(0..<min(name.count, nameBytesMax))
  }

  /// Returns the part of a name that tells the file from all others: all before the offset.
  @_lifetime(copy name)
  public static func constantPart(of name: Span<UInt8>) -> Span<UInt8> {
    var end = name.count
    while end > 0, name[end - 1] != .dot { end -= 1 }
    return name.extracting(0..<end)
  }

  /// Returns the NAME in a name of this form.
  @_lifetime(copy name)
  public static func source(of name: Span<UInt8>) -> Span<UInt8> {
    guard let known = TakenName(name) else { return name }
    return name.extracting(0..<known.nameBytes)
  }
}
