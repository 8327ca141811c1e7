import Foundation

/// A running sandbox: a gateway and a feedback service for trials.
struct Sandbox {
  let child: Child
  let directory: String
  let gateway: Int
  let feedback: Int
  /// The configuration for the binary protocol.
  var config: String { directory + "/tinypush-binary.conf" }
  /// The configuration for HTTP/2.
  var http2Config: String { directory + "/tinypush.conf" }

  /// - Parameters:
  ///   - hasDevices: whether tokens belong to devices; if not, any token is valid.
  ///   - name: the directory of the sandbox in the box.
  init(
    in box: Box, _ arguments: [String] = [], hasDevices: Bool = false, name: String = "sandbox",
    environment: [String: String] = [:]
  ) throws {
    directory = "\(box.path)/\(name)"
    child = try box.start(
      Build.command(Build.host)
        + ["sandbox", "--json", "--dir", directory]
        + (arguments.contains("--port") ? ["--feedback-port", "0"] : ["--port", "0"])
        + (hasDevices ? [] : ["--any-token"]) + arguments, environment: environment)
    let first = try objects(child.line(#""event":"listening""#)).at(0)
    gateway = try first.member("gateway")
    feedback = try first.member("feedback")
  }

  /// Starts a provider that sends these frames.
  func client(
    _ box: Box, _ frames: [String] = [], port: Int? = nil, certificate: String = "client"
  ) throws -> Child {
    try box.start(
      [
        "python3", Build.tools + "/client.py", "--port", "\(port ?? gateway)", "--ca",
        directory + "/ca.pem", "--certificate", "\(directory)/\(certificate).pem", "--key",
        directory + "/client-key.pem",
      ] + frames)
  }

  /// Runs `tinypush sandbox device` on this sandbox.
  @discardableResult
  func device(_ box: Box, _ words: String...) throws -> Child {
    try box.run(
      Build.command(Build.host) + ["sandbox", "device", "--dir", directory] + words)
  }

  /// Runs a device command and returns the token that it prints.
  func token(_ box: Box, _ words: String...) throws -> String {
    let child = try box.run(
      Build.command(Build.host) + ["sandbox", "device", "--dir", directory] + words)
    guard child.status == 0, child.output.count == 65 else { throw Failure(child.errors) }
    return String(child.output.dropLast())
  }

  /// Reads the feedback service, and returns the times and tokens.
  func readFeedback(
    _ box: Box, certificate: String = "client"
  ) throws -> [(time: Int, token: String)] {
    let before = try events("feedback").count
    let client = try client(box, port: feedback, certificate: certificate)
    guard try client.wait() == 0 else { throw Failure(client.errors) }
    // The list is cleared once the client has gone.
    try wait(for: "the list to be cleared") { try events("feedback").count > before }
    var rest = client.output.dropFirst("connected\n".count).dropLast()
    var tuples: [(time: Int, token: String)] = []
    while !rest.isEmpty {
      guard let time = Int(rest.prefix(8), radix: 16) else { throw Failure(client.output) }
      tuples.append((time, String(rest.dropFirst(12).prefix(64))))
      rest = rest.dropFirst(76)
    }
    return tuples
  }

  /// Returns the events of these names in order, each as `EVENT DEVICE IDENTIFIER`.
  func story(_ events: String...) throws -> [String] {
    try objects(soFar: child.output).compactMap { line in
      guard let event = line["event"] as? String, events.contains(event) else { return nil }
      let identifier = line["identifier"] as? Int
      return "\(event) \(line["device"] ?? "")" + (identifier.map { " \($0)" } ?? "")
    }
  }

  /// Returns the sandbox's events of this name.
  func events(_ event: String) throws -> [[String: Any]] {
    try objects(soFar: child.output).filter { $0["event"] as? String == event }
  }
}
