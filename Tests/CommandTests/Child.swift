import Foundation
import Testing

/// A process whose output and errors go to files, and whose lines a test can wait for.
///
/// It leads a process group, so that ``kill()`` also ends the programs that it runs.
final class Child {
  let id: pid_t
  let words: [String]
  private let name: String
  private let paths: (output: String, errors: String)
  private var ended: Int32?

  /// - Parameter output: the path of the files for input, output and errors, without an extension.
  init(
    _ command: [String], environment: [String: String], input: String?, directory: String,
    output: String
  ) throws {
    words = command
    name = command.joined(separator: " ")
    paths = ("\(output).out", "\(output).err")
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    var source = "/dev/null"
    if let input {
      source = "\(output).in"
      try Data(input.utf8).write(to: URL(filePath: source))
    }
    posix_spawn_file_actions_addopen(&actions, 0, source, O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, paths.output, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
    posix_spawn_file_actions_addopen(&actions, 2, paths.errors, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
    // The child must not inherit the signals that this process blocks or ignores.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    var all = sigset_t()
    sigfillset(&all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setpgroup(&attributes, 0)
    posix_spawnattr_setflags(
      &attributes,
      Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
    // Debian's python3 comes first: it has the needed packages, and starts faster than a wrapper.
    let path = "PATH=/usr/bin:/bin:" + (ProcessInfo.processInfo.environment["PATH"] ?? "")
    let whole = ["env", "--chdir=" + directory, path] + environment.map { "\($0)=\($1)" } + command
    var arguments = whole.map { strdup($0) } + [nil]
    defer { for text in arguments { free(text) } }
    var id: pid_t = 0
    let error = spawning.withLock {
      posix_spawnp(&id, "env", &actions, &attributes, &arguments, environ)
    }
    guard error == 0 else { throw Failure("\(name): \(String(cString: strerror(error)))") }
    self.id = id
  }

  // MARK: - Output

  var output: String { Self.read(paths.output) }
  var outputPath: String { paths.output }
  var errors: String { Self.read(paths.errors) }

  private static func read(_ path: String) -> String {
    FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) } ?? ""
  }

  enum Stream { case output, errors }

  /// Waits for a complete line with these words, and returns the first.
  @discardableResult
  func line(
    _ words: String, in stream: Stream = .output
  ) throws -> String {
    var found: String?
    try CommandTests.wait(
      for: "\"\(words)\" from \(name), which printed:\n\(output)\(errors)"
    ) {
      let text = stream == .output ? output : errors
      found = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        .first { $0.contains(words) }.map(String.init)
      guard found == nil, hasEnded else { return found != nil }
      let rest = stream == .output ? output : errors
      found = rest.split(separator: "\n").first { $0.contains(words) }.map(String.init)
      guard found != nil else {
        throw Failure("\(name) ended without printing \"\(words)\":\n\(output)\(errors)")
      }
      return true
    }
    return found!
  }

  // MARK: - End

  var hasEnded: Bool { takeStatus(WNOHANG) }

  /// Waits for the end, and returns the exit status, or 128 plus the signal that ended the process.
  ///
  /// The wait has no limit, since some commands take long: `Tests/run` ends a suite that hangs.
  @discardableResult
  func wait() throws -> Int32 {
    guard takeStatus(0), let ended else { throw Failure("waitpid for \(name): errno \(errno)") }
    return ended
  }

  /// Takes the status of the process if it has ended, and returns whether it has.
  private func takeStatus(_ options: Int32) -> Bool {
    if ended != nil { return true }
    var status: Int32 = 0
    var found: pid_t
    repeat { found = waitpid(id, &status, options) } while found < 0 && errno == EINTR
    guard found == id else { return false }
    let signal = status & 0x7F
    ended = signal == 0 ? status >> 8 & 0xFF : 128 + signal
    return true
  }

  /// The result of ``wait()``, or nil before the end has been noticed.
  var status: Int32? { ended }

  /// A message about the signal with which the program crashed, or nil if it did not crash.
  var crash: String? {
    guard let ended, [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV].contains(ended - 128)
    else { return nil }
    return "\(name) crashed with signal \(ended - 128):\n\(errors)"
  }

  func signal(_ number: Int32) { if !hasEnded { Foundation.kill(id, number) } }

  /// Sends SIGTERM and waits for the end.
  @discardableResult
  func terminate() throws -> Int32 {
    signal(SIGTERM)
    return try wait()
  }

  /// Kills the process with the programs that it runs, unless it has ended.
  func kill() {
    guard !hasEnded else { return }
    Foundation.kill(-id, SIGKILL)
    _ = takeStatus(0)
  }
}
