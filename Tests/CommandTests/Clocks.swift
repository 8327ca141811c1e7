import Foundation
import Testing

/// The clocks that a program sees, as files in a box (Tests/Tools/clock.c).
struct Clocks {
  enum Clock: String, CaseIterable {
    /// The wall clock, in UNIX seconds.
    case wall = "CLOCK_FILE"
    /// Seconds added to the time that passed awake (`awake`) or asleep (`asleep`).
    case awake = "CLOCK_AWAKE"
    case asleep = "CLOCK_ASLEEP"
  }

  let environment: [String: String]
  private let box: Box

  init(in box: Box, _ clocks: [Clock]) throws {
    let library = try Shared.library("clock")
    mkfifo(box.path + "/set", 0o600)
    var environment = ["LD_PRELOAD": library, "CLOCK_SET": box.path + "/set"]
    for clock in clocks { environment[clock.rawValue] = box.path + "/" + clock.rawValue }
    self.environment = environment
    self.box = box
    for clock in clocks { try set(clock, to: 0) }
  }

  func set(_ clock: Clock, to seconds: Int) throws {
    let file = try box.write("\(seconds)", to: clock.rawValue + ".new")
    guard rename(file, box.path + "/" + clock.rawValue) == 0 else {
      throw Failure("rename: errno \(errno)")
    }
  }

  /// Tells the program that the wall clock was set.
  func announceChange() throws {
    let pipe = try openPipe(box.path + "/set")
    defer { close(pipe) }
    guard write(pipe, "x", 1) == 1 else { throw Failure("set: errno \(errno)") }
  }

  // MARK: - Waits

  /// Lets time pass for a program until a condition holds, but only while nothing else can happen.
  ///
  /// It and its peers sleep, and what they sent is acknowledged. So all have done what they can,
  /// however slow the machine is, and only time can change that.
  /// Needs the clock `awake`.
  ///
  /// - Parameter seconds: the time that passes at each step.
  func pass(
    _ seconds: Int, for program: Child, and peers: Child..., until condition: () throws -> Bool
  ) throws {
    var before: [[String: Int]?] = []
    try wait(for: "the end of a wait of another program:\n\(program.errors)") {
      let all = [program] + peers
      let isAcknowledged = try all.allSatisfy { try $0.isAcknowledged() }
      let sleeps = all.map(\.sleeps)
      // What the program did before it slept has happened by now.
      if try condition() { return true }
      guard !program.hasEnded else { throw Failure("it ended:\n\(program.errors)") }
      // They may answer each other: all slept at once only if no other sleep has begun since.
      defer { before = sleeps }
      guard isAcknowledged, !sleeps.contains(nil), sleeps == before else { return false }
      let passed = try number(box.text(Clock.awake.rawValue))
      try program.whileStopped { try set(.awake, to: passed + seconds) }
      return false
    }
  }

  /// The time by which ``prolongPause(of:page:)`` turns the clock back: longer than any test waits.
  static let prolonged = 7200

  /// Turns an agent's clock back once it waits for its next attempt to connect.
  ///
  /// Then the wait does not end by itself during the test. The agent must have been started with
  /// the clock `awake` at ``prolonged``.
  ///
  /// - Parameter page: the setting of the status page.
  func prolongPause(of agent: Child, page: String) throws {
    try wait(for: "a pause between two attempts:\n\(agent.errors)") {
      guard agent.isAsleep else { return false }
      try agent.whileStopped { try set(.awake, to: 0) }
      let shown = try box.run(
        Build.command(Build.host) + ["status", "--json", "-o", page], environment: environment)
      let pause = try objects(shown.output).first?["next_try_in_ms"] as? Int ?? 0
      if pause > Self.prolonged * 1000 / 2 { return true }
      // The agent was just connecting.
      try agent.whileStopped { try set(.awake, to: Self.prolonged) }
      return false
    }
  }
}

extension Child {
  /// The state of each thread, and how often it fell asleep, by its number.
  private var threads: [String: (state: Character?, sleeps: Int)] {
    let tasks = "/proc/\(id)/task"
    let numbers = (try? FileManager.default.contentsOfDirectory(atPath: tasks)) ?? []
    var threads: [String: (state: Character?, sleeps: Int)] = [:]
    for number in numbers {
      // The fields, as in proc(5).
      guard let text = FileManager.default.contents(atPath: "\(tasks)/\(number)/status") else {
        continue
      }
      let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
      func field(_ name: String) -> Substring? {
        lines.first { $0.hasPrefix(name + ":") }?.split(separator: "\t").last
      }
      let sleeps = field("voluntary_ctxt_switches").flatMap { Int($0) }
      threads[number] = (field("State")?.first, sleeps ?? 0)
    }
    return threads
  }

  /// How often each thread fell asleep; nil unless all threads wait for something now.
  fileprivate var sleeps: [String: Int]? {
    let threads = threads
    guard !hasEnded, !threads.isEmpty, threads.values.allSatisfy({ $0.state == "S" }) else {
      return nil
    }
    return threads.mapValues(\.sleeps)
  }

  /// Whether all threads wait for something.
  var isAsleep: Bool { sleeps != nil }

  /// Whether the peers' kernel has acknowledged all bytes that the process sent over TCP.
  ///
  /// The kernel may take 40 ms for that, although both programs sleep.
  fileprivate func isAcknowledged() throws -> Bool {
    let files = "/proc/\(id)/fd"
    let numbers = (try? FileManager.default.contentsOfDirectory(atPath: files)) ?? []
    let sockets = Set(
      numbers.compactMap {
        try? FileManager.default.destinationOfSymbolicLink(atPath: "\(files)/\($0)")
      })
    return try ["tcp", "tcp6"].allSatisfy { table in
      // The fields, as in proc(5): the fifth has the bytes sent and received, the tenth the socket.
      let text = try String(contentsOfFile: "/proc/net/\(table)", encoding: .utf8)
      return text.split(separator: "\n").dropFirst().allSatisfy { line in
        let fields = line.split(separator: " ")
        guard fields.count > 9, sockets.contains("socket:[\(fields[9])]") else { return true }
        return fields[4].hasPrefix("00000000:")
      }
    }
  }

  /// Calls `body` while the process is stopped.
  ///
  /// This also ends a sleep in epoll, so that the program looks at the clock.
  func whileStopped(_ body: () throws -> Void) throws {
    signal(SIGSTOP)
    defer { signal(SIGCONT) }
    try CommandTests.wait(for: "a process to stop") {
      hasEnded || threads.values.allSatisfy { $0.state == "T" }
    }
    try body()
  }
}

/// Opens a named pipe for writing, once a process has opened it for reading.
///
/// Other tests may start processes meanwhile, which must not keep the pipe open.
func openPipe(_ path: String) throws -> Int32 {
  var pipe: Int32 = -1
  try wait(for: "a reader of \(path)") {
    pipe = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
    guard pipe >= 0 || errno == ENXIO else { throw Failure("\(path): errno \(errno)") }
    return pipe >= 0
  }
  return pipe
}
