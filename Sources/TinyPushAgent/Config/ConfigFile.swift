import CLinux
import TinyPush

/// Reads configuration files.
public enum ConfigFile {
  private static let bytesMax = 1 << 20

  /// Passes each line to `body`, with its number and the text of the file.
  ///
  /// The text, in which a password may be, is erased from memory afterwards.
  @inline(never)
  public static func forEachLine(
    of path: UnsafePointer<CChar>, _ body: (ConfigLines.Line, Int32, Span<UInt8>) -> Void
  ) throws(InputFile.Problem) {
    var text = Text(capacity: bytesMax)
    defer { text.wipe() }
    // Here `-` is the name of a file.
    let descriptor = clinux_open(AT_FDCWD, path, O_RDONLY, 0)
    guard descriptor >= 0 else { throw .cannotRead(-descriptor) }
    try InputFile.read(descriptor, to: &text, bytesMax: bytesMax)
    var lines = ConfigLines()
    while let line = lines.next(in: text.bytes) { body(line, lines.number, text.bytes) }
  }

  /// The exit status of a program whose configuration file cannot be read.
  public static func status(of problem: InputFile.Problem) -> ExitStatus {
    problem.isMissing || problem.status == .noPermission ? problem.status : .config
  }

  /// Appends the last value of a setting; nothing if the file does not have it.
  package static func value(
    of name: StaticString, in path: UnsafePointer<CChar>, _ value: inout Text
  ) {
    try? forEachLine(of: path) { line, _, text in
      guard case .setting(let key, let found) = line, text.extracting(key).equals(name) else {
        return
      }
      value.wipe()
      value.append(bytes: text.extracting(found))
    }
  }

  /// The path if the file can be read again, unlike a pipe; otherwise empty.
  package static func readableAgain(_ path: UnsafePointer<CChar>) -> CString {
    var status = stat()
    let isFile = stat(path, &status) == 0 && clinux_is_regular(&status) != 0
    return isFile ? CString(cString: path) : CString("")
  }

  /// The directory of a file, with a slash at its end; empty for the working directory.
  package static func directory(of path: UnsafePointer<CChar>) -> CString {
    let name = CString.span(path)
    var end = name.count
    while end > 0, name[end - 1] != .slash { end -= 1 }
    return CString(name.extracting(0..<end))
  }

  /// Appends what is wrong with a line that is not a setting.
  ///
  /// - Parameter expected: the form of the lines.
  package static func describe(
    _ line: ConfigLines.Line, expected: StaticString, in problem: inout Text
  ) {
    switch line {
    case .section: problem.append("there are no [sections] here: remove this line")
    case .unprintable: problem.append("a control character is in this line: remove it")
    default: problem.append("expected ", expected)
    }
  }

  /// Reads `tinypush.conf`.
  ///
  /// - Parameters:
  ///   - isRequired: whether a missing file is an error.
  ///   - message: what is wrong, where, and what to do. Without a failure: a mistake in a setting
  ///     that the reader does not need.
  public static func read(
    _ path: UnsafePointer<CChar>, into config: inout Config, for reader: Config.Reader,
    isRequired: Bool, message: inout Text
  ) throws(ExitStatus) {
    config.file = readableAgain(path)
    config.directory = directory(of: path)
    defer {
      config.directory = CString("")
      config.file = CString("")
    }
    var problem = Text(capacity: 512)
    // The first mistake counts, but one that the reader ignores only if there is no other.
    var isWrong = false
    var sectionLine: Int32 = 0
    do throws(InputFile.Problem) {
      try forEachLine(of: path) { line, number, text in
        guard !isWrong else { return }
        problem.clear()
        var isNeeded = true
        var place = number
        switch line {
        case .setting(let name, let value):
          if sectionLine > 0 {
            describe(.section(name), expected: "", in: &problem)
            place = sectionLine
          } else if config.set(name: name, value: value, of: text, line: number, &problem) {
            return
          }
          isNeeded = Config.isForCommands(text.extracting(name))
        case .section:
          sectionLine = number
          isNeeded = false
        case .unprintable(let name): isNeeded = Config.isForCommands(text.extracting(name))
        case .unknown: break
        }
        if problem.count == 0 { describe(line, expected: "KEY = VALUE", in: &problem) }
        isWrong = isNeeded || reader == .agent
        guard isWrong || message.count == 0 else { return }
        message.clear()
        message.append(cString: path)
        message.append(":", place, ": ")
        message.append(problem)
      }
    } catch {
      if error.isMissing, !isRequired { return }
      message.append(error.text(path))
      message.append(
        error.status == .noPermission
          ? ": run the command as root (sudo) or as the agent's user, or give another file with --config FILE"
          : error.isMissing
            ? ": create it, or name another file with --config FILE"
            : ": name another file with --config FILE")
      throw status(of: error)
    }
    if isWrong { throw .config }
  }
}
