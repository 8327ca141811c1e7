import CLinux
import TinyPush

/// An environment variable that the programs read.
public enum EnvironmentVariable: UInt8 {
  case config, credentials
  case noColor, terminal, localeOfAll, localeOfCharacters, locale
  case notifySocket, watchdogInterval, watchdogProcess, journal, listenProcess, listenCount

  /// The name.
  public var name: StaticString {
    switch self {
    case .config: "TINYPUSH_CONFIG"
    case .credentials: "CREDENTIALS_DIRECTORY"
    case .noColor: "NO_COLOR"
    case .terminal: "TERM"
    case .localeOfAll: "LC_ALL"
    case .localeOfCharacters: "LC_CTYPE"
    case .locale: "LANG"
    case .notifySocket: "NOTIFY_SOCKET"
    case .watchdogInterval: "WATCHDOG_USEC"
    case .watchdogProcess: "WATCHDOG_PID"
    case .journal: "JOURNAL_STREAM"
    case .listenProcess: "LISTEN_PID"
    case .listenCount: "LISTEN_FDS"
    }
  }

  /// The value; nil: the variable is not set.
  public var pointer: UnsafePointer<CChar>? { UnsafePointer(getenv(name.cString)) }

  /// The value; empty: the variable is not set, or is empty.
  public var value: Span<UInt8> {
    @_lifetime(immortal) get { CString.span(pointer ?? ("" as StaticString).cString) }
  }

  /// The value, if it is a number.
  public var number: UInt64? { pointer.flatMap { Config.number(CString.span($0)) } }
}
