import Foundation
import Testing

extension Box {
  var state: String { path + "/state" }

  /// What a pull is told by `-o`: to read this service with these certificates, into the box's state.
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

  /// Pulls the feedback service once.
  func pull(
    _ service: FeedbackService, build: String = Build.host, _ settings: [String] = [],
    _ arguments: [String] = [], environment: [String: String] = [:]
  ) throws -> Child {
    let child = try startPull(
      service, build: build, settings, arguments, environment: environment)
    try child.wait()
    return child
  }

  /// What the suppression list says.
  func tokenList(_ arguments: String...) throws -> Child {
    try run(Build.command(Build.host) + ["token", "list", "-o", "state=" + state] + arguments)
  }
}

extension FeedbackService {
  /// What it said on a connection, as a file.
  func sent(_ connection: Int) -> String { "\(record)/\(connection).sent" }

  /// What it said on all connections, in their order.
  func sent() -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: record)) ?? []
    return names.compactMap { Int($0.dropLast(".sent".count)) }.sorted().map { sent($0) }
  }
}

/// The suppression list, held against what a feedback service said.
struct Listed: Decodable, Equatable {
  /// How many are on the list.
  var listed = 0
  /// How many should be, or with a later time.
  var missing = 0
  /// How many should not be, or not with their time.
  var strange = 0
  /// How many are on it more than once.
  var twice = 0

  init(listed: Int) { self.listed = listed }

  /// - Parameters:
  ///   - must: what the list must hold: streams, and with a colon how many bytes of them.
  ///   - may: what it may hold.
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
