import Foundation
import Testing

/// The certificates of all tests, valid and invalid.
///
/// All users may read the directory, so that only the mode of a key can refuse another user.
enum Certificates {
  static let directory = Result {
    try Shared.make("certificates") { path in
      let box = try Box()
      defer { box.end() }
      let made = try box.run(["python3", Build.tools + "/certificates.py", path])
      guard made.status == 0 else { throw Failure(made.errors) }
    }
  }

  static func path(_ name: String) throws -> String { try directory.get() + "/" + name }
}

/// A directory for files that several tests share.
///
/// `Tests/run` gives all suites one directory, and removes it at the end. Without `Tests/run` the
/// directory is removed when the process ends.
enum Shared {
  private static let made = Result {
    if let path = ProcessInfo.processInfo.environment["TINYPUSH_SHARED"] { return path }
    let path = try Box.makeDirectory()
    atexit { Shared.remove() }
    return path
  }

  static func directory() throws -> String { try made.get() }

  /// Returns the path of a shared file or directory, which the first process that asks for it makes.
  static func make(_ name: String, _ make: (String) throws -> Void) throws -> String {
    let path = try directory() + "/" + name
    let lock = open(path + ".lock", O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
    defer { close(lock) }
    guard lock >= 0, flock(lock, LOCK_EX) == 0 else {
      throw Failure("\(path).lock: errno \(errno)")
    }
    guard !FileManager.default.fileExists(atPath: path) else { return path }
    try make(path + ".part")
    guard rename(path + ".part", path) == 0 else { throw Failure("\(path): errno \(errno)") }
    return path
  }

  /// Returns the path of a library that changes what a program sees (Tests/Tools/NAME.c).
  static func library(_ name: String) throws -> String {
    try make(name + ".so") { path in
      let box = try Box()
      defer { box.end() }
      let made = try box.run([
        "cc", "-O1", "-shared", "-fPIC", "\(Build.tools)/\(name).c", "-o", path,
      ])
      guard made.status == 0 else { throw Failure(made.errors) }
    }
  }

  private static func remove() {
    if case .success(let path) = made { try? FileManager.default.removeItem(atPath: path) }
  }
}

/// A server of Tests/Tools, which shares no code with the product and misbehaves on demand.
///
/// When it has ended, its port stays free for another server of the test.
class Peer {
  let child: Child
  let port: Int
  let record: String

  static func port(_ child: Child) throws -> Int {
    let line = try child.line("listening ")
    guard let port = Int(line.dropFirst("listening ".count)) else { throw Failure(line) }
    return port
  }

  init(
    _ tool: String, in box: Box, certificate: String, ca: String, tls: String?, _ script: [String],
    name: String, prefix: [String] = []
  ) throws {
    record = "\(box.path)/\(name)"
    child = try Self.start(
      prefix + ["python3", "\(Build.tools)/\(tool).py"], in: box, record, certificate,
      ["--ca", Certificates.path("\(ca).pem"), "--port", "\(box.port().number)"]
        + (tls.map { ["--tls", $0] } ?? []) + script)
    port = try Self.port(child)
  }

  /// Starts another program that takes the same options.
  init(_ program: [String], in box: Box, _ words: [String]) throws {
    record = "\(box.path)/server"
    child = try Self.start(program, in: box, record, "server", words)
    port = try Self.port(child)
  }

  private static func start(
    _ program: [String], in box: Box, _ record: String, _ certificate: String, _ words: [String]
  ) throws -> Child {
    try box.start(
      program + [
        "--record", record, "--certificate", Certificates.path("\(certificate).pem"),
        "--key", Certificates.path("\(certificate).key"),
      ] + words)
  }

  /// Returns the peer's events of this name.
  func events(_ event: String) throws -> [[String: Any]] {
    let text = String(
      decoding: try Data(contentsOf: URL(filePath: record + "/events")), as: UTF8.self)
    return try objects(soFar: text).filter { $0["event"] as? String == event }
  }

  /// Waits until the peer has read every connection to its end.
  ///
  /// A notification that settles by time may still be unread by the gateway.
  func readsAll() throws {
    func connections(_ event: String) throws -> Set<Int> {
      Set(try events(event).compactMap { $0["connection"] as? Int })
    }
    try wait(for: "the gateway to read every connection to its end") {
      try connections("open").isSubset(of: connections("closed"))
    }
  }

  /// Waits until the peer has read every connection of an agent to its end.
  ///
  /// The peer may still have to note that a connection is open when the agent has ended.
  func readsAll(from agent: Child) throws {
    try wait(for: "the gateway to note every connection") {
      try events("open").count >= agent.errors.count(of: "connected to")
    }
    try readsAll()
  }
}

final class FeedbackService: Peer {
  init(
    in box: Box, certificate: String = "server", ca: String = "ca", tls: String? = nil,
    _ script: [String] = [], name: String = "feedback"
  ) throws {
    try super.init(
      "feedback", in: box, certificate: certificate, ca: ca, tls: tls, script, name: name)
  }
}

final class Gateway: Peer {
  init(
    in box: Box, certificate: String = "server", ca: String = "ca", tls: String? = nil,
    _ script: [String] = [], name: String = "gateway"
  ) throws {
    try super.init(
      "gateway", in: box, certificate: certificate, ca: ca, tls: tls, script, name: name)
  }

  enum Kind: String { case stream, accepted, refused }

