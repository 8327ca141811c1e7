import CLinux
import TinyPush

/// The config with which an agent talks to the sandbox. It is written when it is missing; after that it is the user's,
/// and only its ports are kept right.
struct ConfigFile {
  static let name: StaticString = "/tinypush.conf"
  /// Above any config that a person writes.
  private static let bytesMax = 65_536

  let home: Home
  let port: Int32
  let feedbackPort: Int32

  /// Sees to it that the file is there and names the ports.
  func keep() throws(SandboxFailure) {
    var present = Text(capacity: Self.bytesMax)
    var text = Text(capacity: Self.bytesMax + 1024)
    if Home.read(home.path(Self.name), into: &present) == 0 {
      guard mend(present.bytes, in: &text) else { return }
    } else {
      writeAll(in: &text)
    }
    try replace(by: text)
  }

  /// The same text with the right ports; whether that changed anything.
  private func mend(_ bytes: Span<UInt8>, in text: inout Text) -> Bool {
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
    if !hasGateway { rewrite(Span(), "gateway", port, isChanged: &isChanged, in: &text) }
    if !hasGateway { text.append("\n") }
    if !hasFeedback { rewrite(Span(), "feedback", feedbackPort, isChanged: &isChanged, in: &text) }
    if !hasFeedback { text.append("\n") }
    if !hasProtocol {
      text.append("protocol = binary\n")
      isChanged = true
    }
    return isChanged
  }

  private func writeAll(in text: inout Text) {
    text.append(
      "# An agent's config for the sandbox in this directory.\nenvironment = local\nprotocol = binary\n"
    )
    text.append("gateway = localhost:")
    text.append(port)
    text.append("\nfeedback = localhost:")
    text.append(feedbackPort)
    text.append("\nca = ")
    home.write("/ca.pem", in: &text)
    text.append("\ncertificate = ")
    home.write("/client.pem", in: &text)
    text.append("\nkey = ")
    home.write("/client-key.pem", in: &text)
    text.append("\nspool = ")
    home.write("/spool", in: &text)
    text.append("\nstate = ")
    home.write("/state", in: &text)
    text.append("\nstatus = ")
    home.write("/status", in: &text)
    text.append("\nrecipients = ")
    home.write("/recipients", in: &text)
    text.append("\n")
  }

  private func rewrite(
    _ line: Span<UInt8>, _ key: StaticString, _ port: Int32, isChanged: inout Bool,
    in text: inout Text
  ) {
    var wanted = Text()
    wanted.append(key)
    wanted.append(" = localhost:")
    wanted.append(port)
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

  private func replace(by text: borrowing Text) throws(SandboxFailure) {
    let error = Home.replace(home.path(Self.name), by: text)
    guard error != 0 else { return }
    var words = Text(capacity: 8192)
    home.write(Self.name, in: &words)
    words.append(" cannot be written: ")
    words.append(cString: clinux_error_text(error))
    SandboxFailure.say(words)
    throw .cannotCreate
  }
}
