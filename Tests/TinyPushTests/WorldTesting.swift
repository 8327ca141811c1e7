import Testing

@testable import Simulation
@testable import TinyPush

/// Runs a world in a test and records its violations as issues.
extension World {
  /// Runs for this duration.
  func run(_ duration: Duration, sourceLocation: SourceLocation = #_sourceLocation) {
    run(until: timeline.now + duration)
    report(sourceLocation)
  }

  /// Runs until the courier is done, and records an issue if that takes longer than `limit`.
  func runToEnd(
    within limit: Duration = .seconds(3600), sourceLocation: SourceLocation = #_sourceLocation
  ) {
    run(until: timeline.now + limit)
    if !isFinished { complain("not finished after \(limit.milliseconds) ms") }
    report(sourceLocation)
  }

  /// Returns how often a report occurred.
  func counts(_ report: Report) -> Int {
    reports.count { "\($0)" == "\(report)" }
  }

  /// The files in `new/` and `taken/`, in the order in which they were put.
  var waitingFiles: [SpoolFile] { disk.waiting }

  /// Returns how far a file in `taken/` is settled, as its name says; 0: it is not there.
  func settledPart(of name: String) -> Int64 {
    let taken = disk.taken.first { $0.value.name == name }
    return taken.flatMap { TakenName($0.key.bytes.span)?.offset } ?? 0
  }

  private func report(_ sourceLocation: SourceLocation) {
    for violation in takeViolations() {
      Issue.record(Comment(rawValue: violation), sourceLocation: sourceLocation)
    }
  }
}
