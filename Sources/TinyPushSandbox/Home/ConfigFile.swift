import CLinux
import TinyPush
import TinyPushAgent

/// The configuration of an agent for the sandbox: one over HTTP/2, one over the binary protocol.
///
/// Each file is written if it is missing. Afterwards the user may edit it, and the sandbox corrects
/// only the ports.
struct ConfigFile {
  static let name: StaticString = "/tinypush.conf"
  static let binaryName: StaticString = "/tinypush-binary.conf"
  private let name: StaticString
  private let home: Home
  private let port: Int32
  private let feedbackPort: Int32

  /// Creates both files if they are missing, and corrects their ports.
  static func keepAll(home: Home, port: Int32, feedbackPort: Int32) throws(SandboxFailure) {
    for name in [Self.name, Self.binaryName] {
      try ConfigFile(name: name, home: home, port: port, feedbackPort: feedbackPort).keep()
    }
  }

  private func keep() throws(SandboxFailure) {
    let path = home.path(name).cString()
    var text = Text(capacity: 65_536)
    guard access(path.pointer, F_OK) == 0 else {
      writeAll(in: &text)
      return try home.replace(name, by: text)
    }
    writePorts(in: &text)
    if case .failed(let error) = ConfigEditor.change(path.pointer, text, without: []) {
      try home.fail(name, error)
    }
  }

  private var isBinary: Bool { name.span.equals(Self.binaryName) }

  private func writePorts(in text: inout Text) {
    text.append("gateway = localhost:", port)
    if isBinary { text.append("\nfeedback = localhost:", feedbackPort) }
  }

  private func writeAll(in text: inout Text) {
    text.append("# An agent's config for the sandbox in this directory, over ")
    text.append(isBinary ? "the binary protocol" : "HTTP/2")
    text.append(".\nenvironment = local\nprotocol = ", isBinary ? "binary" : "http2")
    text.append("\n")
    writePorts(in: &text)
    write("\nca = ", "/ca.pem", in: &text)
    if isBinary {
      write("\ncertificate = ", "/client.pem", in: &text)
      write("\nkey = ", "/client-key.pem", in: &text)
    } else {
      text.append("\ntopic = ", Credentials.topic)
      write("\nsigning-key = ", SigningKey.name, in: &text)
      text.append("\nkey-id = ", SigningKey.keyID)
      text.append("\nteam-id = ", SigningKey.teamID)
      // Browsers may know the machine by the same key. The sandbox is in a private network.
      write("\nvapid-key = ", SigningKey.name, in: &text)
      text.append("\ncontact = mailto:box@tinypush-tests.org\nprivate-endpoints = yes")
    }
    write("\nspool = ", "/spool", in: &text)
    write("\nstate = ", "/state", in: &text)
    write("\nstatus = ", "/status", in: &text)
    write("\nrecipients = ", "/recipients", in: &text)
    text.append("\n")
  }

  private func write(_ key: StaticString, _ path: StaticString, in text: inout Text) {
    text.append(key)
    home.write(path, in: &text)
  }
}
