import Foundation
import Testing

/// What a gateway saw of notifications whose tokens count from 1, by its own records.
struct Truth: Decodable {
  var lost: Int
  var firstLost: [Int]
  var refused: [Int]
  /// How many different ones.
  var accepted: Int
  var duplicates: Int
  /// Those on one and the same connection.
  var duplicatesWithin: Int
  /// Whatever came, repetitions included.
  var seen: Int
  var connections: Int
  var faults: Int

  /// - Parameter records: a directory of gateway.py's, or a sandbox's output.
  init(_ records: String, count: Int, in box: Box) throws {
    let tally = try box.run(["python3", Build.tools + "/tally.py", "\(count)", records])
    guard tally.status == 0 else { throw Failure(tally.errors) }
    self = try JSONDecoder().decode(Truth.self, from: Data(tally.output.utf8))
  }
}

/// An agent's closing line.
struct Sum {
  var delivered: Int
  var failed: Int
  var repeated: Int

  init(_ log: String) throws {
    guard
      let found = log.firstMatch(
        of: /(\d+) delivered \(\d+ proved\), (\d+) failed, (\d+) repeated, 0 expired, \d+ s/)
    else { throw Failure("there is no closing line: \(log)") }
    (delivered, failed, repeated) = (Int(found.1)!, Int(found.2)!, Int(found.3)!)
  }
}

/// Where `make faults` collects its figures: a line of JSON for each cell of the table.
enum Table {
  private static let path = ProcessInfo.processInfo.environment["TINYPUSH_FAULTS"]

  static var isMade: Bool { path != nil }

  static func add(
    _ row: String, _ column: String, _ truth: Truth, _ time: ContinuousClock.Duration
  ) throws {
    guard let path else { return }
    let seconds = Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18
    let cell: [String: Any] = [
      "row": row, "column": column, "lost": truth.lost, "duplicates": truth.duplicates,
      "reconnects": truth.connections - 1, "seconds": seconds,
    ]
    guard let file = fopen(path, "ae") else { throw Failure("\(path): errno \(errno)") }
    defer { fclose(file) }
    let line = try JSONSerialization.data(withJSONObject: cell, options: .sortedKeys)
    fputs(String(decoding: line, as: UTF8.self) + "\n", file)
  }
}
