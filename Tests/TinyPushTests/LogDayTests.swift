import Foundation
import Testing

@testable import Simulation
@testable import TinyPush

/// `LOG=1` prints the logs.
private let environment = ProcessInfo.processInfo.environment

/// The log of a day with constant failures.
@Suite struct LogDayTests {
  /// The reasons why the agent is offline.
  private static let reasons = [
    "Name or service not known: is the name right, and is there a network?",
    "10.0.0.1:2195: Connection refused: nothing listens there",
    "10.0.0.1:2195: Network is unreachable",
    "10.0.0.1:2195: Connection timed out",
    "The certificate \"gateway\" of the server expired on 2026-01-01.",
    "The certificate \"gateway\" is valid only from 2026-01-01. (this machine's clock seems not to be set)",
    "The server refuses the client certificate: it has expired (alert certificate_expired)",
  ]
  private static let ends = ["Connection reset by peer", "closed by the other end"]

  /// A day with failures, or about 4000 of them, and then six hours without.
  private final class Day {
    let world = World()
    let journal = Journal()
    private var random: Seeded
    private let gapMs: Int
    private let durationMs: Int
    private let isAll: Bool
    private var why = ""
    /// The reasons that the log had to mention so far.
    private(set) var told: Set<String> = []
    private var files = 0
    private var isUp = true

    /// - Parameters:
    ///   - gapMs: the mean time between failures.
    ///   - isAll: whether disk and notifications fail, too.
    init(seed: UInt64, gapMs: Int, isAll: Bool) {
      random = Seeded(seed)
      (self.gapMs, self.isAll) = (gapMs, isAll)
      durationMs = min(86_400_000, 4000 * gapMs)
    }

    func run() {
      world.canDial = { [self] _ in
        if !isUp { told.insert(why) }
        return isUp
      }
      world.onNews = { [self] news in
        if case .ended = news {
          let end = random.pick(LogDayTests.ends)
          told.insert(end)
          journal.tell(news, why: end, at: world.timeline.now)
        } else {
          journal.tell(news, why: why, at: world.timeline.now)
        }
      }
      if isAll {
        world.response = {
          if $0.number % 17 == 0 { return .refuse(.missingTopic) }
          return $0.number % 5 == 0 ? .refuse(.invalidToken) : .accept
        }
      }
      plan(after: 0) { $0.put() }
      plan(after: gapMs) { $0.strike() }
      world.run(.milliseconds(UInt64(durationMs)))
      recover()
      world.run(.seconds(6 * 3600))
      // Breaks the reference cycles with the world.
      world.onNews = { _ in }
      world.canDial = { _ in true }
      world.timeline.cancelAll()
    }

    /// Plans an action unless the day is over by then.
    private func plan(after milliseconds: Int, _ act: @escaping (Day) -> Void) {
      world.timeline.plan(after: UInt64(milliseconds)) { [self] in
        if world.timeline.elapsed < durationMs { act(self) }
      }
    }

    private func put() {
      files += 1
      world.put("a\(1_000_000 + files)", files)
      if isAll, random.oneIn(3) { world.put("b\(1_000_000 + files)", text: #"{"tokn": 1}"#) }
      plan(after: random.upTo(120_000)) { $0.put() }
    }

    private func strike() {
      switch random.upTo(isAll ? 9 : 5) {
      case 0: world.cut()
      case 1: world.connection?.reset(latency: 0, hides: true)
      case 2:
        // Half-open: no byte passes.
        guard let connection = world.connection else { break }
        connection.isDead = true
        plan(after: 60_000) { _ in connection.timeOut() }
      case 3...5:
        isUp = false
        why = random.pick(LogDayTests.reasons)
        world.cut()
        plan(after: random.upTo(2 * gapMs)) { $0.isUp = true }
      case 6: world.say([8, 10, 0, 0, 0, 0])
      case 7: world.say([72, 84, 84, 80])
      case 8:
        world.canRecord = false
        plan(after: random.upTo(4 * gapMs)) { $0.world.canRecord = true }
      default:
        world.canRemove = false
        plan(after: random.upTo(4 * gapMs)) { $0.world.canRemove = true }
      }
      plan(after: random.upTo(2 * gapMs)) { $0.strike() }
    }

    private func recover() {
      isUp = true
      world.canRecord = true
      world.canRemove = true
    }
  }

  @Test(arguments: [2000, 20_000, 120_000, 1_200_000, 7_200_000], [false, true])
  func `a day with failures takes a few dozen log lines with each reason`(gapMs: Int, isAll: Bool) {
    let day = Day(seed: UInt64(gapMs), gapMs: gapMs, isAll: isAll)
    day.run()
    let words = day.journal.words
    if environment["LOG"] != nil {
      print("\(day.journal.count) changes, something every \(gapMs / 1000) s:")
      for line in day.journal.lines {
        print("\(line.at.milliseconds / 1000 - 1000) <\(line.priority.rawValue)>\(line.words)")
      }
      print("\(words.count) lines")
    }
    #expect(day.journal.count > 100)
    #expect(words.count <= (isAll ? 72 : 36))
    for reason in day.told {
      #expect(words.contains { $0.contains(reason) }, "\(reason)")
    }
    // The last line about the connection says that it is up, without a final catch-up.
    let last = words.last { $0.contains("gateway:2195") }
    #expect(last?.hasPrefix("connected to") == true)
    let before = words.count
    day.journal.catchUp(at: day.world.timeline.now, isLast: true)
    #expect(day.journal.lines.count == before)
  }
}
