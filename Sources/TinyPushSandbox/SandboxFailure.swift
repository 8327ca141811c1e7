import CLinux
import TinyPush

/// Why the sandbox cannot run, which has been printed already.
///
/// The raw value is the exit status (sysexits).
enum SandboxFailure: Int32, Error {
  case unavailable = 69
  case software = 70
  case cannotCreate = 73
  case outputLost = 74
  case tryLater = 75

  /// Prints a message of CMbed, and returns the failure.
  static func refuse(_ words: borrowing FixedBuffer<CChar>) -> SandboxFailure {
    var text = Text(capacity: 8192)
    text.append(cString: words.room().baseAddress!)
    print(text)
    return .cannotCreate
  }

  /// Prints on standard error what is wrong and what to do.
  static func print(_ text: borrowing Text) {
    var line = Text(capacity: 8192)
    line.append("tinypush sandbox: ", bytes: text.bytes, "\n")
    line.bytes.withUnsafeBytes { bytes in _ = CLinux.write(2, bytes.baseAddress, bytes.count) }
  }
}
