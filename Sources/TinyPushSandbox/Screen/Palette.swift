/// The escape sequences for a terminal; empty strings for other outputs.
struct Palette {
  var strong: StaticString
  var dim: StaticString
  var bad: StaticString
  var end: StaticString

  static var plain: Palette { Palette(strong: "", dim: "", bad: "", end: "") }
  static var terminal: Palette {
    Palette(strong: "\u{1B}[1m", dim: "\u{1B}[2m", bad: "\u{1B}[31m", end: "\u{1B}[0m")
  }
}
