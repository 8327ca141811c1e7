import Foundation

/// The gateway and the feedback service for trying, under way, and what it said at first.
struct Sandbox {
  let child: Child
  let directory: String
  let gateway: Int
  let feedback: Int
  /// With which an agent speaks the binary protocol, and HTTP/2.
  var config: String { directory + "/tinypush-binary.conf" }
  var http2Config: String { directory + "/tinypush.conf" }

  /// - Parameter hasDevices: whether tokens lead to devices; else any is good.
  init(in box: Box, _ arguments: [String] = [], hasDevices: Bool = false) throws {
    directory = box.path + "/sandbox"
    child = try box.start(
      Build.command(Build.host)
        + ["sandbox", "--json", "--dir", directory, "--port", "0"]
        + (hasDevices ? [] : ["--any-token"]) + arguments)
    let first = try objects(child.line(#""event":"listening""#))[0]
    gateway = first["gateway"] as! Int
    feedback = first["feedback"] as! Int
  }

  /// A provider that sends these frames.
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

  /// `tinypush sandbox device`, about this one.
  @discardableResult
  func device(_ box: Box, _ words: String...) throws -> Child {
    try box.run(
      Build.command(Build.host) + ["sandbox", "device", "--dir", directory] + words)
  }

  /// The token that a device command prints.
  func token(_ box: Box, _ words: String...) throws -> String {
    let child = try box.run(
      Build.command(Build.host) + ["sandbox", "device", "--dir", directory] + words)
    guard child.status == 0, child.output.count == 65 else { throw Failure(child.errors) }
    return String(child.output.dropLast())
  }

  /// What the feedback service tells: the times and the tokens.
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
      tuples.append((Int(rest.prefix(8), radix: 16)!, String(rest.dropFirst(12).prefix(64))))
      rest = rest.dropFirst(76)
    }
    return tuples
  }

  /// Whatever happened, as it says: the names of the events and of the devices.
  func story(_ events: String...) throws -> [String] {
    try objects(child.output).compactMap { line in
      guard let event = line["event"] as? String, events.contains(event) else { return nil }
      let identifier = line["identifier"] as? Int
      return "\(event) \(line["device"] ?? "")" + (identifier.map { " \($0)" } ?? "")
    }
  }

  /// What happened, as it says.
  func events(_ event: String) throws -> [[String: Any]] {
    try objects(child.output).filter { $0["event"] as? String == event }
  }
}
