import Foundation
import Testing

/// `tinypush feedback` killed at any system call loses no tuple that it has read.
@Suite(.sideBySide) struct OutageTests {
  private static let tuples = 5000
  private static let row = 40

  @Test(arguments: [Outage.Kind.kill, .power, .names])
  func `a pull that ends at any system call loses no tuple that it has read`(kind: Outage.Kind)
    throws
  {
    let outage = try Outage(in: box, kind)
    let share = 20
    let service = try FeedbackService(
      in: box,
      [
        "--tuples", "\(share * 1000)", "--share", "\(share)", "--cut", "random",
        "--pause", "0.001",
      ])
    var pulls = try Pulls(box, service, outage)
    var call = 0
    repeat {
      call += 1
      // The second pull finds the files that the first one left.
      try pulls.pull(endingAt: call)
      try pulls.pull(endingAt: call)
      try pulls.pullNothing()
    } while pulls.count == 2 * call
    #expect(pulls.safe > 38 * share * 5, "\(call) calls, \(pulls.safe) bytes")
    try pulls.check()
  }

  @Test func `many killed pulls in a row lose no tuple that they have read`() throws {
    let outage = try Outage(in: box, .kill)
    let service = try FeedbackService(
      in: box, ["--tuples", "\(Self.tuples * Self.row)", "--share", "\(Self.tuples)"])
    var pulls = try Pulls(box, service, outage)
    var chance: UInt64 = 1
    func next(below limit: Int) -> Int {
      chance = chance &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int((chance >> 33) % UInt64(limit))
    }
    for _ in 1...Self.row {
      try pulls.pull(endingAt: 1 + next(below: 20), from: next(below: 38 * Self.tuples))
    }
    #expect(pulls.count == Self.row, "\(pulls.count)")
    #expect(pulls.safe > 38 * Self.tuples * Self.row / 5, "\(pulls.safe)")
    try pulls.pullNothing()
    try pulls.check()
  }
}

/// An agent killed at any system call does not lose the record of a refusal.
@Suite(.sideBySide) struct RecordOutageTests {
  @Test(arguments: [Outage.Kind.power, .names])
  func `a power failure at any system call does not lose the record of a refusal`(kind: Outage.Kind)
    throws
  {
    let gateway = try Gateway(in: box, ["--reject", token(7)])
    let outage = try Outage(in: box, kind, at: box.spool + "/failed")
    var call = 0
    var isEnded = true
    while isEnded {
      call += 1
      for directory in [box.spool + "/failed", box.state] {
        try FileManager.default.removeItem(atPath: directory)
        mkdir(directory, 0o755)
      }
      try box.drop(line(1, "good"), as: "1-good")
      try box.drop(line(7, "refused"), as: "2-refused")
      let agent = try box.run(
        Build.command(Build.host) + ["run", "--once"] + box.settings(gateway.port),
        environment: outage.environment(at: call, from: 1))
      isEnded = agent.status == 128 + SIGKILL
      #expect(isEnded || agent.status == 65, "call \(call): \(agent.errors)")
      _ = try box.deliver(gateway)
      #expect(box.queued == [], "call \(call)")
      let tokens = try box.failures("2-refused").map { $0["token"] as? String }
      #expect(tokens.first == token(7), "call \(call)")
    }
    #expect(call > 10)
  }
}

/// The shim Tests/Tools/outage.c, which ends the product at a system call or fails its syncs.
struct Outage {
  enum Kind: String, Sendable { case kill, power, names, unsynced }

  /// What the shim counted.
  struct Seen {
    var calls: Int
    /// The bytes that were read.
    var received: Int
    /// The number of these bytes that must not be lost.
    var safe: Int
  }

  private let box: Box
  private let kind: Kind
  /// The directory whose contents the shim tracks.
  private let directory: String
  private var log: String { box.path + "/outage" }
  private var shadow: String { box.path + "/shadow" }

  init(in box: Box, _ kind: Kind, at directory: String? = nil) throws {
    (self.box, self.kind, self.directory) = (box, kind, directory ?? box.state)
    mkdir(box.state, 0o755)
  }

  /// Returns the environment that ends a program at a system call.
  ///
  /// - Parameters:
  ///   - call: the number of the call; 0: the program runs to its end.
  ///   - bytes: calls count once this many bytes have been read.
  func environment(at call: Int, from bytes: Int = 0) throws -> [String: String] {
    try? FileManager.default.removeItem(atPath: shadow)
    try? FileManager.default.removeItem(atPath: log)
    mkdir(shadow, 0o755)
    return [
      "LD_PRELOAD": try Shared.library("outage"), "OUTAGE": log, "OUTAGE_AT": "\(call)",
      "OUTAGE_FROM": "\(bytes)",
      "OUTAGE_KIND": kind.rawValue, "OUTAGE_STATE": directory, "OUTAGE_SHADOW": shadow,
    ]
  }

  func seen() throws -> Seen {
    let data = try Data(contentsOf: URL(filePath: log))
    guard data.count == 24 else { throw Failure("the shim was not loaded") }
    let numbers = (0..<3).map { index in
      data.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 8 * index, as: Int.self) }
    }
    return Seen(calls: numbers[0], received: numbers[1], safe: numbers[2])
  }
}

/// Consecutive pulls, and the tuples that each has read.
private struct Pulls {
  private let box: Box
  private let service: FeedbackService
  private let outage: Outage
  private let nothing: FeedbackService
  /// The number of pulls that the shim ended.
  private(set) var count = 0
  /// The bytes of these pulls that must not be lost.
  private(set) var safe = 0
  private var must: [String] = []
  private var may: [String] = []

  init(_ box: Box, _ service: FeedbackService, _ outage: Outage) throws {
    (self.box, self.service, self.outage) = (box, service, outage)
    nothing = try FeedbackService(in: box, name: "nothing")
  }

  mutating func pull(endingAt call: Int, from bytes: Int = 0) throws {
    let pull = try box.pull(
      service, [], ["--quiet"], environment: outage.environment(at: call, from: bytes))
    let isEnded = pull.status == 128 + SIGKILL
    #expect(isEnded || pull.status == 0, "call \(call): \(pull.status ?? -1) \(pull.errors)")
    let seen = try outage.seen()
    if isEnded { (count, safe) = (count + 1, safe + seen.safe) }
    guard seen.received > 0, let stream = service.sent().last else { return }
    must.append("\(stream):\(isEnded ? seen.safe : seen.received)")
    may.append("\(stream):\(seen.received)")
  }

  func pullNothing() throws {
    let pull = try box.pull(nothing, [], ["--quiet"])
    #expect(pull.status == 0, "\(pull.errors)")
    let left = try FileManager.default.contentsOfDirectory(atPath: box.state)
    #expect(Set(left).isSubset(of: [".lock", "received", "suppressed.list"]), "\(left)")
  }

  /// Checks that the list has every tuple that was read, and no other.
  func check() throws {
    let listed = try Listed(in: box, must: must, may: may)
    #expect(listed.missing == 0, "of \(listed.listed)")
    #expect(listed.strange == 0, "of \(listed.listed)")
    #expect(listed.twice == 0)
  }
}
