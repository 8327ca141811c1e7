import CLinux
import TinyPush

/// Looks at everything that the agent needs, step by step: what was found, or what is wrong and what to do. What depends on
/// something that is wrong is not looked at.
public struct Checkup: ~Copyable {
  var report: CheckupReport
  /// Whether what comes later can build on it.
  var isClockSet = true
  var hasCertificate = true
  /// Whether ours has been found to be none that the gateway takes.
  var isCertificateWrong = false
  /// Whether an agent is at work on the spool.
  var isServed = false
  /// The device of the spool: its room is said once.
  var spoolDevice: dev_t?
  /// Whose rights it is about.
  let user: ActingUser

  private init(_ config: borrowing Config, isJSON: Bool) {
    user = ActingUser(ownerOf: config.spool.pointer)
    report = CheckupReport(isJSON: isJSON)
  }

  deinit {}

  /// Says how everything is, and returns the status of the worst.
  ///
  /// - Parameter file: that of the configuration.
  public static func run(
    _ config: borrowing Config, file: UnsafePointer<CChar>, isJSON: Bool
  ) -> ExitStatus {
    var checkup = Checkup(config, isJSON: isJSON)
    checkup.checkConfig(config, file)
    checkup.checkClock()
    checkup.checkCertificate(config)
    checkup.checkSpool(config)
    checkup.checkDirectories(config)
    checkup.checkGateway(config)
    if config.courier.rules.service == .binary { checkup.checkFeedback(config) }
    checkup.report.end()
    return checkup.report.worst
  }

  /// Says, as JSON, that the configuration itself cannot be used.
  public static func refuse(_ message: borrowing Text, _ status: ExitStatus) {
    var report = CheckupReport(isJSON: true)
    report.begin("config")
    report.message.append(message)
    report.report("file", .wrong(status))
  }

  /// Takes over what C says of something that is wrong: its first sentence, and the others as what is to be done.
  @inline(never)
  mutating func take(_ text: Span<UInt8>) {
    var end = 0
    while end < text.count, text[end] != .dot || end + 1 < text.count && text[end + 1] != .space {
      end += 1
    }
    report.message.append(printable: text.extracting(0..<end))
    if end + 2 < text.count {
      report.advice.append(printable: text.extracting(end + 2..<text.count))
    }
  }

  /// Advises a command that mends a file, or what is in a directory.
  @inline(never)
  mutating func advise(
    _ command: StaticString, _ path: UnsafePointer<CChar>, _ name: StaticString? = nil
  ) {
    report.advice.append(command)
    report.advice.append(printable: path)
    guard let name else { return }
    report.advice.append("/", name)
  }

  /// Begins what is said of a path that something is wrong with.
  @inline(never)
  mutating func append(_ path: UnsafePointer<CChar>, _ error: Int32) {
    report.message.append(printable: path)
    report.message.append(": ", cString: clinux_error_text(error))
  }

  /// What a user is told to do who cannot see what the agent can: no right is to be given away for a check.
  static let asRoot: StaticString = "run the check as root: sudo tinypush check"

  /// Whether the agent may not read a file that the superuser could; a credential it is given.
  @inline(never)
  func isClosedToAgent(_ path: UnsafePointer<CChar>) -> Bool {
    let bytes = CString.span(path)
    guard !bytes.begins(with: ("/etc/tinypush/credentials/" as StaticString).span),
      !Self.isCredential(bytes)
    else {
      return false
    }
    var isClosed = false
    user.act { isClosed = faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) != 0 }
    return isClosed
  }

  /// Whether the service manager has put the file of this path where this process finds its credentials.
  static func isCredential(_ path: Span<UInt8>) -> Bool {
    guard let directory = getenv(("CREDENTIALS_DIRECTORY" as StaticString).cString) else {
      return false
    }
    let from = CString.span(directory)
    return path.count > from.count && path[from.count] == .slash
      && path.extracting(0..<from.count).equals(from)
  }

  /// Says of a file that the agent may not read it: without it, it does not start.
  ///
  /// - Parameter isCredential: whether it may be one.
  @inline(never)
  mutating func reportClosed(_ item: StaticString, isCredential: Bool) {
    report.message.append(", which ")
    report.message.append(user: user.id)
    report.message.append(" may not read")
    report.advice.append(
      isCredential
        ? "keep it beside the configuration in credentials/, which the service manager reads for the agent"
        : "let that user read it (chgrp, chmod g+r), and pass the directories above it (chmod g+x)")
    report.report(item, .wrong(.noPermission))
  }

  /// What an errno means for how the command ends.
  @inline(never)
  static func status(of error: Int32) -> ExitStatus {
    switch error {
    case EACCES, EPERM: .noPermission
    case ENOENT, ENOTDIR: .noInput
    default: .inputOutput
    }
  }
}
