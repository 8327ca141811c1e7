import Testing

@testable import Simulation
@testable import TinyPush
@testable import TinyPushAgent

/// Which of a sequence of messages are logged, and which are only counted.
@Suite struct LogFoldingTests {
  struct Row: Sendable, CustomTestStringConvertible {
    var testDescription: String
    /// Seconds and the message; nil: the agent wakes up without a message.
    var lines: [(Int, String?)]
    /// The logged lines, with their seconds.
    var said: [String]
    var topic = Log.Topic.connection
  }

  private static let refused = "cannot connect: refused"

  @Test(arguments: [
    Row(
      testDescription: "one line", lines: [(0, "up"), (100_000, nil)], said: ["0 up"]),
    Row(
      testDescription: "a repeat is counted, and logged after a minute when the agent is awake",
      lines: [(0, refused), (1, refused), (59, nil), (63, nil), (9999, nil)],
      said: ["0 \(refused)", "63 \(refused) (1 more time in 63 s)"]),
    Row(
      testDescription: "a repeat after a minute is logged with the count of those before",
      lines: [(0, refused), (1, refused), (2, refused), (61, refused)],
      said: ["0 \(refused)", "61 \(refused) (3 more times in 61 s)"]),
    Row(
      testDescription: "an outage and the next one are logged at once",
      lines: [
        (0, "up"), (100, "ended: reset"), (101, "refused"), (160, "up; after 59 s and 2 tries"),
        (4000, "ended: reset"), (4001, "refused"), (4060, "up; after 59 s and 3 tries"),
        (5000, nil),
      ],
      said: [
        "0 up", "100 ended: reset", "101 refused", "160 up; after 59 s and 2 tries",
        "4000 ended: reset",
        "4060 up; after 59 s and 3 tries (after 1 more change in 60 s)",
      ]),
    Row(
      testDescription: "the end of an outage is logged at once after any number of attempts",
      lines: [(0, "up"), (100, "down"), (110, "down"), (120, "down"), (130, "up"), (9999, nil)],
      said: ["0 up", "100 down", "130 up (after 2 more changes in 30 s)"]),
    Row(
      testDescription: "only the last state of a frequent change is logged",
      lines: [
        (0, "up"), (1, "down"), (2, "up"), (3, "down"), (4, "up"), (5, "down"), (6, "up"),
        (63, nil), (700, nil),
      ],
      said: [
        "0 up", "1 down", "2 up", "3 down", "63 up (57 s ago, after 2 more changes in 60 s)",
      ]),
    Row(
      testDescription: "a new reason is logged at once, with the count of changes before",
      lines: [
        (0, "up"), (1, "down"), (2, "up"), (3, "down"), (4, "up"), (5, "down"), (6, "unreachable"),
      ],
      said: [
        "0 up", "1 down", "2 up", "3 down", "6 unreachable (after 2 more changes in 3 s)",
      ]),
    Row(
      testDescription: "numbers and the text behind a semicolon make no other kind",
      lines: [(0, "refused (status 8); again 12"), (1, "refused (status 5); again 1"), (61, nil)],
      said: [
        "0 refused (status 8); again 12", "61 refused (status 5); again 1 (1 more time in 61 s)",
      ],
      topic: .refusals),
    Row(
      testDescription: "several kinds of refusals",
      lines: [(0, "a"), (1, "b"), (2, "a"), (3, "b"), (4, "a"), (70, "b")],
      said: ["0 a", "1 b", "2 a", "3 b", "70 b (after 1 more refusal in 67 s)"], topic: .refusals),
    Row(
      testDescription: "a message counts as new after a day",
      lines: [(0, "a"), (1, "a"), (90_000, "a")],
      said: ["0 a", "90000 a (2 more times in 25 h)"], topic: .mistakes),
  ])
  func `a message is logged at once, or counted and logged later`(row: Row) {
    let journal = Journal()
    for (seconds, words) in row.lines {
      let now = Instant(milliseconds: UInt64(seconds) * 1000)
      if let words { journal.write(words, about: row.topic, at: now) }
      journal.catchUp(at: now)
    }
    #expect(journal.said == row.said)
  }

