/// The exit status of a command, as in sysexits.h.
public enum ExitStatus: Int32, Error {
  case ok = 0
  /// A notification was not delivered to every recipient; not from sysexits.h.
  case undelivered = 1
  case usage = 64
  case dataRefused = 65
  case noInput = 66
  case unavailable = 69
  case internalError = 70
  case cannotCreate = 73
  case inputOutput = 74
  case tryLater = 75
  case noPermission = 77
  case config = 78
}
