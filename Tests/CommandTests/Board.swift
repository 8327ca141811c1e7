import Foundation
import Testing

/// This machine seen as a board with the package installed and set up for a sandbox.
///
/// A command run on the board finds the test's `/usr/bin/tinypush`, `/etc/tinypush` and spool.
/// The services that were started end with the box.
final class Board {
  let sandbox: Sandbox
  /// The directory of the board's files: see `Tests/Tools/asinstalled`.
  let root: String
  private let box: Box

  /// - Parameter certificate: whether the configuration names a push certificate.
  init(in box: Box, certificate: Bool = true) throws {
    self.box = box
    sandbox = try Sandbox(in: box, hasDevices: true)
    root = box.path + "/board"
    box.atEnd(killServices)
    let extracted = try box.run(["dpkg-deb", "--extract", Packages.file("tinypush"), root])
    guard extracted.status == 0 else { throw Failure(extracted.errors) }
    let systemctl = try String(contentsOfFile: Build.tools + "/systemctl", encoding: .utf8)
    try write(systemctl, to: "usr/bin/systemctl")
    chmod(root + "/usr/bin/systemctl", 0o755)
    // Directories that programs write to: without them, the programs would write to this machine's.
    for directory in ["cron.d", "systemd/system", "udev/rules.d"] {
      try FileManager.default.createDirectory(
        atPath: "\(root)/etc/\(directory)", withIntermediateDirectories: true)
    }
    try write("", to: "etc/fstab")
    try configure(certificate)
    let made = try run(["systemd-tmpfiles", "--create", "tinypush.conf"])
    guard made.status == 0 else { throw Failure(made.errors) }
    if certificate {
      try write(credential("client"), to: "etc/tinypush/credentials/push.pem")
    }
  }

  private func configure(_ certificate: Bool) throws {
    // The agent's user, and a member of its group. Without root, both are the user of the test.
    let (agent, member) = geteuid() == 0 ? (64000, 64001) : (0, 0)
    try write(
      """
      tinypush:x:\(agent):\(agent)::/var/spool/tinypush:/usr/sbin/nologin
      pi:x:\(member):\(member)::/:/bin/sh

      """, to: "users/passwd")
    try write("tinypush:x:\(agent):pi\npi:x:\(member):\n", to: "users/group")
    let packaged = text("usr/share/tinypush/tinypush.conf")
    try write(
      """
      \(packaged)
      environment = local
      gateway = localhost:\(sandbox.gateway)
      ca = ca.pem
      \(certificate ? "certificate = credentials/push.pem" : "")

      """, to: "etc/tinypush/tinypush.conf")
    try write(box.text("sandbox/ca.pem"), to: "etc/tinypush/ca.pem")
    let phone = try sandbox.token(box, "token", "phone")
    for name in ["default", "family"] {
      try write(phone + "\n", to: "etc/tinypush/recipients/\(name)")
    }
  }

  /// Returns a certificate of the sandbox, with its key.
  func credential(_ name: String) -> String {
    box.text("sandbox/\(name).pem") + box.text("sandbox/client-key.pem")
  }

  private func killServices() {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: root + "/run")) ?? []
    for name in names where name.hasSuffix(".pid") {
      let number = text("run/" + name).trimmingCharacters(in: .newlines)
      // Each service is a process group, which has ended once nobody can be signalled in it.
      guard let id = pid_t(number), id > 1 else { continue }
      do {
        try wait(for: "the end of \(name)") { kill(-id, SIGKILL) != 0 }
      } catch { Issue.record(error) }
    }
  }

  // MARK: - Files

  func write(_ text: String, to name: String) throws {
    try box.write(text, to: "board/" + name)
  }

  func text(_ name: String) -> String { box.text("board/" + name) }

  /// Installs a script as `/usr/local/bin/NAME`.
  func install(_ script: String, as name: String) throws {
    let path = "usr/local/bin/" + name
    try write(script, to: path)
    chmod("\(root)/\(path)", 0o755)
  }

  // MARK: - Commands

  /// Runs a command on the board and waits for its end.
  ///
  /// - Parameter user: `pi`, who may send; nil: root.
  @discardableResult
  func run(
    _ command: [String], as user: String? = nil, environment: [String: String] = [:],
    input: String? = nil
  ) throws -> Child {
    var identity: [String] = []
    if let user, geteuid() == 0 {
      // HOME keeps shells from reading the start-up files of the test's user.
      identity = [
        "env", "HOME=/", "setpriv", "--reuid=\(user)", "--regid=\(user)", "--init-groups",
      ]
    }
    return try box.run(
      [Build.tools + "/asinstalled", root] + identity + command, environment: environment,
      input: input)
  }

  /// Starts services and waits until they run.
  func start(_ units: String..., environment: [String: String] = [:]) throws {
    let started = try run(["systemctl", "start"] + units, environment: environment)
    guard started.status == 0 else { throw Failure(started.errors) }
  }

  /// Waits until the device shows an alert with this text, and returns its `delivered` event.
  @discardableResult
  func shows(_ text: String) throws -> [String: Any] {
    var found: [String: Any]?
    try wait(for: "\"\(text)\"; \(log)") {
      found = try sandbox.events("delivered").first { $0["text"] as? String == text }
      return found != nil
    }
    return found!
  }

  /// The services' logs.
  var log: String {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: root + "/run")) ?? []
    return names.filter { $0.hasSuffix(".log") }.sorted().map { text("run/" + $0) }.joined()
  }
}
