import Foundation
import Testing

/// A test's own directory and processes. `end()`, in a `defer`, ends the one and removes the other, whatever became of
/// the test.
final class Box {
  let path: String
  private var children: [Child] = []

  init() throws {
    path = try Box.makeDirectory()
    for name in ["new", "failed", "tmp"] {
      try FileManager.default.createDirectory(
        atPath: "\(spool)/\(name)", withIntermediateDirectories: true)
    }
  }

  func end() {
    for child in children {
      child.kill()
      if let crash = child.crash { Issue.record("\(crash)") }
    }
    try? FileManager.default.removeItem(atPath: path)
  }

  /// Anybody may look into it, so that a test can go on as another user.
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

  /// Puts a notification file into the spool as a writer should: written in tmp/, renamed into new/.
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

  /// The names in one of the spool's directories.
  func names(in directory: String) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: "\(spool)/\(directory)")) ?? []).sorted()
  }

  /// What the lines of a file in failed/ say, each with its notification.
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

  /// Runs a command and waits for its end.
  @discardableResult
  func run(
    _ command: [String], environment: [String: String] = [:], input: String? = nil
  ) throws -> Child {
    let child = try start(command, environment: environment, input: input)
    try child.wait()
    return child
  }

  /// Runs a command of tinypush's to its end.
  func tinypush(
    _ arguments: String..., build: String = Build.host, input: String? = nil
  ) throws -> Child {
    try run(Build.command(build) + arguments, input: input)
  }
}

/// Held while a child is started, which has the files of this process open until it is another program: an agent would
/// take a file that it finds open for unfinished.
let spawning = NSLock()

/// Foundation's own ways take milliseconds a file.
func writeFile(_ text: String, to path: String) throws {
  spawning.lock()
  defer { spawning.unlock() }
  guard let file = fopen(path, "we") else { throw Failure("\(path): errno \(errno)") }
  let written = fputs(text, file)
  guard fclose(file) == 0, written >= 0 else { throw Failure("\(path): errno \(errno)") }
}

/// JSON Lines, each an object.
func objects(_ text: String) throws -> [[String: Any]] {
  try text.split(separator: "\n").map { line in
    guard let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
    else { throw Failure("no object: \(line)") }
    return object
  }
}

/// Waits for what no event tells of. A slow machine needs a tenth of the time that it takes to give up.
func wait(for what: @autoclosure () -> String, until isSo: () throws -> Bool) throws {
  let patience = Duration.seconds(300)
  let start = ContinuousClock.now
  while try !isSo() {
    let passed = ContinuousClock.now - start
    guard passed < patience else { throw Failure("this did not come in \(patience): \(what())") }
    // Looks often at first; and what has taken long is not missed by much more than that.
    usleep(useconds_t(2000 + min(passed / .milliseconds(1), 2000) * 20))
  }
}