  @Test func `a lasting failure is logged more and more rarely`() {
    let journal = Journal()
    for second in stride(from: UInt64(0), through: 3 * 86_400, by: 10) {
      let now = Instant(milliseconds: second * 1000)
      journal.write("refused; try \(second)", about: .connection, at: now)
    }
    #expect(
      journal.said == [
        "0 refused; try 0",
        "60 refused; try 60 (6 more times in 60 s)",
        "660 refused; try 660 (60 more times in 10 min)",
        "4260 refused; try 4260 (360 more times in 60 min)",
        "25860 refused; try 25860 (2160 more times in 6 h)",
        "112260 refused; try 112260 (8640 more times in 24 h)",
        "198660 refused; try 198660 (8640 more times in 24 h)",
      ])
  }

  @Test func `the last state is logged once it lasts, and every state at the end`() {
    let journal = Journal()
    var second: UInt64 = 0
    func now() -> Instant { Instant(milliseconds: second * 1000) }
    while second < 86_400 {
      for state in ["down", "up"] {
        journal.write(state, about: .connection, at: now())
        journal.write("full", about: .failures, at: now())
        second += 7
      }
    }
    #expect(journal.lines.count < 16)
    let before = journal.lines.count
    second += 7190
    journal.catchUp(at: now())
    #expect(journal.lines.count == before)
    second += 10
    journal.catchUp(at: now())
    #expect(journal.words.dropFirst(before).map { $0.prefix(5) } == ["up (2", "full "])
    journal.write("down", about: .connection, at: now())
    journal.write("up", about: .connection, at: now())
    journal.catchUp(at: now(), isLast: true)
    #expect(journal.words.last?.hasPrefix("up (0 s ago") == true)
  }

  @Test func `messages that always differ are limited to a number a day`() {
    let journal = Journal()
    func letters(_ number: Int) -> String {
      String(number, radix: 26).map {
        String(UnicodeScalar(UInt8(97 + Int(String($0), radix: 26)!)))
      }
      .joined()
    }
    for minute in 0..<1440 {
      let now = Instant(milliseconds: UInt64(minute) * 60_000)
      journal.write("banner \(letters(minute))", about: .connection, at: now)
    }
    #expect(journal.lines.count <= LogFolding.kindsMax + 8)
  }

  @Test func `a message that is longer than the kept bytes is cut`() {
    let journal = Journal()
    let words = String(repeating: "x", count: 2000)
    for second in [0, 1, 100] {
      let now = Instant(milliseconds: UInt64(second) * 1000)
      if second < 100 { journal.write(words, about: .connection, at: now) }
      journal.catchUp(at: now)
    }
    #expect(
      journal.words.map(\.count) == [
        1200, LogFolding.keptBytesMax + " (1 more time in 100 s)".count,
      ])
  }

  @Test func `the log names the time offline when the agent is connected again`() {
    var outage = Outage()
    func connected(_ seconds: UInt64) -> String? {
      var text = Text()
      guard outage.connected(at: Instant(milliseconds: seconds * 1000), in: &text) else {
        return nil
      }
      return String(text.bytes)
    }
    #expect(connected(0) == "")
    #expect(connected(10) == nil, "the connection before ended by an answer, which is not logged")
    outage.ended()
    #expect(connected(20) == "")
    outage.ended()
    outage.failed(at: Instant(milliseconds: 30_000))
    #expect(connected(70) == "; after 40 s offline, 1 attempt")
    outage.failed(at: Instant(milliseconds: 100_000))
    outage.failed(at: Instant(milliseconds: 200_000))
    #expect(connected(820) == "; after 12 min offline, 2 attempts")
    #expect(connected(830) == nil)
  }
}

extension Journal {
  /// Seconds and words of each line.
  fileprivate var said: [String] { lines.map { "\($0.at.milliseconds / 1000) \($0.words)" } }
}
