import CLinux
import TinyPush
import TinyPushAgent

/// The options of sendmail(8), of which few matter here.
struct Options: ~Copyable {
  /// Whether addresses are also taken from the mail's header.
  private(set) var readsHeader = false
  /// Whether a line with only a dot is a part of the mail.
  private(set) var ignoresDot = false
  /// Whether the aliases are to be prepared, and nothing is to be sent.
  private(set) var isOfAliases = false
  /// The mode of `-b`, if it is another than to take a mail.
  private(set) var refusedMode: UInt8?
  /// The number that stands for `--config`.
  private static var config: Int32 { 256 }
  private let count: Int32
  private let values: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>

  /// Reads the options.
  ///
  /// An unknown option has no effect: the mail matters more.
  init(_ count: Int32, _ values: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) {
    self.count = count
    self.values = values
    let long = FixedBuffer<option>(capacity: 2)
    long[0] = option()
    long[0].name = ("config" as StaticString).cString
    long[0].has_arg = 1
    long[0].val = Self.config
    long[1] = option()
    // The options of several programs that are called sendmail.
    let letters: StaticString = ":A:B:C:D:F:GIL:M:N:O:Q:R:UV:X:a:b:cd:e:f:h:imno:p:q::r:stvx"
    var found: Int32 = -1
    while true {
      let result = clinux_option(count, values, letters.cString, long.room().baseAddress, &found)
      guard result != -1 else { return }
      switch result {
      case Int32(UInt8(ascii: "t")): readsHeader = true
      case Int32(UInt8(ascii: "i")): ignoresDot = true
      case Int32(UInt8(ascii: "o")): if Self.value.equals("i") { ignoresDot = true }
      case Int32(UInt8(ascii: "I")): isOfAliases = true
      case Int32(UInt8(ascii: "b")): readMode()
      case Self.config:
        setenv(("TINYPUSH_CONFIG" as StaticString).cString, clinux_option_argument(), 1)
      default: break
      }
    }
  }

  /// The number of addresses.
  var operandCount: Int { Int(count - clinux_option_index()) }

  /// Returns an operand, which has one or more addresses.
  @_lifetime(immortal)
  func operand(_ index: Int) -> Span<UInt8> {
    CString.span(values[Int(clinux_option_index()) + index]!)
  }

  private mutating func readMode() {
    let mode = Self.value
    guard mode.count > 0, mode[0] != UInt8(ascii: "m") else { return }
    if mode[0] == UInt8(ascii: "i") { isOfAliases = true } else { refusedMode = mode[0] }
  }

  private static var value: Span<UInt8> {
    @_lifetime(immortal) get { CString.span(clinux_option_argument()) }
  }
}
