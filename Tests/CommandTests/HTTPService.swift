import Foundation

/// `tinypush-http` on a UNIX socket of a test, with a spool and the recipients file `family`.
struct HTTPService {
  let child: Child
  private let box: Box
  let socket: String

  /// - Parameters:
  ///   - settings: the lines of http.conf.
  ///   - build: the build of the program.
  ///   - isActivated: whether the program gets its socket as systemd passes it.
  ///   - address: another address to listen on.
  ///   - prefix: the beginning of the command.
  init(
    in box: Box, settings: String = "", build: String = Build.host, isActivated: Bool = false,
    address: String? = nil, prefix: [String] = []
  ) throws {
    self.box = box
    socket = box.path + "/http.sock"
    let config = try box.write(
      "spool = \(box.spool)\nrecipients = \(box.path)/recipients\n", to: "tinypush.conf")
    for name in ["family", "default"] {
      try box.write(String(repeating: "0a", count: 32) + "\n", to: "recipients/\(name)")
    }
    let settings = try box.write(settings, to: "http.conf")
    let program =
      try Build.command(build, "tinypush-http") + ["--config", config, "--settings", settings]
    child = try box.start(
      isActivated
        ? ["systemd-socket-activate", "--listen=" + socket] + program
        : prefix + program + ["--listen", socket] + (address.map { ["--listen", $0] } ?? []))
    if isActivated {
      // A connection would start the program, and with it the time after which it ends.
      try child.line("Listening on", in: .errors)
    } else {
      try awaitListener()
    }
  }

  /// Waits until a connection succeeds: the file may be that of an earlier service.
  private func awaitListener() throws {
    try wait(for: "the socket of \(child.errors)") {
      let client = makeSocket(AF_UNIX, SOCK_STREAM)
      defer { close(client) }
      return call(connect, client, socketAddress(socket)) || child.hasEnded
    }
  }

  /// The answer to a request.
  struct Answer {
    let status: Int
    let body: String

    /// The members of the JSON object; empty if the body is none.
    var members: [String: Any] {
      (try? JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any]) ?? [:]
    }

    var code: String? { members["code"] as? String }
  }

  /// Sends a request with curl.
  func request(_ target: String, _ options: String..., input: String? = nil) throws -> Answer {
    try request(target, options, input: input)
  }

  func request(_ target: String, _ options: [String], input: String? = nil) throws -> Answer {
    let curl = try box.run(
      [
        "curl", "--silent", "--show-error", "--unix-socket", socket, "--write-out",
        "\n%{http_code}",
      ] + options + ["http://localhost" + target], input: input)
    guard curl.status == 0 else { throw Failure("\(curl.errors)\(child.errors)") }
    var lines = curl.output.split(separator: "\n", omittingEmptySubsequences: false)
    let status = lines.popLast().flatMap { Int($0) } ?? 0
    return Answer(status: status, body: lines.joined(separator: "\n"))
  }

  /// Posts JSON.
  func post(json: String, to target: String = "/") throws -> Answer {
    try request(
      target, "--header", "Content-Type: application/json", "--data-binary", "@-", input: json)
  }

  /// Returns the notifications in the file that an answer names.
  func notifications(_ answer: Answer) throws -> [[String: Any]] {
    guard answer.status == 202, let name = answer.members["file"] as? String else {
      throw Failure("\(answer.status) \(answer.body)")
    }
    return try objects(box.text("spool/new/" + name))
  }
}
