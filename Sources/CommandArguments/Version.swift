import CLinux
import TinyPush
import TinyPushAgent

/// The version of the product, and how its programs tell it.
public enum Version {
  public static let current: StaticString = "0.2.0"

  /// Whether a program's first argument asks for the version.
  public static func isAsked(_ argument: Span<UInt8>) -> Bool {
    argument.equals("--version") || argument.equals("-V")
  }

  public static func print(of program: StaticString) {
    var text = Text()
    text.append(program)
    text.append(" ", current, "\n")
    text.write(to: STDOUT_FILENO)
  }
}
