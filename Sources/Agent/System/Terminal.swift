import CLinux
import TinyPush

/// What can be shown where a descriptor leads.
public struct Terminal {
  /// ECMA-48 section 8.3.117 (SGR).
  public enum Colour: UInt8 {
    case strong = 1
    case dim = 2
    case red = 31
    case green = 32
    case yellow = 33
  }

  private let descriptor: Int32
  private let isTerminal: Bool
  /// Whether it can take back what it shows.
  public let isCapable: Bool
  public let isColoured: Bool

  @inline(never)
  public init(_ descriptor: Int32) {
    self.descriptor = descriptor
    isTerminal = isatty(descriptor) == 1
    isCapable = isTerminal && !Self.isDumb
    isColoured = isCapable && Self.isUnset("NO_COLOR")
  }

  private static func isUnset(_ name: StaticString) -> Bool {
    guard let value = getenv(name.cString) else { return true }
    return value[0] == 0
  }

  private static var isDumb: Bool {
    guard let value = getenv(("TERM" as StaticString).cString) else { return true }
    return CString.span(value).equals("dumb")
  }

  /// How wide a line may be; nil: as wide as it is.
  public var columns: Int? {
    let columns = isTerminal ? Int(clinux_terminal_columns(descriptor)) : 0
    return columns > 0 ? columns : nil
  }

  public func begin(_ colour: Colour, in text: inout Text) {
    guard isColoured else { return }
    text.append("\u{1B}[")
    text.append(colour.rawValue)
    text.append("m")
  }

  public func end(in text: inout Text) {
    if isColoured { text.append("\u{1B}[0m") }
  }
}
