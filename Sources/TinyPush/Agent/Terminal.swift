import CLinux

/// What a descriptor that may be a terminal can show.
public enum Terminal {
  public static func isOne(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

  /// Whether it understands sequences that move the cursor.
  public static func isCapable(_ descriptor: Int32) -> Bool {
    guard isOne(descriptor), let kind = getenv(("TERM" as StaticString).cString) else {
      return false
    }
    return !CString.span(kind).equals("dumb")
  }

  /// Whether colours are wanted there: not with NO_COLOR.
  public static func isColoured(_ descriptor: Int32) -> Bool {
    guard isCapable(descriptor) else { return false }
    guard let unwanted = getenv(("NO_COLOR" as StaticString).cString) else { return true }
    return unwanted[0] == 0
  }

  /// Its columns; nil where it is none, or does not say.
  public static func columns(_ descriptor: Int32) -> Int? {
    let columns = isOne(descriptor) ? Int(clinux_terminal_columns(descriptor)) : 0
    return columns > 0 ? columns : nil
  }
}
