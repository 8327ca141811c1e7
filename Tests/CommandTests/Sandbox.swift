import Foundation

/// The gateway and the feedback service for trying, under way, and what it said at first.
struct Sandbox {
  let child: Child
  let directory: String
  let gateway: Int
  let feedback: Int
  var config: String { directory + "/tinypush.conf" }

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

  /// What happened, as it says.
  func events(_ event: String) throws -> [[String: Any]] {
    try objects(child.output).filter { $0["event"] as? String == event }
  }
}
