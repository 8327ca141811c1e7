import CLinux
import TinyPush

/// Reads the configuration file with the library inih.
public enum ConfigFile {
  /// The state of reading, which inih passes to each callback.
  private struct State: ~Copyable {
    let config: UnsafeMutablePointer<Config>
    let reader: Config.Reader
    var message = Text(capacity: 512)
    var isBad = false
    /// The line of the first mistake that the reader ignores, which `message` describes; 0: none.
    var ignored: Int32 = 0
  }

  /// Reads the configuration file.
  ///
  /// - Parameters:
  ///   - isRequired: whether a missing file is an error.
  ///   - message: what is wrong, where, and what to do. Without a failure: a mistake in a setting
  ///     that the reader does not need.
  public static func read(
    _ path: UnsafePointer<CChar>, into config: inout Config, for reader: Config.Reader,
    isRequired: Bool, message: inout Text
  ) throws(ExitStatus) {
    guard let file = clinux_ini_open(path) else {
      let error = clinux_errno()
      if error == ENOENT && !isRequired { return }
      message.append(cString: path)
      message.append(": ", cString: clinux_error_text(error))
      message.append(
        error == EACCES
          ? ": run the command as root (sudo) or as the agent's user, or give another file with --config FILE"
          : ": create it, or name another file with --config FILE")
      throw error == EACCES ? .noPermission : error == ENOENT ? .noInput : .config
    }
    let name = CString.span(path)
    var status = stat()
    // A pipe cannot be read again.
    if fstat(fileno(file), &status) == 0, clinux_is_regular(&status) != 0 {
      config.file = CString(name)
    }
    var end = name.count
    while end > 0, name[end - 1] != .slash { end -= 1 }
    config.directory = CString(name.extracting(0..<end))
    defer {
      config.directory = CString("")
      config.file = CString("")
    }
    var problem = Text(capacity: 512)
    let (badLine, isBad, ignored) = withUnsafeMutablePointer(to: &config) { config in
      var state = State(config: config, reader: reader)
      let badLine = withUnsafeMutablePointer(to: &state) { state in
        clinux_ini_parse(
          file,
          { user, section, name, value in
            guard let user, let section, let name else { return 0 }
            return ConfigFile.take(
              user.assumingMemoryBound(to: State.self), section: section, name: name, value: value)
          }, state)
      }
      problem.append(bytes: state.message.bytes)
      return (badLine, state.isBad, state.ignored)
    }
    if badLine != 0, !isBad {
      problem.clear()
      problem.append("expected KEY = VALUE")
    }
    guard badLine != 0 || ignored != 0 else { return }
    message.append(cString: path)
    message.append(":", badLine != 0 ? badLine : ignored, ": ")
    message.append(problem)
    if badLine != 0 { throw .config }
  }

  /// Takes one setting; returns 0 to inih if it is wrong and the reader needs it.
  private static func take(
    _ state: UnsafeMutablePointer<State>, section: UnsafePointer<CChar>, name: UnsafePointer<CChar>,
    value: UnsafePointer<CChar>?
  ) -> Int32 {
    guard !state.pointee.isBad else { return 0 }
    var problem = Text(capacity: 512)
    let name = CString.span(name)
    guard !set(name, value, section: section, state.pointee.config, &problem) else { return 1 }
    let isIgnored = state.pointee.reader == .command && !Config.isForCommands(name)
    guard !isIgnored || state.pointee.ignored == 0 else { return 1 }
    state.pointee.message.clear()
    state.pointee.message.append(problem)
    state.pointee.isBad = !isIgnored
    if isIgnored { state.pointee.ignored = clinux_ini_line() }
    return isIgnored ? 1 : 0
  }

  /// Sets one setting; returns false if it is wrong, and says why.
  private static func set(
    _ name: Span<UInt8>, _ value: UnsafePointer<CChar>?, section: UnsafePointer<CChar>,
    _ config: UnsafeMutablePointer<Config>, _ problem: inout Text
  ) -> Bool {
    guard section.pointee == 0 else {
      problem.append("there are no [sections] here: remove the line above")
      return false
    }
    guard isWhole(name, isText: isText(name), &problem) else {
      if clinux_ini_is_long() != 0, name.equals("on-trouble") {
        problem.append(", or put the command into a script")
      }
      return false
    }
    do throws(Config.Problem) {
      guard let value else { throw .value("followed by = and a value") }
      if hasComment(CString.span(value)), !name.equals("key-password") {
        refuseComment(name, CString.span(value), in: &problem)
        return false
      }
      try config.pointee.set(name, to: CString.span(value), line: clinux_ini_line())
      return true
    } catch {
      describe(error, name: name, in: &problem)
      return false
    }
  }

  /// Whether inih has read the line of a setting as its writer meant; otherwise appends what to do.
  ///
  /// - Parameter isText: whether the value is free text, in which a `;` may be meant.
  public static func isWhole(_ name: Span<UInt8>, isText: Bool, _ text: inout Text) -> Bool {
    if clinux_ini_is_long() != 0 {
      text.append(printable: name)
      text.append(": the line has more than 199 bytes: shorten it")
    } else if clinux_ini_is_indented() != 0 {
      text.append("a setting begins at the start of its line: remove the space before it")
    } else if isText, clinux_ini_has_comment() != 0 {
      text.append(printable: name)
      text.append(
        ": the value would end before the ; because a comment begins there: write the value without a ; after a space"
      )
    } else {
      return true
    }
    return false
  }

  /// Whether a setting is free text, in which a `;` may be meant.
  private static func isText(_ name: Span<UInt8>) -> Bool {
    let names: WordList = "on-trouble limit-summary key-password proxy"
    return names.index(of: name) != nil
  }

  /// Whether a value ends with a comment after `#`; inih removes only those after `;`.
  private static func hasComment(_ value: Span<UInt8>) -> Bool {
    for index in value.indices where value[index] == .hash {
      if index > 0, value[index - 1] == .space || value[index - 1] == .tab { return true }
    }
    return false
  }

  private static func refuseComment(
    _ name: Span<UInt8>, _ value: Span<UInt8>, in text: inout Text
  ) {
    text.append(printable: name)
    text.append(" is \"", printable: value)
    text.append("\": put the comment on a line of its own, beginning with #")
  }

  /// Appends what is wrong with a setting and what it must be.
  @inline(never)
  public static func describe(_ problem: Config.Problem, name: Span<UInt8>, in text: inout Text) {
    switch problem {
    case .unknownKey where name.isEmpty: text.append("expected KEY = VALUE")
    case .unknownKey(let nearest):
      text.append("unknown setting ", printable: name)
      guard let nearest else {
        return text.append(": remove it; tinypush.conf(5) lists all settings")
      }
      text.append("; did you mean ", bytes: Config.names[nearest], "?")
    case .value(let expected):
      text.append(printable: name)
      text.append(" must be ", expected)
    }
  }
}