  /// Returns the paths of the recorded files, one for each connection, in order.
  func recorded(_ kind: Kind) -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: record)) ?? []
    return names.filter { $0.hasSuffix(".\(kind.rawValue)") }
      .sorted { Int($0.split(separator: ".")[0])! < Int($1.split(separator: ".")[0])! }
      .map { "\(record)/\($0)" }
  }

  private var decoded: (bytes: [Int], alerts: [String]) = ([], [])

  /// Returns the texts of the accepted alerts, connection by connection.
  func alerts(in box: Box) throws -> [String] {
    let files = recorded(.accepted)
    let bytes = files.map(bytes)
    guard bytes != decoded.bytes else { return decoded.alerts }
    var found: [String] = []
    for file in files {
      let decoded = try box.run(["python3", Build.tools + "/decode.py", file])
      for line in try objects(decoded.output) {
        let payload = try JSONSerialization.jsonObject(
          with: Data(line.member("payload", as: String.self).utf8))
        let aps = (payload as? [String: Any])?["aps"] as? [String: Any]
        found.append(aps?["alert"] as? String ?? "")
      }
    }
    decoded = (bytes, found)
    return found
  }

  private func bytes(_ path: String) -> Int {
    (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
  }

  /// Waits until an alert with this text has been accepted.
  func accepts(_ alert: String) throws {
    let bytes = Data("\"\(alert)\"".utf8)
    try wait(for: "the gateway to accept \"\(alert)\"") {
      recorded(.accepted).contains {
        FileManager.default.contents(atPath: $0)?.range(of: bytes) != nil
      }
    }
  }

  /// Waits until the gateway has accepted at least this many bytes.
  func accepts(bytes: Int) throws {
    try wait(for: "the gateway to accept \(bytes) bytes") {
      recorded(.accepted).reduce(0) { $0 + self.bytes($1) } >= bytes
    }
  }

  /// Compares the recorded frames with notification files by an independent decoder.
  ///
  /// Returns expect.py's output, such as "1000 notifications, byte for byte".
  func compare(
    _ kind: Kind, with notes: [String], in box: Box, _ arguments: [String] = []
  ) throws -> String {
    let files = recorded(kind)
    let compared = try box.run(
      ["python3", Build.tools + "/expect.py"] + notes + arguments + ["--captured"] + files)
    return (compared.output + compared.errors).trimmingCharacters(in: .newlines)
  }
}

/// A TCP proxy in front of a gateway with a round trip of 100 ms.
struct Proxy {
  let port: Int

  init(in box: Box, to port: Int) throws {
    self.port = try Peer.port(
      box.start(["python3", Build.tools + "/proxy.py", "--to", "\(port)", "--round-trip", "100ms"])
    )
  }
}

extension Box {
  /// Returns `-o` options for the binary gateway at this port, with certificates, spool and state.
  func settings(
    _ port: Int, certificate: String = "client", key: String? = nil, _ more: [String] = []
  ) throws -> [String] {
    let settings =
      try [
        "protocol=binary", "gateway=localhost:\(port)", "ca=" + Certificates.path("ca.pem"),
        "certificate=" + Certificates.path("\(certificate).pem"),
        "key=" + Certificates.path(key ?? "\(certificate).key"), "spool=" + spool,
        "state=" + state,
      ] + more
    return settings.flatMap { ["-o", $0] }
  }

  /// Starts an agent as a service.
  func agent(
    _ gateway: Gateway, build: String = Build.host, _ settings: [String] = [],
    environment: [String: String] = [:]
  ) throws -> Child {
    try start(
      Build.command(build) + ["run"] + self.settings(gateway.port, settings),
      environment: environment)
  }

  /// Runs an agent until the spool is empty.
  func deliver(
    _ gateway: Gateway, build: String = Build.host, _ settings: [String] = []
  ) throws -> Child {
    try run(Build.command(build) + ["run", "--once"] + self.settings(gateway.port, settings))
  }
}

// MARK: - Notifications

/// Returns a device token: the number in hex with leading zeros.
func token(_ number: Int) -> String {
  let digits = String(number, radix: 16)
  return String(repeating: "0", count: 64 - digits.count) + digits
}

/// Returns a notification as a line of JSON.
func line(_ number: Int, _ alert: String = "Tank low") -> String {
  #"{"token":"\#(token(number))","payload":{"aps":{"alert":"\#(alert)"}},"expiration":4000000000}"#
    + "\n"
}

/// Notification files to copy into spools and to compare with what arrived.
struct NotificationSet {
  let path: String
  var paths: [String] { [path] }

  init(_ path: String) throws {
    self.path = path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  func add(_ text: String, as name: String) throws {
    try writeFile(text, to: "\(path)/\(name)")
  }

  /// Copies the files into a box's spool.
  func fill(_ box: Box) throws {
    let copied = try box.run(["cp", "-r", path + "/.", box.spool + "/new"])
    guard copied.status == 0 else { throw Failure(copied.errors) }
  }

  /// Makes `files` files of one notification, and a last file of `lines`; tokens count from 1.
  static func plain(files: Int, lines: Int, in directory: String) throws -> NotificationSet {
    let notifications = try NotificationSet(directory)
    for number in 1...files {
      let name = String(number)
      try notifications.add(
        line(number, "Tank \(number)"), as: String(repeating: "0", count: 6 - name.count) + name)
    }
    guard lines > 0 else { return notifications }
    var text = ""
    for number in files + 1...files + lines { text += line(number, "Tank \(number)") }
    try notifications.add(text, as: "many")
    return notifications
  }
}
