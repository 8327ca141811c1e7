import Foundation

/// What an agent needs for browsers.
extension Box {
  var recipients: String { path + "/recipients" }

  /// Makes a key for Web Push, which takes the place of an earlier one.
  func makeVAPIDKey() throws {
    let made = try run([
      "openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out",
      "vapid.pem",
    ])
    guard made.status == 0 else { throw Failure(made.errors) }
  }

  /// The settings for browsers.
  var browserSettings: [String] {
    [
      "vapid-key=\(path)/vapid.pem", "contact=mailto:box@tinypush-tests.org",
      "private-endpoints=yes", "recipients=\(recipients)",
    ].flatMap { ["-o", $0] }
  }

  /// Adds a device token or a subscription to a recipients file.
  func add(_ recipient: String, to list: String) throws {
    try FileManager.default.createDirectory(atPath: recipients, withIntermediateDirectories: true)
    let added = try tinypush("recipient", "add", list, recipient, "-o", "recipients=\(recipients)")
    guard added.status == 0 else { throw Failure(added.errors) }
  }
}

extension Sandbox {
  /// Subscribes a page in a new browser, and returns the subscription.
  func subscription(_ box: Box, _ browser: String) throws -> String {
    let added = try device(box, "add", browser, "--browser")
    guard added.status == 0 else { throw Failure(added.errors) }
    return String(added.output.dropLast())
  }
}
