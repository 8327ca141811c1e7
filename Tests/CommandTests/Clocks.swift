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
    let library = box.path + "/clock.so"
    let made = try box.run(["cc", "-shared", "-fPIC", Build.tools + "/clock.c", "-o", library])
    guard made.status == 0 else { throw Failure(made.errors) }
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
  func announceChange() throws { try writeFile("x", to: box.path + "/set") }
}
