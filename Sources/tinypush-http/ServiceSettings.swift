import CLinux
import TinyPush
import TinyPushAgent
import TinyPushWebhooks

/// The settings of the program, from `/etc/tinypush/http.conf`.
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
    ])

  /// The tokens of which each request needs one.
  var tokens = BearerTokens()
  private var tokenFile = CString("")
  /// How long a service that systemd has started goes on without requests.
  var idle = Duration.seconds(0)

  init() { Self.table.setDefaults(of: &self) }

  /// Reads the file.
  ///
  /// - Parameters:
  ///   - path: the file; nil: ``defaultFile``, which may be absent.
  ///   - message: on failure, the mistake, its place and what to do.
  mutating func read(
    _ path: UnsafePointer<CChar>?, message: inout Text
  ) throws(ExitStatus) {
    let name = path ?? Self.defaultFile.cString
    var tokenLine: Int32 = 0
    do throws(InputFile.Problem) {
      try ConfigFile.forEachLine(of: name) { line, number, text in
        var problem = Text(capacity: 512)
        if case .setting(let name, let value) = line {
          if text.extracting(name).equals("token-file") { tokenLine = number }
          guard Self.table.set(name: name, value: value, of: text, in: &self, &problem) == nil
          else { return }
        } else {
          ConfigFile.describe(line, expected: "KEY = VALUE", in: &problem)
        }
        guard message.count == 0 else { return }
        message.append(cString: name)
        message.append(":", number, ": ")
        message.append(problem)
      }
    } catch {
      if path == nil, error.isMissing { return }
      message.append(error.text(name))
      throw ConfigFile.status(of: error)
    }
    guard message.count == 0 else { throw .config }
    message.append(cString: name)
    message.append(":", tokenLine, ": ")
    guard readTokens(&message) else { throw .config }
    message.clear()
  }

  /// Reads the bearer tokens from their file, if one is set.
  private mutating func readTokens(_ message: inout Text) -> Bool {
    guard !tokenFile.isEmpty else { return true }
    var content = Text(capacity: BearerTokens.fileBytesMax)
    message.append("token-file: ")
    do throws(InputFile.Problem) {
      try InputFile.read(tokenFile.pointer, to: &content, bytesMax: BearerTokens.fileBytesMax)
    } catch {
      message.append(error.text(tokenFile.pointer))
      return false
    }
    let line = tokens.read(content.bytes)
    guard line != nil || tokens.isEmpty else { return true }
    message.append(printable: tokenFile.span)
    if let line { message.append(":", line, "") }
    message.append(
      ": write one token a line, of 16 to 256 visible ASCII characters; openssl rand -hex 32 makes one"
    )
    return false
  }
}
