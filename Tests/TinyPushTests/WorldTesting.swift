import Testing

@testable import Simulation
@testable import TinyPush

/// What must not happen in a world becomes an issue of the test that runs it.
extension World {
  /// Runs for so long.
  func run(_ duration: Duration, sourceLocation: SourceLocation = #_sourceLocation) {
    run(until: timeline.now + duration)
    report(sourceLocation)
  }

  /// Runs until the courier says that all is done, which must be within `limit`.
  func runToEnd(
    within limit: Duration = .seconds(3600), sourceLocation: SourceLocation = #_sourceLocation
  ) {
    run(until: timeline.now + limit)
    if !isFinished { complain("not finished after \(limit.milliseconds) ms") }
    report(sourceLocation)
  }

  /// How often something was reported.
  func counts(_ report: Report) -> Int {
    reports.count { "\($0)" == "\(report)" }
  }

  private func report(_ sourceLocation: SourceLocation) {
    for violation in takeViolations() {
      Issue.record(Comment(rawValue: violation), sourceLocation: sourceLocation)
    }
  }
}
