import CLinux
import TinyPush
import TinyPushAgent

/// A port that listens on 127.0.0.1 and, if this machine has IPv6, on [::1].
struct Listener: ~Copyable {
  let port: Int32
  let v4: Int32
  /// The socket on [::1]; -1: this machine has no IPv6.
  let v6: Int32

  private static let backlog: Int32 = 64
  /// How often to look for a port that is free on both addresses.
  private static let attempts = 16

  init(port wanted: UInt16, option: StaticString) throws(SandboxFailure) {
    var error: Int32 = 0
    for _ in 0..<(wanted == 0 ? Self.attempts : 1) {
      let v4 = clinux_listen_address(
        ("127.0.0.1" as StaticString).cString, wanted, Self.backlog)
      guard v4 >= 0 else {
        throw Self.refuse(wanted, "127.0.0.1", -v4, option)
      }
      let port = clinux_local_port(v4)
      let v6 = clinux_listen_address(
        ("::1" as StaticString).cString, UInt16(port), Self.backlog)
      guard v6 == -EADDRINUSE else {
        self.port = port
        self.v4 = v4
        self.v6 = v6 >= 0 ? v6 : -1
        return
      }
      close(v4)
      error = -v6
    }
    throw Self.refuse(wanted, "[::1]", error, option)
  }

  deinit {
    close(v4)
    if v6 >= 0 { close(v6) }
  }

  private static func refuse(
    _ port: UInt16, _ host: StaticString, _ error: Int32, _ option: StaticString
  ) -> SandboxFailure {
    var text = Text()
    text.append("port ", port)
    text.append(" of ", host)
    switch error {
    case EADDRINUSE:
      text.append(" is in use, perhaps by another sandbox: stop it, or give another port with ")
      text.append(option)
      text.append(" (0: any free port)")
    case EACCES:
      text.append(" is not allowed for this user: give a port above 1023 with ", option)
    default:
      text.append(": cannot listen: ", cString: clinux_error_text(error))
    }
    SandboxFailure.print(text)
    return .unavailable
  }
}
