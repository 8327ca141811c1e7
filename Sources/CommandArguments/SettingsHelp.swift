import CLinux
import TinyPush
import TinyPushAgent

extension SettingsTable where Settings: ~Copyable {
  /// Prints each setting with its values, its default and a line about it, and ends the program, if
  /// the arguments are `help settings`.
  ///
  /// - Parameter place: the number of the argument that may be `help`.
  @inline(never)
  public func printHelp(
    ifAsked arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>, at place: Int,
    of file: StaticString
  ) {
    guard let help = arguments[place], CString.span(help).equals("help"),
      let topic = arguments[place + 1], CString.span(topic).equals("settings")
    else { return }
    var text = Text(capacity: 16 * 1024)
    text.append("Settings of ", file, ", each a line KEY = VALUE.\n")
    text.append(page, " explains them.\n\n")
    for setting in rows {
      text.append("  ", setting.name, "=")
      text.append(setting.values, "\n        ")
      text.append(setting.help)
      if setting.standard.utf8CodeUnitCount > 0 {
        text.append("\n        Default: ", setting.standard)
      }
      text.append("\n")
    }
    text.write(to: STDOUT_FILENO)
    exit(ExitStatus.ok.rawValue)
  }
}
