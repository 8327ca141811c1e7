import CLinux
import TinyPush

/// The configuration of an agent for the sandbox: one over HTTP/2, one over the binary protocol.
///
/// Each file is written if it is missing. Afterwards the user may edit it, and the sandbox corrects
/// only the ports.
struct ConfigFile {
  static let name: StaticString = "/tinypush.conf"
  static let binaryName: StaticString = "/tinypush-binary.conf"
  /// The largest file, above any configuration that a person writes.
  private static let bytesMax = 65_536

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
    var present = Text(capacity: Self.bytesMax)
    var text = Text(capacity: Self.bytesMax + 1024)
    if Home.read(home.path(name), into: &present) == 0 {
      guard correctPorts(present.bytes, in: &text) else { return }
    } else {
      writeAll(in: &text)
    }
    try home.replace(name, by: text)
  }

  /// Appends the text with the right ports; true: the text has changed.
  ///
  /// A configuration with a feedback service and without a protocol was written by a version that
  /// knew only the binary protocol, which is then added.
  private func correctPorts(_ bytes: Span<UInt8>, in text: inout Text) -> Bool {
    var isChanged = false
    var hasGateway = false
    var hasFeedback = false
    var hasProtocol = false
    var start = 0
    while start < bytes.count {
      var end = start
      while end < bytes.count && bytes[end] != .lineFeed { end += 1 }
      let line = bytes.extracting(start..<end)
      if Self.key(of: line, is: "gateway") {
        hasGateway = true
        rewrite(line, "gateway", port, isChanged: &isChanged, in: &text)
      } else if Self.key(of: line, is: "feedback") {
        hasFeedback = true
        rewrite(line, "feedback", feedbackPort, isChanged: &isChanged, in: &text)
      } else {
        if Self.key(of: line, is: "protocol") { hasProtocol = true }
        text.append(bytes: line)
      }
      text.append("\n")
      start = end + 1
    }
    if !hasGateway {
      rewrite(Span(), "gateway", port, isChanged: &isChanged, in: &text)
      text.append("\n")
    }
    if hasFeedback, !hasProtocol {
      text.append("protocol = binary\n")
      isChanged = true
    }
    return isChanged
  }

  private func writeAll(in text: inout Text) {
    let isBinary = name.span.equals(Self.binaryName)
    text.append("# An agent's config for the sandbox in this directory, over ")
    text.append(isBinary ? "the binary protocol" : "HTTP/2")
    text.append(".\nenvironment = local\nprotocol = ", isBinary ? "binary" : "http2")
    text.append("\ngateway = localhost:", port)
    if isBinary {
      text.append("\nfeedback = localhost:", feedbackPort)
    }
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

  private func rewrite(
    _ line: Span<UInt8>, _ key: StaticString, _ port: Int32, isChanged: inout Bool,
    in text: inout Text
  ) {
    var wanted = Text()
    wanted.append(key)
    wanted.append(" = localhost:", port)
    if !line.equals(wanted.bytes) { isChanged = true }
    text.append(bytes: wanted.bytes)
  }

  private static func key(of line: Span<UInt8>, is key: StaticString) -> Bool {
    var index = 0
    while index < line.count && (line[index] == .space || line[index] == .tab) { index += 1 }
    let end = index + key.utf8CodeUnitCount
    guard end <= line.count, line.extracting(index..<end).equals(key) else { return false }
    index = end
    while index < line.count && (line[index] == .space || line[index] == .tab) { index += 1 }
    return index < line.count && (line[index] == .equals || line[index] == .colon)
  }
}
