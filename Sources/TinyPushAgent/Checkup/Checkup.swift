import CLinux
import TinyPush

/// The check of everything that the agent needs.
///
/// Each step reports what it found, or what is wrong and what to do. If a step fails, the steps
/// that depend on it are skipped.
public struct Checkup: ~Copyable {
  var report: CheckupReport
  /// Whether later steps can rely on it.
  var isClockSet = true
  var hasCertificate = true
  /// Whether the check has found a reason why the gateway will refuse our certificate.
  var isCertificateWrong = false
  /// Whether an agent is running on the spool.
  var isServed = false
  /// The device of the spool, whose free space is reported only once.
  var spoolDevice: dev_t?
  /// The user whose rights are tested.
  let user: ActingUser

  private init(_ config: borrowing Config, isJSON: Bool) {
    user = ActingUser(ownerOf: config.spool.pointer)
    report = CheckupReport(isJSON: isJSON)
  }

  deinit {}

  /// Checks everything, prints the report, and returns the worst status.
  ///
  /// - Parameter file: the path of the configuration file.
  public static func run(
    _ config: borrowing Config, file: UnsafePointer<CChar>, isJSON: Bool
  ) -> ExitStatus {
    var checkup = Checkup(config, isJSON: isJSON)
    checkup.checkConfig(config, file)
    checkup.checkClock()
    if config.courier.hasDevices {
      checkup.checkCertificate(config)
    } else {
      checkup.checkAuthorities(config)
    }
    checkup.checkSpool(config)
    checkup.checkDirectories(config)
    if config.courier.hasDevices { checkup.checkGateway(config) }
    if config.courier.hasWebPush { checkup.checkWebPush(config) }
    if config.courier.hasDevices, config.courier.rules.pushProtocol == .binary {
      checkup.checkFeedback(config)
    }
    checkup.report.end()
    return checkup.report.worst
  }

  /// Reports as JSON that the configuration itself cannot be used.
  public static func refuse(_ message: borrowing Text, _ status: ExitStatus) {
    var report = CheckupReport(isJSON: true)
    report.begin("config")
    report.message.append(message)
    report.report("file", .wrong(status))
  }

  /// Takes an error text from C: its first sentence is the message, and the rest is the advice.
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

  /// Appends a command that repairs a file, or a name in a directory, to the advice.
  @inline(never)
  mutating func advise(
    _ command: StaticString, _ path: UnsafePointer<CChar>, _ name: StaticString? = nil
  ) {
    var word = Text(capacity: 4200)
    word.append(cString: path)
    if let name { word.append("/", name) }
    report.advice.append(command)
    report.advice.append(shell: word.bytes)
  }

  /// Begins the message about a path with an error.
  @inline(never)
  mutating func append(_ path: UnsafePointer<CChar>, _ error: Int32) {
    report.message.append(printable: path)
    report.message.append(": ", cString: clinux_error_text(error))
  }

  /// The advice for a user who lacks the agent's rights.
  ///
  /// The check must not be a reason to give a user more rights.
  static let asRoot: StaticString = "run the check as root: sudo tinypush check"

  /// Whether the agent may not read a file; the service manager reads credentials for it.
  @inline(never)
  func isClosedToAgent(_ path: UnsafePointer<CChar>) -> Bool {
    let bytes = CString.span(path)
    guard !bytes.begins(with: ("/etc/tinypush/credentials/" as StaticString).span),
      !Self.isCredential(bytes)
    else {
      return false
    }
    var isClosed = false
    guard !user.isStranger else { return false }
    user.act { isClosed = faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) != 0 }
    return isClosed
  }

  /// Whether the file is in the directory where the service manager put this process's credentials.
  static func isCredential(_ path: Span<UInt8>) -> Bool {
    let from = EnvironmentVariable.credentials.value
    return !from.isEmpty && path.count > from.count && path[from.count] == .slash
      && path.extracting(0..<from.count).equals(from)
  }

  /// Reports that the agent may not read a file, without which it does not start.
  ///
  /// - Parameter isCredential: whether the file may be passed as a credential.
  @inline(never)
  mutating func reportClosed(_ item: StaticString, isCredential: Bool) {
    report.message.append(", which ")
    report.message.append(user: user.id)
    report.message.append(" may not read")
    report.advice.append(
      isCredential
        ? "put it in credentials/ beside the configuration, where the service manager reads it for the agent"
        : "let that user read it (chgrp, chmod g+r), and pass the directories above it (chmod g+x)")
    report.report(item, .wrong(.noPermission))
  }

  /// Reports an item that only the agent's user and root can test, if this is neither; returns
  /// whether it did.
  @inline(never)
  mutating func leavesToAgent(_ item: StaticString, _ path: UnsafePointer<CChar>) -> Bool {
    guard user.isStranger else { return false }
    report.message.append(printable: path)
    report.message.append(": ")
    report.message.append(rootAnd: user.id)
    report.message.append(" can test what the agent may do there")
    report.report(item, .skipped)
    return true
  }

  /// Returns the exit status for an errno.
  @inline(never)
  static func status(of error: Int32) -> ExitStatus {
    switch error {
    case EACCES, EPERM: .noPermission
    case ENOENT, ENOTDIR: .noInput
    default: .inputOutput
    }
  }
}
