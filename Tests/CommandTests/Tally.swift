import Foundation
import Testing

/// The counts of notifications in a gateway's record; the tokens, or the texts to a token, count from 1.
struct Tally: Decodable {
  var lost: Int
  var firstLost: [Int]
  var refused: [Int]
  /// The number of different accepted notifications.
  var accepted: Int
  var duplicates: Int
  /// The duplicates on the connection of the first acceptance.
  var duplicatesWithin: Int
  /// The duplicates that a device shows beside the first, over HTTP/2.
  var shownTwice: Int?
  /// All notifications that arrived, with repeats.
  var seen: Int
  var connections: Int
  var faults: Int

  /// - Parameters:
  ///   - records: the record directory of gateway.py, or the output of a sandbox.
  ///   - token: the device token, or end of an endpoint, that got texts such as "Tank 7".
  init(_ records: String, count: Int, of token: String? = nil, in box: Box) throws {
    let counted = try box.run(
      ["python3", Build.tools + "/tally.py", "\(count)", records] + (token.map { [$0] } ?? []))
    guard counted.status == 0 else { throw Failure(counted.errors) }
    self = try JSONDecoder().decode(Tally.self, from: Data(counted.output.utf8))
  }
}

/// The totals in an agent's closing line.
struct Totals {
  var delivered: Int
  var failed: Int
  var repeated: Int

  init(_ log: String) throws {
    guard
      let found = log.firstMatch(
        of: /(\d+) delivered \(\d+ proved\), (\d+) failed, (\d+) repeated, 0 expired, \d+ s/)
    else { throw Failure("no closing line in: \(log)") }
    (delivered, failed, repeated) = try (number(found.1), number(found.2), number(found.3))
  }
}

/// The file in which `make faults` collects its figures: one line of JSON for each table cell.
enum Table {
  private static let path = ProcessInfo.processInfo.environment["TINYPUSH_FAULTS"]

  static var isMade: Bool { path != nil }

  static func add(
    _ row: String, _ column: String, _ tally: Tally, _ time: ContinuousClock.Duration
  ) throws {
    guard let path else { return }
    let seconds = Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18
    let cell: [String: Any] = [
      "row": row, "column": column, "lost": tally.lost, "duplicates": tally.duplicates,
      "reconnects": tally.connections - 1, "seconds": seconds,
    ]
    guard let file = fopen(path, "ae") else { throw Failure("\(path): errno \(errno)") }
    defer { fclose(file) }
    let line = try JSONSerialization.data(withJSONObject: cell, options: .sortedKeys)
    fputs(String(decoding: line, as: UTF8.self) + "\n", file)
  }
}
