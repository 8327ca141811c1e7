import Foundation
import Testing

/// The box of the test that runs; it is made when the test first uses it, and ends with the test.
var box: Box { TestBox.current!.box }

/// Makes the box of a test, and ends it.
final class TestBox: @unchecked Sendable {
  @TaskLocal static var current: TestBox?
  private var made: Box?

  var box: Box {
    if made == nil { made = try! Box() }
    return made!
  }

  func end() { made?.end() }
}

/// The directory and the processes of one test.
///
/// A test that needs more than its own ``box`` calls `end()` of the others in a `defer`: that kills
/// the processes and removes the directory.
final class Box {
  let path: String
  private var children: [Child] = []
  private var ports: [Port] = []
  private var ends: [() -> Void] = []

  init() throws {
    // A write to a program that has ended must fail, and not end the tests.
    signal(SIGPIPE, SIG_IGN)
    path = try Box.makeDirectory()
    for name in ["new", "failed", "tmp"] {
      try FileManager.default.createDirectory(
        atPath: "\(spool)/\(name)", withIntermediateDirectories: true)
    }
  }

  /// Calls `body` before the processes of the test are killed.
  func atEnd(_ body: @escaping () -> Void) { ends.append(body) }

  func end() {
    for body in ends.reversed() { body() }
    ends = []
    for child in children {
      child.kill()
      if let crash = child.crash { Issue.record("\(crash)") }
    }
    do {
      for child in children { try Documentation.check(child.words, child.output) }
      // A file that moved there as a whole, perhaps of 1 GB, has the text of its writer.
      for name in names(in: "failed") where !name.hasSuffix(".original") {
        try Documentation.check(failed: text("spool/failed/\(name)"))
      }
      // A command of `on-trouble` has a process group of its own, and may still write.
      try wait(for: "programs that write below \(path)") {
        try? FileManager.default.removeItem(atPath: path)
        return !FileManager.default.fileExists(atPath: path)
      }
    } catch { Issue.record(error) }
  }

  /// Makes a temporary directory that all users may read, for tests that change the user.
  static func makeDirectory() throws -> String {
    var template = Array(
      URL(filePath: NSTemporaryDirectory()).appending(path: "tinypush-test.XXXXXX").path.utf8CString
    )
    guard mkdtemp(&template) != nil else { throw Failure("mkdtemp: errno \(errno)") }
    let path = String(decoding: template.dropLast().map(UInt8.init), as: UTF8.self)
    chmod(path, 0o755)
    return path
  }

  // MARK: - Files

  var spool: String { path + "/spool" }

  @discardableResult
  func write(_ text: String, to name: String) throws -> String {
    let file = "\(path)/\(name)"
    try FileManager.default.createDirectory(
      atPath: (file as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    try writeFile(text, to: file)
    return file
  }

  /// Writes a notification file to tmp/ and renames it to new/, as a producer should.
  func drop(_ text: String, as name: String) throws {
    try write(text, to: "spool/tmp/\(name)")
    guard rename("\(spool)/tmp/\(name)", "\(spool)/new/\(name)") == 0 else {
      throw Failure("rename: errno \(errno)")
    }
  }

  func text(_ name: String) -> String {
    FileManager.default.contents(atPath: "\(path)/\(name)").map {
      String(decoding: $0, as: UTF8.self)
    } ?? ""
  }

  /// The names of the files that are not settled: those in new/, and those in taken/.
  ///
  /// A file in taken/ has the name NAME@ARRIVAL.OFFSET. The agent moves files from new/ to taken/ and
  /// renames them there, so that new/ is read first, and a file with another name by now counts.
  var queued: [String] {
    let new = names(in: "new")
    let taken = names(in: "taken").compactMap { name -> String? in
      guard let match = name.wholeMatch(of: /((?s).+)[@+]\d+\.(\d+)/), let offset = Int(match.2)
      else { return nil }
      let attributes = try? FileManager.default.attributesOfItem(atPath: "\(spool)/taken/\(name)")
      guard let size = attributes?[.size] as? Int else { return String(match.1) }
      return size > offset ? String(match.1) : nil
    }
    return (new + taken).sorted()
  }

  /// Returns the names in one of the spool's directories, sorted.
  func names(in directory: String) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: "\(spool)/\(directory)")) ?? [])
      .filter { $0 != ".lock" }.sorted()
  }

  /// Returns the `failed` objects of the lines of a file in failed/, each with its notification.
  func failures(_ name: String) throws -> [[String: Any]] {
    try objects(text("spool/failed/\(name)")).map { line in
      guard var failed = line["failed"] as? [String: Any] else { return line }
      failed["token"] = line["token"]
      failed["notification"] = line.filter { $0.key != "failed" }
      return failed
    }
  }

  // MARK: - Processes

  func start(
    _ command: [String], environment: [String: String] = [:], input: String? = nil
  ) throws -> Child {
    let child = try Child(
      command, environment: environment, input: input, directory: path,
      output: "\(path)/.\(children.count)")
    children.append(child)
    return child
  }

  /// Returns a port for servers of this test.
  func port() throws -> Port {
    let port = try Port()
    ports.append(port)
    return port
  }

  /// Runs a command and waits for its end.
  @discardableResult
  func run(
    _ command: [String], environment: [String: String] = [:], input: String? = nil
  ) throws -> Child {
    let child = try start(command, environment: environment, input: input)
    try child.wait()
    return child
  }

  /// Runs tinypush with these arguments and waits for its end.
  func tinypush(
    _ arguments: String..., build: String = Build.host, input: String? = nil
  ) throws -> Child {
    try run(Build.command(build) + arguments, input: input)
  }
}

/// A lock that keeps files from being written while a child is started.
///
/// Between fork and exec the child holds this process's open files, and an agent takes an open file
/// for an unfinished one.
let spawning = NSLock()

/// Writes a file, with stdio: Foundation takes milliseconds for each file.
func writeFile(_ text: String, to path: String) throws {
  spawning.lock()
  defer { spawning.unlock() }
  guard let file = fopen(path, "we") else { throw Failure("\(path): errno \(errno)") }
  let written = fputs(text, file)
  guard fclose(file) == 0, written >= 0 else { throw Failure("\(path): errno \(errno)") }
}

/// Returns the objects of JSON Lines.
func objects(_ text: String) throws -> [[String: Any]] {
  try text.split(separator: "\n").map { line in
    guard let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
    else { throw Failure("no object: \(line)") }
    return object
  }
}

/// Returns the objects of JSON Lines that may still be written: those of the complete lines.
func objects(soFar text: String) throws -> [[String: Any]] {
  try objects(String(text[..<(text.lastIndex(of: "\n") ?? text.startIndex)]))
}

/// Polls until a condition holds, and throws after 300 s: ten times what a slow machine needs.
func wait(for what: @autoclosure () -> String, until condition: () throws -> Bool) throws {
  let patience = Duration.seconds(300)
  let start = ContinuousClock.now
  while try !condition() {
    let passed = ContinuousClock.now - start
    guard passed < patience else { throw Failure("waited \(patience) for \(what())") }
    // Polls every 2 ms at first and every 42 ms after 2 s, so that short waits stay short.
    usleep(useconds_t(2000 + min(passed / .milliseconds(1), 2000) * 20))
  }
}
