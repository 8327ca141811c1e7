import Foundation
import Testing

extension Box {
  var state: String { path + "/state" }

  /// Returns `-o` options for a pull from this service into the box's state.
  func feedbackSettings(
    _ service: FeedbackService, certificate: String = "client", _ more: [String] = []
  ) throws -> [String] {
    try settings(
      1, certificate: certificate,
      ["feedback=localhost:\(service.port)"] + more)
  }

  func startPull(
    _ service: FeedbackService, build: String = Build.host, _ settings: [String] = [],
    _ arguments: [String] = [], environment: [String: String] = [:]
  ) throws -> Child {
    try start(
      Build.command(build) + ["feedback"] + arguments + feedbackSettings(service, settings),
      environment: environment)
  }

  /// Runs `tinypush feedback` and waits for its end.
  func pull(
    _ service: FeedbackService, build: String = Build.host, _ settings: [String] = [],
    _ arguments: [String] = [], environment: [String: String] = [:]
  ) throws -> Child {
    let child = try startPull(
      service, build: build, settings, arguments, environment: environment)
    try child.wait()
    return child
  }

  /// Runs `tinypush token list` on the box's suppression list.
  func tokenList(_ arguments: String...) throws -> Child {
    try run(Build.command(Build.host) + ["token", "list", "-o", "state=" + state] + arguments)
  }
}

extension FeedbackService {
  /// Returns the path of the file with the bytes that the service sent on a connection.
  func sent(_ connection: Int) -> String { "\(record)/\(connection).sent" }

  /// Returns these files of all connections, in order.
  func sent() -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: record)) ?? []
    return names.compactMap { Int($0.dropLast(".sent".count)) }.sorted().map { sent($0) }
  }
}

/// The differences between the suppression list and what a feedback service sent.
struct Listed: Decodable, Equatable {
  /// The tokens on the list.
  var listed = 0
  /// The sent tuples that are missing from the list or have an earlier time there.
  var missing = 0
  /// The tokens on the list that the service did not send, or not with that time.
  var strange = 0
  /// The tokens that are on the list more than once.
  var twice = 0

  init(listed: Int) { self.listed = listed }

  /// - Parameters:
  ///   - must: the files of sent bytes whose tuples must be on the list; `FILE:N`: only N bytes.
  ///   - may: the files of sent bytes whose tuples may be on the list.
  init(in box: Box, must: [String], may: [String] = []) throws {
    let list = try box.tokenList("--json")
    guard list.status == 0 else { throw Failure(list.errors) }
    let held = try box.run(
      ["python3", Build.tools + "/suppressed.py", list.outputPath]
        + must.flatMap { ["--must", $0] } + may.flatMap { ["--may", $0] })
    guard held.status == 0 else { throw Failure(held.errors) }
    self = try JSONDecoder().decode(Listed.self, from: Data(held.output.utf8))
  }
}
