import CLinux
import TinyPush
import TinyPushAgent
import TinyPushWebhooks

/// The settings of the program, from `/etc/tinypush/http.conf`.
struct ServiceSettings: ~Copyable {
  static let defaultFile: StaticString = "/etc/tinypush/http.conf"
  private static var names: WordList { "token-file idle" }

  /// The tokens of which each request needs one.
  var tokens = BearerTokens()
  /// How long a service that systemd has started goes on without requests.
  var idle = Duration.seconds(60)

  init() {}

  private struct Reading: ~Copyable {
    let settings: UnsafeMutablePointer<ServiceSettings>
    var message = Text(capacity: 512)
    var isWrong = false
  }

  /// Reads the file.
  ///
  /// - Parameters:
  ///   - path: the file; nil: ``defaultFile``, which may be absent.
  ///   - message: on failure, the mistake, its place and what to do.
  mutating func read(
    _ path: UnsafePointer<CChar>?, message: inout Text
  ) throws(ExitStatus) {
    let name = path ?? Self.defaultFile.cString
    guard let file = clinux_ini_open(name) else {
      let error = clinux_errno()
      if path == nil, error == ENOENT { return }
      message.append(cString: name)
      message.append(": ", cString: clinux_error_text(error))
      throw error == EACCES ? .noPermission : error == ENOENT ? .noInput : .config
    }
    let (line, isWrong) = withUnsafeMutablePointer(to: &self) { settings in
      var reading = Reading(settings: settings)
      let line = withUnsafeMutablePointer(to: &reading) { reading in
        clinux_ini_parse(
          file,
          { user, section, name, value in
            guard let user, let section, let name else { return 0 }
            return ServiceSettings.take(
              user.assumingMemoryBound(to: Reading.self), section, name, value)
          }, reading)
      }
      message.append(cString: name)
      message.append(":", line, ": ")
      message.append(reading.message)
      return (line, reading.isWrong)
    }
    guard line != 0 || isWrong else {
      message.clear()
      return
    }
    if !isWrong { message.append("expected KEY = VALUE") }
    throw .config
  }

  private static func take(
    _ reading: UnsafeMutablePointer<Reading>, _ section: UnsafePointer<CChar>,
    _ name: UnsafePointer<CChar>, _ value: UnsafePointer<CChar>?
  ) -> Int32 {
    guard !reading.pointee.isWrong else { return 0 }
    let isRight =
      section.pointee == 0
      && reading.pointee.settings.pointee.set(
        CString.span(name), value, &reading.pointee.message)
    if section.pointee != 0 {
      reading.pointee.message.append("there are no [sections] here: remove the line above")
    }
    reading.pointee.isWrong = !isRight
    return isRight ? 1 : 0
  }

  private mutating func set(
    _ name: Span<UInt8>, _ value: UnsafePointer<CChar>?, _ message: inout Text
  ) -> Bool {
    guard ConfigFile.isWhole(name, isText: false, &message) else { return false }
    do throws(Config.Problem) {
      guard let value else { throw .value("followed by = and a value") }
      let text = CString.span(value)
      switch Self.names.index(of: name) {
      case 0: return readTokens(value, &message)
      case 1:
        // systemd stops a service that starts five times within ten seconds.
        idle = try Config.duration(text, min: 5000, max: 86_400_000)
      default:
        message.append("unknown setting ")
        message.append(printable: name)
        if let nearest = Self.names.nearest(to: name) {
          message.append("; did you mean ", bytes: Self.names[nearest], "?")
        }
        return false
      }
      return true
    } catch {
      ConfigFile.describe(error, name: name, in: &message)
      return false
    }
  }

  /// Reads the bearer tokens from a file.
  private mutating func readTokens(
    _ path: UnsafePointer<CChar>, _ message: inout Text
  ) -> Bool {
    var content = Text(capacity: BearerTokens.fileBytesMax)
    do throws(InputFile.Problem) {
      try InputFile.read(path, to: &content, bytesMax: BearerTokens.fileBytesMax)
    } catch {
      message.append("token-file: ")
      message.append(error.text(path))
      return false
    }
    let line = tokens.read(content.bytes)
    guard line != nil || tokens.isEmpty else { return true }
    message.append("token-file: ")
    message.append(printable: CString.span(path))
    if let line { message.append(":", line, "") }
    message.append(
      ": write one token a line, of 16 to 256 visible ASCII characters; openssl rand -hex 32 makes one"
    )
    return false
  }
}
