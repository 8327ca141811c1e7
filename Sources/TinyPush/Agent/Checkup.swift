import CLinux
import CMbed

/// Looks at everything the agent needs, a line each: what was found, or what is wrong and what to do.
public struct Checkup: ~Copyable {
  private let config: UnsafePointer<Config>
  private var worst = ExitStatus.ok

  private init(_ config: UnsafePointer<Config>) {
    self.config = config
  }

  deinit {}

  /// Prints the lines, and returns the status of the worst.
  public static func run(_ config: borrowing Config) -> ExitStatus {
    withUnsafePointer(to: config) { pointer in
      var checkup = Checkup(pointer)
      checkup.checkFiles()
      checkup.checkSpool()
      checkup.checkClock()
      checkup.checkGateway()
      return checkup.worst
    }
  }

  private mutating func say(_ text: borrowing Text, _ problem: ExitStatus = .ok) {
    var line = Text(capacity: 2048)
    line.append(problem == .ok ? "✓ " : "✗ ")
    line.append(bytes: text.bytes)
    line.append("\n")
    line.write(to: STDOUT_FILENO)
    if worst == .ok { worst = problem }
  }

  private mutating func checkFiles() {
    var text = Text()
    guard !config.pointee.certificate.isEmpty else {
      text.append(
        "certificate: none is set: set certificate (and key) to your push certificate's PEM files")
      say(text, .config)
      return
    }
    let reason = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CMBED_TEXT_MAX))
    defer { reason.deallocate() }
    reason[0] = 0
    var certificate = cmbed_certificate()
    let key =
      config.pointee.key.isEmpty ? config.pointee.certificate.pointer : config.pointee.key.pointer
    let result = cmbed_certificate_read(
      &certificate, config.pointee.certificate.pointer, key,
      config.pointee.keyPassword.isEmpty ? nil : config.pointee.keyPassword.pointer, reason)
    guard result == CMBED_OK else {
      text.append("certificate: ")
      text.append(cString: reason)
      say(text, Self.status(of: result))
      return
    }
    let days = (certificate.not_after - Clock.wallSeconds()) / 86_400
    text.append("certificate: ")
    withUnsafeBytes(of: &certificate.topic) {
      text.append(cString: $0.baseAddress!.assumingMemoryBound(to: CChar.self))
    }
    text.append(days < 0 ? ", expired " : ", expires in ")
    text.append(days < 0 ? -days : days)
    text.append(days < 0 ? " days ago: renew it" : " days")
    say(text, days < 0 ? .config : .ok)
    text.clear()
    reason[0] = 0
    var ca = cmbed_certificate()
    let found = cmbed_certificate_read(&ca, config.pointee.ca.pointer, nil, nil, reason)
    text.append("ca: ")
    if found == CMBED_OK {
      text.append(cString: config.pointee.ca.pointer)
      text.append(", certificates: ")
      text.append(ca.certificates)
    } else {
      text.append(cString: reason)
    }
    say(text, Self.status(of: found))
  }

  private static func status(of result: Int32) -> ExitStatus {
    switch result {
    case Int32(CMBED_OK): .ok
    case Int32(CMBED_FILE_MISSING): .noInput
    case Int32(CMBED_FILE_UNREADABLE): .noPermission
    default: .config
    }
  }

  private mutating func checkSpool() {
    var text = Text()
    do throws(ExitStatus) {
      _ = try SpoolDirectory(config.pointee.spool.pointer, message: &text)
      text.append("spool: ")
      text.append(cString: config.pointee.spool.pointer)
      say(text)
    } catch {
      if error == .tryLater {
        text.clear()
        text.append("spool: ")
        text.append(cString: config.pointee.spool.pointer)
        text.append(", an agent is at work there")
        say(text)
      } else {
        say(text, error)
      }
    }
  }

  private mutating func checkClock() {
    var text = Text()
    if Clock.time().wallSeconds != nil {
      text.append("clock: set")
      say(text)
    } else {
      text.append(
        "clock: not set: it says a time before this program was made; is there a time service?")
      say(text, .tryLater)
    }
  }

  private mutating func checkGateway() {
    var address = Text(capacity: 300)
    config.pointee.gatewayAddress(in: &address)
    var text = Text()
    text.append("gateway: ")
    let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    defer { close(epoll) }
    var connection = TLSConnection(
      address: address.bytes, port: Config.gatewayPort, timeout: config.pointee.connectTimeout)
    // A TLS 1.3 gateway refuses our certificate only after the handshake: its first words are waited for, briefly.
    if connection.connect(epoll: epoll, config: config.pointee) {
      var event = epoll_event()
      epoll_wait(epoll, &event, 1, 300)
      let buffer = FixedBuffer<UInt8>(capacity: 64)
      let result = connection.read(buffer.room())
      if result == CMBED_WANT_READ {
        text.append(bytes: address.bytes)
        text.append(", ")
        text.append(cString: connection.version)
        text.append(", ")
        text.append(cString: connection.suite)
        say(text)
        connection.hangUp(epoll: epoll, sayGoodbye: true)
        return
      }
    }
    text.append(bytes: address.bytes)
    text.append(": ")
    text.append(bytes: connection.problem.bytes)
    say(text, connection.isOurFault ? .config : .unavailable)
  }
}
