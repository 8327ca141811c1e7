import CLinux
import TinyPush
import TinyPushAgent

/// The version of the product, which all programs print.
public enum Version {
  /// The version's number, such as `1.2.3`.
  public static let current: StaticString = "0.2.0"

  /// Whether an argument asks for the version.
  public static func isAsked(_ argument: Span<UInt8>) -> Bool {
    argument.equals("--version") || argument.equals("-V")
  }

  /// Prints a program's name and the version on standard output.
  public static func print(of program: StaticString) {
    var text = Text()
    text.append(program)
    text.append(" ", current, "\n")
    text.write(to: STDOUT_FILENO)
  }
}
