import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent
import TinyPushRules
import TinyPushWebhooks

/// The settings of the program and the rules, from `/etc/tinypush/http.conf`.
///
/// Settings come first; a section `[/PATH]` begins a rule.
struct ServiceSettings: ~Copyable {
  static let defaultFile: StaticString = "/etc/tinypush/http.conf"
  /// The settings, which tinypush-http(1) explains.
  static let table = SettingsTable<ServiceSettings>(
    of: "tinypush-http(1)",
    [
      Setting(
        "token-file", "FILE", "the tokens of which each request needs one",
        .path { $0.tokenFile = $1 }),
      // systemd stops a service that starts five times within ten seconds.
      Setting(
        "idle", "TIME", default: "60s",
        "how long a service that systemd has started waits for requests",
        .time(min: 5000, max: 86_400_000) { $0.idle = $1 }),
      Setting(
        "page-files", "DIR",
        "the page for browsers; serves the page, and takes registrations",
        .path { $0.pageFiles = $1 }),
    ])

  /// The tokens of which each request needs one.
  var tokens = BearerTokens()
  private var tokenFile = CString("")
  /// How long a service that systemd has started goes on without requests.
  var idle = Duration.seconds(0)
  /// The directory of the page for browsers; empty: there is none.
  var pageFiles = CString("")
  /// What becomes of requests to other paths.
  var rules = MessageRules(of: .paths)

  init() { Self.table.setDefaults(of: &self) }

  /// Reads the file, and adds each mistake.
  ///
  /// - Parameters:
  ///   - path: the file; nil: ``defaultFile``, which may be absent.
  ///   - needsTokens: whether this user must be able to read the tokens.
  mutating func read(
    _ path: UnsafePointer<CChar>?, needsTokens: Bool, _ mistakes: inout Mistakes
  ) throws(ExitStatus) {
    let name = path ?? Self.defaultFile.cString
    var reading = RuleReading()
    var problem = Text(capacity: 1024)
    var tokenLine: Int32 = 0
    do throws(InputFile.Problem) {
      try ConfigFile.forEachLine(of: name) { line, number, text in
        let isOfService = reading.take(line, number, text, into: &rules) {
          Self.table.index(of: $0) != nil
        }
        guard isOfService, case .setting(let name, let value) = line else { return }
        if text.extracting(name).equals("token-file") { tokenLine = number }
        guard Self.table.set(name: name, value: value, of: text, in: &self, &problem) == nil
        else { return }
        reading.mistakes.add(problem, line: number)
        problem.clear()
      }
    } catch {
      if path == nil, error.isMissing { return }
      error.describe(in: &problem)
      mistakes.add(problem, line: 0)
      throw ConfigFile.status(of: error)
    }
    reading.finishRule(of: &rules)
    swap(&mistakes, &reading.mistakes)
    guard mistakes.count == 0 else { throw .config }
    guard readTokens(needsTokens, &problem) else {
      mistakes.add(problem, line: tokenLine)
      throw .config
    }
  }

  /// Reads the bearer tokens from their file, if one is set.
  private mutating func readTokens(_ needsTokens: Bool, _ message: inout Text) -> Bool {
    guard !tokenFile.isEmpty else { return true }
    var content = Text(capacity: BearerTokens.fileBytesMax)
    message.append("token-file: ")
    do throws(InputFile.Problem) {
      try InputFile.read(tokenFile.pointer, to: &content, bytesMax: BearerTokens.fileBytesMax)
    } catch {
      if !needsTokens, case .cannotRead(EACCES) = error { return true }
      message.append(error.text(tokenFile.pointer))
      return false
    }
    let line = tokens.read(content.bytes)
    guard line != nil || tokens.isEmpty else { return true }
    message.append(printable: tokenFile.span)
    if let line { message.append(":", line, "") }
    message.append(
      ": write one token a line, of 15 to 256 visible ASCII characters; openssl rand -hex 32 makes one"
    )
    return false
  }
}
