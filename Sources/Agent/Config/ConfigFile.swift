import CLinux
import TinyPush

/// Reads the configuration file with the library inih.
public enum ConfigFile {
  /// The state of reading, which inih passes to each callback.
  private struct State: ~Copyable {
    let config: UnsafeMutablePointer<Config>
    var message = Text(capacity: 512)
    var isBad = false
  }

  /// Reads the configuration file.
  ///
  /// - Parameters:
  ///   - isRequired: whether a missing file is an error.
  ///   - message: on failure, what is wrong, where, and what to do.
  public static func read(
    _ path: UnsafePointer<CChar>, into config: inout Config, isRequired: Bool, message: inout Text
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
    let (badLine, isBad) = withUnsafeMutablePointer(to: &config) { config in
      var state = State(config: config)
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
      return (badLine, state.isBad)
    }
    guard badLine == 0 else {
      message.append(cString: path)
      message.append(":", badLine, ": ")
      if isBad {
        message.append(bytes: problem.bytes)
      } else {
        message.append("expected KEY = VALUE")
      }
      throw .config
    }
  }

  /// Takes one setting; returns 0 to inih if it is wrong.
  private static func take(
    _ state: UnsafeMutablePointer<State>, section: UnsafePointer<CChar>, name: UnsafePointer<CChar>,
    value: UnsafePointer<CChar>?
  ) -> Int32 {
    guard !state.pointee.isBad else { return 0 }
    do throws(Config.Problem) {
      if section.pointee != 0 {
        state.pointee.message.append("there are no [sections] here: remove the line above")
        state.pointee.isBad = true
        return 0
      }
      let isText = isText(CString.span(name))
      guard isWhole(CString.span(name), isText: isText, &state.pointee.message) else {
        if clinux_ini_is_long() != 0, CString.span(name).equals("on-trouble") {
          state.pointee.message.append(", or put the command into a script")
        }
        state.pointee.isBad = true
        return 0
      }
      guard let value else { throw .value("followed by = and a value") }
      if hasComment(CString.span(value)), !CString.span(name).equals("key-password") {
        state.pointee.isBad = true
        refuseComment(CString.span(name), CString.span(value), in: &state.pointee.message)
        return 0
      }
      try state.pointee.config.pointee.set(
        CString.span(name), to: CString.span(value), line: clinux_ini_line())
      return 1
    } catch {
      state.pointee.isBad = true
      describe(error, name: CString.span(name), in: &state.pointee.message)
      return 0
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
