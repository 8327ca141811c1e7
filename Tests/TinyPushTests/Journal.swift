@testable import Simulation
@testable import TinyPush
@testable import TinyPushAgent

/// A log as the agent would write it, with the times of its lines.
final class Journal {
  struct Line {
    var at: Instant
    var priority: Log.Priority
    var words: String
  }

  private(set) var lines: [Line] = []
  /// The number of messages, logged or folded.
  private(set) var count = 0
  private var folding = LogFolding()
  private var outage = Outage()

  var words: [String] { lines.map(\.words) }

  func write(
    _ message: String, _ priority: Log.Priority = .warning, about topic: Log.Topic, at now: Instant
  ) {
    count += 1
    if folding.take(priority, message.bytes.span, about: topic, at: now) { say(priority, now) }
  }

  func catchUp(at now: Instant, isLast: Bool = false) {
    while let priority = folding.takeKept(at: now, isLast: isLast) { say(priority, now) }
  }

  private func say(_ priority: Log.Priority, _ now: Instant) {
    let words = String(folding.line.bytes)
    lines.append(Line(at: now, priority: priority, words: words))
  }

  /// Logs what happens in a world, as the agent does.
  ///
  /// - Parameters:
  ///   - why: the reason why the agent is offline.
  func tell(_ news: World.News, why: String, at now: Instant) {
    switch news {
    case .connected:
      var text = Text()
      text.append("connected to gateway:2195 (TLS 1.2)")
      guard outage.connected(at: now, in: &text) else { return }
      write(String(text.bytes), .info, about: .connection, at: now)
    case .notConnected:
      outage.failed(at: now)
      write("cannot connect to gateway:2195: \(why)", about: .connection, at: now)
    case .ended:
      outage.ended()
      write("connection to gateway:2195 ended: \(why)", .notice, about: .connection, at: now)
    case .report(let report):
      var text = Text()
      let priority = report.describe(in: &text)
      write(String(text.bytes), priority, about: report.topic, at: now)
      if report.topic == .connection { outage.ended() }
    case .rest: catchUp(at: now)
    }
  }
}
